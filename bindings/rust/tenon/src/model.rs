//! Models: their contents and their memory.

use crate::callback::{on_progress, Guarded};
use crate::calls;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::handle::{made, Handle};
use crate::info::*;
use crate::library::{c_name, c_path, owned_text};
use crate::option_sets::{EngineOptions, ModelOptions};
use crate::source::{Kept, Loader, Source};
use crate::sys;
use crate::tokenizer::Tokenizer;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A model. Any thread, any number of sessions; it lives as long as anything made from it. Clones
/// are the same model.
#[derive(Clone)]
pub struct Model {
    pub(crate) core: Arc<ModelCore>,
    /// Engine of sessions that name none; made at first use.
    engine: Arc<Mutex<Option<Engine>>>,
}

/// The handle, and what must outlive it; fields are dropped in this order.
pub(crate) struct ModelCore {
    pub(crate) handle: Handle<sys::tenon_model>,
    _kept: Kept,
}

impl Model {
    pub(crate) fn of(handle: Handle<sys::tenon_model>, kept: Kept) -> Self {
        Self { core: Arc::new(ModelCore { handle, _kept: kept }), engine: Arc::default() }
    }

    /// Opens a model file; for a split model name the first part.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &ModelOptions::new())
    }

    /// With options.
    pub fn open_with(path: impl AsRef<Path>, options: &ModelOptions) -> Result<Self> {
        let handle = calls::model_open(&c_path(path.as_ref())?, options.0.handle()?.as_ref())?;
        Ok(Self::of(made(handle)?, Kept::default()))
    }

    /// Opens a model from sources, one per file, optionally with progress and a log.
    pub fn loader<'a>(sources: impl IntoIterator<Item = Source>) -> Loader<'a> {
        Loader::new(sources.into_iter().collect())
    }

    /// Name, architecture, sizes.
    pub fn info(&self) -> Result<ModelInfo> {
        let raw = calls::model_get_info(&self.core.handle)?;
        // SAFETY: its texts live as long as the model.
        Ok(unsafe { ModelInfo::read(&raw) })
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        Tokenizer::of_model(&self.core)
    }

    /// Memory of the model with one session; context 0: the default.
    pub fn memory(&self, context: u64) -> Result<Memory> {
        let raw = calls::model_memory(&self.core.handle, context)?;
        // SAFETY: numbers.
        Ok(unsafe { Memory::read(&raw) })
    }

    /// How the model runs on this machine.
    pub fn execution(&self) -> Result<Execution> {
        let raw = calls::model_execution(&self.core.handle)?;
        // SAFETY: its texts live as long as the model.
        Ok(unsafe { Execution::read(&raw) })
    }

    /// Tensors of the file, in file order.
    pub fn tensors(&self) -> Result<Vec<Tensor>> {
        let read = |index| {
            let raw = calls::model_tensor(&self.core.handle, index)?;
            // SAFETY: its texts live as long as the model.
            Ok(unsafe { Tensor::read(&raw) })
        };
        (0..calls::model_tensor_count(&self.core.handle)?).map(read).collect()
    }

    /// Keys of the metadata, in file order.
    pub fn metadata_keys(&self) -> Result<Vec<String>> {
        (0..calls::model_metadata_count(&self.core.handle)?)
            .map(|index| Ok(self.metadata_at(index)?.key))
            .collect()
    }

    fn metadata_at(&self, index: usize) -> Result<Metadata> {
        let raw = calls::model_metadata(&self.core.handle, index)?;
        // SAFETY: its texts live as long as the model.
        Ok(unsafe { Metadata::read(&raw) })
    }

    /// Value of a metadata key; None if there is no such key.
    pub fn metadata(&self, key: &str) -> Result<Option<MetadataValue>> {
        let index = match calls::model_find_metadata(&self.core.handle, key) {
            Err(Error::Argument(_)) => return Ok(None),
            other => other?,
        };
        let entry = self.metadata_at(index)?;
        let read = |element| {
            let raw = calls::model_metadata_value(&self.core.handle, index, element)?;
            // SAFETY: its text lives as long as the model.
            Ok(unsafe { MetadataValue::read(&raw) })
        };
        if entry.r#type != sys::TENON_VALUE_ARRAY {
            return read(0).map(Some);
        }
        let elements: Result<_> = (0..entry.num_elements).map(read).collect();
        Ok(Some(MetadataValue::Array(elements?)))
    }

    /// This machine, for planning, without its speeds.
    pub fn measure(&self) -> Result<Hardware> {
        self.measure_as(0)
    }

    /// This machine with its speeds: runs some layers, for seconds.
    pub fn measure_speed(&self) -> Result<Hardware> {
        self.measure_as(sys::TENON_MEASURE_SPEED)
    }

    fn measure_as(&self, flags: u32) -> Result<Hardware> {
        let raw = calls::measure_hardware(&self.core.handle, flags)?;
        // SAFETY: numbers.
        Ok(unsafe { Hardware::read(&raw) })
    }

    /// Predicts memory and speed for that many sessions of a context; 0: the default context, one
    /// session.
    pub fn plan(&self, context: u64, sessions: u64, hardware: &Hardware) -> Result<Plan> {
        let hardware = hardware.raw();
        // SAFETY: the structure holds numbers alone; the text of the result lives for ever.
        unsafe {
            let raw = calls::model_plan(&self.core.handle, context, sessions, Some(&hardware))?;
            Ok(Plan::read(&raw))
        }
    }

    /// Memory that each device would hold for this many sessions of a context.
    pub fn placement(&self, context: u64, sessions: u64, hardware: &Hardware) -> Result<Vec<PlacedDevice>> {
        let hardware = hardware.raw();
        // SAFETY: the structure holds numbers alone.
        let created = unsafe { calls::placement_create(&self.core.handle, context, sessions, &hardware) };
        let list = made(created?)?;
        let read = |index| {
            let raw = calls::placement_get_device(&list, index)?;
            // SAFETY: its texts live as long as the list.
            Ok(unsafe { PlacedDevice::read(&raw) })
        };
        (0..calls::placement_count(&list)?).map(read).collect()
    }

    /// The engine of sessions that name none.
    pub fn engine(&self) -> Result<Engine> {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        match &*engine {
            Some(engine) => Ok(engine.clone()),
            None => Ok(engine.insert(Engine::of_core(&self.core, &EngineOptions::new())?).clone()),
        }
    }

    /// The handle, for calls of `tenon::sys`; it is this object's.
    pub fn as_ptr(&self) -> *const sys::tenon_model {
        self.core.handle.as_ptr()
    }
}

