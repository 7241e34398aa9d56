#!/usr/bin/env python3
"""Writes what of the Go binding follows from bindings/interface.json and server_interface.json.

    generate.py           *_generated.go, made_for.json and made_for_server.json
    generate.py --check   says which of them are not new, status 1

For each function `tenon_x_y` there are callXY, the bare call, once for purego and once for cgo, and xY, which
takes and returns what Go has: handles, strings, slices, structs and errors, by a rule for each role. Functions
of HAND have callXY alone; what Go makes of them is written in the file that is named here.
"""

import sys

from go_interface import (BY_HAND, C_TYPES, CALLBACKS, HAND, HEAD, HERE, LIBRARY, SCALARS, Interface, aligned,
                          callback_name, camel, comment, documented, go_name, lower)
from generating import made_for, short, write
from go_structs import structs_file

# ---- Bare calls ----------------------------------------------------------------------------------


def bare_type(interface, p):
    """How callXY takes a parameter: memory of Go as a pointer, what C owns as a number."""
    if p["role"] in ("handle", "callback", "user"):
        return "uintptr"
    if "*" in p["type"]:
        return "unsafe.Pointer"
    return interface.scalar(p["type"])


def bare_result(interface, function):
    if function["returns"] == "void":
        return ""
    if "*" in function["returns"]:
        return "unsafe.Pointer"
    return interface.scalar(function["returns"])


def bare_signature(interface, function):
    parameters = [(lower(p["name"]), bare_type(interface, p)) for p in function["parameters"]]
    result = bare_result(interface, function)
    return parameters, result, (f"func call{camel(short(function['name']))}("
                                f"{', '.join(f'{n} {t}' for n, t in parameters)})"
                                f"{' ' + result if result else ''} {{")


def purego_file(interface):
    lines = ["//go:build !tenon_cgo", "", HEAD, "package tenon", "",
             "import (", '\t"unsafe"', "", '\t"github.com/ebitengine/purego"', ")", ""]
    with_floats = [f for f in interface.functions
                   if any(bare_type(interface, p) == "float64" for p in f["parameters"])]
    rows = []
    for f in with_floats:
        parameters, result, _ = bare_signature(interface, f)
        rows.append((lower(short(f["name"])), f"func({', '.join(t for _, t in parameters)}) {result}"))
    lines += ["// Those with floating-point parameters, which purego.SyscallN cannot pass.",
              "var withFloats struct {", *aligned(rows), "}", "",
              "// registerWithFloats is called once for each library, with the first of its functions and the one after them.",
              "func registerWithFloats(first, end int) {",
              "\tregister := func(function int, variable any) {",
              "\t\tif first <= function && function < end && functions[function] != 0 {",
              "\t\t\tpurego.RegisterFunc(variable, functions[function])", "\t\t}", "\t}"]
    for f in with_floats:
        lines.append(f"\tregister(fn{camel(short(f['name']))}, &withFloats.{lower(short(f['name']))})")
    lines += ["}", ""]
    for f in interface.functions:
        parameters, result, signature = bare_signature(interface, f)
        lines.append(signature)
        passed = []
        if f in with_floats:
            call = f"withFloats.{lower(short(f['name']))}({', '.join(n for n, _ in parameters)})"
            lines.append(f"\treturn {call}")
        else:
            for name, kind in parameters:
                passed.append(name if kind == "uintptr" else f"uintptr({name})")
            call = f"purego.SyscallN({', '.join(['functions[fn' + camel(short(f['name'])) + ']'] + passed)})"
            if not result:
                lines.append(f"\tpurego.SyscallN({call.removeprefix('purego.SyscallN(')}")
            else:
                lines.append(f"\tresult, _, _ := {call}")
                lines.append("\treturn *(*unsafe.Pointer)(unsafe.Pointer(&result))"
                             if result == "unsafe.Pointer" else
                             "\treturn result" if result == "uintptr" else f"\treturn {result}(result)")
        lines += ["}", ""]
    return "\n".join(lines)


