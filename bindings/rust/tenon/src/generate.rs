//! The prompt and options of a generation.

use crate::calls;
use crate::error::{Error, Result};
use crate::grammar::Grammar;
use crate::handle::Handle;
use crate::option_sets::SamplerOptions;
use crate::sampler::Sampler;
use crate::session::Session;
use crate::time::seconds;
use crate::{sys, Token};
use std::ffi::c_void;
use std::time::Duration;

/// A prompt, appended to a session before it generates: text, tokens, or nothing (`()`).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Prompt<'a> {
    /// Text; `Generate::parse_special` and `add_special` apply.
    Text(&'a str),
    /// Tokens as they are.
    Tokens(&'a [Token]),
    /// Nothing: continues the session's text.
    Nothing,
}

impl<'a> From<&'a str> for Prompt<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Prompt<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [Token]> for Prompt<'a> {
    fn from(tokens: &'a [Token]) -> Self {
        Self::Tokens(tokens)
    }
}

impl<'a> From<&'a Vec<Token>> for Prompt<'a> {
    fn from(tokens: &'a Vec<Token>) -> Self {
        Self::Tokens(tokens)
    }
}

impl From<()> for Prompt<'_> {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

/// Options of a continuation; unset ones have the library's defaults.
#[derive(Clone, Default)]
pub struct Generate<'a> {
    pub(crate) max_tokens: u64,
    sampling: SamplerOptions,
    grammar: Option<&'a Grammar>,
    add_special: Option<bool>,
    parse_special: bool,
    ignore_end: bool,
    pub(crate) logprobs: Option<usize>,
    timeout: Option<Duration>,
    priority: Option<i32>,
    client: &'a str,
    weight: f64,
    pub(crate) drop_oldest: bool,
}

impl<'a> Generate<'a> {
    /// The defaults: as many tokens as the context holds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Most tokens; 0: as many as the context holds.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Sampler options.
    pub fn sampling(mut self, options: SamplerOptions) -> Self {
        self.sampling = options;
        self
    }

    /// Always draws the likeliest token: `sampling` with temperature 0.
    pub fn greedy(self) -> Self {
        self.sampling(SamplerOptions::new().temperature(0.0))
    }

    /// Allows only texts of this grammar.
    pub fn grammar(mut self, grammar: &'a Grammar) -> Self {
        self.grammar = Some(grammar);
        self
    }

    /// Begin token before the text; not set: if the session is empty.
    pub fn add_special(mut self, add: bool) -> Self {
        self.add_special = Some(add);
        self
    }

    /// Finds control tokens in the text: not for user input.
    pub fn parse_special(mut self, parse: bool) -> Self {
        self.parse_special = parse;
        self
    }

    /// An end token does not end generation.
    pub fn ignore_end(mut self, ignore: bool) -> Self {
        self.ignore_end = ignore;
        self
    }

    /// Adds a `logprob` to pieces, and those of that many likeliest tokens.
    pub fn logprobs(mut self, top: usize) -> Self {
        self.logprobs = Some(top);
        self
    }

    /// Time to the end, then `Error::Deadline`.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Higher runs first; not set: the session's.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Key of a fair share; not set: the session's.
    pub fn client(mut self, client: &'a str) -> Self {
        self.client = client;
        self
    }

    /// Weight of the client's share; 0: the session's.
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Chats only: drops the oldest turns if the conversation leaves no room for the answer.
    pub fn drop_oldest(mut self, drop: bool) -> Self {
        self.drop_oldest = drop;
        self
    }

    /// These options with a sampler, instead of `sampling` and `grammar`; its settings are copied.
    pub fn drawn_by<'d>(&'d self, sampler: &'d Sampler) -> Drawn<'d> {
        Drawn { options: self, sampler: Some(sampler) }
    }
}

/// Options of a continuation and its sampler: `&Generate`, or `Generate::drawn_by`.
pub struct Drawn<'a> {
    pub(crate) options: &'a Generate<'a>,
    sampler: Option<&'a Sampler>,
}

impl<'a, 'b: 'a> From<&'a Generate<'b>> for Drawn<'a> {
    fn from(options: &'a Generate<'b>) -> Self {
        Self { options, sampler: None }
    }
}

impl Drawn<'_> {
    /// Submits it. notify is called with `user` as tenon_submission says.
    ///
    /// # Safety
    /// `user` is good for `notify` until the request is destroyed.
    pub(crate) unsafe fn submit(
        &self,
        session: &Session,
        prompt: Prompt<'_>,
        notify: sys::tenon_notify_callback,
        user: *mut c_void,
    ) -> Result<Option<Handle<sys::tenon_request>>> {
        let options = self.options;
        let mut raw = sys::tenon_submission::new();
        match prompt {
            Prompt::Text(text) => {
                raw.text = text.as_ptr().cast();
                raw.text_length = text.len() as u64;
                raw.flags = session.flags(options.add_special, options.parse_special)?;
            }
            Prompt::Tokens(tokens) => {
                raw.tokens = tokens.as_ptr();
                raw.num_tokens = tokens.len() as u64;
            }
            Prompt::Nothing => {}
        }
        let made = self.made_sampler(session)?;
        let sampler = made.as_ref().or(self.sampler);
        raw.sampler = sampler.map_or(std::ptr::null(), |sampler| sampler.handle.as_ptr());
        raw.max_tokens = options.max_tokens;
        raw.timeout_seconds = seconds(options.timeout);
        if let Some(priority) = options.priority {
            (raw.priority, raw.has_priority) = (priority, 1);
        }
        if !options.client.is_empty() {
            raw.client = options.client.as_ptr().cast();
            raw.client_length = options.client.len() as u64;
        }
        raw.weight = options.weight;
        if let Some(top) = options.logprobs {
            raw.flags |= sys::TENON_LOGPROBS;
            raw.num_top = u32::try_from(top).map_err(|_| Error::Limit(format!("{top} likeliest tokens")))?;
        }
        if options.ignore_end {
            raw.flags |= sys::TENON_IGNORE_END;
        }
        (raw.notify, raw.user) = (notify, user);
        // SAFETY: what it points to lives during the call; the rest is the caller's.
        unsafe { calls::session_submit(session.handle(), &raw) }
    }

    /// For a chat, which has its own grammar: a sampler, and the options without it.
    pub(crate) fn for_chat(&self) -> Result<(Sampler, Generate<'_>)> {
        if self.sampler.is_some() || self.options.grammar.is_some() {
            return Err(Error::Argument("a chat makes its sampler and grammar itself".into()));
        }
        let sampler = Sampler::new(&self.options.sampling)?;
        let limits = Generate { sampling: SamplerOptions::new(), ..self.options.clone() };
        Ok((sampler, limits))
    }

    /// A sampler for these options, unless one was given.
    fn made_sampler(&self, session: &Session) -> Result<Option<Sampler>> {
        let options = self.options;
        let is_default = options.sampling == SamplerOptions::new() && options.grammar.is_none();
        if is_default {
            return Ok(None);
        }
        if self.sampler.is_some() {
            return Err(Error::Argument(
                "a sampler comes with its own options and grammar (Sampler::set_grammar)".into(),
            ));
        }
        let mut sampler = Sampler::new(&options.sampling)?;
        if let Some(grammar) = options.grammar {
            sampler.set_grammar(grammar, &session.model_tokenizer()?)?;
        }
        Ok(Some(sampler))
    }
}
