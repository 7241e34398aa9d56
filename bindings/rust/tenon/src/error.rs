//! Errors: an enum with the library's sentence. Its variants are generated.

pub use crate::kinds::Error;
use std::error;
use std::fmt;

/// What calls give.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sentence())
    }
}

impl error::Error for Error {}
