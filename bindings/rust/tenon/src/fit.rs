//! Checks that a library fits the interface this binding was compiled for.
//!
//! Structures begin with their size and grow at the end, and libraries gain functions: such
//! differences are harmless in both directions. Anything else (a moved field, another type, another
//! value) would be misread, so the library is refused before it is used. The rules are those of
//! docs/bindings.md.

use crate::json::Json;
use crate::sys::made_for::{Field, Interface, Struct};

/// A field of this name may become another one: until then it is 0 and ignored.
const RESERVED: &str = "reserved";

/// A field of the library.
struct Met<'a> {
    name: &'a str,
    offset: usize,
    size: usize,
    kind: &'a str,
}

impl Met<'_> {
    fn is(&self, ours: &Field) -> bool {
        (self.name, self.offset, self.size, self.kind) == (ours.name, ours.offset, ours.size, ours.kind)
    }

    fn overlaps(&self, ours: &Field) -> bool {
        self.offset < ours.offset + ours.size && ours.offset < self.offset + self.size
    }
}

/// Differences of a library's description (tenon_interface_description, and that of the server)
/// that make it unusable; empty: it fits.
pub(crate) fn misfits(found: &Json, made_for: &Interface) -> Vec<String> {
    let major = |version: &str| version.split('.').next().unwrap_or_default().to_owned();
    let theirs = major(found.text("version"));
    if theirs != major(made_for.version) {
        return vec![format!("its major version is {theirs}")];
    }
    let mut result = Vec::new();
    for ours in made_for.structs {
        // No function of the library takes a structure that it lacks.
        if let Some(theirs) = found.list("structs").iter().find(|item| item.text("name") == ours.name) {
            struct_misfits(ours, theirs, &mut result);
        }
    }
    for (kind, table) in [("callbacks", made_for.callbacks), ("functions", made_for.functions)] {
        for (name, ours) in table {
            let Some(item) = found.list(kind).iter().find(|item| item.text("name") == *name) else {
                continue;
            };
            let parameters = item.list("parameters").iter().map(|parameter| parameter.text("type"));
            let theirs: Vec<&str> = std::iter::once(item.text("returns")).chain(parameters).collect();
            if theirs != *ours {
                result.push(format!("{name} is ({}), not ({})", theirs.join(", "), ours.join(", ")));
            }
        }
    }
    for (name, ours) in made_for.constants {
        let item = found.list("constants").iter().find(|item| item.text("name") == *name);
        match item.map(|item| item.integer("value")) {
            None => {}
            Some(Some(theirs)) if theirs == *ours => {}
            Some(Some(theirs)) => result.push(format!("{name} is {theirs}, not {ours}")),
            Some(None) => result.push(format!("{name} is no number")),
        }
    }
    result
}

fn struct_misfits(ours: &Struct, found: &Json, result: &mut Vec<String>) {
    let name = ours.name;
    let place = |field: &Json, member| field.integer(member).and_then(|value| usize::try_from(value).ok());
    let theirs: Option<Vec<Met<'_>>> = found
        .list("fields")
        .iter()
        .map(|field| {
            let (offset, size) = (place(field, "offset")?, place(field, "size")?);
            offset.checked_add(size)?;
            Some(Met { name: field.text("name"), offset, size, kind: field.text("type") })
        })
        .collect();
    let Some(theirs) = theirs else {
        result.push(format!("{name} has a field without a place"));
        return;
    };
    let end = theirs.iter().map(|field| field.offset + field.size).max().unwrap_or(0);
    for field in ours.fields {
        let met = theirs.iter().find(|met| met.name == field.name);
        if met.is_some_and(|met| met.is(field)) {
            continue;
        }
        // Our value for a replaced field is 0; but the new field must stand alone in its place.
        let is_alone = theirs
            .iter()
            .filter(|met| met.overlaps(field))
            .all(|met| met.offset == field.offset && met.size == field.size);
        if field.name == RESERVED && is_alone {
            continue;
        }
        match met {
            // An older library reads and writes no more than it knows.
            None if field.offset >= end => {}
            None => result.push(format!("{name}.{} is missing", field.name)),
            Some(met) if met.offset != field.offset => result
                .push(format!("{name}.{} lies at byte {}, not at {}", field.name, met.offset, field.offset)),
            Some(met) => result.push(format!(
                "{name}.{} is {} of {} bytes, not {} of {}",
                field.name, met.kind, met.size, field.kind, field.size
            )),
        }
    }
    // A newer library's further fields lie beyond ours, or in our reserved ones.
    let last = ours.fields.last().map_or(0, |field| field.offset);
    for met in theirs.iter().filter(|met| ours.fields.iter().all(|field| field.name != met.name)) {
        let mut over = ours.fields.iter().filter(|field| met.overlaps(field)).peekable();
        let first = over.peek().map(|field| field.name);
        if over.any(|field| field.name != RESERVED) {
            let first = first.unwrap_or_default();
            result.push(format!("{name}.{} lies where {first} should be", met.name));
        } else if first.is_none() && met.offset + met.size <= ours.size && met.offset < last {
            result.push(format!("{name}.{} lies between the fields that are known", met.name));
        }
    }
}

#[cfg(test)]
mod tests;
