//! Scores: how likely texts are after that of a session.

use crate::error::Result;
use crate::items::Items;
use crate::session::Session;
use crate::time::seconds;
use crate::{calls, sys, Token};
use std::time::Duration;

/// How texts are scored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    parse_special: bool,
    timeout: Option<Duration>,
}

impl Score {
    /// Plain texts, as long as it takes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether spelled control tokens become them, which is not for what users write.
    pub fn parse_special(mut self, parse: bool) -> Self {
        self.parse_special = parse;
        self
    }

    /// From now to the end: `Error::Deadline`.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl Session {
    /// How likely texts are after that of the session: for each the logprobs of its tokens, whose sum is that
    /// of the whole. The session's text stays as it is.
    pub fn score<T: AsRef<str>>(&mut self, texts: &[T], options: &Score) -> Result<Vec<Vec<f32>>> {
        self.score_items(&Items::of_texts(texts), options)
    }

    /// The same for texts that are tokens already.
    pub fn score_tokens<T: AsRef<[Token]>>(&mut self, texts: &[T], options: &Score) -> Result<Vec<Vec<f32>>> {
        self.score_items(&Items::of_tokens(texts), options)
    }

    fn score_items(&mut self, items: &Items, options: &Score) -> Result<Vec<Vec<f32>>> {
        let mut counts = vec![0_u64; items.len()];
        let mut raw = sys::tenon_continuations::new();
        raw.flags = if options.parse_special { sys::TENON_PARSE_SPECIAL } else { 0 };
        raw.count = items.len() as u64;
        (raw.texts, raw.tokens) = (items.texts(), items.tokens());
        (raw.lengths, raw.num_tokens) = (items.lengths(), items.lengths());
        raw.num_logprobs = counts.as_mut_ptr();
        raw.timeout_seconds = seconds(options.timeout);
        // SAFETY: all that the structure points to lives during the call.
        let logprobs = unsafe { calls::session_score(self.handle(), &raw) }?;
        let mut rest = logprobs.as_slice();
        let rows = counts.iter().map(|count| {
            let (row, after) = rest.split_at(*count as usize);
            rest = after;
            row.to_vec()
        });
        Ok(rows.collect())
    }
}
