//! Times as the library takes them.

use std::time::Duration;

/// The timeout of a structure: 0 stands for none, so no time at all is the shortest there is.
pub(crate) fn seconds(timeout: Option<Duration>) -> f64 {
    timeout.map_or(0.0, |time| time.as_secs_f64().max(1e-9))
}
