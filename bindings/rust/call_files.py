"""What generate.py writes of the calls of tenon's own code: calls.rs and server_calls.rs.

Each function of the interface is a Rust function of the same name without `tenon_`: in-parameters are its arguments
in order (a text or array as a slice, without its length), out-parameters its result. It is unsafe where the
description cannot tell all that matters: structures, callbacks and memory that the next call takes back. Functions of
HAND are called by hand.
"""

import re

from sys_files import head, identifier
from generating import short

# Called in tenon/src by hand: arrays of pointers, and what is needed before a library is in use.
HAND = {"tenon_model_load", "tenon_embedder_embed", "tenon_embedder_rank"}
LIBRARY = {"tenon_interface_description", "tenon_last_error", "tenon_last_system_error", "tenon_version_text", "tenon_version",
           "tenon_status_name", "tenon_server_last_error", "tenon_server_interface_description"}


def pointee(interface, of):
    return interface.scalar(of) if of not in interface.structs else f"sys::{of}"


class Call:
    """One function of calls.rs: what it takes, does and gives."""

    def __init__(self, interface, function):
        self.interface, self.function = interface, function
        self.arguments, self.before, self.passed, self.results, self.result_types = [], [], [], [], []
        self.lives, self.is_unsafe, self.buffer = None, False, None
        parameters = function["parameters"]
        self.counted = {p["length"] for p in parameters if p["role"] in ("array", "text")}
        for parameter in parameters:
            self.add(parameter)

    def add(self, p):
        interface, role, of = self.interface, p["role"], p.get("of")
        name = identifier(p["name"])
        passed = name
        if role == "length":
            owner = next((q for q in self.function["parameters"] if q.get("length") == p["name"] and
                          q["role"] in ("array", "text")), None)
            if owner:
                passed = f"{identifier(owner['name'])}.len()"
            elif p["direction"] == "out":
                self.before.append(f"let mut {name} = 0;")
                passed = f"&mut {name}"
        elif role == "fill" and p["length"] not in self.counted:
            # The number that says how much is filled is an argument.
            self.counted.add(p["length"])
            self.arguments.append(f"{p['length']}: usize")
        if role == "handle":
            kind = f"&'a Handle<sys::{of}>"
            if p.get("nullable"):
                self.arguments.append(f"{name}: Option<{kind}>")
                passed = f"{name}.map_or(ptr::null_mut(), |handle| handle.as_ptr())"
            else:
                self.arguments.append(f"{name}: {kind}")
                passed = f"{name}.as_ptr()"
        elif role == "value":
            self.arguments.append(f"{name}: {interface.scalar(of)}")
        elif role == "text":
            self.arguments.append(f"{name}: &str")
            passed = f"{name}.as_ptr().cast()"
        elif role == "array":
            self.arguments.append(f"{name}: &[{'u8' if of == 'void' else interface.scalar(of)}]")
            passed = f"{name}.as_ptr().cast()"
        elif role == "name":
            self.arguments.append(f"{name}: &CStr")
            passed = f"{name}.as_ptr()"
        elif role == "struct":
            self.is_unsafe = True
            kind = f"&sys::{of}"
            if p.get("nullable"):
                self.arguments.append(f"{name}: Option<{kind}>")
                passed = f"{name}.map_or(ptr::null(), |value| value)"
            else:
                self.arguments.append(f"{name}: {kind}")
        elif role == "callback":
            self.is_unsafe = True
            self.arguments.append(f"{name}: sys::{of}")
        elif role == "user":
            self.arguments.append(f"{name}: *mut c_void")
        elif role == "out_handle":
            self.before.append(f"let mut {name} = ptr::null_mut();")
            passed = f"&mut {name}"
            if "borrowed_from" in p:
                self.is_unsafe = True
                self.before[-1] = f"let mut {name} = ptr::null();"
                self.result(f"*const sys::{of}", name)
            else:
                self.result(f"Option<Handle<sys::{of}>>", f"Handle::new({name})")
        elif role == "out_value":
            self.before.append(f"let mut {name} = {'0.0' if interface.scalar(of)[0] == 'f' else '0'};")
            passed = f"&mut {name}"
            self.result(interface.scalar(of), name)
        elif role == "out_struct":
            self.before.append(f"let mut {name} = sys::{of}::new();")
            passed = f"&mut {name}"
            self.result(f"sys::{of}", name)
        elif role in ("out_text", "out_array"):
            self.lent(p)
            self.before.append(f"let mut {name} = ptr::null();")
            passed = f"&mut {name}"
            length = identifier(p["length"])
            if role == "out_text":
                self.result(f"&'{self.lives} str", f"lent_text({name}, {length})?")
            else:
                self.result(f"&'{self.lives} [{interface.scalar(of)}]", f"lent({name}, {length})")
        elif role == "out_name":
            self.lent(p)
            self.before.append(f"let mut {name} = ptr::null();")
            passed = f"&mut {name}"
            self.result(f"&'{self.lives} str", f"lent_name({name})?")
        elif role == "fill":
            zero = "0.0" if interface.scalar(of)[0] == "f" else "0"
            self.before.append(f"let mut {name} = vec![{zero}; "
                               f"{self.filled_by(p['length'])}];")
            passed = f"{name}.as_mut_ptr()"
            self.result(f"Vec<{interface.scalar(of)}>", name)
        elif role == "buffer":
            element = "u8" if of in ("char", "void") else interface.scalar(of)
            self.buffer = (p, element)
            passed = "buffer.cast()"
            if of == "char" and p.get("encoding") != "bytes":
                self.result("String", "text_of(memory)")
            else:
                self.result(f"Vec<{element}>", "memory")
        elif role == "capacity":
            passed = "capacity"
        elif role == "needed":
            passed = "needed"
        self.passed.append(passed)

    def filled_by(self, length):
        owner = next((q for q in self.function["parameters"] if q.get("length") == length and
                      q["role"] in ("array", "text")), None)
        return f"{identifier(owner['name'])}.len()" if owner else length

    def lent(self, p):
        self.lives = "static" if p["lives"] == "for ever" else "a"
        self.is_unsafe |= p["lives"].startswith("until")

    def result(self, kind, value):
        self.result_types.append(kind)
        self.results.append(value)

    def text(self):
        function, name = self.function, short(self.function["name"])
        kinds = self.result_types
        plain = not function["fails"] and function["returns"] != "void"
        if plain:
            text = function["returns"] == "const char*"
            result = "Option<&'static str>" if text else self.interface.rust_type(function["returns"])
        else:
            result = "()" if not kinds else kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"
        arguments = ", ".join(self.arguments)
        scope = "<'a>" if "'a " in arguments or "'a " in result else ""
        if scope and "'a " not in result:  # nothing is lent
            arguments, scope = arguments.replace("&'a ", "&"), ""
        lines = [f"/// {function['name']}"]
        if self.is_unsafe:
            lines += ["///", "/// # Safety",
                      "/// Pointers are good for the call; what is lent is not used after the next one."]
        lines += [f"pub(crate) {'unsafe ' if self.is_unsafe else ''}fn {name}{scope}({arguments}) "
                  f"-> Result<{result}> {{",
                  f"    let function = found(library()?.api.{function['name']}, \"{function['name']}\")?;"]
        lines += [f"    {line}" for line in self.before]
        call = f"function({', '.join(self.passed)})"
        why = "    // SAFETY: handles are live, slices and out-parameters good for the call; and see above."
        if self.buffer:
            lines += [why, f"    let memory = grown::<{self.buffer[1]}>(|buffer, capacity, needed| "
                           f"unsafe {{ {call} }})?;"]
        elif function["fails"]:
            lines += [why, f"    check(unsafe {{ {call} }})?;"]
        elif plain:
            lines += [why, f"    let result = unsafe {{ {call} }};"]
            if function["returns"] == "const char*":
                lines.append("    Ok(if result.is_null() { None } else { Some(unsafe { lent_name(result) }?) })")
            else:
                lines.append("    Ok(result)")
            return lines + ["}", ""]
        else:
            lines += [why, f"    unsafe {{ {call} }};"]
        values = self.results or ["()"]
        value = values[0] if len(values) == 1 else f"({', '.join(values)})"
        if "lent" in value or "Handle::new" in value:
            value = f"unsafe {{ {value} }}"
        return lines + [f"    Ok({value})", "}", ""]


