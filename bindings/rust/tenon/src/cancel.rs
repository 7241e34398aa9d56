//! Ending calls from other threads.

use crate::calls;
use crate::error::Result;
use crate::request::RequestCore;
use crate::session::SessionCore;
use crate::wake::Apart;
use std::sync::Weak;

/// Cancels calls on a session or request with `Error::Cancelled`, from any thread at any time. It
/// keeps nothing alive; after its session or request is gone it does nothing.
#[derive(Clone)]
pub struct Canceller(pub(crate) Target);

#[derive(Clone)]
pub(crate) enum Target {
    Session(Weak<SessionCore>),
    Request(Weak<Apart<RequestCore>>),
}

impl Canceller {
    /// Ends the running call. A session without one: ends the next call; an ended request: does
    /// nothing.
    pub fn cancel(&self) -> Result<()> {
        match &self.0 {
            Target::Session(core) => match core.upgrade() {
                Some(core) => calls::session_cancel(&core.handle.0),
                None => Ok(()),
            },
            Target::Request(core) => match core.upgrade() {
                Some(core) => calls::request_cancel(&core.handle.0),
                None => Ok(()),
            },
        }
    }
}
