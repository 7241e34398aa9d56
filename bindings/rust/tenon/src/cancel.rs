//! Ending calls from other threads.

use crate::calls;
use crate::error::Result;
use crate::request::RequestCore;
use crate::session::SessionCore;
use crate::wake::Apart;
use std::sync::Weak;

/// Ends what is under way on a session or request with `Error::Cancelled`, from any thread at any time. It
/// keeps nothing alive; when what it is for is gone it does nothing.
#[derive(Clone)]
pub struct Canceller(pub(crate) Target);

#[derive(Clone)]
pub(crate) enum Target {
    Session(Weak<SessionCore>),
    Request(Weak<Apart<RequestCore>>),
}

impl Canceller {
    /// Ends the call under way. Of a session without one: the next call; of a request that has ended: nothing.
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
