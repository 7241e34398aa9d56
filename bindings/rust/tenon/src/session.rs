//! Sessions: texts in progress.

use crate::callback::{on_candidate, on_logits, on_progress, Guarded};
use crate::calls;
use crate::cancel::{Canceller, Target};
use crate::engine::Engine;
use crate::error::Result;
use crate::handle::{made, Cancellable, Handle, OneThread};
use crate::info::SessionStats;
use crate::library::c_path;
use crate::model::{Model, ModelCore};
use crate::option_sets::SessionOptions;
use crate::piece::{Candidate, Piece};
use crate::request::{Generation, PieceStream, Request};
use crate::sampler::Sampler;
use crate::tokenizer::{TokenText, Tokenizer};
use crate::{sys, Drawn, Prompt, Token};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// The handle, and what must outlive it; fields are dropped in this order.
pub(crate) struct SessionCore {
    pub(crate) handle: Cancellable<sys::tenon_session>,
    _model: Arc<ModelCore>,
}

/// A text of tokens and what a model computed for it. It may move between threads, but one at a
/// time uses it; a [`Canceller`] works from any.
pub struct Session {
    core: Arc<SessionCore>,
    engine: Engine,
    _one_thread: OneThread,
}

impl Session {
    /// A session with an empty text.
    pub fn new(model: &Model) -> Result<Self> {
        Self::with(model, &SessionOptions::new())
    }

    /// With options.
    pub fn with(model: &Model, options: &SessionOptions) -> Result<Self> {
        Self::in_engine(&model.engine()?, options)
    }

    pub(crate) fn in_engine(engine: &Engine, options: &SessionOptions) -> Result<Self> {
        let handle = calls::engine_open_session(engine.handle(), options.0.handle()?.as_ref())?;
        Ok(Self::of(made(handle)?, engine))
    }

    fn of(handle: Handle<sys::tenon_session>, engine: &Engine) -> Self {
        let core = SessionCore { handle: Cancellable(handle), _model: engine.model_core().clone() };
        Self { core: Arc::new(core), engine: engine.clone(), _one_thread: PhantomData }
    }

    pub(crate) fn handle(&self) -> &Handle<sys::tenon_session> {
        &self.core.handle.0
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn model_tokenizer(&self) -> Result<Tokenizer> {
        Tokenizer::of_model(self.engine.model_core())
    }

    pub(crate) fn flags(&self, add_special: Option<bool>, parse_special: bool) -> Result<u32> {
        let add_special = match add_special {
            Some(add) => add,
            None => self.position()? == 0,
        };
        Ok(TokenText { add_special, parse_special }.flags())
    }

    // ---- Text ----

    /// Appends text, with the begin token before it if the session is empty. It is only queued.
    pub fn append(&mut self, text: &str) -> Result<()> {
        let flags = self.flags(None, false)?;
        calls::session_append_text(self.handle(), text, flags)
    }

    /// Appends text, with options.
    pub fn append_as(&mut self, text: &str, how: TokenText) -> Result<()> {
        calls::session_append_text(self.handle(), text, how.flags())
    }

    /// Appends tokens.
    pub fn append_tokens(&mut self, tokens: &[Token]) -> Result<()> {
        calls::session_append_tokens(self.handle(), tokens)
    }

    /// Encoder-decoders only (T5): sets the source text that the encoder reads.
    pub fn set_source(&mut self, text: &str) -> Result<()> {
        calls::session_set_source_text(self.handle(), text, sys::TENON_ADD_SPECIAL)
    }

    /// Sets the source as tokens.
    pub fn set_source_tokens(&mut self, tokens: &[Token]) -> Result<()> {
        calls::session_set_source_tokens(self.handle(), tokens)
    }

    /// Forgets everything from `position` on.
    pub fn rewind(&mut self, position: u64) -> Result<()> {
        calls::session_rewind(self.handle(), position)
    }

    /// A second session with this text, sharing what was computed.
    pub fn fork(&mut self) -> Result<Self> {
        Ok(Self::of(made(calls::session_fork(self.handle())?)?, &self.engine))
    }

    /// Number of tokens in the text.
    pub fn position(&self) -> Result<u64> {
        calls::session_position(self.handle())
    }

    /// Most tokens of the text.
    pub fn context(&self) -> Result<u64> {
        calls::session_context(self.handle())
    }

    /// The tokens of the text: the library's memory, so they borrow the session.
    pub fn tokens(&mut self) -> Result<&[Token]> {
        // SAFETY: until the next call, which the borrow rules out.
        unsafe { calls::session_tokens(self.handle()) }
    }

    /// Seed of the latest answer; as the option `seed` it gives that answer again.
    pub fn seed(&self) -> Result<i64> {
        calls::session_seed(self.handle())
    }

    /// Tokens and seconds so far.
    pub fn stats(&self) -> Result<SessionStats> {
        let raw = calls::session_get_stats(self.handle())?;
        // SAFETY: numbers.
        Ok(unsafe { SessionStats::read(&raw) })
    }

    // ---- Generation ----

    /// Appends a prompt (text, tokens, or `()`) and continues it: an iterator of pieces, which
    /// waits.
    pub fn generate<'p, 'o>(
        &mut self,
        prompt: impl Into<Prompt<'p>>,
        options: impl Into<Drawn<'o>>,
    ) -> Result<Generation<'_>> {
        Ok(Generation::new(Request::submit(self, prompt.into(), options.into())?, None))
    }

