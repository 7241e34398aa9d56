//! Sources of a model's bytes, and callbacks while they are read.

use crate::callback::{on_progress, Guarded};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::library::{c_path, check, found, lent, library};
use crate::model::Model;
use crate::option_sets::ModelOptions;
use crate::sys;
use crate::wake::called;
use std::any::Any;
use std::ffi::{c_char, c_void, CString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

type Bytes = Box<dyn AsRef<[u8]> + Send + Sync>;
type Read = dyn Fn(u64, &mut [u8]) -> io::Result<usize> + Send + Sync;
type Log = dyn Fn(LogLevel, &str) + Send + Sync;
type Progress<'a> = Box<dyn FnMut(f64) -> ControlFlow<()> + 'a>;

/// One file of a model, or a `tokenizer.json`.
pub struct Source(Origin);

enum Origin {
    Path(PathBuf),
    File { file: File, offset: u64, size: u64 },
    Bytes(Bytes),
    Reader { size: u64, reader: Box<Reader> },
}

/// A reading function, and its first panic.
struct Reader {
    read: Box<Read>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Source {
    /// A regular file.
    pub fn path(path: impl AsRef<Path>) -> Self {
        Self(Origin::Path(path.as_ref().to_owned()))
    }

    /// Bytes of an open file from `offset` on. The file is closed when the model has been opened.
    /// size 0: to its end.
    pub fn file(file: File, offset: u64, size: u64) -> Self {
        Self(Origin::File { file, offset, size })
    }

    /// Bytes in memory, kept while anything of the model lives.
    pub fn bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Origin::Bytes(Box::new(bytes)))
    }

    /// `size` bytes of read(offset, buffer), called on any thread; it returns the number of copied
    /// bytes, 0 at the end. Its error, or a panic, is `Error::Io` of the call; a panic resumes when
    /// the model is opened.
    pub fn reader(
        size: u64,
        read: impl Fn(u64, &mut [u8]) -> io::Result<usize> + Send + Sync + 'static,
    ) -> Self {
        let reader = Reader { read: Box::new(read), panic: Mutex::new(None) };
        Self(Origin::Reader { size, reader: Box::new(reader) })
    }

    /// For the library, valid as long as `self` and the path.
    fn raw(&self, path: &mut Option<CString>) -> Result<sys::tenon_source> {
        let mut raw = sys::tenon_source::new();
        match &self.0 {
            Origin::Path(name) => {
                let name = path.insert(c_path(name)?);
                raw.kind = sys::TENON_SOURCE_PATH;
                raw.name = name.as_ptr();
                raw.name_length = name.as_bytes().len() as u64;
            }
            Origin::File { file, offset, size } => {
                raw.kind = sys::TENON_SOURCE_FD;
                raw.fd = file.as_raw_fd();
                (raw.offset, raw.size) = (*offset, *size);
            }
            Origin::Bytes(bytes) => {
                let bytes = (**bytes).as_ref();
                raw.kind = sys::TENON_SOURCE_MEMORY;
                raw.data = bytes.as_ptr().cast();
                raw.size = bytes.len() as u64;
            }
            Origin::Reader { size, reader } => {
                raw.kind = sys::TENON_SOURCE_READER;
                raw.concurrent = 1;
                raw.size = *size;
                raw.read = Some(on_read);
                raw.user = ptr::from_ref::<Reader>(reader).cast_mut().cast();
            }
        }
        Ok(raw)
    }

    fn resume_panic(&self) {
        if let Origin::Reader { reader, .. } = &self.0 {
            let panic = reader.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(panic) = panic {
                resume_unwind(panic);
            }
        }
    }

    /// The source's tokenizer; the source is not used afterwards.
    pub(crate) fn load_tokenizer(&self) -> Result<Option<Handle<sys::tenon_tokenizer>>> {
        let mut path = None;
        let raw = self.raw(&mut path)?;
        // SAFETY: the source is there during the call.
        let result = unsafe { crate::calls::tokenizer_load(&raw) };
        self.resume_panic();
        result
    }
}

/// # Safety
/// `user` is a Reader, and `size` bytes are at the buffer.
unsafe extern "C" fn on_read(user: *mut c_void, offset: u64, buffer: *mut c_void, size: u64) -> i64 {
    // SAFETY: the caller's.
    let (reader, buffer) = unsafe {
        (&*user.cast::<Reader>(), std::slice::from_raw_parts_mut(buffer.cast::<u8>(), size as usize))
    };
    let capacity = buffer.len();
    match catch_unwind(AssertUnwindSafe(|| (reader.read)(offset, buffer))) {
        Ok(Ok(count)) if count <= capacity => count as i64,
        Ok(_) => -1,
        Err(panic) => {
            reader.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
            -1
        }
    }
}

/// Level of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something unexpected.
    Warning,
    /// Events.
    Info,
    /// Events in detail.
    Debug,
}

impl LogLevel {
    pub(crate) fn of(level: u32) -> Self {
        match level {
            sys::TENON_LOG_ERROR => Self::Error,
            sys::TENON_LOG_WARNING => Self::Warning,
            sys::TENON_LOG_INFO => Self::Info,
            _ => Self::Debug,
        }
    }
}

/// `user` of a model's callbacks: the log for good, progress while it loads.
struct Callbacks {
    log: Option<Box<Log>>,
    progress: Option<ProgressOfLoad>,
}

