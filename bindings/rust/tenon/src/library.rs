//! The library in use: found, loaded and compared at the first call; and conversions of results.

use crate::error::{Error, Result};
use crate::fit;
use crate::json::Json;
use crate::sys::{
    self,
    made_for::{Interface, TENON},
};
use std::ffi::{c_char, CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A library that fits.
pub(crate) struct Library {
    pub(crate) api: sys::Api,
    path: PathBuf,
}

static LIBRARY: OnceLock<Library> = OnceLock::new();
/// The path given to use_library; held while the library is being loaded.
static WANTED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Names the library to use, instead of searching it. Call it before anything else; `Error::State`
/// afterwards.
pub fn use_library(path: impl AsRef<Path>) -> Result<()> {
    if cfg!(feature = "link") {
        return Err(Error::State("the program is linked with its library".into()));
    }
    let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
    match LIBRARY.get() {
        Some(library) if library.path != path.as_ref() => {
            Err(Error::State(format!("{} is in use already", library.path.display())))
        }
        _ => {
            *wanted = Some(path.as_ref().to_owned());
            Ok(())
        }
    }
}

/// Path of the library in use, which it loads if needed; empty if the library is linked.
pub fn library_path() -> Result<&'static Path> {
    Ok(&library()?.path)
}

/// The version of the library: "0.1.0".
pub fn version() -> Result<&'static str> {
    // SAFETY: a text that lives for ever.
    Ok(unsafe { version_of(&library()?.api) })
}

/// Functions of the library, for calls that this crate lacks.
pub fn api() -> Result<&'static sys::Api> {
    Ok(&library()?.api)
}

/// Checks that the library at a path can be used: `Error::Unsupported` says why not.
pub fn check_library(path: impl AsRef<Path>) -> Result<()> {
    load(path.as_ref()).map(|_| ())
}

pub(crate) fn library() -> Result<&'static Library> {
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let library = find(wanted.as_deref())?;
    Ok(LIBRARY.get_or_init(|| library))
}

#[cfg(feature = "link")]
fn find(_: Option<&Path>) -> Result<Library> {
    let api = sys::Api::linked();
    compare(&api, "the program's")?;
    Ok(Library { api, path: PathBuf::new() })
}

/// The order: the one named; with `bundled` beside the program, then where the build put it; where
/// the build found it; the one that the system's loader finds.
#[cfg(not(feature = "link"))]
fn find(wanted: Option<&Path>) -> Result<Library> {
    if let Some(path) = wanted {
        return load(path);
    }
    let mut folders = Vec::new();
    if let Some(bundled) = sys::BUNDLED_DIR {
        folders.extend(std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned)));
        folders.push(PathBuf::from(bundled));
    }
    folders.extend(sys::LIBRARY_DIR.map(PathBuf::from));
    let places = folders.into_iter().map(|folder| folder.join(sys::FILE_NAME));
    match places.into_iter().find(|path| path.exists()) {
        Some(path) => load(&path),
        None => load(Path::new(sys::FILE_NAME)),
    }
}

fn load(path: &Path) -> Result<Library> {
    let text = c_path(path)?;
    let shown = path.display();
    // SAFETY: it is compared before it is used. That it is libtenon is what its user says.
    let api = unsafe {
        sys::Api::load(&text, |reason| {
            Error::Unsupported(format!("no libtenon was found: {}", reason.to_string_lossy()))
        })
    }?;
    compare(&api, &shown.to_string())?;
    Ok(Library { api, path: path.to_owned() })
}

fn compare(api: &sys::Api, shown: &str) -> Result<()> {
    // SAFETY: a text that lives for ever.
    let library = format!("libtenon {}", unsafe { version_of(api) });
    let describe = api.tenon_interface_description;
    // SAFETY: the function is of this name.
    unsafe { compare_described(describe, &TENON, shown, |_| library) }
}

/// Refuses a library that does not fit what this crate was made for, with a sentence.
///   name  what the library calls itself, of the version that it describes
///
/// # Safety
/// The function answers a text that lives for ever.
pub(crate) unsafe fn compare_described(
    describe: Option<unsafe extern "C" fn() -> *const c_char>,
    made_for: &Interface,
    shown: &str,
    name: impl FnOnce(&str) -> String,
) -> Result<()> {
    // SAFETY: the caller's.
    let description = describe.map(|function| unsafe { function() });
    let Some(description) = description.filter(|text| !text.is_null()) else {
        return Err(Error::Unsupported(format!(
            "{shown} is {}, which does not describe its interface: it is too old for this binding",
            name("of an unknown version")
        )));
    };
    // SAFETY: as above; it ends in a NUL.
    let description = unsafe { CStr::from_ptr(description) }.to_string_lossy();
    let found = Json::read(&description).map_err(|reason| {
        Error::Unsupported(format!("{shown} does not describe its interface in JSON: {reason}"))
    })?;
    let reasons = fit::misfits(&found, made_for);
    let Some(first) = reasons.first() else { return Ok(()) };
    let more = match reasons.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Err(Error::Unsupported(format!(
        "{shown} is {}, which does not fit this binding made for {}: {first}{more}",
        name(found.text("version")),
        made_for.version
    )))
}

/// # Safety
/// The functions are of tenon.h.
unsafe fn version_of(api: &sys::Api) -> &'static str {
    let Some(function) = api.tenon_version_text else { return "of an unknown version" };
    // SAFETY: the caller's.
    unsafe { lent_name(function()) }.unwrap_or("of an unknown version")
}

// ---- Of calls ------------------------------------------------------------------------------------

/// A function of the library, or that it has none of the name.
pub(crate) fn found<F>(function: Option<F>, name: &str) -> Result<F> {
    function.ok_or_else(|| {
        Error::Unsupported(format!("libtenon {} has no function {name}", version().unwrap_or("?")))
    })
}

