#!/usr/bin/env python3
"""Describes tenon.h and the options as data, bindings/interface.json, and server.h, bindings/server_interface.json,
and hub.h, bindings/hub_interface.json.

    describe.py --library build-dev/lib/libtenon.so            writes both
    describe.py --library build-dev/lib/libtenon.so --check    says what differs from them, status 1
    describe.py --asserts FILE.c                               C that compares the files with the headers

Declarations and types come from clang's syntax tree, docs from the comments around them, roles from the
conventions of section 1 of tenon.h ("Texts", "Buffers", "Callbacks", ...), the rest from notes.json,
and options from the library. docs/bindings.md tells what the members of the file mean.
"""

import argparse
import ctypes
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INCLUDE = ROOT / "capi/include"
HEADER = INCLUDE / "tenon/tenon.h"
SERVER_HEADER = INCLUDE / "tenon/server.h"
HUB_HEADER = INCLUDE / "tenon/hub.h"
OUTPUTS = {HEADER: HERE.parent / "interface.json", SERVER_HEADER: HERE.parent / "server_interface.json",
           HUB_HEADER: HERE.parent / "hub_interface.json"}

# What a parameter or field that counts the elements of the one before it is called.
COUNT = re.compile(r"length|size|count|num_\w+|\w+_length")
# Sizes of 64-bit systems, the only ones that the header supports; --asserts compares with a compiler.
SCALARS = {"uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "size_t": 8, "float": 4,
           "double": 8, "char": 1, "void": 1}


class Refused(Exception):
    """Something in the header that the conventions do not cover."""


# ---- The header as text: comments ----------------------------------------------------------------


def clean(comment):
    """A comment without its marks, its lines joined."""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in
             comment.removeprefix("/*").removesuffix("*/").split("\n")]
    return " ".join(line.strip() for line in lines if line.strip())


class Comments:
    """The comments of a C file, found by the place of a declaration."""

    def __init__(self, text):
        self.text = text
        self.spans = [(m.start(), m.end()) for m in re.finditer(r"/\*.*?\*/", text, re.S)]

    def _line_start(self, offset):
        return self.text.rfind("\n", 0, offset) + 1

    def before(self, offset):
        """The comment above a declaration; that of the first one of its paragraph serves all."""
        start = self._line_start(offset)
        while start > 0:
            above = self._line_start(start - 1)
            line = self.text[above:start - 1]
            if not line.strip():
                return ""
            for begin, end in self.spans:
                if above <= end - 2 < start and self.text[end:start].strip() == "" and \
                        self.text[self._line_start(begin):begin].strip() == "":
                    return clean(self.text[begin:end])
            start = above
        return ""

    def after(self, offset):
        """The comment at the end of a declaration's last line."""
        stop = self.text.index(";", offset) if ";" in self.text[offset:] else offset
        return self.on_line(stop)

    def on_line(self, offset):
        line_end = self.text.find("\n", offset)
        for begin, end in self.spans:
            if offset <= begin < line_end:
                return clean(self.text[begin:end])
        return ""

    def above_only(self, offset):
        """The comment that ends on the line above, and belongs to no line before it."""
        start = self._line_start(offset)
        for begin, end in self.spans:
            if self.text[end:start].strip() == "" and self.text[end:start].count("\n") == 1 and \
                    self.text[self._line_start(begin):begin].strip() == "":
                return clean(self.text[begin:end])
        return ""


# ---- Types ---------------------------------------------------------------------------------------


def spelled(type_text):
    """A C type in one way: no space before stars."""
    return re.sub(r"\s*\*\s*", "*", type_text).replace("*const", "* const").strip()


class Types:
    """The typedefs of a header and of those it includes: aliases of scalars, handles, structures, callbacks."""

    def __init__(self, nodes):
        self.aliases, self.handles, self.structs, self.callbacks = {}, set(), set(), set()
        complete = {node["name"] for node in nodes if is_structure(node)}
        for node in nodes:
            if node["kind"] != "TypedefDecl":
                continue
            name, of = node["name"], node["type"]["qualType"]
            if "(*" in of:
                self.callbacks.add(name)
            elif of.startswith("struct "):
                (self.structs if name in complete else self.handles).add(name)
            else:
                self.aliases[name] = of

    def resolved(self, type_text):
        """With aliases of scalars replaced: what a compiler sees."""
        return re.sub(r"\w+", lambda m: self.aliases.get(m.group(), m.group()), spelled(type_text))

    def size(self, type_text):
        resolved = self.resolved(type_text)
        if "*" in resolved or resolved in self.callbacks:
            return 8
        return SCALARS[resolved.replace("const ", "")]

    def pointee(self, type_text):
        """(type without const and its last star, whether it is const), or None."""
        if not type_text.endswith("*"):
            return None
        inner = type_text[:-1].strip()
        if inner.endswith("* const"):
            return inner.removesuffix(" const"), True
        if "*" not in inner and inner.startswith("const "):
            return inner.removeprefix("const "), True
        return inner, False


