//! Scores: log-probabilities of continuations of a session's text.

use crate::error::Result;
use crate::items::Items;
use crate::session::Session;
use crate::time::seconds;
use crate::{calls, sys, Token};
use std::time::Duration;

/// Options of a scoring.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    parse_special: bool,
    timeout: Option<Duration>,
}

impl Score {
    /// Plain texts, without a timeout.
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds control tokens in the texts: not for user input.
    pub fn parse_special(mut self, parse: bool) -> Self {
        self.parse_special = parse;
        self
    }

    /// Time to the end, then `Error::Deadline`.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl Session {
    /// Scores texts as continuations of the session's text: for each the log-probabilities of its
    /// tokens, whose sum is that of the whole. The session's text does not change.
    pub fn score<T: AsRef<str>>(&mut self, texts: &[T], options: &Score) -> Result<Vec<Vec<f32>>> {
        self.score_items(&Items::of_texts(texts), options)
    }

    /// Scores texts given as tokens.
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
