//! Samplers, and log-probabilities.

use crate::calls;
use crate::error::{Error, Result};
use crate::grammar::Grammar;
use crate::handle::{made, Handle};
use crate::library::c_name;
use crate::option_sets::SamplerOptions;
use crate::options::Value;
use crate::tokenizer::Tokenizer;
use crate::{sys, Token};

/// Draws tokens from logits. One thread at a time; a generation copies it when it begins.
pub struct Sampler {
    pub(crate) handle: Handle<sys::tenon_sampler>,
    /// Tokenizer of its grammar.
    tokenizer: Option<Tokenizer>,
}

impl Sampler {
    /// A sampler with options.
    pub fn new(options: &SamplerOptions) -> Result<Self> {
        let handle = made(calls::sampler_create(options.0.handle()?.as_ref())?)?;
        Ok(Self { handle, tokenizer: None })
    }

    /// Changes one parameter, a number.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<()> {
        let key = c_name(name)?;
        match value.into() {
            Value::Integer(value) => calls::sampler_set_int(&self.handle, &key, value),
            Value::Float(value) => calls::sampler_set_float(&self.handle, &key, value),
            _ => Err(Error::Argument(format!("{name}: of a sampler only numbers are changed"))),
        }
    }

    /// Adds to a token's logit; -infinity forbids the token, 0 removes the bias.
    pub fn set_bias(&mut self, token: Token, bias: f64) -> Result<()> {
        calls::sampler_set_bias(&self.handle, token, bias)
    }

    /// Ends generation at this token, which is not shown.
    pub fn add_stop_token(&mut self, token: Token) -> Result<()> {
        calls::sampler_add_stop_token(&self.handle, token)
    }

    /// Makes repetitions counted by the options dry_* end at every token whose text holds this one.
    pub fn add_dry_breaker(&mut self, tokenizer: &Tokenizer, text: &str) -> Result<()> {
        calls::sampler_add_dry_breaker(&self.handle, tokenizer.handle(), text)
    }

    /// Allows only texts of the grammar from now on, from its beginning.
    pub fn set_grammar(&mut self, grammar: &Grammar, tokenizer: &Tokenizer) -> Result<()> {
        calls::sampler_set_grammar(&self.handle, Some(&grammar.handle), Some(tokenizer.handle()))?;
        self.tokenizer = Some(tokenizer.clone());
        Ok(())
    }

    pub(crate) fn keep(&mut self, tokenizer: Option<Tokenizer>) {
        self.tokenizer = tokenizer.or(self.tokenizer.take());
    }

    /// Allows any text again.
    pub fn clear_grammar(&mut self) -> Result<()> {
        calls::sampler_set_grammar(&self.handle, None, None)
    }

    /// Sets how many tokens may still be drawn; a text of the grammar is complete by then.
    pub fn set_token_limit(&mut self, tokens: u64) -> Result<()> {
        calls::sampler_set_token_limit(&self.handle, tokens)
    }

    /// Seed of the draws: its option, or for -1 the seed of the latest answer.
    pub fn seed(&self) -> Result<i64> {
        calls::sampler_seed(&self.handle)
    }

    /// Restores the sampler to its creation.
    pub fn reset(&mut self) -> Result<()> {
        calls::sampler_reset(&self.handle)
    }

    /// Takes back the last draws.
    pub fn roll_back(&mut self, draws: usize) -> Result<()> {
        calls::sampler_roll_back(&self.handle, draws)
    }

    /// Draws from logits, `[vocabulary]`. history: the text so far; its length is the key of the
    /// random number.
    pub fn sample(&mut self, logits: &[f32], history: &[Token]) -> Result<Token> {
        self.sample_at(logits, history, history.len() as u64)
    }

    /// Draws with another key of the random number.
    pub fn sample_at(&mut self, logits: &[f32], history: &[Token], position: u64) -> Result<Token> {
        calls::sampler_sample(&self.handle, logits, history, position)
    }
}

/// Natural logarithms of probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprobs {
    /// Those of the requested tokens.
    pub of_tokens: Vec<f32>,
    /// The likeliest tokens, likeliest first.
    pub top: Vec<(Token, f32)>,
}

/// Log-probabilities under logits, `[vocabulary]`: those of tokens, and the `num_top` likeliest.
pub fn logprobs(logits: &[f32], tokens: &[Token], num_top: usize) -> Result<Logprobs> {
    let (of_tokens, top_tokens, values) = calls::logprobs(logits, tokens, num_top)?;
    Ok(Logprobs { of_tokens, top: top_tokens.into_iter().zip(values).collect() })
}
