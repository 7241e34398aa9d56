//! Running continuations: requests, which wait or are polled, and iterators over them.

use crate::calls;
use crate::cancel::{Canceller, Target};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::handle::{made, Cancellable, OneThread};
use crate::info::RequestStats;
use crate::model::ModelCore;
use crate::piece::Piece;
use crate::session::Session;
use crate::sys;
use crate::wake::{on_notify, Apart, Notified};
use crate::{Drawn, Prompt};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The handle, and what must outlive it; fields are dropped in this order.
pub(crate) struct RequestCore {
    pub(crate) handle: Cancellable<sys::tenon_request>,
    notified: Arc<Notified>,
    _model: Arc<ModelCore>,
}

/// A running continuation, from `Session::submit`. It is an iterator of pieces whose `next` waits,
/// and as `into_stream` an asynchronous one.
///
/// One thread at a time, except a [`Canceller`]. Dropping it cancels the generation and returns
/// within a few milliseconds, when the session accepts calls again.
pub struct Request {
    core: Arc<Apart<RequestCore>>,
    engine: Engine,
    num_top: Option<usize>,
    is_finished: bool,
    _one_thread: OneThread,
}

impl Request {
    pub(crate) fn submit(session: &Session, prompt: Prompt<'_>, options: Drawn<'_>) -> Result<Self> {
        let notified = Arc::<Notified>::default();
        let user = notified.user();
        // SAFETY: it lives until after the request has been destroyed.
        let handle = made(unsafe { options.submit(session, prompt, Some(on_notify), user) }?)?;
        let engine = session.engine().clone();
        let model = engine.model_core().clone();
        Ok(Self {
            core: Arc::new(Apart::new(RequestCore { handle: Cancellable(handle), notified, _model: model })),
            engine,
            num_top: options.options.logprobs,
            is_finished: false,
            _one_thread: PhantomData,
        })
    }

    /// Waits for the next piece, at most that long; None: no piece came, or it has ended.
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<Piece>> {
        self.take(timeout.as_secs_f64())
    }

    /// Negative: for ever. 0: neither waits nor computes.
    fn take(&mut self, timeout_seconds: f64) -> Result<Option<Piece>> {
        if self.is_finished {
            return Ok(None);
        }
        let result = self.take_one(timeout_seconds);
        self.is_finished = match &result {
            Ok(piece) => piece.as_ref().is_some_and(|piece| piece.finish.is_some()),
            Err(_) => true,
        };
        result
    }

    fn take_one(&self, timeout_seconds: f64) -> Result<Option<Piece>> {
        let handle = &self.core.handle.0;
        let raw = calls::request_wait(handle, timeout_seconds)?;
        // SAFETY: the text is good until the next call.
        let mut piece = unsafe { Piece::read(&raw) };
        if piece.token.is_none() && piece.finish.is_none() {
            return Ok(None);
        }
        if let (Some(num_top), Some(_)) = (self.num_top, piece.token) {
            let (logprob, tokens, values) = calls::request_logprobs(handle, num_top)?;
            piece.logprob = Some(logprob);
            piece.top = tokens.into_iter().zip(values).collect();
        }
        Ok(Some(piece))
    }

    /// The next piece for a task: the base of `PieceStream`.
    pub fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Piece>>> {
        if self.is_finished {
            return Poll::Ready(None);
        }
        // Registered before the check, so that a piece in between wakes.
        self.core.notified.set(context.waker());
        match self.take(0.0) {
            Ok(None) => match self.engine.drive() {
                Ok(()) => Poll::Pending,
                Err(error) => {
                    self.is_finished = true;
                    Poll::Ready(Some(Err(error)))
                }
            },
            Ok(Some(piece)) => Poll::Ready(Some(Ok(piece))),
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }

    /// The rest of the text, joined; waits for it.
    pub fn text(self) -> Result<String> {
        self.collect_text()
    }

    fn collect_text(mut self) -> Result<String> {
        let mut text = String::new();
        for piece in &mut self {
            text.push_str(&piece?);
        }
        Ok(text)
    }

    /// As a stream, for tasks of any runtime.
    pub fn into_stream(self) -> PieceStream<'static> {
        PieceStream(Generation::new(self, None))
    }