/// The function and `user` of a Guarded on the stack of `load`.
struct ProgressOfLoad {
    function: unsafe extern "C" fn(*mut c_void, f64) -> i32,
    user: *mut c_void,
}

/// # Safety
/// `user` is a Callbacks with a log.
unsafe extern "C" fn on_log(user: *mut c_void, level: u32, text: *const c_char, length: u64) {
    // SAFETY: the caller's; the text lives during the call.
    let (callbacks, text) = unsafe { (&*user.cast::<Callbacks>(), lent(text.cast::<u8>(), length as usize)) };
    if let Some(log) = &callbacks.log {
        // No call is waiting from which a panic could resume.
        called(|| log(LogLevel::of(level), &String::from_utf8_lossy(text)));
    }
}

/// # Safety
/// `user` is a Callbacks, and its model is being loaded.
unsafe extern "C" fn on_load(user: *mut c_void, fraction: f64) -> i32 {
    // SAFETY: the caller's.
    match unsafe { &(*user.cast::<Callbacks>()).progress } {
        // SAFETY: they belong together, and live as long as the load.
        Some(progress) => unsafe { (progress.function)(progress.user, fraction) },
        None => 0,
    }
}

/// A Callbacks to which the library also has a pointer, and which it may read at any time.
struct Shared(NonNull<Callbacks>);

impl Shared {
    fn new(callbacks: Callbacks) -> Self {
        Self(NonNull::from(Box::leak(Box::new(callbacks))))
    }

    /// Ends the life of the load's progress.
    fn end_progress(&mut self) {
        // SAFETY: the library reads progress only while it loads, on this thread.
        unsafe { ptr::addr_of_mut!((*self.0.as_ptr()).progress).write(None) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: made from a box; the model that had a pointer is gone, or was never made.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

// SAFETY: the log may be called from any thread; the progress is taken away when loading is over.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Kept while anything of a model lives.
#[derive(Default)]
pub(crate) struct Kept {
    _sources: Vec<Source>,
    _callbacks: Option<Shared>,
}

/// Opens a model with more than a path: several sources, progress, a log.
pub struct Loader<'a> {
    sources: Vec<Source>,
    options: ModelOptions,
    progress: Option<Progress<'a>>,
    log: Option<(LogLevel, Box<Log>)>,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(sources: Vec<Source>) -> Self {
        Self { sources, options: ModelOptions::new(), progress: None, log: None }
    }

    /// Sets the options.
    pub fn options(mut self, options: &ModelOptions) -> Self {
        self.options = options.clone();
        self
    }

    /// Calls progress(fraction) while it loads. Break cancels with `Error::Cancelled`; a panic
    /// resumes from `load`.
    pub fn progress(mut self, progress: impl FnMut(f64) -> ControlFlow<()> + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Calls log(level, line) for lines up to `level`, on any thread, while anything of the model
    /// lives. It must not call the library; its panics are dropped.
    pub fn log(mut self, level: LogLevel, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Some((level, Box::new(log)));
        self
    }

    /// Opens the model. Errors: `Format`, `Unsupported`, `Io`, `Limit`, `Cancelled`.
    pub fn load(mut self) -> Result<Model> {
        let load = found(library()?.api.tenon_model_load, "tenon_model_load")?;
        let options = self.options.0.handle()?;
        let mut paths: Vec<Option<CString>> = self.sources.iter().map(|_| None).collect();
        let sources: Result<Vec<_>> =
            self.sources.iter().zip(&mut paths).map(|(source, path)| source.raw(path)).collect();
        let sources = sources?;
        let pointers: Vec<*const sys::tenon_source> = sources.iter().map(ptr::from_ref).collect();

        let mut guarded = self.progress.take().map(Guarded::new);
        let progress = guarded
            .as_mut()
            .map(|guarded| ProgressOfLoad { function: on_progress::<Progress<'a>>, user: guarded.user() });
        let mut raw = sys::tenon_callbacks::new();
        raw.progress = progress.is_some().then_some(on_load as _);
        let log = self.log.take().map(|(level, log)| {
            raw.log_level = level as u32;
            raw.log = Some(on_log);
            log
        });
        let has_callbacks = progress.is_some() || log.is_some();
        let mut callbacks = Shared::new(Callbacks { log, progress });
        raw.user = callbacks.0.as_ptr().cast();
        let mut model = ptr::null_mut();
        // SAFETY: all that it points to lives during the call; sources and log are kept with the model.
        let status = unsafe {
            load(
                pointers.as_ptr(),
                pointers.len(),
                options.as_ref().map_or(ptr::null(), |options| options.as_ptr().cast_const()),
                if has_callbacks { &raw } else { ptr::null() },
                &mut model,
            )
        };
        let result = check(status);
        callbacks.end_progress();
        // SAFETY: null, or made for us. Should a panic go on from here, it ends before the callbacks.
        let handle = unsafe { Handle::new(model) };
        let result = match guarded {
            Some(guarded) => guarded.end(result),
            None => result,
        };
        self.sources.iter().for_each(Source::resume_panic);
        result?;
        let handle = handle.ok_or_else(|| Error::Internal("the library made nothing".into()))?;
        Ok(Model::of(handle, Kept { _sources: self.sources, _callbacks: has_callbacks.then_some(callbacks) }))
    }
}
