//! Grammars: which texts may be generated.

use crate::calls;
use crate::error::Result;
use crate::handle::{made, Handle};
use crate::json::array_of_texts;
use crate::tokenizer::Tokenizer;
use crate::{sys, Token};
use std::fmt::Display;

/// Which texts may be generated. Any thread.
pub struct Grammar {
    pub(crate) handle: Handle<sys::tenon_grammar>,
}

impl Grammar {
    fn new(kind: i32, text: &str) -> Result<Self> {
        Ok(Self { handle: made(calls::grammar_create(kind, text)?)? })
    }

    /// Documents that are valid by a JSON Schema: a text, or what shows itself as JSON, such as a
    /// `serde_json::Value`. Answers have an object's properties in the order of the schema: a text keeps it,
    /// a `serde_json::Value` sorts it unless the feature `preserve_order` is on.
    pub fn json_schema(schema: impl Display) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_JSON_SCHEMA, &schema.to_string())
    }

    /// Texts of the rule `root`, in GBNF.
    pub fn gbnf(rules: &str) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_GBNF, rules)
    }

    /// Texts of the rule `start`, in Lark.
    pub fn lark(rules: &str) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_LARK, rules)
    }

    /// Texts that a regular expression matches as a whole.
    pub fn regex(pattern: &str) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_REGEX, pattern)
    }

    /// One of several texts.
    pub fn choices<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_CHOICES, &array_of_texts(texts))
    }

    /// Whether it is a complete text of the grammar.
    pub fn accepts(&self, text: &str) -> Result<bool> {
        Ok(calls::grammar_accepts(&self.handle, text)? != 0)
    }

    /// For loops that draw by themselves.
    pub fn matcher(&self, tokenizer: &Tokenizer) -> Result<Matcher> {
        let handle = made(calls::matcher_create(&self.handle, tokenizer.handle())?)?;
        Ok(Matcher { handle, _tokenizer: tokenizer.clone() })
    }
}

/// Grammars used again and again, from schemas that come with requests: the last ones are kept. Any thread.
pub struct GrammarCache {
    handle: Handle<sys::tenon_grammar_cache>,
}

impl GrammarCache {
    /// Keeps up to so many bytes of them.
    pub fn new(limit_bytes: u64) -> Result<Self> {
        Ok(Self { handle: made(calls::grammar_cache_create(limit_bytes)?)? })
    }

    /// As `Grammar::json_schema`, compiled only if it is not kept.
    pub fn json_schema(&self, schema: impl Display) -> Result<Grammar> {
        let kind = sys::TENON_GRAMMAR_JSON_SCHEMA;
        let handle = calls::grammar_cache_get(&self.handle, kind, &schema.to_string())?;
        Ok(Grammar { handle: made(handle)? })
    }
}

/// Where a text of a grammar has come to. One thread at a time.
pub struct Matcher {
    handle: Handle<sys::tenon_matcher>,
    _tokenizer: Tokenizer,
}

impl Matcher {
    /// A second one at the same place.
    pub fn fork(&self) -> Result<Self> {
        let handle = made(calls::matcher_fork(&self.handle)?)?;
        Ok(Self { handle, _tokenizer: self._tokenizer.clone() })
    }

    /// Whether the token may come next.
    pub fn allows(&self, token: Token) -> Result<bool> {
        Ok(calls::matcher_allows(&self.handle, token)? != 0)
    }

    /// All tokens that may come next: token t is bit t % 64 of word t / 64.
    pub fn mask(&self) -> Result<Vec<u64>> {
        calls::matcher_mask(&self.handle)
    }

    /// Takes the next token; `Error::State` for one that cannot follow.
    pub fn accept(&mut self, token: Token) -> Result<()> {
        calls::matcher_accept_token(&self.handle, token)
    }

    /// Takes text, if the grammar goes on so; whether it does.
    pub fn accept_text(&mut self, text: &str) -> Result<bool> {
        Ok(calls::matcher_accept_text(&self.handle, text)? != 0)
    }

    /// Takes the last tokens back.
    pub fn roll_back(&mut self, tokens: usize) -> Result<()> {
        calls::matcher_roll_back(&self.handle, tokens)
    }

    /// At most so many tokens may still come.
    pub fn set_token_limit(&mut self, tokens: u64) -> Result<()> {
        calls::matcher_set_token_limit(&self.handle, tokens)
    }

    /// Back to the beginning.
    pub fn reset(&mut self) -> Result<()> {
        calls::matcher_reset(&self.handle)
    }

    /// Whether the text so far is one of the grammar.
    pub fn is_complete(&self) -> Result<bool> {
        Ok(calls::matcher_state(&self.handle)?.0 != 0)
    }

    /// Whether nothing can follow but an end token.
    pub fn has_ended(&self) -> Result<bool> {
        Ok(calls::matcher_state(&self.handle)?.1 != 0)
    }

    /// The text that must come next; often empty.
    pub fn forced_text(&self) -> Result<String> {
        calls::matcher_forced_text(&self.handle)
    }
}