    /// Appends a prompt and continues it, for tasks.
    pub fn stream<'p, 'o>(
        &mut self,
        prompt: impl Into<Prompt<'p>>,
        options: impl Into<Drawn<'o>>,
    ) -> Result<PieceStream<'_>> {
        Ok(self.generate(prompt, options)?.into_stream())
    }

    /// Appends a prompt and continues it in a generation that owns the session: it can move to
    /// other threads and tasks.
    pub fn into_generation<'p, 'o>(
        self,
        prompt: impl Into<Prompt<'p>>,
        options: impl Into<Drawn<'o>>,
    ) -> Result<Generation<'static>> {
        let request = Request::submit(&self, prompt.into(), options.into())?;
        Ok(Generation::new(request, Some(self)))
    }

    /// Appends a prompt and continues it in a request that borrows nothing. Until it has ended or
    /// is dropped, calls on the session are `Error::State`; dropping the session ends it.
    pub fn submit<'p, 'o>(
        &mut self,
        prompt: impl Into<Prompt<'p>>,
        options: impl Into<Drawn<'o>>,
    ) -> Result<Request> {
        Request::submit(self, prompt.into(), options.into())
    }

    /// Generates one token: a step of `generate`, for loops of your own. Without a sampler: the
    /// defaults.
    pub fn next_piece(&mut self, sampler: Option<&mut Sampler>) -> Result<Piece> {
        let raw = calls::session_next(self.handle(), sampler.as_ref().map(|sampler| &sampler.handle))?;
        // SAFETY: the text is good until the next call.
        Ok(unsafe { Piece::read(&raw) })
    }

    /// Hands out text held back because it may begin a stop text, for loops that end before the
    /// model does.
    pub fn take_held(&mut self) -> Result<&str> {
        // SAFETY: until the next call, which the borrow rules out.
        unsafe { calls::session_take_held(self.handle()) }
    }

    /// `count` continuations, and the index of the likeliest, with which the text continues.
    pub fn best_of(
        &mut self,
        count: u32,
        max_tokens: u64,
        sampler: Option<&mut Sampler>,
    ) -> Result<(Vec<Candidate>, u32)> {
        let mut candidates = Vec::new();
        let keep = |raw: &sys::tenon_candidate| {
            // SAFETY: text and tokens live during the call.
            candidates.push(unsafe { Candidate::read(raw) });
            ControlFlow::Continue(())
        };
        let best = self.best_of_each(count, max_tokens, sampler, keep)?;
        Ok((candidates, best))
    }

    fn best_of_each<F: FnMut(&sys::tenon_candidate) -> ControlFlow<()>>(
        &mut self,
        count: u32,
        max_tokens: u64,
        sampler: Option<&mut Sampler>,
        on_each: F,
    ) -> Result<u32> {
        let sampler = sampler.as_ref().map(|sampler| &sampler.handle);
        let mut guarded = Guarded::new(on_each);
        let user = guarded.user();
        let function = Some(on_candidate::<F> as _);
        // SAFETY: the function is called during the call alone.
        let result =
            unsafe { calls::session_best_of(self.handle(), sampler, count, max_tokens, function, user) };
        guarded.end(result)
    }

    // ---- Computing ----

    /// Computes queued tokens now instead of with the next token.
    pub fn prefill(&mut self) -> Result<()> {
        self.prefill_with(|_| ControlFlow::Continue(()))
    }

    /// Computes queued tokens with progress(fraction). Break ends it with `Error::Cancelled`, and
    /// computed tokens stay computed; a panic resumes from this call.
    pub fn prefill_with<F: FnMut(f64) -> ControlFlow<()>>(&mut self, progress: F) -> Result<()> {
        let mut guarded = Guarded::new(progress);
        let user = guarded.user();
        // SAFETY: the function is called during the call alone.
        let result = unsafe { calls::session_prefill(self.handle(), Some(on_progress::<F>), user) };
        guarded.end(result)
    }

    /// Logits of the next token: `[vocabulary]`, the library's memory, so they borrow the session.
    /// Computes queued tokens.
    pub fn logits(&mut self) -> Result<&[f32]> {
        // SAFETY: until the next call, which the borrow rules out.
        unsafe { calls::session_logits(self.handle()) }
    }

    /// Logits that the last token of `next_piece` was drawn from.
    pub fn drawn_logits(&mut self) -> Result<&[f32]> {
        // SAFETY: until the next call, which the borrow rules out.
        unsafe { calls::session_drawn_logits(self.handle()) }
    }

    /// Appends tokens, computes them and calls on_logits(row, logits) after each: `[vocabulary]`,
    /// without a copy. Break ends it with `Error::Cancelled`; a panic resumes from this call.
    pub fn evaluate<F: FnMut(u64, &[f32]) -> ControlFlow<()>>(
        &mut self,
        tokens: &[Token],
        on_each: F,
    ) -> Result<()> {
        let mut guarded = Guarded::new(on_each);
        let user = guarded.user();
        // SAFETY: the function is called during the call alone.
        let result = unsafe { calls::session_evaluate(self.handle(), tokens, Some(on_logits::<F>), user) };
        guarded.end(result)
    }

    // ---- Saving, cancelling ----

    /// Saves text and cache to a file, which appears complete or not at all.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        calls::session_save(self.handle(), &c_path(path.as_ref())?)
    }

    /// Saves text and cache to bytes.
    pub fn save_bytes(&mut self) -> Result<Vec<u8>> {
        calls::session_save_buffer(self.handle())
    }

    /// Replaces the text by a saved session, which continues with the same bits as the saved one.
    /// `Error::Format` if it was made with another model, backend or cache; the session is then
    /// unchanged.
    pub fn restore(&mut self, path: impl AsRef<Path>) -> Result<()> {
        calls::session_restore(self.handle(), &c_path(path.as_ref())?, 0)
    }

    /// As `restore`; if only the cache differs, takes the text and recomputes it.
    pub fn restore_text(&mut self, path: impl AsRef<Path>) -> Result<()> {
        calls::session_restore(self.handle(), &c_path(path.as_ref())?, sys::TENON_RESTORE_TEXT)
    }

    /// `restore` from bytes.
    pub fn restore_bytes(&mut self, saved: &[u8]) -> Result<()> {
        calls::session_restore_buffer(self.handle(), saved, 0)
    }

    /// `restore_text` from bytes.
    pub fn restore_text_bytes(&mut self, saved: &[u8]) -> Result<()> {
        calls::session_restore_buffer(self.handle(), saved, sys::TENON_RESTORE_TEXT)
    }

    /// A handle that ends calls on this session from any thread.
    pub fn canceller(&self) -> Canceller {
        Canceller(Target::Session(Arc::downgrade(&self.core)))
    }

    /// The handle, for calls of `tenon::sys`; it is this object's.
    pub fn as_ptr(&self) -> *mut sys::tenon_session {
        self.handle().as_ptr()
    }
}