# ---- Roles ---------------------------------------------------------------------------------------


class Roles:
    """What each parameter or field is for, by its type, its neighbours and the notes."""

    def __init__(self, types, notes):
        self.types, self.notes = types, notes
        self.nullable = set(notes["nullable"])

    def place(self, owner, items):
        """Adds role, direction, nullable, of, length and the like to each of a list of parameters."""
        names = [item["name"] for item in items]
        self.taken = {}
        for index, item in enumerate(items):
            following = items[index + 1:index + 3]
            path = f"{owner}.{item['name']}"
            item.update(self._role(path, item, following, names))
            if self._is_nullable(path, item):
                item["nullable"] = True
            if item.get("of") == "char" and item["role"] != "name":
                partial = path in self.notes["bytes"]["names"]
                if partial:
                    item["encoding"] = "bytes"
        for item in items:
            if item["name"] in self.taken:
                item["role"], item["of"] = self.taken[item["name"]]
                if item["role"] == "needed":
                    item["direction"] = "out"
                item.pop("nullable", None)
        return items

    def _is_nullable(self, path, item):
        if path in self.notes["required"]:
            return False
        if path in self.nullable or item["role"] == "user":
            return True
        if "offset" in item:  # a field
            return False
        if item["role"] in ("text", "array", "buffer", "fill", "callback"):
            return True  # with a length of 0; callbacks: nothing is handed out
        return item.get("of") == "tenon_options" and item["type"].startswith("const ")

    def _role(self, path, item, following, names):
        types, kind, name = self.types, item["type"], item["name"]
        handle = types.pointee(kind)
        next_types = [other["type"] for other in following]

        def counted(length, role="length"):
            self.taken.setdefault(length, (role, name))
            return {"length": length}

        if kind in types.callbacks:
            user = next((other for other in ("user", f"{name}_user") if other in names), None)
            return {"role": "callback", "direction": "in", "of": kind, **({"user": user} if user else {})}
        if handle is None:
            return {"role": "value", "direction": "in", "of": kind}
        of, is_const = handle
        if of == "void" and name in self.notes["opaque"]:
            return {"role": "user", "direction": "in", "of": "void"}
        if path in self.notes["filled"]:
            return {"role": "fill", "direction": "out", "of": of,
                    **counted(self.notes["filled"][path])}
        if of in types.handles:
            return {"role": "handle", "direction": "in", "of": of}
        inner = types.pointee(of)
        if inner and inner[0] in types.handles:
            source = self.notes["borrowed_from"].get(path)
            if source:
                return {"role": "out_handle", "direction": "out", "of": inner[0],
                        "ownership": f"part of {source}: not to be destroyed", "borrowed_from": source}
            return {"role": "out_handle", "direction": "out", "of": inner[0],
                    "ownership": f"yours: {inner[0]}_destroy"}
        if of in types.structs:
            if is_const:
                return {"role": "struct", "direction": "in", "of": of}
            return {"role": "out_struct", "direction": "out", "of": of}
        if inner and inner[0] in types.structs:
            return {"role": "array", "direction": "in", "of": of, **counted(following[0]["name"])}
        if path in self.notes["lengths"]:
            role = {"char": "text"}.get(of, "array")
            return {"role": role, "direction": "in" if is_const or inner else "inout", "of": of,
                    **counted(self.notes["lengths"][path])}
        if is_const and next_types[:1] in (["size_t"], ["uint64_t"]) and \
                COUNT.fullmatch(following[0]["name"]):
            role = "text" if of == "char" else "array"
            return {"role": role, "direction": "in", "of": of, **counted(following[0]["name"])}
        if is_const and of == "char":
            return {"role": "name", "direction": "in", "of": "char"}
        if not is_const and inner and inner[1]:
            lives = self.notes["lives"].get(path, "until the next call on the handle")
            if next_types[:1] == ["size_t*"]:
                role = "out_text" if inner[0] == "char" else "out_array"
                return {"role": role, "direction": "out", "of": inner[0], "lives": lives,
                        "ownership": "lent", **counted(following[0]["name"])}
            return {"role": "out_name", "direction": "out", "of": "char", "lives": lives,
                    "ownership": "lent"}
        if not is_const and next_types == ["size_t", "size_t*"]:
            self.taken[following[1]["name"]] = ("needed", name)
            return {"role": "buffer", "direction": "out", "of": of, "needed": following[1]["name"],
                    **counted(following[0]["name"], "capacity")}
        if not is_const and types.resolved(of) in SCALARS and of != "void" and of != "char":
            return {"role": "out_value", "direction": "out", "of": of}
        raise Refused(f"{path}: no convention covers {kind}; add a line to {HERE / 'notes.json'}")


