//! Chats: conversations as prompts, and answers parsed into parts.

use crate::callback::{on_delta, Guarded};
use crate::calls;
use crate::error::{Error, Result};
use crate::grammar::Grammar;
use crate::handle::{made, Handle};
use crate::library::owned_text;
use crate::model::{Model, ModelCore};
use crate::option_sets::ChatOptions;
use crate::piece::Piece;
use crate::sampler::Sampler;
use crate::session::Session;
use crate::tokenizer::Tokenizer;
use crate::{sys, Drawn, Token};
use std::ffi::c_void;
use std::fmt::Display;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Turns conversations into prompts, by a model's template or yours, and generates answers. Any
/// thread.
///
/// A conversation is a JSON object, `{"messages": [...], "tools": [...]}`: a text, or a value that
/// displays as JSON, such as a `serde_json::Value`.
pub struct Chat {
    handle: Handle<sys::tenon_chat>,
    model: Option<Arc<ModelCore>>,
}

impl Chat {
    /// A chat by the template of the model.
    pub fn new(model: &Model) -> Result<Self> {
        Self::with(Some(model), &ChatOptions::new())
    }

    /// A chat with options; without a model they must have a template, and the chat is for text
    /// only.
    pub fn with(model: Option<&Model>, options: &ChatOptions) -> Result<Self> {
        let handle = calls::chat_create(model.map(|model| &model.core.handle), options.0.handle()?.as_ref())?;
        Ok(Self { handle: made(handle)?, model: model.map(|model| model.core.clone()) })
    }

    /// The format by which answers are parsed: "hermes", "plain", ...
    pub fn format(&self) -> Result<&'static str> {
        calls::chat_format(&self.handle)
    }

    /// The prompt as text.
    pub fn render(&self, conversation: impl Display) -> Result<String> {
        calls::chat_render(&self.handle, &conversation.to_string())
    }

    /// The prompt as tokens, for `Session::generate`.
    pub fn encode(&self, conversation: impl Display) -> Result<Vec<Token>> {
        calls::chat_encode(&self.handle, &conversation.to_string())
    }

    /// Grammar of the answer, by response_format and tools; None if any answer may come.
    pub fn grammar(&self, conversation: impl Display) -> Result<Option<Grammar>> {
        let handle = calls::chat_grammar(&self.handle, &conversation.to_string())?;
        Ok(handle.map(|handle| Grammar { handle }))
    }

    /// Attaches the grammar of the answer to a sampler; false if any answer may come.
    pub fn constrain(&self, conversation: impl Display, sampler: &mut Sampler) -> Result<bool> {
        let constrained = calls::chat_constrain(&self.handle, &conversation.to_string(), &sampler.handle)?;
        let tokenizer = self.model.as_ref().map(Tokenizer::of_model).transpose()?;
        sampler.keep(tokenizer);
        Ok(constrained != 0)
    }

    /// Runs one turn: generates the answer in the session and returns it as a message, in JSON, to
    /// be appended to the conversation's. The session's computed tokens are reused: keep it for the
    /// next turn. `on_each` gets the deltas; Break ends it with `Error::Cancelled`. Options of the
    /// text and of grammars are ignored.
    pub fn answer<'o>(
        &self,
        session: &mut Session,
        conversation: impl Display,
        options: impl Into<Drawn<'o>>,
        mut on_each: impl FnMut(&Delta) -> ControlFlow<()>,
    ) -> Result<String> {
        let given = options.into();
        let (mut sampler, limits) = given.for_chat()?;
        let flags = if limits.drop_oldest { sys::TENON_DROP_OLDEST } else { 0 };
        let max_tokens = limits.max_tokens;
        let text = conversation.to_string();
        let begun =
            calls::chat_begin(&self.handle, session.handle(), &text, &sampler.handle, max_tokens, flags)?;
        let mut reply = Reply { handle: made(begun)?, _model: self.model.clone() };
        sampler.keep(self.model.as_ref().map(Tokenizer::of_model).transpose()?);
        let mut generation = session.generate((), limits.drawn_by(&sampler))?;
        let mut hand = |deltas: Vec<Delta>| -> Result<()> {
            for delta in &deltas {
                if on_each(delta).is_break() {
                    return Err(Error::Cancelled("the answer was ended by what reads it".into()));
                }
            }
            Ok(())
        };
        for piece in &mut generation {
            hand(reply.push_piece(&piece?)?)?;
        }
        hand(reply.finish()?)?;
        reply.message().map(str::to_string)
    }

    /// Begins to parse the answer.
    pub fn reply(&self, conversation: impl Display) -> Result<Reply> {
        let handle = made(calls::chat_reply_create(&self.handle, &conversation.to_string())?)?;
        Ok(Reply { handle, _model: self.model.clone() })
    }
}

