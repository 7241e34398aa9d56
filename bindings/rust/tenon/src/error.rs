//! Errors: an enum with the library's sentence. Its variants are generated.

pub use crate::kinds::Error;
use std::error;
use std::fmt;
use std::io;

/// What calls give.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sentence())
    }
}

impl error::Error for Error {}

impl Error {
    /// How the operating system failed: `NotFound` where there is no such file. None where it did not fail, or did
    /// not say how.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        Some(io::Error::from_raw_os_error(self.raw_os_error()?).kind())
    }

    /// The number of that error, as `std::io::Error::raw_os_error` has it.
    pub fn raw_os_error(&self) -> Option<i32> {
        match self {
            Self::Io(_, number) => *number,
            _ => None,
        }
    }
}

/// Has the kind of the operating system's error, else what comes nearest to the variant, and this error inside
/// (`get_ref`).
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