/// The error of a status, with the sentence of the call that failed on this thread.
pub(crate) fn check(status: sys::tenon_status) -> Result<()> {
    if status == sys::TENON_OK {
        return Ok(());
    }
    let api = &library()?.api;
    // SAFETY: a text that is good until the next failure on this thread.
    let sentence = api.tenon_last_error.map(|function| unsafe { owned_name(function()) });
    // SAFETY: it takes nothing; of an older library it is not there.
    let system = api.tenon_last_system_error.map(|function| unsafe { function() });
    Err(Error::of_status(status, sentence.unwrap_or_default(), system.filter(|number| *number != 0)))
}

/// Calls a function that fills a buffer until its result fits ("Buffers" in tenon.h).
pub(crate) fn grown<T: Clone + Default>(
    call: impl FnMut(*mut T, usize, &mut usize) -> sys::tenon_status,
) -> Result<Vec<T>> {
    grown_of(check, call)
}

/// As grown, for a library whose statuses `check` converts.
pub(crate) fn grown_of<T: Clone + Default>(
    check: fn(sys::tenon_status) -> Result<()>,
    mut call: impl FnMut(*mut T, usize, &mut usize) -> sys::tenon_status,
) -> Result<Vec<T>> {
    let mut memory: Vec<T> = Vec::new();
    loop {
        let mut needed = 0;
        let pointer = if memory.is_empty() { std::ptr::null_mut() } else { memory.as_mut_ptr() };
        check(call(pointer, memory.len(), &mut needed))?;
        if needed <= memory.len() {
            memory.truncate(needed);
            return Ok(memory);
        }
        memory.resize(needed, T::default());
    }
}

/// Text of the library's bytes, which are UTF-8, except texts of a model's file.
pub(crate) fn text_of(memory: Vec<u8>) -> String {
    String::from_utf8(memory).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// # Safety
/// `length` elements lie at the pointer as long as 'a; null is none.
pub(crate) unsafe fn lent<'a, T>(pointer: *const T, length: usize) -> &'a [T] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(pointer, length) }
}

/// # Safety
/// As `lent`.
pub(crate) unsafe fn lent_text<'a>(pointer: *const c_char, length: usize) -> Result<&'a str> {
    // SAFETY: the caller's.
    let bytes = unsafe { lent(pointer.cast::<u8>(), length) };
    std::str::from_utf8(bytes).map_err(|_| Error::Internal("a text of the library is not UTF-8".into()))
}

/// # Safety
/// Null, or a text with a NUL at its end that lives as long as 'a.
pub(crate) unsafe fn lent_name<'a>(pointer: *const c_char) -> Result<&'a str> {
    if pointer.is_null() {
        return Ok("");
    }
    // SAFETY: the caller's.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Error::Internal("a name of the library is not UTF-8".into()))
}

/// # Safety
/// As `lent`, for the call.
pub(crate) unsafe fn bytes(pointer: *const c_char, length: usize) -> Vec<u8> {
    // SAFETY: the caller's.
    unsafe { lent(pointer.cast::<u8>(), length) }.to_vec()
}

/// # Safety
/// As `lent`, for the call.
pub(crate) unsafe fn owned_text(pointer: *const c_char, length: usize) -> String {
    // SAFETY: the caller's.
    text_of(unsafe { bytes(pointer, length) })
}

/// # Safety
/// As `lent_name`, for the call.
pub(crate) unsafe fn owned_name(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// A text with a NUL at its end.
pub(crate) fn c_name(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Argument(format!("{text:?} holds a NUL")))
}

/// The bytes of a path with a NUL at their end.
pub(crate) fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::Argument(format!("{} holds a NUL", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_grows_until_the_result_fits() {
        let mut asked = Vec::new();
        let memory = grown::<i32>(|buffer, capacity, needed| {
            asked.push(capacity);
            // It takes more the second time, and less the third.
            *needed = [3, 5, 4][asked.len() - 1];
            if *needed <= capacity {
                // SAFETY: so many are there.
                (0..*needed).for_each(|index| unsafe { buffer.add(index).write(index as i32) });
            }
            sys::TENON_OK
        });
        assert_eq!(memory.unwrap(), [0, 1, 2, 3]);
        assert_eq!(asked, [0, 3, 5]);
    }

    #[test]
    fn texts_of_the_library_are_read() {
        let text = c"Gr\xc3\xbc\xc3\x9fe";
        // SAFETY: the texts are there.
        unsafe {
            assert_eq!(owned_name(text.as_ptr()), "Gr\u{fc}\u{df}e");
            assert_eq!(owned_text(text.as_ptr(), 3), "Gr\u{fffd}");
            assert_eq!(lent_name(text.as_ptr()).unwrap().len(), 7);
            assert!(lent_text(text.as_ptr(), 3).is_err());
            assert_eq!((owned_name(std::ptr::null()), owned_text(std::ptr::null(), 0)), Default::default());
            assert!(lent::<f32>(std::ptr::null(), 0).is_empty());
        }
    }

    #[test]
    fn structures_begin_with_their_size_and_functions_may_be_missing() {
        let piece = sys::tenon_piece::new();
        assert_eq!((piece.struct_size, piece.length, piece.text.is_null()), (32, 0, true));
        assert!(sys::tenon_source::new().read.is_none());
        // SAFETY: there are none.
        let api = unsafe { sys::Api::from_addresses(|_| std::ptr::null_mut()) };
        assert!(api.tenon_model_open.is_none());
        assert!(matches!(compare(&api, "it"), Err(Error::Unsupported(text)) if text.contains("too old")));
    }
}
