//! Servers: the interfaces of OpenAI and Anthropic over models and engines of the program, and
//! requests without a socket.

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::handle::{made, Handle};
use crate::library::{c_name, c_path, lent};
use crate::model::{Model, ModelCore};
use crate::option_sets::EngineOptions;
use crate::options::Names;
use crate::server_answer::ServerAnswer;
use crate::server_calls;
use crate::server_options::{ServerModelFile, ServerOptions, ServerRequest};
use crate::source::LogLevel;
use crate::sys;
use crate::wake::{called, is_called, on_a_free_thread};
use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

/// The HTTP server of libtenon-server over models and engines: chat completions, responses,
/// completions, embeddings, messages. Set options and add models first, then addresses, then
/// [`start`](Self::start). Any thread.
///
/// The library is searched when the first server is made: beside the libtenon in use, else by the
/// system's loader. Models and engines live as long as the server needs them. Dropping it stops it
/// at once, which ends its answers with `Error::Cancelled`. After `fork` the child's copy is
/// `Error::State`. Functions that the library calls, a log or a waker, must not call the server:
/// `Error::State`, too.
pub struct Server {
    core: Arc<ServerCore>,
}

/// Kept by answers: the handle is dropped after all of theirs.
pub(crate) struct ServerCore {
    parts: ManuallyDrop<Parts>,
    /// True if it runs, or has run.
    is_started: AtomicBool,
    process: u32,
}

/// Dropped in this order.
struct Parts {
    handle: Handle<sys::tenon_server>,
    served: Mutex<Vec<(Arc<ModelCore>, Option<Engine>)>>,
    _log: Option<LogOfServer>,
}

/// A function to which the library also has a pointer, and which it may call at any time.
struct LogOfServer(*mut Log);

// SAFETY: it is called from any thread, and dropped by one.
unsafe impl Send for LogOfServer {}
// SAFETY: as above.
unsafe impl Sync for LogOfServer {}

impl Drop for LogOfServer {
    fn drop(&mut self) {
        // SAFETY: made from a box; the server that had the pointer is gone, or was never made.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// # Safety
/// `user` is a Log.
unsafe extern "C" fn on_log(user: *mut c_void, level: u32, text: *const c_char, length: u64) {
    // SAFETY: the caller's; the text lives during the call.
    let (log, text) = unsafe { (&*user.cast::<Log>(), lent(text.cast::<u8>(), length as usize)) };
    called(|| log(LogLevel::of(level), &String::from_utf8_lossy(text)));
}

impl ServerCore {
    /// The handle, unless it must not be used now.
    pub(crate) fn handle(&self) -> Result<&Handle<sys::tenon_server>> {
        self.check()?;
        Ok(&self.parts.handle)
    }

    /// Checks that it, and its answers, may be called now.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_of_this_process() {
            return Err(Error::State(
                "the server was made before fork() and belongs to the parent: make a new one here".into(),
            ));
        }
        if is_called() {
            return Err(Error::State("what the library calls must not call the server".into()));
        }
        Ok(())
    }

    /// False in a forked child, which has none of its threads: it is left untouched.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.process == process::id()
    }
}

impl Drop for ServerCore {
    fn drop(&mut self) {
        if self.is_of_this_process() {
            // SAFETY: it is not used any more.
            let parts = unsafe { ManuallyDrop::take(&mut self.parts) };
            on_a_free_thread(move || drop(parts));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.core.is_of_this_process() {
            let core = self.core.clone();
            on_a_free_thread(move || {
                let _ = server_calls::server_stop(&core.parts.handle, 0.0);
            });
        }
    }
}

/// A model served in an engine of the server's own, or an engine of the program's, which it shares
/// with the server.
#[derive(Clone)]
pub struct Served<'a> {
    what: What<'a>,
    context: u64,
    engine_options: EngineOptions,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Model(&'a Model),
    Engine(&'a Engine),
}

impl<'a> From<&'a Model> for Served<'a> {
    fn from(model: &'a Model) -> Self {
        Self { what: What::Model(model), context: 0, engine_options: EngineOptions::new() }
    }
}

impl<'a> From<&'a Engine> for Served<'a> {
    fn from(engine: &'a Engine) -> Self {
        Self { what: What::Engine(engine), context: 0, engine_options: EngineOptions::new() }
    }
}

impl Served<'_> {
    /// Most tokens of a request's prompt and answer; 0: a session's default.
    pub fn context(mut self, context: u64) -> Self {
        self.context = context;
        self
    }

    /// Options of the server's own engine for a model; `Error::Argument` for an engine, which has
    /// its own.
    pub fn engine_options(mut self, options: &EngineOptions) -> Self {
        self.engine_options = options.clone();
        self
    }
}

impl Server {
    /// A server with the defaults. `Error::Unsupported` without libtenon-server.
    pub fn new() -> Result<Self> {
        Self::with(&ServerOptions::new())
    }

    /// A server with options.
    pub fn with(options: &ServerOptions) -> Result<Self> {
        Self::make(options, None)
    }

