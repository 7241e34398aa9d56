//! Options by name, as the library takes them. The typed ones are in option_sets.rs.

use crate::calls;
use crate::error::Result;
use crate::handle::{made, Handle};
use crate::library::c_name;
use crate::sys;

/// What an option can be.
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

/// Options in the order in which they were set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OptionSet(Vec<(String, Value)>);

impl OptionSet {
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value));
    }

    /// As the library has them; None when all are the defaults.
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
}
