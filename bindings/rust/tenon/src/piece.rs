//! Results of generation: pieces of text, finish reasons, candidates.

use crate::library::{lent, owned_text};
use crate::tokenizer::some_token;
use crate::{sys, Token};
use std::fmt;
use std::ops::Deref;

/// Why a piece is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model drew an end token.
    End,
    /// max_tokens tokens were generated, or as many as the context holds.
    MaxTokens,
    /// A stop text or stop token was generated.
    Stop,
    /// Every continuation found holds a banned text.
    Banned,
    /// A reason of a newer library.
    Other(i32),
}

impl Finish {
    pub(crate) fn of(finish: i32) -> Option<Self> {
        match finish {
            sys::TENON_FINISH_NONE => None,
            sys::TENON_FINISH_END => Some(Self::End),
            sys::TENON_FINISH_MAX_TOKENS => Some(Self::MaxTokens),
            sys::TENON_FINISH_STOP => Some(Self::Stop),
            sys::TENON_FINISH_BANNED => Some(Self::Banned),
            other => Some(Self::Other(other)),
        }
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::End => "end",
            Self::MaxTokens => "max_tokens",
            Self::Stop => "stop",
            Self::Banned => "banned",
            Self::Other(_) => "other",
        })
    }
}

/// A token's text: whole characters, empty while one is incomplete. It derefs to `str`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Piece {
    /// The text to show.
    pub text: String,
    /// None: only with `Finish::Banned`, and after the end.
    pub token: Option<Token>,
    /// Finish reason of the last piece.
    pub finish: Option<Finish>,
    /// With `Generate::logprobs`: the natural logarithm of the token's probability.
    pub logprob: Option<f32>,
    /// With `Generate::logprobs`: the likeliest tokens and theirs, likeliest first.
    pub top: Vec<(Token, f32)>,
}

impl Piece {
    /// # Safety
    /// The text is there.
    pub(crate) unsafe fn read(raw: &sys::tenon_piece) -> Self {
        Self {
            // SAFETY: the caller's.
            text: unsafe { owned_text(raw.text, raw.length as usize) },
            token: some_token(raw.token),
            finish: Finish::of(raw.finish),
            logprob: None,
            top: Vec::new(),
        }
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.text)
    }
}

impl Deref for Piece {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl AsRef<str> for Piece {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// One of several answers to a text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The whole text.
    pub text: String,
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// Why it ended.
    pub finish: Option<Finish>,
    /// Sum over its drawn tokens, natural logarithm.
    pub logprob: f64,
    /// Its seed.
    pub seed: i64,
}

impl Candidate {
    /// # Safety
    /// Text and tokens are there.
    pub(crate) unsafe fn read(raw: &sys::tenon_candidate) -> Self {
        Self {
            // SAFETY: the caller's.
            text: unsafe { owned_text(raw.text, raw.length as usize) },
            // SAFETY: the caller's.
            tokens: unsafe { lent(raw.tokens, raw.num_tokens as usize) }.to_vec(),
            finish: Finish::of(raw.finish),
            logprob: raw.logprob,
            seed: raw.seed,
        }
    }
}