/// A value of a model's metadata.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MetadataValue {
    /// A whole number.
    Integer(i64),
    /// A whole number of 64 bits without a sign.
    Unsigned(u64),
    /// A number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// Several.
    Array(Vec<MetadataValue>),
}

impl MetadataValue {
    /// # Safety
    /// The text is there.
    unsafe fn read(raw: &sys::tenon_value) -> Self {
        match raw.r#type {
            // SAFETY: the caller's.
            sys::TENON_VALUE_STRING => Self::Text(unsafe { owned_text(raw.text, raw.length as usize) }),
            sys::TENON_VALUE_BOOL => Self::Bool(raw.integer != 0),
            sys::TENON_VALUE_FLOAT32 | sys::TENON_VALUE_FLOAT64 => Self::Float(raw.number),
            sys::TENON_VALUE_UINT64 => Self::Unsigned(raw.integer as u64),
            _ => Self::Integer(raw.integer),
        }
    }
}

/// Backends that can run models on this machine: built-in ones, those beside the library, and the
/// plugins of the options.
pub fn backends(options: &ModelOptions) -> Result<Vec<BackendInfo>> {
    let list = made(calls::backends_create(options.0.handle()?.as_ref())?)?;
    let read = |index| {
        let raw = calls::backends_get_info(&list, index)?;
        // SAFETY: its texts live as long as the list.
        Ok(unsafe { BackendInfo::read(&raw) })
    };
    (0..calls::backends_count(&list)?).map(read).collect()
}

/// Devices of a backend, by its index in `backends`, with the reason for unusable ones.
pub fn backend_devices(options: &ModelOptions, backend: usize) -> Result<Vec<BackendDevice>> {
    let list = made(calls::backends_create(options.0.handle()?.as_ref())?)?;
    let read = |index| {
        let raw = calls::backends_get_device(&list, backend, index)?;
        // SAFETY: its texts live as long as the list.
        Ok(unsafe { BackendDevice::read(&raw) })
    };
    (0..calls::backends_count_devices(&list, backend)?).map(read).collect()
}

/// All options of the library, in a fixed order.
pub fn options() -> Result<Vec<OptionInfo>> {
    let read = |index| {
        let raw = calls::option_get_info(index)?;
        // SAFETY: its texts live for ever.
        Ok(unsafe { OptionInfo::read(&raw) })
    };
    (0..calls::option_count()?).map(read).collect()
}

/// Shapes of random models: "llama-1b", ...
pub fn random_model_shapes() -> Result<Vec<&'static str>> {
    (0..).map_while(|index| calls::random_model_shape(index).transpose()).collect()
}

/// Weight formats of random models: "q4_0", "Q4_K_M", ...
pub fn random_model_formats() -> Result<Vec<&'static str>> {
    (0..).map_while(|index| calls::random_model_format(index).transpose()).collect()
}

/// Writes a model file with random weights, to measure a machine or to test a program. progress as
/// in `Loader::progress`.
pub fn write_random_model<F: FnMut(f64) -> ControlFlow<()>>(
    path: impl AsRef<Path>,
    shape: &str,
    format: &str,
    seed: u64,
    progress: F,
) -> Result<()> {
    let (path, shape, format) = (c_path(path.as_ref())?, c_name(shape)?, c_name(format)?);
    let mut guarded = Guarded::new(progress);
    let user = guarded.user();
    // SAFETY: the function is called during the call alone.
    let result =
        unsafe { calls::random_model_write(&path, &shape, &format, seed, Some(on_progress::<F>), user) };
    guarded.end(result)
}
