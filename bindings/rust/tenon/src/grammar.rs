//! Grammars: the texts that may be generated.

use crate::calls;
use crate::error::Result;
use crate::handle::{made, Handle};
use crate::json::array_of_texts;
use crate::tokenizer::Tokenizer;
use crate::{sys, Token};
use std::fmt::Display;

/// A compiled grammar: the texts that may be generated. Any thread.
pub struct Grammar {
    pub(crate) handle: Handle<sys::tenon_grammar>,
}

impl Grammar {
    fn new(kind: i32, text: &str) -> Result<Self> {
        Ok(Self { handle: made(calls::grammar_create(kind, text)?)? })
    }

    /// Allows documents that are valid by a JSON Schema: a text, or a value that displays as JSON,
    /// such as a `serde_json::Value`. Answers have an object's properties in the order of the
    /// schema: a text keeps it, a `serde_json::Value` sorts it unless the feature `preserve_order`
    /// is on.
    pub fn json_schema(schema: impl Display) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_JSON_SCHEMA, &schema.to_string())
    }

    /// Allows texts of the rule `root`, in GBNF.
    pub fn gbnf(rules: &str) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_GBNF, rules)
    }

    /// Allows texts of the rule `start`, in Lark.
    pub fn lark(rules: &str) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_LARK, rules)
    }

    /// Allows texts that a regular expression matches as a whole.
    pub fn regex(pattern: &str) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_REGEX, pattern)
    }

    /// Allows one of several texts.
    pub fn choices<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Self> {
        Self::new(sys::TENON_GRAMMAR_CHOICES, &array_of_texts(texts))
    }

    /// True if it is a complete text of the grammar.
    pub fn accepts(&self, text: &str) -> Result<bool> {
        Ok(calls::grammar_accepts(&self.handle, text)? != 0)
    }

    /// A matcher, for loops that draw by themselves.
    pub fn matcher(&self, tokenizer: &Tokenizer) -> Result<Matcher> {
        let handle = made(calls::matcher_create(&self.handle, tokenizer.handle())?)?;
        Ok(Matcher { handle, _tokenizer: tokenizer.clone() })
    }
}

/// A cache of the most recently used grammars, for schemas that come with requests. Any thread.
pub struct GrammarCache {
    handle: Handle<sys::tenon_grammar_cache>,
}

impl GrammarCache {
    /// Keeps up to that many bytes of grammars.
    pub fn new(limit_bytes: u64) -> Result<Self> {
        Ok(Self { handle: made(calls::grammar_cache_create(limit_bytes)?)? })
    }

    /// As `Grammar::json_schema`; compiles only if the cache lacks it.
    pub fn json_schema(&self, schema: impl Display) -> Result<Grammar> {
        let kind = sys::TENON_GRAMMAR_JSON_SCHEMA;
        let handle = calls::grammar_cache_get(&self.handle, kind, &schema.to_string())?;
        Ok(Grammar { handle: made(handle)? })
    }
}

/// A position in a text of a grammar. One thread at a time.
pub struct Matcher {
    handle: Handle<sys::tenon_matcher>,
    _tokenizer: Tokenizer,
}

impl Matcher {
    /// A second matcher at the same position.
    pub fn fork(&self) -> Result<Self> {
        let handle = made(calls::matcher_fork(&self.handle)?)?;
        Ok(Self { handle, _tokenizer: self._tokenizer.clone() })
    }

    /// True if the token may come next.
    pub fn allows(&self, token: Token) -> Result<bool> {
        Ok(calls::matcher_allows(&self.handle, token)? != 0)
    }

    /// Mask of all tokens that may come next: token t is bit t % 64 of word t / 64.
    pub fn mask(&self) -> Result<Vec<u64>> {
        calls::matcher_mask(&self.handle)
    }

    /// Accepts the next token; `Error::State` if it cannot follow.
    pub fn accept(&mut self, token: Token) -> Result<()> {
        calls::matcher_accept_token(&self.handle, token)
    }

    /// Accepts text; false if the grammar does not allow it.
    pub fn accept_text(&mut self, text: &str) -> Result<bool> {
        Ok(calls::matcher_accept_text(&self.handle, text)? != 0)
    }

    /// Takes back the last tokens.
    pub fn roll_back(&mut self, tokens: usize) -> Result<()> {
        calls::matcher_roll_back(&self.handle, tokens)
    }

    /// Limits the text to that many more tokens.
    pub fn set_token_limit(&mut self, tokens: u64) -> Result<()> {
        calls::matcher_set_token_limit(&self.handle, tokens)
    }

    /// Returns to the beginning.
    pub fn reset(&mut self) -> Result<()> {
        calls::matcher_reset(&self.handle)
    }

    /// True if the text so far is a text of the grammar.
    pub fn is_complete(&self) -> Result<bool> {
        Ok(calls::matcher_state(&self.handle)?.0 != 0)
    }

    /// True if only an end token can follow.
    pub fn has_ended(&self) -> Result<bool> {
        Ok(calls::matcher_state(&self.handle)?.1 != 0)
    }

    /// The text that must come next; often empty.
    pub fn forced_text(&self) -> Result<String> {
        calls::matcher_forced_text(&self.handle)
    }
}
