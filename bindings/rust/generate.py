#!/usr/bin/env python3
"""Writes what of the Rust binding follows from bindings/interface.json and server_interface.json.

    generate.py           of tenon-sys (sys_files.py): types.rs, functions.rs, those of the server, made_for.rs;
                          of tenon: calls.rs and server_calls.rs (call_files.py), info.rs, kinds.rs, option_sets.rs,
                          server_options.rs, tests/options/table.rs; the versions in Cargo.toml
    generate.py --check   says which of them are not new, status 1
"""

import json
import re
import sys

from call_files import calls_file
from sys_files import HERE, Interface, camel, doc, functions_file, head, identifier, made_for_file, types_file
from generating import short, write  # sys_files has said where it is
from recording import samples

# Structures whose Rust form says more than their fields: tenon/src has them by hand.
SHAPED = {"tenon_piece", "tenon_candidate", "tenon_chat_delta", "tenon_value"}

# Names of types for the values that an option takes; several options can share one.
CHOICES = {"cache_type": "CacheType", "embeddings": "Embeddings", "rows_on_demand": "Switch",
           "bf16_activations": "Bf16Activations", "experts_on": "ExpertsOn",
           "pooling": "Pooling", "normalize": "Normalization", "speculation": "Speculation", "speculate": "Speculate"}


# ---- tenon: what is read, errors, options --------------------------------------------------------


def info_type(interface, field):
    if field["role"] in ("text", "name"):
        return "Vec<u8>" if field.get("encoding") == "bytes" else "String"
    kind = interface.rust_type(field["type"])
    if "count" in field:
        return f"[{kind}; {field['count']}]"
    return kind


def info_value(field):
    place, role = f"raw.{identifier(field['name'])}", field["role"]
    if role == "text":
        reader = "bytes" if field.get("encoding") == "bytes" else "owned_text"
        return f"unsafe {{ {reader}({place}, raw.{field['length']} as usize) }}"
    if role == "name":
        return f"unsafe {{ owned_name({place}) }}"
    return place


def info_file(interface):
    read = {}  # the structure, and the first function that hands it out
    for function in interface.data["functions"]:
        for p in function["parameters"]:
            if p["role"] == "out_struct" and p["of"] not in SHAPED:
                read.setdefault(p["of"], function["name"])
    lines = [head(interface.file), "use crate::library::{bytes, owned_name, owned_text};", "use crate::sys;"]
    for name, function in read.items():
        fields = interface.shown(name)
        plain = all(field["role"] == "value" for field in fields)
        lines += ["", *doc(interface.structs[name]["doc"] or f"Result of `{function}`."),
                  f"#[derive(Clone, Debug{', Default, PartialEq' if plain else ''})]", "#[non_exhaustive]",
                  f"pub struct {camel(short(name))} {{"]
        for field in fields:
            text = field["doc"] or f"{field['name'].replace('_', ' ')}"
            lines += doc(text[:1].upper() + text[1:].removesuffix(".") + ".", "    ")
            lines.append(f"    pub {identifier(field['name'])}: {info_type(interface, field)},")
        lines += ["}", f"impl {camel(short(name))} {{",
                  "    /// # Safety", "    /// The texts of `raw` are there.",
                  f"    pub(crate) unsafe fn read(raw: &sys::{name}) -> Self {{", "        Self {"]
        for field in fields:
            if "unsafe" in info_value(field):
                lines.append("            // SAFETY: the caller's.")
            lines.append(f"            {identifier(field['name'])}: {info_value(field)},")
        lines += ["        }", "    }"]
        written = any(p["role"] == "struct" and p["of"] == name
                      for function in interface.data["functions"] for p in function["parameters"])
        if written:
            lines += [f"    pub(crate) fn raw(&self) -> sys::{name} {{",
                      f"        sys::{name} {{"]
            lines += [f"            {identifier(field['name'])}: self.{identifier(field['name'])},"
                      for field in fields]
            lines += [f"            ..sys::{name}::new()", "        }", "    }"]
        lines.append("}")
    return "\n".join([*lines, ""])