    /// Cancels it: readers get `Error::Cancelled` after the pieces that are ready.
    pub fn cancel(&self) -> Result<()> {
        calls::request_cancel(&self.core.handle.0)
    }

    /// A handle that cancels it from any thread.
    pub fn canceller(&self) -> Canceller {
        Canceller(Target::Request(Arc::downgrade(&self.core)))
    }

    /// Seed of the answer; as the option `seed` it gives the same answer again.
    pub fn seed(&self) -> Result<i64> {
        calls::request_seed(&self.core.handle.0)
    }

    /// How much of the prompt was reused.
    pub fn stats(&self) -> Result<RequestStats> {
        let raw = calls::request_get_stats(&self.core.handle.0)?;
        // SAFETY: numbers.
        Ok(unsafe { RequestStats::read(&raw) })
    }
}

impl Iterator for Request {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        if self.is_finished {
            return None;
        }
        let interrupted = || Error::Internal("a wait without an end brought nothing".into());
        Some(self.take(-1.0).and_then(|piece| piece.ok_or_else(interrupted)))
    }
}

/// A running continuation: an iterator of pieces whose `next` waits. It borrows the session until
/// it is dropped, which cancels the rest; the session can then continue from where it was.
pub struct Generation<'s> {
    // Before the session, which it may own.
    request: Request,
    _own: Option<Session>,
    _session: PhantomData<&'s mut Session>,
}

impl<'s> Generation<'s> {
    pub(crate) fn new(request: Request, own: Option<Session>) -> Self {
        Self { request, _own: own, _session: PhantomData }
    }

    /// As a stream, for tasks of any runtime.
    pub fn into_stream(self) -> PieceStream<'s> {
        PieceStream(self)
    }

    /// The rest of the text, joined; waits for it.
    pub fn text(mut self) -> Result<String> {
        let mut text = String::new();
        for piece in &mut self {
            text.push_str(&piece?);
        }
        Ok(text)
    }

    /// A handle that cancels it from any thread.
    pub fn canceller(&self) -> Canceller {
        self.request.canceller()
    }

    /// Seed of the answer; as the option `seed` it gives the same answer again.
    pub fn seed(&self) -> Result<i64> {
        self.request.seed()
    }

    /// How much of the prompt was reused.
    pub fn stats(&self) -> Result<RequestStats> {
        self.request.stats()
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        self.request.next()
    }
}

/// A running continuation, for tasks: `while let Some(piece) = stream.next().await`. No runtime is
/// needed or preferred: the engine has one thread of its own, which wakes the task. With the
/// feature `stream` it is a `futures_core::Stream`. Dropping it, or the task, cancels the rest.
pub struct PieceStream<'s>(Generation<'s>);

impl<'s> PieceStream<'s> {
    /// The next piece; None after the last.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> NextPiece<'_, 's> {
        NextPiece(self)
    }

    /// The rest of the text, joined.
    pub async fn text(mut self) -> Result<String> {
        let mut text = String::new();
        while let Some(piece) = self.next().await {
            text.push_str(&piece?);
        }
        Ok(text)
    }

    /// The next piece, for a task that is polled.
    pub fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Piece>>> {
        self.0.request.poll_piece(context)
    }

    /// A handle that cancels it from any thread.
    pub fn canceller(&self) -> Canceller {
        self.0.canceller()
    }

    /// Seed of the answer; as the option `seed` it gives the same answer again.
    pub fn seed(&self) -> Result<i64> {
        self.0.seed()
    }

    /// How much of the prompt was reused.
    pub fn stats(&self) -> Result<RequestStats> {
        self.0.stats()
    }

    /// As an iterator, for threads that wait.
    pub fn into_blocking(self) -> Generation<'s> {
        self.0
    }
}

#[cfg(feature = "stream")]
impl futures_core::Stream for PieceStream<'_> {
    type Item = Result<Piece>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_piece(context)
    }
}

/// The future of `PieceStream::next`. Dropping it loses nothing: the piece comes with the next one.
pub struct NextPiece<'a, 's>(&'a mut PieceStream<'s>);

impl Future for NextPiece<'_, '_> {
    type Output = Option<Result<Piece>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_piece(context)
    }
}