def calls_file(interface):
    body = []
    for name, handle in interface.handles.items():
        body += [f"impl Kind for sys::{name} {{",
                 "    unsafe fn destroy(pointer: *mut Self) {",
                 f"        if let Some(function) = library().ok().and_then(|library| library.api.{handle['destroy']}) "
                 "{",
                 "            // SAFETY: the caller's.", "            unsafe { function(pointer) }",
                 "        }", "    }", "}"]
        if handle["thread"] == "any":
            body.append(f"// SAFETY: the header: any thread.\nunsafe impl AnyThread for sys::{name} {{}}")
    body.append("")
    for function in interface.data["functions"]:
        if function["name"] not in HAND | LIBRARY | interface.destroys:
            body += Call(interface, function).text()
    text = "\n".join(body)

    code = re.sub(r"//.*", "", text)

    def used(module, *names):
        """The line that imports those of the names that the calls need."""
        names = [name for name in names if re.search(rf"\b{name}\b", code)]
        found = names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
        return [f"use {module}::{found};"] if names else []
    reading, calling = ["lent", "lent_name", "lent_text", "text_of"], ["check", "found", "grown", "library"]
    imports = [*used("crate::library", *reading), *used("crate::server_library", *calling)] \
        if interface.is_server else used("crate::library", *sorted(calling + reading))
    return "\n".join([
        head(interface.file),
        "#![allow(dead_code, clippy::needless_lifetimes, clippy::too_many_arguments, clippy::type_complexity)]",
        "use crate::error::Result;", *used("crate::handle", "AnyThread", "Handle", "Kind"),
        *imports, "use crate::sys;", *used("std::ffi", "c_void", "CStr"), *used("std", "ptr"), "", text])
