//! Times in the form of the library.

use std::time::Duration;

/// Timeout of a structure: 0 means none, so a zero duration becomes the shortest there is.
pub(crate) fn seconds(timeout: Option<Duration>) -> f64 {
    timeout.map_or(0.0, |time| time.as_secs_f64().max(1e-9))
}
