//! Several texts, or lists of tokens, for the library.

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

#[cfg(test)]
mod tests {
    use super::*;

    /// # Safety
    /// All pointers are those of items that live.
    unsafe fn read<T: Copy>(places: *const *const T, items: &Items) -> Vec<Vec<T>> {
        // SAFETY: the caller's.
        let (places, lengths) = unsafe {
            (
                std::slice::from_raw_parts(places, items.len()),
                std::slice::from_raw_parts(items.lengths(), items.len()),
            )
        };
        let each = places.iter().zip(lengths);
        // SAFETY: the caller's.
        each.map(|(place, length)| unsafe { std::slice::from_raw_parts(*place, *length as usize) }.to_vec())
            .collect()
    }

    #[test]
    fn texts_are_there_as_they_were_given() {
        let texts = [String::from("Grüße"), String::new(), String::from("a\0b")];
        let items = Items::of_texts(&texts);
        assert!(items.tokens().is_null());
        // SAFETY: they live.
        let came = unsafe { read(items.texts().cast::<*const u8>(), &items) };
        assert_eq!(came, texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
    }

    #[test]
    fn tokens_are_there_as_they_were_given() {
        let tokens = [vec![1, 2, 3], vec![], vec![-4]];
        let items = Items::of_tokens(&tokens);
        assert!(items.texts().is_null());
        // SAFETY: they live.
        assert_eq!(unsafe { read(items.tokens(), &items) }, tokens);
    }
}