def kinds_file(interface):
    errors = [(item["name"], item["doc"]) for item in interface.data["constants"]
              if item["name"].startswith("TENON_ERROR_")]
    lines = [head(interface.file), "use crate::sys;", "",
             "/// An error: one variant for each status of tenon.h, with the library's sentence.",
             "#[derive(Clone, Debug, PartialEq, Eq)]", "#[non_exhaustive]", "pub enum Error {"]
    for name, text in errors:
        lines += doc(text[:1].upper() + text[1:] + ".", "    ")
        variant = camel(name.removeprefix("TENON_ERROR_").lower())
        # With the number of the operating system's error, where there is one.
        lines.append(f"    {variant}({'String, Option<i32>' if variant == 'Io' else 'String'}),")
    lines += ["    /// A status that this binding does not know.", "    Unknown(i32, String),", "}", "",
              "impl Error {", "    pub(crate) fn of_status(status: i32, sentence: String, system: Option<i32>) -> Self {",
              "        match status {"]
    for name, _ in errors:
        variant = camel(name.removeprefix("TENON_ERROR_").lower())
        lines.append(f"            sys::{name} => Self::{variant}(sentence{', system' if variant == 'Io' else ''}),")
    lines += ["            _ => Self::Unknown(status, sentence),", "        }", "    }", "",
              "    /// Its name in tenon.h: \"FORMAT\", \"BUSY\", ...",
              "    pub fn code(&self) -> &'static str {", "        match self {"]
    for name, _ in errors:
        code = name.removeprefix("TENON_ERROR_")
        lines.append(f"            Self::{camel(code.lower())}(..) => \"{code}\",")
    lines += ["            Self::Unknown(..) => \"UNKNOWN\",", "        }", "    }", "",
              "    /// The library's sentence.", "    pub fn sentence(&self) -> &str {", "        match self {"]
    lines += [f"            Self::{camel(name.removeprefix('TENON_ERROR_').lower())}(sentence, ..)"
              f"{' |' if index + 1 < len(errors) else ''}" for index, (name, _) in enumerate(errors)]
    lines += ["            | Self::Unknown(_, sentence) => sentence,", "        }", "    }", "}", ""]
    return "\n".join(lines)


def choices_of(interface):
    """{type: (choices, where)}; one option's choices contain those of the others of its type."""
    kinds = {}
    for option in interface.data["options"]:
        if "choices" in option:
            name = CHOICES.get(option["name"])
            if name is None:
                raise SystemExit(f"option {option['name']} has choices: give their type a name in CHOICES")
            found = kinds.setdefault(name, (option["choices"], []))
            if found[0] != option["choices"]:
                raise SystemExit(f"options of type {name} have different choices")
            found[1].append(option["name"])
    return kinds


def option_sets_file(interface):
    lines = [head(interface.file), "use crate::options::{OptionSet, Value};", ""]
    for name, (choices, options) in choices_of(interface).items():
        lines += [f"/// Values of the option {' and '.join(f'`{option}`' for option in options)}.",
                  "#[derive(Clone, Copy, Debug, PartialEq, Eq)]", "#[non_exhaustive]",
                  f"pub enum {name} {{"]
        for choice in choices:
            lines += [f"    /// \"{choice}\"", f"    {camel(choice)},"]
        lines += ["}", f"impl From<{name}> for Value {{", f"    fn from(value: {name}) -> Self {{",
                  "        Value::from(match value {"]
        lines += [f"            {name}::{camel(choice)} => \"{choice}\"," for choice in choices]
        lines += ["        })", "    }", "}", ""]
    kinds = {"int": "i64", "float": "f64", "bool": "bool", "string": "&str"}
    for scope in ("model", "session", "sampler", "engine", "chat", "embedder"):
        name = f"{scope.capitalize()}Options"
        lines += [f"/// Options of a {scope}; unset ones keep the library's defaults.",
                  "#[derive(Clone, Debug, Default, PartialEq)]",
                  f"pub struct {name}(pub(crate) OptionSet);", "", f"impl {name} {{",
                  "    /// The defaults.", "    pub fn new() -> Self {", "        Self::default()", "    }", "",
                  "    /// Any option by its name, such as one of a newer library. A wrong one is",
                  "    /// `Error::Argument`, naming the nearest, when the options are used.",
                  "    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {",
                  "        self.0.set(name, value.into());", "        self", "    }"]
        for option in interface.data["options"]:
            if option["scope"] != scope or "." in option["name"]:
                continue
            # rustdoc would read brackets as links.
            lines += ["", *doc(option["doc"], "    ")]
            method = "overrides" if option["name"] == "override" else option["name"]
            if option["type"] == "string_list":
                lines += [f"    pub fn {method}<T: AsRef<str>>(mut self, texts: impl IntoIterator"
                          "<Item = T>) -> Self {",
                          "        let texts = texts.into_iter().map(|text| text.as_ref().to_owned());",
                          f"        self.0.set(\"{option['name']}\", Value::List(texts.collect()));"]
            else:
                kind = CHOICES[option["name"]] if "choices" in option else kinds[option["type"]]
                lines += [f"    pub fn {method}(mut self, value: {kind}) -> Self {{",
                          f"        self.0.set(\"{option['name']}\", value.into());"]
            lines += ["        self", "    }"]
        lines += ["}", ""]
    return "\n".join(lines)