# ---- The syntax tree -----------------------------------------------------------------------------


def offset_of(location):
    place = location.get("expansionLoc", location)
    return place.get("offset")


def is_structure(node):
    return node["kind"] == "RecordDecl" and node.get("completeDefinition", False)


def parse_header(clang, header):
    """The declarations of a header and of those of ours that it includes, in their order."""
    command = [clang, "-std=c11", "-x", "c", "-fsyntax-only", "-Xclang", "-ast-dump=json", f"-I{INCLUDE}", str(header)]
    tree = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [node for node in tree["inner"] if node.get("name", "").startswith("tenon_")]


def names_of_parameters(text):
    """[(type, name)] of a parameter list without nested parentheses."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    if text.strip() in ("", "void"):
        return []
    result = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(.*?)(\w+)\s*", part, re.S)
        result.append((spelled(" ".join(match.group(1).split())), match.group(2)))
    return result


def since(doc):
    match = re.search(r"Since (\d+\.\d+)", doc)
    return match.group(1) if match else "0.1"


def describe_constants(text, comments):
    result = []
    group = ""
    for match in re.finditer(r"^#define (TENON_[A-Z0-9_]+) +(\S.*?)\s*(/\*.*)?$", text, re.M):
        name, value = match.group(1), match.group(2).strip()
        if name in ("TENON_TENON_H", "TENON_API") or value.startswith("__"):
            continue
        number = re.fullmatch(r"\(?(-?\d+)(u?)\)?", value)
        if value == "SIZE_MAX":
            number, unsigned = 2**64 - 1, True
        elif number:
            number, unsigned = int(number.group(1)), bool(number.group(2))
        else:
            raise Refused(f"{name}: {value} is no number")
        above = comments.before(match.start())
        group = above or group
        result.append({"name": name, "value": number, "unsigned": unsigned,
                       "doc": comments.on_line(match.start()) or group, "since": since(group)})
    return result


def describe_struct(record, name, comments, types, roles):
    fields, offset, alignment = [], 0, 1
    for node in record["inner"]:
        if node["kind"] != "FieldDecl":
            continue
        qualified = node["type"]["qualType"]
        array = re.fullmatch(r"(.*?)\[(\d+)\]", qualified)
        element = spelled(array.group(1) if array else qualified)
        size = types.size(element)
        offset = (offset + size - 1) // size * size
        alignment = max(alignment, size)
        place = offset_of(node["loc"])
        field = {"name": node["name"], "type": element, "offset": offset,
                 "size": size * (int(array.group(2)) if array else 1)}
        if array:
            field["count"] = int(array.group(2))
        field["doc"] = comments.on_line(place) or comments.above_only(place)
        fields.append(field)
        offset += field["size"]
    roles.place(name, fields)
    for field in fields:
        field["type"] = types.resolved(field["type"])
    size = (offset + alignment - 1) // alignment * alignment
    doc = comments.before(offset_of(record["loc"]))
    return {"name": name, "size": size, "alignment": alignment, "doc": doc, "since": since(doc),
            "fields": fields}


def thread_rule(name, parameters, notes):
    rules = notes["threads"]
    if name in rules["any, during other calls, too"]:
        return "any, during other calls, too"
    for rule in ("one at a time", "any"):
        if parameters and parameters[0].get("of") in rules[rule] and parameters[0]["role"] == "handle":
            return rule if rule == "any" else f"{rule} for each {parameters[0]['of']}"
    return "any"


def describe_function(node, comments, types, roles, notes):
    name = node["name"]
    parameters = [{"name": child["name"], "type": spelled(child["type"]["qualType"])}
                  for child in node.get("inner", []) if child["kind"] == "ParmVarDecl"]
    roles.place(name, parameters)
    returns = spelled(node["type"]["qualType"].split("(")[0].strip())
    place = offset_of(node["loc"])
    doc = comments.before(place) or comments.after(place)
    if name.endswith("_destroy"):
        parameters[0]["nullable"] = True
        parameters[0]["ownership"] = "ends"
    for parameter in parameters:
        parameter["type"] = types.resolved(parameter["type"])
    return {"name": name, "returns": returns, "fails": returns == "tenon_status",
            "parameters": parameters, "thread": thread_rule(name, parameters, notes),
            "may_wait": name not in notes["quick"]["names"], "since": since(doc), "doc": doc}


def describe_options(library):
    """The options that a library has, by its own list of them."""
    lib = ctypes.CDLL(str(library))

    class OptionInfo(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_uint32), ("scope", ctypes.c_int32),
                    ("type", ctypes.c_int32), ("reserved", ctypes.c_uint32),
                    ("name", ctypes.c_char_p), ("doc", ctypes.c_char_p),
                    ("int_minimum", ctypes.c_int64), ("int_maximum", ctypes.c_int64),
                    ("int_default", ctypes.c_int64), ("float_minimum", ctypes.c_double),
                    ("float_maximum", ctypes.c_double), ("float_default", ctypes.c_double),
                    ("string_default", ctypes.c_char_p), ("string_choices", ctypes.c_char_p)]

    lib.tenon_option_count.restype = ctypes.c_size_t
    result = []
    scopes = {1: "model", 2: "session", 3: "sampler", 4: "engine", 5: "chat", 6: "embedder"}
    types = {1: "int", 2: "float", 3: "bool", 4: "string", 5: "string_list"}
    for index in range(lib.tenon_option_count()):
        info = OptionInfo(struct_size=ctypes.sizeof(OptionInfo))
        if lib.tenon_option_get_info(ctypes.c_size_t(index), ctypes.byref(info)) != 0:
            raise Refused(f"option {index}: {library} does not tell it")
        kind = types[info.type]
        option = {"name": info.name.decode(), "scope": scopes[info.scope], "type": kind}
        if kind == "int":
            option.update(minimum=info.int_minimum, maximum=info.int_maximum,
                          default=info.int_default)
        elif kind == "float":
            option.update(minimum=repr(info.float_minimum), maximum=repr(info.float_maximum),
                          default=info.float_default)
        elif kind == "bool":
            option["default"] = bool(info.int_default)
        elif kind == "string":
            option["default"] = info.string_default.decode()
            if info.string_choices:
                option["choices"] = info.string_choices.decode().split("|")
        option["doc"] = info.doc.decode()
        result.append(option)
    return result


def describe_header(header, nodes, included, notes):
    """What a header says itself. nodes: its own and the included ones; included: the names of the latter."""
    text = header.read_text()
    comments, types = Comments(text), Types(nodes)
    roles = Roles(types, notes)
    callbacks, structs, functions = [], [], []
    own = [node for node in nodes if node["name"] not in included]
    for node in own:
        if node["kind"] == "TypedefDecl" and node["name"] in types.callbacks:
            match = re.search(rf"typedef ([^;()]+)\(\*{node['name']}\)\((.*?)\);", text, re.S)
            parameters = [{"name": name, "type": kind}
                          for kind, name in names_of_parameters(match.group(2))]
            roles.place(node["name"], parameters)
            for parameter in parameters:
                parameter["type"] = types.resolved(parameter["type"])
            doc = comments.before(match.start())
            callbacks.append({"name": node["name"], "returns": types.resolved(match.group(1)),
                              "parameters": parameters, "since": since(doc), "doc": doc})
        elif is_structure(node):
            structs.append(describe_struct(node, node["name"], comments, types, roles))
        elif node["kind"] == "FunctionDecl":
            functions.append(describe_function(node, comments, types, roles, notes))
    names = {function["name"] for function in functions}
    handles = [{"name": name, "destroy": f"{name}_destroy",
                "thread": "any" if name in notes["threads"]["any"] else "one at a time"}
               for name in sorted(types.handles - included)]
    for handle in handles:
        if handle["destroy"] not in names:
            raise Refused(f"{handle['name']} has no {handle['destroy']}")
    return {"aliases": dict(sorted(types.aliases.items())), "constants": describe_constants(text, comments),
            "handles": handles, "callbacks": callbacks, "structs": structs, "functions": functions}


def describe(clang, library):
    """The description of each header."""
    notes = json.loads((HERE / "notes.json").read_text())
    nodes = parse_header(clang, HEADER)
    described = describe_header(HEADER, nodes, set(), notes)
    server = describe_header(SERVER_HEADER, parse_header(clang, SERVER_HEADER), {node["name"] for node in nodes}, notes)
    hub = describe_header(HUB_HEADER, parse_header(clang, HUB_HEADER), {node["name"] for node in nodes}, notes)
    version = {item["name"]: item["value"] for item in described["constants"]}
    head = {"format": 1, "version": "{}.{}.{}".format(*(version[f"TENON_VERSION_{part}"]
                                                        for part in ("MAJOR", "MINOR", "PATCH")))}
    return {HEADER: {**head, **described, "options": describe_options(library)},
            SERVER_HEADER: {**head, **server, "options": []}, HUB_HEADER: {**head, **hub, "options": []}}


# ---- Output --------------------------------------------------------------------------------------


def as_text(description):
    """One line for each thing, so that differences can be read."""

    def line(value):
        return json.dumps(value, ensure_ascii=False)

    parts = []
    for key, value in description.items():
        if not isinstance(value, list) or not value:
            parts.append(f' "{key}": {line(value)}')
            continue
        rows = []
        for item in value:
            inner = next((name for name in ("fields", "parameters") if item.get(name)), None)
            if inner is None:
                rows.append(f"  {line(item)}")
                continue
            head = line({name: member for name, member in item.items() if name != inner})[:-1]
            members = ",\n".join(f"    {line(member)}" for member in item[inner])
            rows.append(f'  {head}, "{inner}": [\n{members}]}}')
        parts.append(f' "{key}": [\n' + ",\n".join(rows) + "]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


ASSERTS_HEAD = """/* Generated by bindings/describe/describe.py --asserts. */
#include <stddef.h>
#include <tenon/hub.h>
#include <tenon/server.h>
#include <tenon/tenon.h>
#define SAME(type, expression) \\
  _Static_assert(_Generic((expression), type: 1, default: 0), #expression)
"""


def asserts(description):
    """C that compiles only against a header that the description tells the truth about."""
    lines = []
    for item in description["constants"]:
        value = item["value"]
        lines.append(f"_Static_assert({item['name']} == {value}{'u' if item['unsigned'] else ''}, "
                     f"\"{item['name']}\");")
    for struct in description["structs"]:
        name = struct["name"]
        lines.append(f"_Static_assert(sizeof({name}) == {struct['size']} && "
                     f"_Alignof({name}) == {struct['alignment']}, \"{name}\");")
        for field in struct["fields"]:
            member = f"(({name}*)0)->{field['name']}"
            lines.append(f"_Static_assert(offsetof({name}, {field['name']}) == {field['offset']} && "
                         f"sizeof({member}) == {field['size']}, \"{name}.{field['name']}\");")
            if "count" in field:
                member += "[0]"
            lines.append(f"SAME({field['type']}, {member});")
    for callback in description["callbacks"]:
        kinds = ", ".join(p["type"] for p in callback["parameters"]) or "void"
        lines.append(f"SAME({callback['returns']} (*)({kinds}), ({callback['name']})0);")
    for function in description["functions"]:
        kinds = ", ".join(p["type"] for p in function["parameters"]) or "void"
        lines.append(f"SAME({function['returns']} (*)({kinds}), &{function['name']});")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", type=Path, help="a libtenon.so of this tree, for the options")
    parser.add_argument("--clang", default="clang")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--asserts", type=Path)
    arguments = parser.parse_args()
    if arguments.asserts:
        descriptions = (json.loads(output.read_text()) for output in OUTPUTS.values())
        arguments.asserts.write_text(ASSERTS_HEAD + "".join(map(asserts, descriptions)))
        return 0
    if arguments.library is None:
        parser.error("--library is needed")
    try:
        texts = {OUTPUTS[header]: as_text(description)
                 for header, description in describe(arguments.clang, arguments.library).items()}
    except Refused as refusal:
        print(f"describe.py: {refusal}", file=sys.stderr)
        return 1
    if not arguments.check:
        for output, text in texts.items():
            output.write_text(text)
        return 0
    old = [str(output.relative_to(ROOT)) for output, text in texts.items()
           if not output.exists() or output.read_text() != text]
    if old:
        print(f"{', '.join(old)}: not what the headers and the options say: run bindings/generate.sh BUILD_FOLDER",
              file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