def cgo_file(interface):
    lines = ["//go:build tenon_cgo", "", HEAD, "package tenon", "", "/*", "#include <stdint.h>", ""]
    for f in interface.functions:
        parameters, result, _ = bare_signature(interface, f)
        c_result = C_TYPES[result] if result else "void"
        types = [C_TYPES[t] for _, t in parameters]
        names = [n for n, _ in parameters]
        declared = ", ".join(["uintptr_t function", *(f"{t} {n}" for t, n in zip(types, names))])
        lines.append(f"static {c_result} call_{short(f['name'])}({declared}) {{")
        pointer = f"({c_result} (*)({', '.join(types) or 'void'}))"
        lines += [f"  {'return ' if result else ''}({pointer}function)({', '.join(names)});", "}"]
    lines += ["*/", 'import "C"', "", 'import "unsafe"', ""]
    for f in interface.functions:
        parameters, result, signature = bare_signature(interface, f)
        lines.append(signature)
        passed = [f"C.uintptr_t(functions[fn{camel(short(f['name']))}])"]
        for name, kind in parameters:
            passed.append(name if kind == "unsafe.Pointer" else
                          f"C.{C_TYPES[kind]}({name})")
        call = f"C.call_{short(f['name'])}({', '.join(passed)})"
        lines += [f"\t{call}" if not result else
                  f"\treturn {call}" if result == "unsafe.Pointer" else f"\treturn {result}({call})", "}", ""]
    return "\n".join(lines)


# ---- Callbacks -----------------------------------------------------------------------------------


def raw_callback(interface, callback):
    """The parameters with which C calls Go, and the result."""
    parameters = [(lower(p["name"]), "uintptr" if p["role"] in ("user", "callback") else
                   f"*c{camel(short(p['of']))}" if p["role"] == "struct" else
                   "unsafe.Pointer" if "*" in p["type"] else interface.scalar(p["type"]))
                  for p in callback["parameters"]]
    return parameters, "" if callback["returns"] == "void" else interface.scalar(callback["returns"])


def trampoline(interface, callback):
    """The Go function that C calls; it calls the one of the call under way."""
    parameters, result = raw_callback(interface, callback)
    passed = []
    for p in callback["parameters"]:
        if p["role"] == "value":
            passed.append(lower(p["name"]))
        elif p["role"] == "struct":
            passed.append(f"{lower(p['name'])}.value()")
        elif p["role"] == "array":
            kind = interface.scalar(p["of"])
            passed.append(f"unsafe.Slice((*{kind})({lower(p['name'])}), {lower(p['length'])})")
    call = f"kept.function.({callback_type(interface, callback['name'])})({', '.join(passed)})"
    lines = [f"func on{callback_name(callback['name'])}({', '.join(f'{n} {t}' for n, t in parameters)})"
             f"{' ' + result if result else ''} {{", "\tkept := keptOf(user)"]
    if result:
        lines += ["\treturn kept.run(func() error {", f"\t\treturn {call}", "\t})"]
    else:
        lines += ["\tkept.run(func() error {", f"\t\t{call}", "\t\treturn nil", "\t})"]
    return [*lines, "}", ""]


def callbacks_file(interface):
    names = sorted(CALLBACKS | BY_HAND)
    lines = ["//go:build !tenon_cgo", "", HEAD, "package tenon", "",
             'import "github.com/ebitengine/purego"', "", "func makeCallbacks() {"]
    lines += [f"\taddress{callback_name(name)} = purego.NewCallback(on{callback_name(name)})" for name in names]
    return "\n".join([*lines, "}", ""])


