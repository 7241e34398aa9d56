//! Answers of a server in this program: for threads that wait, and for tasks.

use crate::error::{Error, Result};
use crate::handle::{made, Handle, OneThread};
use crate::library::{bytes, owned_name};
use crate::options::Names;
use crate::server::ServerCore;
use crate::server_calls;
use crate::server_options::ServerRequest;
use crate::sys;
use crate::wake::{on_a_free_thread, on_notify, Notified};
use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Head of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerHead {
    /// 200, 400, ...
    pub status: u16,
    /// "application/json"; for a stream "text/event-stream".
    pub content_type: String,
    /// Names and values: X-Request-Id, Tenon-Notes, Retry-After.
    pub headers: Vec<(String, String)>,
}

impl AnswerHead {
    /// # Safety
    /// The texts are there.
    unsafe fn read(raw: &sys::tenon_server_part) -> Self {
        // SAFETY: the caller's.
        let (content_type, lines) = unsafe { (owned_name(raw.content_type), owned_name(raw.headers)) };
        let headers = lines.lines().filter_map(|line| line.split_once(": "));
        Self {
            status: raw.http_status as u16,
            content_type,
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        }
    }

    /// Value of a header; its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |(other, _): &&(String, String)| other.eq_ignore_ascii_case(name);
        self.headers.iter().find(named).map(|(_, value)| value.as_str())
    }
}

/// Dropped in this order.
struct Parts {
    handle: Handle<sys::tenon_server_call>,
    notified: Arc<Notified>,
    server: Arc<ServerCore>,
}

/// A running answer, from `Server::request`: an iterator of the parts of its body, whose `next`
/// waits; as `into_stream` an asynchronous one. Events of a stream come as they are sent. One
/// thread at a time. Dropping it cancels the request.
///
/// An answer that is not read pauses, so a thread that computes for the server must not wait for
/// one.
pub struct ServerAnswer {
    parts: ManuallyDrop<Parts>,
    head: Option<AnswerHead>,
    body: Vec<u8>,
    is_complete: bool,
    _one_thread: OneThread,
}

impl Drop for ServerAnswer {
    fn drop(&mut self) {
        // SAFETY: they are not used any more.
        let parts = unsafe { ManuallyDrop::take(&mut self.parts) };
        if parts.server.is_of_this_process() {
            on_a_free_thread(move || drop(parts));
        } else {
            mem::forget(parts); // a child has none of the server's threads
        }
    }
}

impl ServerAnswer {
    pub(crate) fn submit(server: &Arc<ServerCore>, request: &ServerRequest) -> Result<Self> {
        let notified = Arc::<Notified>::default();
        let mut names = Names::default();
        let mut raw = request.raw(&mut names)?;
        raw.notify = Some(on_notify);
        raw.user = notified.user();
        // SAFETY: the request lives during the call, what is notified until the handle is gone.
        let handle = made(unsafe { server_calls::server_submit(server.handle()?, &raw) }?)?;
        Ok(Self {
            parts: ManuallyDrop::new(Parts { handle, notified, server: server.clone() }),
            head: None,
            body: Vec::new(),
            is_complete: false,
            _one_thread: PhantomData,
        })
    }

    /// Takes the next part; negative: waits for it.
    fn advance(&mut self, timeout_seconds: f64) -> Result<()> {
        let taken = self.advance_once(timeout_seconds);
        self.is_complete |= taken.is_err();
        taken
    }

    fn advance_once(&mut self, timeout_seconds: f64) -> Result<()> {
        self.parts.server.check()?;
        let part = server_calls::server_call_wait(&self.parts.handle, timeout_seconds)?;
        self.is_complete = part.is_last != 0;
        // SAFETY: the texts are good until the next call.
        unsafe {
            if self.head.is_none() && part.http_status != 0 {
                self.head = Some(AnswerHead::read(&part));
            }
            self.body.extend(bytes(part.bytes, part.length as usize));
        }
        Ok(())
    }

