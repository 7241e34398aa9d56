//! Engines, which serve many sessions of a model, and the thread that computes for tasks.

use crate::calls;
use crate::error::{Error, Result};
use crate::handle::{made, Handle};
use crate::info::EngineStats;
use crate::model::{Model, ModelCore};
use crate::option_sets::{EngineOptions, SessionOptions};
use crate::request::{Generation, PieceStream};
use crate::session::Session;
use crate::sys;
use crate::{Drawn, Prompt};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// As for threads of C programs.
const STACK_BYTES: usize = 8 << 20;

/// Serves many sessions of a model: a queue, a scheduler, a KV cache with a budget. Any thread;
/// clones are the same engine. It computes in calls that wait. The first waiting task starts a
/// thread for it, one for all requests, which ends with the engine's last owner.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

/// Shared by users of an engine.
struct Inner {
    core: Arc<EngineCore>,
    is_driven: Mutex<bool>,
}

/// The handle, which its thread also has, and what must outlive it.
struct EngineCore {
    handle: Handle<sys::tenon_engine>,
    model: Arc<ModelCore>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if *self.is_driven.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // Makes the thread release the handle. In a child of fork there is no thread, and this
            // fails.
            let _ = calls::engine_stop(&self.core.handle);
        }
    }
}

impl Engine {
    /// An engine with the defaults.
    pub fn new(model: &Model) -> Result<Self> {
        Self::with(model, &EngineOptions::new())
    }

    /// An engine with options.
    pub fn with(model: &Model, options: &EngineOptions) -> Result<Self> {
        Self::of_core(&model.core, options)
    }

    pub(crate) fn of_core(model: &Arc<ModelCore>, options: &EngineOptions) -> Result<Self> {
        let handle = made(calls::engine_create(&model.handle, options.0.handle()?.as_ref())?)?;
        let core = Arc::new(EngineCore { handle, model: model.clone() });
        Ok(Self { inner: Arc::new(Inner { core, is_driven: Mutex::new(false) }) })
    }

    pub(crate) fn handle(&self) -> &Handle<sys::tenon_engine> {
        &self.inner.core.handle
    }

    pub(crate) fn model_core(&self) -> &Arc<ModelCore> {
        &self.inner.core.model
    }

    /// A new session in this engine, with an empty text.
    pub fn open_session(&self, options: &SessionOptions) -> Result<Session> {
        Session::in_engine(self, options)
    }

    /// Continues a prompt in a session of its own, for tasks. It can move to other threads and
    /// tasks.
    pub fn stream<'p, 'o>(
        &self,
        prompt: impl Into<Prompt<'p>>,
        options: impl Into<Drawn<'o>>,
    ) -> Result<PieceStream<'static>> {
        Ok(self.generate(prompt, options)?.into_stream())
    }

    /// Continues a prompt in a session of its own, for threads that wait.
    pub fn generate<'p, 'o>(
        &self,
        prompt: impl Into<Prompt<'p>>,
        options: impl Into<Drawn<'o>>,
    ) -> Result<Generation<'static>> {
        self.open_session(&SessionOptions::new())?.into_generation(prompt, options)
    }

    /// Counters and current values.
    pub fn stats(&self) -> Result<EngineStats> {
        let raw = calls::engine_get_stats(self.handle())?;
        // SAFETY: numbers.
        Ok(unsafe { EngineStats::read(&raw) })
    }

    /// The statistics as Prometheus text.
    pub fn stats_text(&self) -> Result<String> {
        calls::engine_stats_text(self.handle())
    }

    /// Computes one step if work is waiting and no other thread is computing; true if it did.
    pub fn step(&self) -> Result<bool> {
        Ok(calls::engine_step(self.handle())? != 0)
    }

    /// Starts the engine's thread for a waiting task.
    pub(crate) fn drive(&self) -> Result<()> {
        let mut is_driven = self.inner.is_driven.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_driven {
            let core = self.inner.core.clone();
            thread::Builder::new()
                .name("tenon".into())
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    let _ = calls::engine_run(&core.handle);
                })
                .map_err(|error| Error::NoMemory(format!("the engine gets no thread: {error}")))?;
            *is_driven = true;
        }
        Ok(())
    }

    /// The handle, for calls of `tenon::sys`; it is this object's.
    pub fn as_ptr(&self) -> *mut sys::tenon_engine {
        self.handle().as_ptr()
    }
}