def callbacks_cgo_file(interface):
    names = sorted(CALLBACKS | BY_HAND)
    lines = ["//go:build tenon_cgo", "", HEAD, "package tenon", "", "/*", "#include <stdint.h>", ""]
    for name in names:
        parameters, result = raw_callback(interface, interface.callbacks[name])
        types = [C_TYPES.get(t, "void*") for _, t in parameters]
        lines += [f"extern {C_TYPES[result] if result else 'void'} tenonOn{callback_name(name)}"
                  f"({', '.join(types)});",
                  f"static inline uintptr_t address_of_{short(name)}(void) "
                  f"{{ return (uintptr_t)tenonOn{callback_name(name)}; }}"]
    lines += ["*/", 'import "C"', "", 'import "unsafe"', "", "func makeCallbacks() {"]
    lines += [f"\taddress{callback_name(name)} = uintptr(C.address_of_{short(name)}())" for name in names]
    lines += ["}", ""]
    for name in names:
        parameters, result = raw_callback(interface, interface.callbacks[name])
        declared, passed = [], []
        for parameter, kind in parameters:
            c_type = f"C.{C_TYPES[kind]}" if kind in SCALARS.values() else "unsafe.Pointer"
            declared.append(f"{parameter} {c_type}")
            passed.append(parameter if kind == "unsafe.Pointer" else
                          f"({kind})({parameter})" if kind[0] == "*" else f"{kind}({parameter})")
        call = f"on{callback_name(name)}({', '.join(passed)})"
        lines += [f"//export tenonOn{callback_name(name)}",
                  f"func tenonOn{callback_name(name)}({', '.join(declared)})"
                  f"{' C.' + C_TYPES[result] if result else ''} {{",
                  f"\treturn C.{C_TYPES[result]}({call})" if result else f"\t{call}", "}", ""]
    return "\n".join(lines)


# ---- Functions for Go ----------------------------------------------------------------------------


def callback_type(interface, name):
    """The Go function that a callback is: what it returns as an error ends the call and comes out of it."""
    arguments = []
    for p in interface.callbacks[name]["parameters"]:
        if p["role"] == "value":
            arguments.append(f"{lower(p['name'])} {interface.scalar(p['type'])}")
        elif p["role"] == "struct":
            arguments.append(f"{lower(p['name'])} {camel(short(p['of']))}")
        elif p["role"] == "array":
            arguments.append(f"{lower(p['name'])} []{interface.scalar(p['of'])}")
    result = "" if interface.callbacks[name]["returns"] == "void" else " error"
    return f"func({', '.join(arguments)}){result}"


def element(interface, of):
    return {"char": "byte", "void": "byte"}.get(of) or interface.scalar(of)


