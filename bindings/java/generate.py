#!/usr/bin/env python3
"""Writes what of the Java binding follows from bindings/interface.json and server_interface.json.

    generate.py           generated/, generated22/, native/generated.h: build_jar.py makes them, the repository does not
                          hold them
    generate.py --check   nothing to compare: that they can be made

Three layers, lowest first:
    NativeCalls   a method for each function of both headers, with its C types: pointers and size_t are long. JniCalls
                  (native/generated.h) and ForeignCalls (java.lang.foreign, Java 22) are the two ways of it.
    Calls         the same functions with Java's types: in-parameters are arguments in order (a text or array
                  without its length, no `user`), out-parameters the result. Functions of HAND are written in
                  the classes that need them.
    records, options, constants   what programs see.
"""

import sys

from interface import (BOOLEANS, BOXES, HERE, INTERNAL, NOTE, Interface, camel, doc, pascal, record_name, short,
                       upcall_name)
from generating import HIDDEN, made_for, write
from native_layer import foreign_calls, generated_header, jni_calls, native_calls, upcalls

# Structures that hold callbacks or arrays of pointers are filled by hand, with the offsets of Layouts.
# So are functions whose callback outlives the call.
HAND = {"tenon_model_load", "tenon_tokenizer_load", "tenon_session_submit", "tenon_embedder_embed",
        "tenon_embedder_rank", "tenon_session_score", "tenon_server_create"}
# Answered by the layers themselves.
LIBRARY = {"tenon_interface_description", "tenon_last_error", "tenon_last_system_error", "tenon_server_interface_description",
           "tenon_server_last_error"}
# Handles that end before what they are made from.
WITHIN = {"tenon_server_call"}


# ---- Structures ------------------------------------------------------------------------------------


def field_type(interface, field):
    role = field["role"]
    if role in ("text", "name"):
        return "byte[]" if field.get("encoding") == "bytes" else "String"
    if role == "array":
        return f"{interface.java(field['of'])}[]"
    if "count" in field:
        return f"java.util.List<{BOXES[interface.java(field['type'])]}>"
    if field["name"] in BOOLEANS:
        return "boolean"
    return interface.java(field["type"])


def read_field(interface, struct, field):
    at, role = field["offset"], field["role"]
    if role == "text":
        how = "bytes" if field.get("encoding") == "bytes" else "text"
        return f"{how}(at.int64({at}), at.int64({interface.offset(struct, field['length'])}))"
    if role == "name":
        return f"name(at.int64({at}))"
    if role == "array":
        return f"tokens(at.int64({at}), at.int64({interface.offset(struct, field['length'])}))"
    getter = {"int": "int32", "long": "int64", "double": "float64"}[interface.java(field["type"])]
    if "count" in field:
        return f"{getter}s(at, {at}, {field['count']})"
    if field["name"] in BOOLEANS:
        return f"at.{getter}({at}) != 0"
    return f"at.{getter}({at})"


def structs_class(interface):
    lines = ["package tenon;", "", f"/** Structures in memory as records, and hardware back. {NOTE} */",
             "final class Structs extends StructFields {", "  private Structs() {}"]
    for name in interface.read:
        record = record_name(name)
        fields = ",\n        ".join(read_field(interface, name, field) for field in interface.shown(name))
        lines += ["", f"  static {record} read{record}(Block at) {{", f"    return new {record}(",
                  f"        {fields});", "  }"]
    lines += ["", "  static void write(Hardware hardware, Block at) {"]
    for field in interface.shown("tenon_hardware"):
        value = f"hardware.{camel(field['name'])}()"
        setter = {"int": "int32", "long": "int64", "double": "float64"}[interface.java(field["type"])]
        lines.append(f"    put(at, {field['offset']}, {value});" if "count" in field else
                     f"    at.{setter}({field['offset']}, {value});")
    lines += ["  }", "", "  /** For tests of layouts: a structure that stands in memory, as Java sees it. */",
              "  static Record read(String struct, Block at) {", "    return switch (struct) {"]
    lines += [f'      case "{name}" -> read{record_name(name)}(at);' for name in interface.read]
    lines += ["      default -> throw new IllegalArgumentException(struct);", "    };", "  }", "}", ""]
    return "\n".join(lines)


