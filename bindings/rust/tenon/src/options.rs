//! Options by name. The typed ones are in option_sets.rs.

use crate::calls;
use crate::error::{Error, Result};
use crate::handle::{made, Handle};
use crate::library::{c_name, c_path};
use crate::sys;
use std::ffi::{c_char, CString};
use std::fmt::Write;
use std::path::Path;
use std::ptr;

/// Value of an option.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A whole number; options that are floats take it, too.
    Integer(i64),
    /// A number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

macro_rules! value_from {
    ($($from:ty => $variant:ident),*) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}
value_from!(i32 => Integer, u32 => Integer, i64 => Integer, f32 => Float, f64 => Float, bool => Bool,
    &str => Text, String => Text);

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Self {
        Self::List(texts)
    }
}

/// Options, in the order in which they were set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OptionSet(Vec<(String, Value)>);

impl OptionSet {
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value));
    }

    /// A set of the library; None if all are the defaults.
    pub(crate) fn handle(&self) -> Result<Option<Handle<sys::tenon_options>>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let options = made(calls::options_create()?)?;
        for (name, value) in &self.0 {
            let name = c_name(name)?;
            match value {
                Value::Integer(value) => calls::options_set_int(&options, &name, *value)?,
                Value::Float(value) => calls::options_set_float(&options, &name, *value)?,
                Value::Bool(value) => calls::options_set_bool(&options, &name, (*value).into())?,
                Value::Text(text) => calls::options_set_string(&options, &name, text)?,
                Value::List(texts) => {
                    for text in texts {
                        calls::options_add_string(&options, &name, text)?;
                    }
                }
            }
        }
        Ok(Some(options))
    }

    /// As lines of "name=value", for files that the library opens itself.
    fn lines(&self) -> Result<String> {
        let mut lines = String::new();
        for (name, value) in &self.0 {
            let mut line = |value: &dyn std::fmt::Display| {
                let value = value.to_string();
                if value.contains('\n') || name.contains(['\n', '=']) {
                    return Err(Error::Argument(format!("option {name:?} is no line: {value:?}")));
                }
                let _ = writeln!(lines, "{name}={value}");
                Ok(())
            };
            match value {
                Value::Integer(value) => line(value)?,
                Value::Float(value) => line(value)?,
                Value::Bool(value) => line(value)?,
                Value::Text(text) => line(text)?,
                Value::List(texts) => texts.iter().try_for_each(|text| line(text))?,
            }
        }
        Ok(lines)
    }
}

/// Texts with a NUL at their ends, which live as long as this.
#[derive(Default)]
pub(crate) struct Names(Vec<CString>);

impl Names {
    fn keep(&mut self, text: CString) -> *const c_char {
        let pointer = text.as_ptr(); // of memory that does not move
        self.0.push(text);
        pointer
    }

    /// Null for none.
    pub(crate) fn text(&mut self, text: Option<&str>) -> Result<*const c_char> {
        text.map_or(Ok(ptr::null()), |text| Ok(self.keep(c_name(text)?)))
    }

    /// Null for none.
    pub(crate) fn path(&mut self, path: Option<&Path>) -> Result<*const c_char> {
        path.map_or(Ok(ptr::null()), |path| Ok(self.keep(c_path(path)?)))
    }

    /// As lines; null if all are the defaults.
    pub(crate) fn options(&mut self, options: &OptionSet) -> Result<*const c_char> {
        let lines = options.lines()?;
        self.text((!lines.is_empty()).then_some(&lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_lines_that_hold_nothing_else() {
        let mut options = OptionSet::default();
        options.set("threads", 2.into());
        options.set("speed", 0.5.into());
        options.set("mlock", true.into());
        options.set("override", vec!["a=1".to_owned(), "b=2".to_owned()].into());
        assert_eq!(
            options.lines().unwrap(),
            "threads=2\nspeed=0.5\nmlock=true\noverride=a=1\noverride=b=2\n"
        );
        for (name, value) in [("isa", "portable\nthreads=9"), ("isa=portable\nthreads", "9"), ("isa=x", "y")]
        {
            let mut options = OptionSet::default();
            options.set(name, value.into());
            assert!(matches!(options.lines(), Err(Error::Argument(_))), "{name}");
        }
    }
}
