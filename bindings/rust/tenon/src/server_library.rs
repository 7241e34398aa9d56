//! libtenon-server: searched and compared when the first server is made.

use crate::error::{Error, Result};
use crate::library::{self, c_path, compare_described, grown_of, owned_name};
use crate::sys::{self, made_for::SERVER};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A library that fits, and serves handles of the libtenon in use.
pub(crate) struct ServerLibrary {
    pub(crate) api: sys::ServerApi,
}

static LIBRARY: OnceLock<ServerLibrary> = OnceLock::new();
/// Held while the library is being loaded.
static LOADING: Mutex<()> = Mutex::new(());

/// Checks that the libtenon-server at a path can be used with the libtenon in use:
/// `Error::Unsupported` says why not.
pub fn check_server_library(path: impl AsRef<Path>) -> Result<()> {
    load(path.as_ref()).map(|_| ())
}

pub(crate) fn library() -> Result<&'static ServerLibrary> {
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let _loading = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let library = load(&place()?)?;
    Ok(LIBRARY.get_or_init(|| library))
}

/// Beside the libtenon in use, or beside the target of its link; else the one that the loader
/// finds.
fn place() -> Result<PathBuf> {
    let used = library::library()?.api.file().map(|file| PathBuf::from(OsStr::from_bytes(file.to_bytes())));
    let real = used.as_ref().and_then(|file| file.canonicalize().ok());
    let places = [used, real].into_iter().flatten().map(|file| file.with_file_name(sys::SERVER_FILE_NAME));
    Ok(places.into_iter().find(|path| path.exists()).unwrap_or_else(|| sys::SERVER_FILE_NAME.into()))
}

fn load(path: &Path) -> Result<ServerLibrary> {
    if cfg!(feature = "static") {
        return Err(Error::Unsupported(
            "the program holds libtenon (feature `static`), and libtenon-server would bring another one: serving \
             needs a program that loads or links the library"
                .into(),
        ));
    }
    let used = library::library()?.api.tenon_version_text;
    let shown = path.display();
    // SAFETY: it is compared before it is used.
    let (api, version_text) = unsafe {
        sys::ServerApi::load(&c_path(path)?, |reason| {
            let reason = reason.to_string_lossy();
            Error::Unsupported(format!("a server needs libtenon-server, which was not found: {reason}"))
        })
    }?;
    // SAFETY: both answer a text that lives for ever.
    let is_same = unsafe {
        match (used, version_text) {
            (Some(ours), Some(theirs)) => std::ptr::eq(ours(), theirs()),
            _ => false,
        }
    };
    if !is_same {
        return Err(Error::Unsupported(format!("{shown} uses another libtenon than this program")));
    }
    // SAFETY: as above.
    unsafe {
        compare_described(api.tenon_server_interface_description, &SERVER, &shown.to_string(), |version| {
            format!("libtenon-server {version}")
        })?;
    }
    Ok(ServerLibrary { api })
}

/// A function of the library, or that it has none of the name.
pub(crate) fn found<F>(function: Option<F>, name: &str) -> Result<F> {
    function.ok_or_else(|| Error::Unsupported(format!("libtenon-server has no function {name}")))
}

/// The error of a status, with the sentence of the call that failed on this thread.
pub(crate) fn check(status: sys::tenon_status) -> Result<()> {
    if status == sys::TENON_OK {
        return Ok(());
    }
    let last_error = library()?.api.tenon_server_last_error;
    // SAFETY: a text that is good until the next failure on this thread.
    let sentence = last_error.map(|function| unsafe { owned_name(function()) });
    Err(Error::of_status(status, sentence.unwrap_or_default(), None))
}

/// Calls a function that fills a buffer until its result fits; for calls that are generated.
#[allow(dead_code)]
pub(crate) fn grown<T: Clone + Default>(
    call: impl FnMut(*mut T, usize, &mut usize) -> sys::tenon_status,
) -> Result<Vec<T>> {
    grown_of(check, call)
}
