//! Errors: an enum with the library's sentence. Its variants are generated.

pub use crate::kinds::Error;
use std::error;
use std::fmt;
use std::io;

/// Result of calls.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sentence())
    }
}

impl error::Error for Error {}

impl Error {
    /// Kind of the operating system's error: `NotFound` if there is no such file. None if it did
    /// not fail, or gave no error.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        Some(io::Error::from_raw_os_error(self.raw_os_error()?).kind())
    }

    /// The error's number, as in `std::io::Error::raw_os_error`.
    pub fn raw_os_error(&self) -> Option<i32> {
        match self {
            Self::Io(_, number) => *number,
            _ => None,
        }
    }
}

/// Converts to the kind of the operating system's error, else to the kind nearest to the variant,
/// with this error inside (`get_ref`).
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = error.io_kind().unwrap_or(match &error {
            Error::Format(_) => io::ErrorKind::InvalidData,
            Error::Unsupported(_) => io::ErrorKind::Unsupported,
            Error::Argument(_) | Error::Grammar(_) | Error::Template(_) => io::ErrorKind::InvalidInput,
            Error::NoMemory(_) => io::ErrorKind::OutOfMemory,
            Error::Busy(_) => io::ErrorKind::WouldBlock,
            Error::Deadline(_) => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::Other,
        });
        io::Error::new(kind, error)
    }
}
