//! Several texts, or lists of tokens, as the library takes them.

use crate::Token;
use std::ffi::c_char;
use std::marker::PhantomData;
use std::ptr;

/// Pointers to each of them with their lengths.
pub(crate) struct Items<'a> {
    texts: Vec<*const c_char>,
    tokens: Vec<*const Token>,
    lengths: Vec<u64>,
    _borrows: PhantomData<&'a ()>,
}

impl<'a> Items<'a> {
    pub(crate) fn of_texts<T: AsRef<str>>(texts: &'a [T]) -> Self {
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let lengths = texts.iter().map(|text| text.len() as u64).collect();
        let texts = texts.iter().map(|text| text.as_ptr().cast()).collect();
        Self { texts, tokens: Vec::new(), lengths, _borrows: PhantomData }
    }

    pub(crate) fn of_tokens<T: AsRef<[Token]>>(texts: &'a [T]) -> Self {
        let texts: Vec<&[Token]> = texts.iter().map(AsRef::as_ref).collect();
        let lengths = texts.iter().map(|tokens| tokens.len() as u64).collect();
        let tokens = texts.iter().map(|tokens| tokens.as_ptr()).collect();
        Self { texts: Vec::new(), tokens, lengths, _borrows: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Null when they are tokens.
    pub(crate) fn texts(&self) -> *const *const c_char {
        if self.tokens.is_empty() {
            self.texts.as_ptr()
        } else {
            ptr::null()
        }
    }

    /// Null when they are texts.
    pub(crate) fn tokens(&self) -> *const *const Token {
        if self.tokens.is_empty() {
            ptr::null()
        } else {
            self.tokens.as_ptr()
        }
    }

    pub(crate) fn lengths(&self) -> *const u64 {
        self.lengths.as_ptr()
    }
}
