//! The C interface of Tenon (`tenon.h`, and `tenon/server.h` of libtenon-server) as Rust, without
//! `std`: types with checked layouts, the table of functions, and the interface this binding was made
//! for, to be compared with the loaded library.
//!
//! The docs come from the header, which is the manual. The crate `tenon` is the safe one.
#![no_std]
#![allow(non_camel_case_types, missing_docs, clippy::missing_safety_doc)]
// Functions that take a callback have complex types in the table.
#![allow(clippy::type_complexity)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("libtenon is for machines of 64 bits");

#[rustfmt::skip]
mod functions;
#[cfg(unix)]
mod load;
#[rustfmt::skip]
pub mod made_for;
#[rustfmt::skip]
mod server_functions;
#[rustfmt::skip]
mod server_types;
#[rustfmt::skip]
mod types;

#[cfg(feature = "link")]
pub use functions::linked;
pub use functions::Api;
pub use server_functions::ServerApi;
pub use server_types::*;
pub use types::*;

/// The dynamic loader's name of the library.
pub const FILE_NAME: &str = env!("TENON_SYS_FILE_NAME");
/// The dynamic loader's name of libtenon-server, which is always loaded, whatever the features say.
pub const SERVER_FILE_NAME: &str = env!("TENON_SYS_SERVER_FILE_NAME");
/// Folder of the library when this crate was built, if it was found.
pub const LIBRARY_DIR: Option<&str> = option_env!("TENON_SYS_LIBRARY_DIR");
/// Folder in which the feature `bundled` has put it.
pub const BUNDLED_DIR: Option<&str> = option_env!("TENON_SYS_BUNDLED_DIR");
