//! Tokenizers: text to tokens and back.

use crate::calls;
use crate::error::{Error, Result};
use crate::handle::{made, Handle};
use crate::info::TokenInfo;
use crate::library::{c_path, text_of};
use crate::model::ModelCore;
use crate::source::Source;
use crate::{sys, Token};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;

/// Text to tokens and back. Any thread; clones are the same tokenizer.
#[derive(Clone)]
pub struct Tokenizer {
    inner: Arc<Inner>,
}

enum Inner {
    Own(Handle<sys::tenon_tokenizer>),
    /// Part of a model, which keeps it alive and destroys it.
    OfModel(ManuallyDrop<Handle<sys::tenon_tokenizer>>, #[allow(dead_code)] Arc<ModelCore>),
}

/// Options of tokenization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenText {
    /// Adds the begin (and end) token if the model wants it.
    pub add_special: bool,
    /// Finds control tokens in the text: not for user input.
    pub parse_special: bool,
}

impl TokenText {
    pub(crate) fn flags(self) -> u32 {
        let add = if self.add_special { sys::TENON_ADD_SPECIAL } else { 0 };
        add | if self.parse_special { sys::TENON_PARSE_SPECIAL } else { 0 }
    }
}

/// None for the library's "no token".
pub(crate) fn some_token(token: Token) -> Option<Token> {
    (token != sys::TENON_NO_TOKEN).then_some(token)
}

impl Tokenizer {
    /// From a Hugging Face `tokenizer.json`, or the vocabulary of a model file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let handle = made(calls::tokenizer_open(&c_path(path.as_ref())?)?)?;
        Ok(Self { inner: Arc::new(Inner::Own(handle)) })
    }

    /// From a source, which is not used afterwards.
    pub fn load(source: &Source) -> Result<Self> {
        Ok(Self { inner: Arc::new(Inner::Own(made(source.load_tokenizer()?)?)) })
    }

    pub(crate) fn of_model(model: &Arc<ModelCore>) -> Result<Self> {
        // SAFETY: the model is kept with the pointer, and nobody destroys it.
        let handle = unsafe {
            let pointer = calls::model_tokenizer(&model.handle)?;
            Handle::new(pointer.cast_mut())
        };
        let handle = handle.ok_or_else(|| Error::Internal("the model has no tokenizer".into()))?;
        Ok(Self { inner: Arc::new(Inner::OfModel(ManuallyDrop::new(handle), model.clone())) })
    }

    pub(crate) fn handle(&self) -> &Handle<sys::tenon_tokenizer> {
        match &*self.inner {
            Inner::Own(handle) => handle,
            Inner::OfModel(handle, _) => handle,
        }
    }

    /// Tokens of a text as it is: nothing is added, and no control tokens are found.
    pub fn encode(&self, text: &str) -> Result<Vec<Token>> {
        self.encode_as(text, TokenText::default())
    }

    /// Tokens of a text, with options.
    pub fn encode_as(&self, text: &str, how: TokenText) -> Result<Vec<Token>> {
        calls::tokenizer_encode(self.handle(), text, how.flags())
    }

    /// Text of tokens; invalid UTF-8 becomes U+FFFD. Control tokens are not shown.
    pub fn decode(&self, tokens: &[Token]) -> Result<String> {
        self.decode_bytes(tokens).map(text_of)
    }

    /// Text of tokens, with control tokens by their names.
    pub fn decode_special(&self, tokens: &[Token]) -> Result<String> {
        calls::tokenizer_decode(self.handle(), tokens, sys::TENON_RENDER_SPECIAL).map(text_of)
    }

    /// Bytes of tokens, which may begin or end inside a character.
    pub fn decode_bytes(&self, tokens: &[Token]) -> Result<Vec<u8>> {
        calls::tokenizer_decode(self.handle(), tokens, 0)
    }

    /// Number of tokens: tokens are 0 .. count - 1.
    pub fn count(&self) -> Result<usize> {
        calls::tokenizer_count(self.handle())
    }

    /// Attributes, spelling and bytes of a token.
    pub fn info(&self, token: Token) -> Result<TokenInfo> {
        let raw = calls::tokenizer_token_info(self.handle(), token)?;
        // SAFETY: its texts live as long as the tokenizer.
        Ok(unsafe { TokenInfo::read(&raw) })
    }

    /// The token with this spelling in the file.
    pub fn find(&self, spelling: &str) -> Result<Option<Token>> {
        calls::tokenizer_find(self.handle(), spelling).map(some_token)
    }

    /// The begin token.
    pub fn begin_token(&self) -> Result<Option<Token>> {
        calls::tokenizer_special(self.handle(), sys::TENON_SPECIAL_BEGIN).map(some_token)
    }

    /// The end token.
    pub fn end_token(&self) -> Result<Option<Token>> {
        calls::tokenizer_special(self.handle(), sys::TENON_SPECIAL_END).map(some_token)
    }
}