def record_file(interface, name):
    struct = interface.structs[name]
    fields = interface.shown(name)
    lines = ["package tenon;", ""]
    about = doc(f"{struct['doc'] or f'The structure {name}.'} {NOTE}")
    lines += [*about[:-1], about[-1].removesuffix(" */")]
    for field in fields:
        if field["doc"]:
            text = doc(f"{camel(field['name'])} {field['doc']}")
            lines += [" * @param " + text[0].removeprefix("/** ").removesuffix(" */")]
            lines += [line.removesuffix(" */") for line in text[1:]]
    lines.append(" */")
    shown = ",\n    ".join(f"{field_type(interface, field)} {camel(field['name'])}" for field in fields)
    public = "" if name in INTERNAL else "public "
    lines += [f"{public}record {record_name(name)}(", f"    {shown}) {{}}", ""]
    return "\n".join(lines)


def layouts_class(interface):
    """Sizes and offsets of what is filled by hand."""
    lines = ["package tenon;", "", f"/** Offsets of the structures that are filled by hand. {NOTE} */",
             "final class Layouts {", "  private Layouts() {}"]
    for name in ("tenon_source", "tenon_callbacks", "tenon_submission", "tenon_embedder_batch",
                 "tenon_continuations"):
        struct = interface.structs[name]
        lines += ["", f"  static final class {pascal(name)} {{", f"    private {pascal(name)}() {{}}",
                  f"    static final int SIZE = {struct['size']};"]
        # A field called size keeps apart from the size of the whole.
        lines += [f"    static final int {field['name'].upper()}{'_' if field['name'] == 'size' else ''} = "
                  f"{field['offset']};" for field in struct["fields"] if field["name"] not in HIDDEN]
        lines.append("  }")
    return "\n".join([*lines, "}", ""])


# ---- Functions with Java's types -------------------------------------------------------------------


def array_type(interface, of):
    return {"float": "Object", "int": "int[]", "void": "byte[]"}[interface.java(of)]


def array_maker(interface, of):
    return {"float": "floats", "int": "tokens", "void": "bytes"}[interface.java(of)]