# ---- the table of a test ---------------------------------------------------------------------------

MADE = {"model": 'Model::open_with("/nowhere/none.gguf", &{0})', "session": "Session::with(model, &{0})",
        "sampler": "Sampler::new(&{0})", "engine": "Engine::with(model, &{0})",
        "chat": "Chat::with(Some(model), &{0})", "embedder": "Embedder::with(model, &{0})"}


def literal(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def option_table_file(interface):
    """What makes an object with each option, and what the library is to be told (bindings/recording.py)."""
    lines = [head(interface.file), "use tenon::*;", "",
             "pub type Row<'m> = (&'static str, &'static [&'static str], Box<dyn Fn() + 'm>);", "",
             "pub fn rows(model: &Model) -> Vec<Row<'_>> {", "    vec!["]
    for scope, name, value, told in samples():
        method = "overrides" if name == "override" else name
        given = f"{CHOICES[name]}::{camel(value)}" if name in CHOICES else literal(value)
        setter = f'set("{name}", {given})' if "." in name else f"{method}({given})"
        made = MADE[scope].format(f"{scope.capitalize()}Options::new().{setter}")
        lines.append(f'        ("{name}", &{literal(told)}, Box::new(|| drop({made}))),')
    return "\n".join([*lines, "    ]", "}", ""])


# ---- tenon: structures that programs fill ---------------------------------------------------------


# Options of the library as "key=value" lines, which have a type here.
OPTION_LINES = {"model_options": "ModelOptions", "engine_options": "EngineOptions"}
ABOUT = {"tenon_server_options": "Options of a server; unset ones keep the library's defaults.",
         "tenon_server_model_file": "A model that the server opens by itself, when a request asks for it.",
         "tenon_server_request": "A request of the program itself."}


def is_path(field):
    return field["name"] == "path" or field["name"].endswith("_file")


def setting(interface, field):
    """(what a setter takes, what it keeps, how it keeps it, how that is for C)"""
    name, role = identifier(field["name"]), field["role"]
    if name in OPTION_LINES:
        kind = OPTION_LINES[name]
        return f"&{kind}", kind, f"{name}.clone()", f"names.options(&self.{name}.0)?"
    if role == "name":
        taken, kept, reader = ("impl AsRef<Path>", "PathBuf", "path") if is_path(field) else ("&str", "String", "text")
        made = f"{name}.as_ref().to_owned()" if is_path(field) else f"{name}.to_owned()"
        if field.get("nullable"):
            return taken, f"Option<{kept}>", f"Some({made})", f"names.{reader}(self.{name}.as_deref())?"
        return taken, kept, made, f"names.{reader}(Some(&self.{name}))?"
    if role == "text":
        if field.get("encoding") == "bytes":
            return "impl Into<Vec<u8>>", "Vec<u8>", f"{name}.into()", f"self.{name}.as_ptr().cast()"
        return "&str", "Option<String>", f"Some({name}.to_owned())", \
            f"self.{name}.as_ref().map_or(ptr::null(), |text| text.as_ptr().cast())"
    if role == "value" and field["type"] == "uint32_t" and field["doc"].startswith("1: "):
        return "bool", "bool", name, f"self.{name}.into()"
    kind = interface.scalar(field["of"])
    return kind, kind, name, f"self.{name}"


def about_field(field):
    """What the header says of it, as of a setter, which needs no value for "not set"."""
    text = re.sub(r"; (or|else|may be) NULL", "", field["doc"]).replace("NULL", "not set").removeprefix("1: ")
    if field["name"] in OPTION_LINES:
        text = f"options of the {field['name'].removesuffix('_options')}"
    text = (text or f"its {field['name'].replace('_', ' ')}").removesuffix(".")
    return text[:1].upper() + text[1:] + "."


def length_of(field, owner):
    name = identifier(owner["name"])
    kept = f"self.{name}.len() as u64" if owner.get("encoding") == "bytes" else \
        f"self.{name}.as_ref().map_or(0, |text| text.len() as u64)"
    return f"            {field['name']}: {kept},"


def builders_file(interface):
    """Each structure that a function takes, as a type with a setter for each field; callbacks are set by hand."""
    lines = [head(interface.file), "use crate::option_sets::{EngineOptions, ModelOptions};",
             "use crate::options::Names;", "use crate::{sys, Result};", "use std::path::{Path, PathBuf};",
             "use std::ptr;"]
    for name in interface.written:
        struct = interface.structs[name]
        fields = [field for field in interface.shown(name)
                  if field["role"] not in ("callback", "user") and not field["name"].startswith("reserved")
                  and field["name"] != "log_level"]
        needed = [field for field in fields if field["role"] == "name" and not field.get("nullable")]
        kind = camel(short(name))
        traits = ["Clone", "PartialEq"]
        traits += [] if needed else ["Default"]
        traits += [] if any(field["name"].startswith("api_key") for field in fields) else ["Debug"]  # secrets
        lines += ["", *doc(ABOUT[name]), f"#[derive({', '.join(sorted(traits))})]",
                  f"pub struct {kind} {{"]
        lines += [f"    {identifier(field['name'])}: {setting(interface, field)[1]}," for field in fields]
        arguments = ", ".join(f"{field['name']}: {setting(interface, field)[0]}" for field in needed)
        lines += ["}", "", f"impl {kind} {{", 
                  *doc("; ".join(f"{field['name']}: {field['doc'] or 'of the file'}" for field in needed) + "." if needed
                       else "The defaults.", "    "),
                  f"    pub fn new({arguments}) -> Self {{"]
        if needed:
            lines.append("        Self {")
            lines += [f"            {identifier(field['name'])}: "
                      f"{setting(interface, field)[2] if field in needed else 'Default::default()'}," for field in fields]
            lines += ["        }", "    }"]
        else:
            lines += ["        Self::default()", "    }"]
        for field in fields:
            if field in needed:
                continue
            taken, _, made, _ = setting(interface, field)
            own = identifier(field["name"])
            lines += ["", *doc(about_field(field), "    "),
                      f"    pub fn {own}(mut self, {own}: {taken}) -> Self {{",
                      f"        self.{own} = {made};", "        self", "    }"]
        lines += ["", "    /// As the library takes it, good as long as `self` and the names.",
                  f"    pub(crate) fn raw(&self, names: &mut Names) -> Result<sys::{name}> {{",
                  f"        Ok(sys::{name} {{"]
        for field in struct["fields"]:
            if field in fields:
                lines.append(f"            {identifier(field['name'])}: {setting(interface, field)[3]},")
            elif field["role"] == "length":
                owner = next(f for f in fields if f.get("length") == field["name"])
                lines.append(length_of(field, owner))
        lines += [f"            ..sys::{name}::new()", "        })", "    }", "}"]
    return "\n".join([*lines, ""])


def cargo_file(interface):
    """The version of the interface, in the one place that all packages take it from."""
    text = (HERE / "Cargo.toml").read_text()
    version = interface.data["version"]
    text = re.sub(r'(?m)^version = "[^"]*"', f'version = "{version}"', text, count=1)
    return re.sub(r'(\S+ = \{ path = "tenon-sys", version = )"[^"]*"', rf'\1"{version}"', text)


def main():
    interface, server = Interface("interface.json"), Interface("server_interface.json")
    return write(HERE, {
        "tenon-sys/src/types.rs": types_file(interface), "tenon-sys/src/server_types.rs": types_file(server),
        "tenon-sys/src/functions.rs": functions_file(interface),
        "tenon-sys/src/server_functions.rs": functions_file(server),
        "tenon-sys/src/made_for.rs": made_for_file(interface, server),
        "tenon/src/calls.rs": calls_file(interface), "tenon/src/server_calls.rs": calls_file(server),
        "tenon/src/info.rs": info_file(interface), "tenon/src/kinds.rs": kinds_file(interface),
        "tenon/src/option_sets.rs": option_sets_file(interface),
        "tenon/tests/options/table.rs": option_table_file(interface),
        "tenon/src/server_options.rs": builders_file(server), "Cargo.toml": cargo_file(interface)})


if __name__ == "__main__":
    sys.exit(main())
