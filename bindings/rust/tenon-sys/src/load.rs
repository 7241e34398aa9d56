//! Loading the library at run time, by the system's loader.

use crate::Api;
use core::ffi::{c_char, c_int, c_void, CStr};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// The same number on Linux and on macOS; symbols stay local.
const RTLD_NOW: c_int = 2;

impl Api {
    /// Loads a library: a path, or a name that the loader looks for. It stays for good. Nothing of it
    /// is called; whether it fits is to be asked next (`made_for`). on_error gets the loader's sentence.
    ///
    /// # Safety
    /// Loading runs the initialisers of the library. Its functions are those of `tenon.h`.
    pub unsafe fn load<E>(path: &CStr, on_error: impl FnOnce(&CStr) -> E) -> Result<Self, E> {
        // SAFETY: the path ends in a NUL; the rest is the caller's.
        let library = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
        if library.is_null() {
            // SAFETY: after a failure it is a text, which lives until the next call of the loader.
            let text = unsafe { dlerror() };
            let sentence = if text.is_null() { c"unknown" } else { unsafe { CStr::from_ptr(text) } };
            return Err(on_error(sentence));
        }
        // SAFETY: names end in a NUL, and the library is never closed.
        Ok(unsafe { Self::from_addresses(|name| dlsym(library, name.as_ptr())) })
    }
}