/// A parsed part of an answer. `call` is the index of a call in the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// More text.
    Content(String),
    /// More reasoning.
    Reasoning(String),
    /// A call of a tool begins.
    CallBegin {
        /// Index of the call.
        call: u64,
        /// Name of the tool.
        name: String,
        /// From the model, or made up.
        id: String,
    },
    /// More of the call's JSON.
    Arguments {
        /// Index of the call.
        call: u64,
        /// A part of the JSON.
        text: String,
    },
    /// The call is complete.
    CallEnd {
        /// Index of the call.
        call: u64,
    },
    /// The call was malformed: forget it; its text follows as content.
    CallRetract {
        /// Index of the call.
        call: u64,
    },
    /// A kind of a newer library.
    Other(i32),
}

/// The visible part of the answer: more text, or nothing. Neither reasoning nor calls.
impl Display for Delta {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Content(text) => formatter.write_str(text),
            _ => Ok(()),
        }
    }
}

impl Delta {
    /// # Safety
    /// The texts are there.
    unsafe fn read(raw: &sys::tenon_chat_delta) -> Self {
        // SAFETY: the caller's.
        let text = unsafe { owned_text(raw.text, raw.length as usize) };
        let call = raw.call;
        match raw.kind {
            sys::TENON_CHAT_CONTENT => Self::Content(text),
            sys::TENON_CHAT_REASONING => Self::Reasoning(text),
            sys::TENON_CHAT_CALL_BEGIN => {
                // SAFETY: the caller's.
                let id = unsafe { owned_text(raw.id, raw.id_length as usize) };
                Self::CallBegin { call, name: text, id }
            }
            sys::TENON_CHAT_ARGUMENTS => Self::Arguments { call, text },
            sys::TENON_CHAT_CALL_END => Self::CallEnd { call },
            sys::TENON_CHAT_CALL_RETRACT => Self::CallRetract { call },
            other => Self::Other(other),
        }
    }
}

/// A parser of one answer. One thread at a time.
pub struct Reply {
    handle: Handle<sys::tenon_chat_reply>,
    _model: Option<Arc<ModelCore>>,
}

impl Reply {
    /// Takes the next token; returns the parsed parts.
    pub fn push(&mut self, token: Token) -> Result<Vec<Delta>> {
        // SAFETY: function and user belong together.
        self.deltas(|reply, function, user| unsafe {
            calls::chat_reply_push_token(reply, token, function, user)
        })
    }

    /// Takes a piece of a generation; text held back for a stop text waits.
    pub fn push_piece(&mut self, piece: &Piece) -> Result<Vec<Delta>> {
        let token = piece.token.unwrap_or(sys::TENON_NO_TOKEN);
        // SAFETY: function and user belong together.
        self.deltas(|reply, function, user| unsafe {
            calls::chat_reply_push_piece(reply, token, &piece.text, function, user)
        })
    }

    /// Takes text in any pieces, with the control tokens as text.
    pub fn push_text(&mut self, text: &str) -> Result<Vec<Delta>> {
        // SAFETY: function and user belong together.
        self.deltas(|reply, function, user| unsafe {
            calls::chat_reply_push_text(reply, text, function, user)
        })
    }

    /// Ends the answer.
    pub fn finish(&mut self) -> Result<Vec<Delta>> {
        // SAFETY: function and user belong together.
        self.deltas(|reply, function, user| unsafe { calls::chat_reply_finish(reply, function, user) })
    }

    /// The answer so far as a message of a conversation, in JSON: the library's memory, so it
    /// borrows the reply.
    pub fn message(&mut self) -> Result<&str> {
        // SAFETY: until the next call, which the borrow rules out.
        unsafe { calls::chat_reply_message(&self.handle) }
    }

    fn deltas(
        &mut self,
        call: impl FnOnce(&Handle<sys::tenon_chat_reply>, sys::tenon_chat_callback, *mut c_void) -> Result<()>,
    ) -> Result<Vec<Delta>> {
        let mut deltas = Vec::new();
        let keep = |raw: &sys::tenon_chat_delta| {
            // SAFETY: its texts live during the call.
            deltas.push(unsafe { Delta::read(raw) });
            ControlFlow::Continue(())
        };
        with_deltas(keep, |function, user| call(&self.handle, function, user))?;
        Ok(deltas)
    }
}

fn with_deltas<F: FnMut(&sys::tenon_chat_delta) -> ControlFlow<()>>(
    on_each: F,
    call: impl FnOnce(sys::tenon_chat_callback, *mut c_void) -> Result<()>,
) -> Result<()> {
    let mut guarded = Guarded::new(on_each);
    let user = guarded.user();
    let result = call(Some(on_delta::<F>), user);
    guarded.end(result)
}