def wrapper(interface, function):
    """One method of Calls: its arguments, what it passes, its results as (type, name, expression)."""
    arguments, body, passed, results = [], [], [], []
    counted = {q["length"] for q in function["parameters"] if q["role"] in ("array", "text")}
    counted |= {q["length"] for q in function["parameters"] if q["role"] in ("out_array", "out_text")}
    lengths = {}
    busy = "during other calls" in function["thread"]
    buffer, parent = None, "null"
    for p in function["parameters"]:
        name, role, of = camel(p["name"]), p["role"], p.get("of")
        if name == "call":  # a variable of each method
            name = "asked"
        place = f"{name}At"
        if role in ("capacity", "needed"):
            passed.append({"capacity": "capacity", "needed": "needed"}[role])
        elif role == "length":
            passed.append(lengths.get(p["name"], p["name"] and camel(p["name"])))
        elif role == "handle":
            arguments.append(f"Handle {name}")
            body.append(f"long {place} = call.handle({name}, {str(busy).lower()});")
            passed.append(place)
            if of != "tenon_options" and parent == "null":
                parent = name
        elif role == "value":
            arguments.append(f"{interface.java(p['type'])} {name}")
            passed.append(name)
        elif role in ("text", "array"):
            kind = "String" if role == "text" else array_type(interface, of)
            maker = "text" if role == "text" else array_maker(interface, of)
            arguments.append(f"{kind} {name}")
            body.append(f"Block {place} = call.{maker}({name});")
            passed.append(f"{place}.address")
            lengths[p["length"]] = f"{place}.count"
        elif role == "name":
            arguments.append(f"String {name}")
            passed.append(f"call.name({name})")
        elif role == "struct":
            arguments.append(f"{pascal(of)} {name}")
            if of in interface.filled:
                passed.append(f"call.struct({name})")
            else:
                size = interface.structs[of]["size"]
                body += [f"Block {place} = call.struct({size});", f"Structs.write({name}, {place});"]
                passed.append(f"{place}.address")
        elif role == "callback":
            arguments.append(f"Upcalls.On{upcall_name(of)} {name}")
            passed.append(f"call.upcall({name}, Upcalls.{short(of).upper()})")
        elif role == "user":
            passed.append("call.user()")
        elif role == "out_handle":
            body.append(f"Block {place} = call.block(8);")
            passed.append(f"{place}.address")
            made = "Handle.lent" if "borrowed_from" in p else "Handle.within" if of in WITHIN else "Handle.of"
            results.append(("Handle", name, f"{made}(Kind.{short(of).upper()}, {place}.int64(0), {parent})"))
        elif role == "out_value":
            body.append(f"Block {place} = call.block(8);")
            passed.append(f"{place}.address")
            kind = interface.java(of)
            getter = {"char": "char16", "int": "int32", "long": "int64", "float": "float32"}[kind]
            results.append((kind, name, f"{place}.{getter}(0)"))
        elif role == "out_struct":
            size = interface.structs[of]["size"]
            body.append(f"Block {place} = call.struct({size});")
            passed.append(f"{place}.address")
            results.append((record_name(of), name, f"Structs.read{record_name(of)}({place})"))
        elif role in ("out_text", "out_array"):
            count = f"{camel(p['length'])}At"
            body += [f"Block {place} = call.block(8);", f"Block {count} = call.block(8);"]
            passed.append(f"{place}.address")
            lengths[p["length"]] = f"{count}.address"
            where = f"{place}.int64(0), {count}.int64(0)"
            if role == "out_text":
                how = "bytes" if p.get("encoding") == "bytes" else "text"
                results.append(("byte[]" if how == "bytes" else "String", name, f"Structs.{how}({where})"))
            elif of == "float":
                results.append(("Logits", name, f"Logits.lent({parent}, {where})"))
            else:
                results.append(("int[]", name, f"Structs.tokens({where})"))
        elif role == "out_name":
            body.append(f"Block {place} = call.block(8);")
            passed.append(f"{place}.address")
            results.append(("String", name, f"Structs.name({place}.int64(0))"))
        elif role == "fill":
            if p["length"] not in lengths:
                arguments.append(f"int {camel(p['length'])}")
                lengths[p["length"]] = camel(p["length"])
            kind = interface.java(of)
            count = lengths[p["length"]]
            body.append(f"Block {place} = call.array({count}, 4);")
            passed.append(f"{place}.address")
            results.append((f"{kind}[]", name, f"{place}.{ {'int': 'ints', 'float': 'float32s'}[kind] }()"))
        elif role == "buffer":
            buffer = p
            passed.append("buffer")
            kind = "byte" if of in ("char", "void") else interface.java(of)
            if of == "char" and p.get("encoding") != "bytes":
                results.append(("String", name, "filled.string()"))
            else:
                getter = {"byte": "int8s", "int": "ints", "long": "int64s", "float": "float32s"}[kind]
                results.append((f"{kind}[]", name, f"filled.{getter}()"))
        else:
            raise SystemExit(f"{function['name']}.{p['name']}: no rule for the role {role}")
    call = f"call.library.{camel(function['name'])}({', '.join(passed)})"
    if not function["fails"] and function["returns"] != "void":
        if function["returns"] == "const char*":
            results.append(("String", "answer", f"Structs.name({call})"))
        else:
            results.append((interface.java(function["returns"]), "answer", call))
    elif buffer:
        width = {"char": 1, "void": 1, "uint64_t": 8}.get(buffer["of"], 4)
        body += [f"Block filled = call.fill({width}, (buffer, capacity, needed) ->", f"    {call});"]
    else:
        check = "call.checkServer" if interface.is_of_server(function) else "call.check"
        body.append(f"{check}({call});" if function["fails"] else f"{call};")
    return arguments, body, results