def wrapper(interface, function):
    name = short(function["name"])
    counted = {q["length"] for q in function["parameters"] if q["role"] in ("array", "text")}
    arguments, before, passed, results, after = [], [], [], [], []
    busy_ok = "during other calls" in function["thread"]
    buffer = None
    for p in function["parameters"]:
        variable, role, of = lower(p["name"]), p["role"], p.get("of")
        if role in ("length", "capacity", "needed"):
            kind = interface.scalar(p["type"].removesuffix("*"))
            passed.append(variable)
            owner = next(q for q in function["parameters"]
                         if p["name"] in (q.get("length"), q.get("needed")))
            if role == "length" and owner["role"] in ("text", "array"):
                passed[-1] = f"{kind}(len({lower(owner['name'])}))"
            elif role == "length" and owner["role"] == "fill":
                passed[-1] = f"{kind}({variable})"
            elif role == "length":  # of lent texts and arrays
                before.append(f"var {variable} {kind}")
                passed[-1] = f"unsafe.Pointer(&{variable})"
            elif role == "capacity":
                passed[-1] = f"{kind}(len({lower(owner['name'])}))"
            else:
                before.append(f"var {variable} {kind}")
                passed[-1] = f"unsafe.Pointer(&{variable})"
            continue
        if role == "handle":
            flags = " | ".join((["nullable"] if p.get("nullable") else []) +
                               (["whileBusy"] if busy_ok else [])) or "0"
            arguments.append(f"{variable} *handle")
            before.append(f"{variable}Pointer := c.use({variable}, kind{camel(short(of))}, {flags})")
            passed.append(f"{variable}Pointer")
        elif role == "value":
            kind = "int" if interface.scalar(p["type"]) == "uintptr" else \
                "Token" if of == "tenon_token" else interface.scalar(p["type"])
            arguments.append(f"{variable} {kind}")
            passed.append(f"uintptr({variable})" if kind == "int" else variable)
        elif role == "text":
            arguments.append(f"{variable} string")
            passed.append(f"textPointer({variable})")
        elif role == "array":
            kind = "Token" if of == "tenon_token" else element(interface, of)
            arguments.append(f"{variable} []{kind}")
            passed.append(f"slicePointer({variable})")
        elif role == "name":
            arguments.append(f"{variable} string")
            before.append(f"{variable}Bytes := c.name({variable})")
            passed.append(f"slicePointer({variable}Bytes)")
        elif role == "struct":
            arguments.append(f"{variable} *{camel(short(of))}")
            before += [f"var {variable}Value c{camel(short(of))}", f"{variable}.fill(c, &{variable}Value)"]
            passed.append(f"unsafe.Pointer(&{variable}Value)")
        elif role == "callback":
            arguments.append(f"{variable} {callback_type(interface, of)}")
            before.append(f"{variable}Address, user := c.callback(address{callback_name(of)}, {variable}, {variable} == nil)")
            passed.append(f"{variable}Address")
        elif role == "user":
            passed.append("user")
        elif role == "out_handle":
            before.append(f"var {variable} uintptr")
            passed.append(f"unsafe.Pointer(&{variable})")
            owner = lower(p["borrowed_from"]) if "borrowed_from" in p else "nil"
            made = f"newHandle(kind{camel(short(of))}, {variable}, {owner})"
            results.append(("*handle", f"c.keeper({made})" if interface.keeps(function) else made))
        elif role == "out_value":
            kind = "Token" if of == "tenon_token" else interface.scalar(of)
            before.append(f"var {variable} {kind}")
            passed.append(f"unsafe.Pointer(&{variable})")
            results.append((kind, variable) if kind != "uintptr" else ("int", f"int({variable})"))
        elif role == "out_struct":
            before += [f"var {variable} c{camel(short(of))}", f"{variable}.structSize = uint32(unsafe.Sizeof({variable}))"]
            passed.append(f"unsafe.Pointer(&{variable})")
            results.append((go_name(of), f"{variable}.value()"))
        elif role in ("out_text", "out_array"):
            before.append(f"var {variable} unsafe.Pointer")
            passed.append(f"unsafe.Pointer(&{variable})")
            length = f"uint64({lower(p['length'])})"
            kind = "Token" if of == "tenon_token" else element(interface, of)
            results.append(("string", f"textAt({variable}, {length})") if role == "out_text" else
                           (f"[]{kind}", f"copyOf[{kind}]({variable}, {length})"))
        elif role == "out_name":
            before.append(f"var {variable} unsafe.Pointer")
            passed.append(f"unsafe.Pointer(&{variable})")
            results.append(("string", f"nameAt({variable})"))
        elif role == "fill":
            kind = "Token" if of == "tenon_token" else element(interface, of)
            count = lower(p["length"])
            if p["length"] not in counted:
                counted.add(p["length"])
                arguments.append(f"{count} int")
            else:
                count = next((f"len({lower(q['name'])})" for q in function["parameters"]
                              if q["role"] == "array" and q["length"] == p["length"]), count)
            before.append(f"{variable} := make([]{kind}, {count})")
            passed.append(f"slicePointer({variable})")
            results.append((f"[]{kind}", variable))
        elif role == "buffer":
            kind = "Token" if of == "tenon_token" else element(interface, of)
            buffer = p
            before.append(f"{variable} := make([]{kind}, firstCapacity)")
            passed.append(f"slicePointer({variable})")
            filled = f"{variable}[:{lower(p['needed'])}]"
            results.append(("string", f"string({filled})") if of == "char" and "encoding" not in p else
                           (f"[]{kind}", filled))
        else:
            raise SystemExit(f"{function['name']}.{variable}: no rule for the role {role}")
    call = f"call{camel(name)}({', '.join(passed)})"
    if not function["fails"]:
        kind = bare_result(interface, function)
        if kind == "unsafe.Pointer":
            results, answer = [("string", None)], f"nameAt({call})"
        elif kind == "uintptr":
            results, answer = [("int", None)], f"int({call})"
        else:
            results, answer = ([(kind, None)] if kind else []), call
        after = [f"return {answer}" if results else answer]
    types = [kind for kind, _ in results] + (["error"] if function["fails"] else [])
    outcome = f" ({', '.join(types)})" if len(types) > 1 else f" {types[0]}" if types else ""
    zeros = [{"string": '""', "*handle": "nil"}.get(kind) or
             ("nil" if kind.startswith("[]") else "0" if kind in (*SCALARS.values(), "int", "Token") else
              f"{kind}{{}}")
             for kind, _ in results]

    def failed(error):
        return f"return {', '.join([*zeros, error])}" if function["fails"] else \
            f"return {', '.join(zeros)}".rstrip()

    lines = [f"func {lower(name)}({', '.join(arguments)}){outcome} {{",
             f"\tc := begin(fn{camel(name)})", "\tdefer c.end()"]
    lines += [f"\t{line}" for line in before]
    lines += ["\tif c.err != nil {", f"\t\t{failed('c.err')}", "\t}"]
    if buffer:
        variable, needed = lower(buffer["name"]), lower(buffer["needed"])
        lines += ["\tfor {", f"\t\tif err := c.done({call}); err != nil {{", f"\t\t\t{failed('err')}", "\t\t}",
                  f"\t\tif {needed} <= uintptr(len({variable})) {{",
                  f"\t\t\treturn {results[0][1]}, nil", "\t\t}",
                  f"\t\t{variable} = make([]{element(interface, buffer['of'])}, {needed})", "\t}"]
    elif function["fails"] and not results:
        lines.append(f"\treturn c.done({call})")
    elif function["fails"]:
        lines += [f"\tif err := c.done({call}); err != nil {{", f"\t\t{failed('err')}", "\t}",
                  f"\treturn {', '.join([*(value for _, value in results), 'nil'])}"]
    else:
        lines += [f"\t{line}" for line in after]
    return [*lines, "}", ""]