    /// A server with options and a log: log(level, line) is called for lines of JSON up to `level`,
    /// on any thread, until the server and its answers are gone. It must not call the library; its
    /// panics are dropped.
    pub fn with_log(
        options: &ServerOptions,
        level: LogLevel,
        log: impl Fn(LogLevel, &str) + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::make(options, Some((level, Box::new(log))))
    }

    fn make(options: &ServerOptions, log: Option<(LogLevel, Log)>) -> Result<Self> {
        let mut names = Names::default();
        let mut raw = options.raw(&mut names)?;
        let log = log.map(|(level, log)| {
            let log = LogOfServer(Box::into_raw(Box::new(log)));
            raw.log_level = level as u32;
            raw.log = Some(on_log);
            raw.log_user = log.0.cast();
            log
        });
        // SAFETY: all that it points to lives during the call, and the log as long as the handle.
        let handle = made(unsafe { server_calls::server_create(Some(&raw)) }?)?;
        let parts = ManuallyDrop::new(Parts { handle, served: Mutex::default(), _log: log });
        Ok(Self {
            core: Arc::new(ServerCore { parts, is_started: AtomicBool::new(false), process: process::id() }),
        })
    }

    /// Serves a model, or an engine, under a name: the field "model" of a request. A single one
    /// also gets requests without the field. `Error::Argument` for a name that is empty or taken,
    /// `State` if the server runs.
    pub fn add<'a>(&mut self, name: &str, served: impl Into<Served<'a>>) -> Result<()> {
        let Served { what, context, engine_options } = served.into();
        let handle = self.core.handle()?;
        let kept = match what {
            What::Model(model) => {
                let options = engine_options.0.handle()?;
                server_calls::server_add_model(handle, name, &model.core.handle, options.as_ref(), context)?;
                (model.core.clone(), None)
            }
            What::Engine(engine) => {
                if engine_options != EngineOptions::new() {
                    return Err(Error::Argument("an engine that is served has its options already".into()));
                }
                let model = engine.model_core();
                engine.drive()?;
                server_calls::server_add_engine(handle, name, &model.handle, engine.handle(), context)?;
                (model.clone(), Some(engine.clone()))
            }
        };
        self.core.parts.served.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        Ok(())
    }

    /// Serves a model file that is opened when a request asks for it. This call does not read its
    /// weights.
    pub fn add_file(&mut self, name: &str, file: &ServerModelFile) -> Result<()> {
        let mut names = Names::default();
        let raw = file.raw(&mut names)?;
        // SAFETY: the names live during the call.
        unsafe { server_calls::server_add_file(self.core.handle()?, name, &raw) }
    }

    /// Accepts connections at an address while the server runs; returns the port. port 0: any free
    /// one.
    pub fn listen(&mut self, host: &str, port: u16) -> Result<u16> {
        server_calls::server_listen_tcp(self.core.handle()?, &c_name(host)?, port)
    }

    /// Accepts connections at a Unix socket, whose file is removed at the end.
    pub fn listen_unix(&mut self, path: impl AsRef<Path>) -> Result<()> {
        server_calls::server_listen_unix(self.core.handle()?, &c_path(path.as_ref())?)
    }

    /// Starts the server's own threads. `Error::State` after `stop`.
    pub fn start(&mut self) -> Result<()> {
        self.start_threads(0)
    }

    /// Starts that many threads.
    pub fn start_threads(&mut self, count: u32) -> Result<()> {
        server_calls::server_start(self.core.handle()?, count)?;
        self.core.is_started.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Lends the calling thread to the server until it is stopped, together with others or alone.
    pub fn run(&self) -> Result<()> {
        let handle = self.core.handle()?;
        self.core.is_started.store(true, Ordering::Relaxed);
        server_calls::server_run(handle)
    }

    /// Takes no more requests, gives running answers that long, cancels the others, and returns
    /// when no thread is in the server. It cannot run again.
    pub fn stop(&self, timeout: Duration) -> Result<()> {
        server_calls::server_stop(self.core.handle()?, timeout.as_secs_f64())
    }

    /// Sends a request like a client, without a socket: `request("POST", "/v1/chat/completions",
    /// body)`. `Error::State` before `start` and after `stop`. Errors of the request are in the
    /// answer, as a client gets them.
    pub fn request(&self, method: &str, target: &str, body: impl Into<Vec<u8>>) -> Result<ServerAnswer> {
        self.submit(&ServerRequest::new(method, target).body(body))
    }

    /// Sends a request with a key, if the server requires one.
    pub fn submit(&self, request: &ServerRequest) -> Result<ServerAnswer> {
        if !self.core.is_started.load(Ordering::Relaxed) {
            return Err(Error::State("the server has not been started: nothing would answer".into()));
        }
        ServerAnswer::submit(&self.core, request)
    }

    /// Ends the server, as dropping it does.
    pub fn close(self) {}

    /// The handle, for calls of `tenon::sys`; it is this object's.
    pub fn as_ptr(&self) -> *mut sys::tenon_server {
        self.core.parts.handle.as_ptr()
    }
}
