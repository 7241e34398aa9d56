//! Loading the library at run time, by the system's loader.

use crate::{Api, ServerApi};
use core::ffi::{c_char, c_int, c_void, CStr};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn dladdr(address: *const c_void, found: *mut Place) -> c_int;
}

/// `Dl_info`: the file that an address is of, and the symbol.
#[repr(C)]
struct Place {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    symbol_address: *mut c_void,
}

/// One number on Linux and macOS; symbols stay local.
const RTLD_NOW: c_int = 2;

/// # Safety
/// As Api::load.
unsafe fn open<E>(path: &CStr, on_error: impl FnOnce(&CStr) -> E) -> Result<*mut c_void, E> {
    // SAFETY: the path ends in a NUL; the rest is the caller's.
    let library = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
    if library.is_null() {
        // SAFETY: after a failure it is a text, which lives until the next call of the loader.
        let text = unsafe { dlerror() };
        let sentence = if text.is_null() { c"unknown" } else { unsafe { CStr::from_ptr(text) } };
        return Err(on_error(sentence));
    }
    Ok(library)
}

impl Api {
    /// Loads a library: a path, or a name for the loader. It stays for good. None of its functions
    /// is called; check next whether it fits (`made_for`). on_error gets the loader's sentence.
    ///
    /// # Safety
    /// Loading runs the initialisers of the library. Its functions are those of `tenon.h`.
    pub unsafe fn load<E>(path: &CStr, on_error: impl FnOnce(&CStr) -> E) -> Result<Self, E> {
        // SAFETY: the caller's; names end in a NUL, and the library is never closed.
        unsafe {
            let library = open(path, on_error)?;
            Ok(Self::from_addresses(|name| dlsym(library, name.as_ptr())))
        }
    }

    /// The file that these functions are of, as the loader was told of it.
    pub fn file(&self) -> Option<&'static CStr> {
        let address = self.tenon_version_text? as *const c_void;
        let null: *mut c_void = core::ptr::null_mut();
        let mut place = Place { file: null.cast(), base: null, symbol: null.cast(), symbol_address: null };
        // SAFETY: any address may be asked for; the text lives as long as the library.
        unsafe {
            let is_found = dladdr(address, &mut place) != 0 && !place.file.is_null();
            is_found.then(|| CStr::from_ptr(place.file))
        }
    }
}

impl ServerApi {
    /// As `Api::load`, for libtenon-server. Also returns `tenon_version_text` of the libtenon that
    /// it uses; the text's address tells whether that libtenon is the one whose handles it will
    /// get.
    ///
    /// # Safety
    /// As there; its functions are those of `tenon/server.h`.
    #[allow(clippy::type_complexity)]
    pub unsafe fn load<E>(
        path: &CStr,
        on_error: impl FnOnce(&CStr) -> E,
    ) -> Result<(Self, Option<unsafe extern "C" fn() -> *const c_char>), E> {
        // SAFETY: as above; an optional function is a pointer that may be null.
        unsafe {
            let library = open(path, on_error)?;
            let version_text = dlsym(library, c"tenon_version_text".as_ptr());
            let api = Self::from_addresses(|name| dlsym(library, name.as_ptr()));
            Ok((api, core::mem::transmute::<*mut c_void, Option<_>>(version_text)))
        }
    }
}