def functions_file(interface):
    lines = [HEAD, "package tenon", "", 'import "unsafe"', "",
             "// Indices into functions and functionNames.", "const ("]
    for index, f in enumerate(interface.functions):
        lines.append(f"\tfn{camel(short(f['name']))}{' = iota' if index == 0 else ''}")
    lines += ["\tnumFunctions", "", "\t// The server's are those from here on.",
              f"\tnumLibraryFunctions = {interface.num_library_functions}", ")", "", "var functionNames = [numFunctions]string{"]
    lines += [f'\t"{f["name"]}",' for f in interface.functions]
    lines += ["}", "", "// The C functions that call Go; makeCallbacks makes them.", "var ("]
    lines += aligned([(f"address{callback_name(name)}", "uintptr") for name in sorted(CALLBACKS | BY_HAND)])
    lines += [")", "", "// What a handle is of.", "const ("]
    handles = interface.data["handles"]
    lines += [f"\tkind{camel(short(h['name']))}{' handleKind = iota' if i == 0 else ''}"
              for i, h in enumerate(handles)]
    lines += ["\tnumKinds", ")", "", "var kinds = [numKinds]kindInfo{"]
    lines += [f'\t{{"{short(h["name"]).replace("_", " ")}", {str(h["thread"] == "one at a time").lower()}, '
              f'call{camel(short(h["destroy"]))}}},' for h in handles]
    lines += ["}", ""]
    for f in interface.functions:
        if f["name"] in HAND | LIBRARY | interface.destroys or f["name"] == "tenon_status_name":
            continue
        lines += wrapper(interface, f)
    for name in sorted(CALLBACKS):
        lines += trampoline(interface, interface.callbacks[name])
    return "\n".join(lines)