    /// Bytes taken of the body; None: none.
    fn taken(&mut self) -> Option<Vec<u8>> {
        (!self.body.is_empty()).then(|| mem::take(&mut self.body))
    }

    fn begun(&self) -> Result<&AnswerHead> {
        self.head.as_ref().ok_or_else(|| Error::Cancelled("the answer ended before it began".into()))
    }

    /// The head; waits for it.
    pub fn head(&mut self) -> Result<&AnswerHead> {
        while self.head.is_none() && !self.is_complete {
            self.advance(-1.0)?;
        }
        self.begun()
    }

    /// Waits for the next part, at most that long; None: no part came, or it has ended.
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<Vec<u8>>> {
        if self.body.is_empty() && !self.is_complete {
            self.advance(timeout.as_secs_f64())?;
        }
        Ok(self.taken())
    }

    /// The rest of the body, joined; waits for it.
    pub fn bytes(mut self) -> Result<Vec<u8>> {
        while !self.is_complete {
            self.advance(-1.0)?;
        }
        Ok(mem::take(&mut self.body))
    }

    /// The rest of the body as text.
    pub fn text(self) -> Result<String> {
        self.bytes().and_then(text_of)
    }

    /// As a stream, for tasks of any runtime.
    pub fn into_stream(self) -> AnswerStream {
        AnswerStream(self)
    }

    /// Takes the next part for a task; Pending: none yet, and the task will be woken.
    fn poll_take(&mut self, context: &mut Context<'_>, is_enough: fn(&Self) -> bool) -> Poll<Result<()>> {
        if is_enough(self) || self.is_complete {
            return Poll::Ready(Ok(()));
        }
        // Registered before the check, so that a piece in between wakes.
        self.parts.notified.set(context.waker());
        if let Err(error) = self.advance(0.0) {
            return Poll::Ready(Err(error));
        }
        if is_enough(self) || self.is_complete {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }
}

fn text_of(body: Vec<u8>) -> Result<String> {
    String::from_utf8(body).map_err(|_| Error::Format("the answer is no text".into()))
}

impl Iterator for ServerAnswer {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        while self.body.is_empty() && !self.is_complete {
            if let Err(error) = self.advance(-1.0) {
                return Some(Err(error));
            }
        }
        self.taken().map(Ok)
    }
}

/// A running answer, for tasks: `while let Some(part) = stream.next().await`. With the feature
/// `stream` it is a `futures_core::Stream`. Dropping it, or the task, cancels the request.
pub struct AnswerStream(ServerAnswer);

impl AnswerStream {
    /// The head.
    pub async fn head(&mut self) -> Result<&AnswerHead> {
        poll_fn(|context| self.0.poll_take(context, |answer| answer.head.is_some())).await?;
        self.0.begun()
    }

    /// The next part of the body; None after the last. Dropping the future loses nothing.
    #[allow(clippy::should_implement_trait)]
    pub async fn next(&mut self) -> Option<Result<Vec<u8>>> {
        poll_fn(|context| self.poll_part(context)).await
    }

    /// The rest of the body, joined.
    pub async fn bytes(mut self) -> Result<Vec<u8>> {
        poll_fn(|context| self.0.poll_take(context, |answer| answer.is_complete)).await?;
        Ok(mem::take(&mut self.0.body))
    }

    /// The rest of the body as text.
    pub async fn text(self) -> Result<String> {
        text_of(self.bytes().await?)
    }

    /// The next part, for a task that is polled.
    pub fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        match self.0.poll_take(context, |answer| !answer.body.is_empty()) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Some(Err(error))),
            Poll::Ready(Ok(())) => Poll::Ready(self.0.taken().map(Ok)),
        }
    }

    /// As an iterator, for threads that wait.
    pub fn into_blocking(self) -> ServerAnswer {
        self.0
    }
}

#[cfg(feature = "stream")]
impl futures_core::Stream for AnswerStream {
    type Item = Result<Vec<u8>>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Vec<u8>>>> {
        self.poll_part(context)
    }
}