def calls_class(interface):
    lines = ["package tenon;", "", f"/** The functions of tenon.h and server.h with Java's types. {NOTE} */",
             "final class Calls {", "  private Calls() {}"]
    destroys = {handle["destroy"] for handle in interface.handles.values()}
    for function in interface.functions:
        if function["name"] in HAND | LIBRARY | destroys:
            continue
        arguments, body, results = wrapper(interface, function)
        name = camel(function["name"])
        answer = results[0][0] if results else "void"
        made = results[0][2] if results else None
        lines.append("")
        if len(results) > 1:
            answer = pascal(name)
            lines += [f"  record {answer}({', '.join(f'{kind} {field}' for kind, field, _ in results)}) {{}}", ""]
            made = f"new {answer}({', '.join(value for _, _, value in results)})"
        lines += [f"  static {answer} {name}({', '.join(arguments)}) {{", "    try (Call call = new Call()) {"]
        lines += [f"      {line}" for line in body]
        if made:
            lines.append(f"      return {made};")
        lines += ["    }", "  }"]
    return "\n".join([*lines, "}", ""])


def kind_enum(interface):
    lines = ["package tenon;", "", f"/** The kinds of handles. {NOTE} */", "enum Kind {"]
    items = []
    for name, handle in interface.handles.items():
        alone = str(handle["thread"] == "one at a time").lower()
        items.append(f"  {short(name).upper()}(\"{short(name).replace('_', ' ')}\", {alone}) {{\n    @Override\n"
                     f"    void destroy(NativeCalls library, long pointer) {{\n"
                     f"      library.{camel(handle['destroy'])}(pointer);\n    }}\n  }}")
    lines += [",\n".join(items) + ";", "", "  final String title;", "  final boolean oneAtATime;", "",
              "  Kind(String title, boolean oneAtATime) {", "    this.title = title;",
              "    this.oneAtATime = oneAtATime;", "  }", "",
              "  abstract void destroy(NativeCalls library, long pointer);", "}", ""]
    return "\n".join(lines)


# ---- Structures that programs fill -----------------------------------------------------------------

# Where the type of a field does not tell what Java gives it.
GIVEN = {"model_options": "ModelOptions", "engine_options": "EngineOptions"}
# A thread of the library that was in Java once makes System.exit wait 0.3 s: Java looks for what has come instead.
NOT_GIVEN = {"tenon_notify_callback"}
UNSEEN = {"tenon_quantize_options", "tenon_importance_options", "tenon_picture", "tenon_server_request"}


def field_kind(interface, field):
    """StructOptions.FieldKind, and the type of the field's setter."""
    role, kind = field["role"], interface.java(field["type"])
    if role == "callback":
        return {"tenon_log_callback": ("LOG", "ModelCallbacks.Log")}[field["of"]]
    if field["name"] in GIVEN:
        return "LINES", GIVEN[field["name"]]
    if role == "text":
        return ("BYTES", "byte[]") if field.get("encoding") == "bytes" else ("TEXT", "String")
    if role == "name":
        return "NAME", "String"
    if field["name"] in BOOLEANS:
        return "FLAG", "boolean"
    return {"int": ("INT32", "long"), "long": ("INT64", "long"), "double": ("FLOAT64", "double")}[kind]


def filled_struct(interface, name):
    """The class by which programs fill a structure, a method for each field."""
    struct, title = interface.structs[name], pascal(name)
    fields = [field for field in struct["fields"] if not field["name"].startswith(("struct_size", "reserved"))
              and field["role"] not in ("length", "user") and field.get("of") not in NOT_GIVEN]
    about = struct["doc"]
    if about.startswith("----"):  # the head of a section
        about = f"Options of a {short(name).removesuffix('_options')}: {{@code new {title}()}} and what is to differ from " \
            "the defaults."
    public = "" if name in UNSEEN else "public "
    lines = ["package tenon;", "", "import java.util.List;", ""]
    lines += [line.replace("&#64;code", "@code") for line in doc(f"{about} {NOTE}")]
    lines += [f"{public}final class {title} extends StructOptions<{title}> {{",
              "  private static final List<Field> FIELDS = List.of("]
    entries = []
    for field in fields:
        second = next((other["offset"] for other in struct["fields"]
                       if other["name"] == field.get("length", field.get("user"))), 0)
        entries.append(f'      new Field("{field["name"]}", FieldKind.{field_kind(interface, field)[0]}, '
                       f'{field["offset"]}, {second})')
    lines += [",\n".join(entries) + ");", "", f"  {public}{title}() {{",
              f"    super({struct['size']}, FIELDS);", "  }"]
    for field in fields:
        lines += ["", *(doc(field["doc"], "  ") if field["doc"] else []),
                  f"  {public}{title} {camel(field['name'])}({field_kind(interface, field)[1]} value) {{",
                  f'    return set("{field["name"]}", value);', "  }"]
    return "\n".join([*lines, "}", ""])