# ---- Constants, options, what the binding was made for -------------------------------------------


def constants_file(interface):
    constants = [(item["doc"], item["name"].removeprefix("TENON_"), item["value"])
                 for item in interface.data["constants"]]
    codes = [(doc, name.removeprefix("ERROR_"), value) for doc, name, value in constants
             if name.startswith("ERROR_")]
    lines = [HEAD, "package tenon", "", "// The constants of tenon.h.", "const ("]
    lines += documented([(doc, camel(name), f"= {value}") for doc, name, value in constants
                         if not name.startswith("ERROR_")])
    lines += [")", "", "// The codes of errors: errors.Is(err, tenon.ErrBusy).", "const ("]
    lines += documented([(doc, f"Err{camel(name)}", f"Code = {value}") for doc, name, value in codes])
    rows = [(f"Err{camel(name)}:", f'"{name}",') for _, name, _ in codes]
    lines += [")", "", "var codeNames = map[Code]string{", *aligned(rows), "}", ""]
    return "\n".join(lines)


def options_file(interface):
    kinds = {"int": "Opt[int]", "float": "Opt[float64]", "bool": "Opt[bool]", "string": "Opt[string]",
             "string_list": "[]string"}
    lines = [HEAD, "package tenon", ""]
    for scope in ("model", "session", "sampler", "engine", "chat", "embedder"):
        options = [o for o in interface.data["options"] if o["scope"] == scope and "." not in o["name"]]
        name = f"{scope.capitalize()}Options"
        lines += [f"// {name} are the options of a {scope}; what is not set has the library's default.",
                  f"type {name} struct {{"]
        for option in options:
            lines += comment(option["doc"])
            lines.append(f"\t{camel(option['name'])} {kinds[option['type']]}")
        lines += ["\t// Options by their names: those of a backend (\"backend.KEY\"), and any that this binding",
                  "\t// does not know yet. int, float64, bool, string or []string.",
                  "\tExtra map[string]any", "}", "",
                  f"func (o *{name}) apply(set func(key string, value any)) {{",
                  "\tif o == nil {", "\t\treturn", "\t}"]
        for option in options:
            field = f"o.{camel(option['name'])}"
            value, test = (field, f"len({field}) > 0") if option["type"] == "string_list" else \
                (f"{field}.value", f"{field}.isSet")
            lines += [f"\tif {test} {{", f'\t\tset("{option["name"]}", {value})', "\t}"]
        lines += ["\tapplyExtra(o.Extra, set)", "}", ""]
    return "\n".join(lines)


def main():
    server = Interface("server_interface.json")
    library = Interface()
    both = Interface(server=server)
    both.refuse_arrays_of_pointers()
    files = {"structs": structs_file, "functions": functions_file, "callbacks_purego": callbacks_file,
             "callbacks_cgo": callbacks_cgo_file, "calls_purego": purego_file, "calls_cgo": cgo_file,
             "options": options_file, "constants": constants_file}
    texts = {f"{name}_generated.go": make(both) for name, make in files.items()}
    for name, of in (("made_for.json", library), ("made_for_server.json", server)):
        texts[name] = made_for(of, of.functions,
                               lambda field: {key: field[key] for key in ("name", "offset", "size", "type")})
    return write(HERE, texts)


if __name__ == "__main__":
    sys.exit(main())
