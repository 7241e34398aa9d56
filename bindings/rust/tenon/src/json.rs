//! The JSON that the library's description needs: a parser, and the quoting of strings.

use std::fmt::Write;

/// Deepest nesting of arrays and objects.
const MAX_DEPTH: usize = 64;

/// A value. Numbers are whole ones; of others only that they are there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Integer(i128),
    Fraction,
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a whole text; the error says at which byte and why.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        let value = reader.value(0)?;
        reader.skip_space();
        if reader.at < reader.bytes.len() {
            return Err(reader.wrong("the end"));
        }
        Ok(value)
    }

    /// The member of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The elements of the array that is a member; none if there is no such member.
    pub(crate) fn list(&self, name: &str) -> &[Self] {
        match self.get(name) {
            Some(Self::Array(elements)) => elements,
            _ => &[],
        }
    }

    /// The text that is a member; "" if there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Self::Text(text)) => text,
            _ => "",
        }
    }

    /// The number that is a member.
    pub(crate) fn integer(&self, name: &str) -> Option<i128> {
        match self.get(name) {
            Some(Self::Integer(value)) => Some(*value),
            _ => None,
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self, wanted: &str) -> String {
        format!("byte {}: {wanted} was expected", self.at)
    }

    fn skip_space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, text: &str) -> bool {
        let is_there = self.bytes[self.at..].starts_with(text.as_bytes());
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        self.skip_space();
        if depth > MAX_DEPTH {
            return Err(self.wrong("a value less deep"));
        }
        match self.bytes.get(self.at) {
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.take("null") => Ok(Json::Null),
            _ if self.take("true") => Ok(Json::Bool(true)),
            _ if self.take("false") => Ok(Json::Bool(false)),
            _ => Err(self.wrong("a value")),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        let mut elements = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.take("]") {
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take("]") {
                return Ok(Json::Array(elements));
            }
            if !self.take(",") {
                return Err(self.wrong("a comma or the end of the array"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut members = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.take("}") {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.bytes.get(self.at) != Some(&b'"') {
                return Err(self.wrong("a name"));
            }
            let name = self.string()?;
            self.skip_space();
            if !self.take(":") {
                return Err(self.wrong("a colon"));
            }
            members.push((name, self.value(depth + 1)?));
            self.skip_space();
            if self.take("}") {
                return Ok(Json::Object(members));
            }
            if !self.take(",") {
                return Err(self.wrong("a comma or the end of the object"));
            }
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        while matches!(self.bytes.get(self.at), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        match text.parse::<i128>() {
            Ok(value) => Ok(Json::Integer(value)),
            Err(_) if text.parse::<f64>().is_ok() => Ok(Json::Fraction),
            Err(_) => Err(format!("byte {start}: {text} is no number")),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            match self.bytes.get(self.at) {
                None => return Err(self.wrong("the end of the string")),
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let character = self.escape()?;
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(_) => {
                    let rest = &self.bytes[self.at..];
                    let ends = |byte: &u8| matches!(byte, b'"' | b'\\');
                    let run = rest.iter().position(ends).unwrap_or(rest.len());
                    text.extend_from_slice(&rest[..run]);
                    self.at += run;
                }
            }
        }
        self.at += 1;
        String::from_utf8(text).map_err(|_| self.wrong("UTF-8"))
    }

    fn escape(&mut self) -> Result<char, String> {
        let Some(&byte) = self.bytes.get(self.at) else { return Err(self.wrong("an escape")) };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => byte as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.four_digits()?;
                // A pair of surrogates is one character; one alone is none.
                if (0xd800..0xdc00).contains(&high) && self.take("\\u") {
                    let low = self.four_digits()?;
                    let low = low.wrapping_sub(0xdc00) & 0x3ff;
                    char::from_u32(0x10000 + ((high - 0xd800) << 10) + low).unwrap_or('\u{fffd}')
                } else {
                    char::from_u32(high).unwrap_or('\u{fffd}')
                }
            }
            _ => return Err(self.wrong("an escape")),
        })
    }

    fn four_digits(&mut self) -> Result<u32, String> {
        let digits = self.bytes.get(self.at..self.at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        value.ok_or_else(|| self.wrong("four hexadecimal digits"))
    }
}

/// An array of strings.
pub(crate) fn array_of_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", texts.join(","))
}

fn quoted(text: &str) -> String {
    let mut result = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => result.push_str("\\\""),
            '\\' => result.push_str("\\\\"),
            ..='\u{1f}' => {
                let _ = write!(result, "\\u{:04x}", character as u32);
            }
            _ => result.push(character),
        }
    }
    result.push('"');
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_serde(value: &Json) -> serde_json::Value {
        match value {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => (*value).into(),
            Json::Integer(value) => match i64::try_from(*value) {
                Ok(value) => value.into(),
                Err(_) => (*value as u64).into(),
            },
            Json::Fraction => "fraction".into(),
            Json::Text(text) => text.clone().into(),
            Json::Array(elements) => elements.iter().map(as_serde).collect::<Vec<_>>().into(),
            Json::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), as_serde(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    #[test]
    fn reads_what_serde_reads() {
        for text in [
            r#"{"a": [1, -2, 18446744073709551615], "b": {"c": null, "d": true, "e": false}, "": []}"#,
            r#""Gr\u00fc\u00dfe \ud83e\udd8a \"\\\/\b\f\n\r\t世界""#,
            " [ ] ",
            "{}",
            "0",
        ] {
            let expected: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(as_serde(&Json::read(text).unwrap()), expected, "{text}");
        }
        assert_eq!(Json::read("1.5e3").unwrap(), Json::Fraction);
    }

    #[test]
    fn refuses_what_is_no_json() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "[1,",
            "[1 2]",
            "{\"a\" 1}",
            "{a: 1}",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "tru",
            "1 2",
            "--1",
            &deep,
        ] {
            assert!(Json::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn quotes_so_that_it_reads_again() {
        let texts = ["plain", "\"\\\u{1}\n", "Grüße 🦊"];
        let read: Vec<String> = serde_json::from_str(&array_of_texts(texts)).unwrap();
        assert_eq!(read, texts);
    }
}