# ---- Options and constants -------------------------------------------------------------------------


def options_file(interface, scope):
    name = f"{scope.capitalize()}Options"
    kinds = {"int": "long", "float": "double", "bool": "boolean", "string": "String", "string_list": "String..."}
    base = "ModelCallbacks" if scope == "model" else "Options"
    article = "an" if scope[0] in "aeiou" else "a"
    lines = ["package tenon;", "", f"/** Options of {article} {scope}: {{@code new {name}()}} and what is to differ"
             " from the defaults.", f" * {NOTE} */", f"public final class {name} extends {base}<{name}> {{"]
    for option in interface.data["options"]:
        if option["scope"] != scope or "." in option["name"]:
            continue
        text = option["doc"]
        if option.get("choices"):
            text += f" One of {', '.join(option['choices'])}."
        lines += ["", *doc(text, "  "),
                  f"  public {name} {camel(option['name'])}({kinds[option['type']]} value) {{",
                  f'    return set("{option["name"]}", value);', "  }"]
    return "\n".join([*lines, "}", ""])


def constants_class(interface):
    lines = ["package tenon;", "", f"/** The constants of tenon.h without TENON_. {NOTE} */",
             "public final class Constants {", "  private Constants() {}", ""]
    for item in interface.data["constants"]:
        value = item["value"]
        if value >= 2**63:
            value -= 2**64
        kind = "int" if -2**31 <= value < 2**31 and not item["name"].endswith("NUL_TERMINATED") else "long"
        if item["doc"]:
            lines += doc(item["doc"], "  ")
        lines.append(f"  public static final {kind} {item['name'].removeprefix('TENON_')} = {value}"
                     f"{'L' if kind == 'long' else ''};")
    return "\n".join([*lines, "}", ""])


def files_of(interface):
    files = {"generated/tenon/NativeCalls.java": native_calls(interface),
             "generated/tenon/JniCalls.java": jni_calls(interface),
             "generated22/tenon/ForeignCalls.java": foreign_calls(interface),
             "native/generated.h": generated_header(interface),
             "generated/tenon/Upcalls.java": upcalls(interface),
             "generated/tenon/Structs.java": structs_class(interface),
             "generated/tenon/Layouts.java": layouts_class(interface),
             "generated/tenon/Calls.java": calls_class(interface),
             "generated/tenon/Kind.java": kind_enum(interface),
             "generated/tenon/Constants.java": constants_class(interface),
             "generated/tenon/made_for.json": made_for(interface, interface.own_functions),
             "generated/tenon/made_for_server.json": made_for(interface.server, interface.server.functions)}
    for name in interface.read:
        files[f"generated/tenon/{record_name(name)}.java"] = record_file(interface, name)
    for name in interface.filled:
        files[f"generated/tenon/{pascal(name)}.java"] = filled_struct(interface, name)
    for scope in ("model", "session", "sampler", "engine", "chat", "embedder"):
        files[f"generated/tenon/{scope.capitalize()}Options.java"] = options_file(interface, scope)
    return files


def main():
    files = files_of(Interface())
    generated = [path for folder in ("generated", "generated22") for path in (HERE / folder).rglob("*.*")]
    gone = {str(path.relative_to(HERE)): None for path in generated}
    return write(HERE, gone | files, made=set(gone | files))


if __name__ == "__main__":
    sys.exit(main())
