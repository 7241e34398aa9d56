#!/usr/bin/env python3
"""Writes what of the Python binding follows from bindings/interface.json and server_interface.json.

    generate.py           tenon/_native.pyi, and what build_wheel.py makes and the repository does not hold:
                          native/generated.h, tenon/_options.py, tenon/constants.py, tenon/_made_for.json,
                          tenon/_server_made_for.json, tenon/_hub_made_for.json
    generate.py --check   says whether the first is new, status 1

For each function of the interfaces generated.h has a Python function of the same name without `tenon_`:
in-parameters are its arguments in order (a text or array without its length, no `user`), out-parameters
its result. Functions of HAND are written in the files of native/ instead.

In tenon/server.h the order of destruction matters, and the functions see to it: what is made lives in the first
handle of its function, and so do the other handles that the function takes.
"""

import json
import sys

sys.dont_write_bytecode = True
from described import HAND, HERE, Interface, is_hidden, type_name  # noqa: E402
from generate_python import constants_module, native_stub, options_module  # noqa: E402
from generating import Interface as Description, made_for, short, write  # noqa: E402


def to_python(interface, kind, expression):
    """The C expression of a Python object made from a scalar."""
    scalar = interface.scalar(kind)
    if scalar in ("double", "float"):
        return f"PyFloat_FromDouble({expression})"
    if scalar in ("int32_t", "int64_t"):
        return f"PyLong_FromLongLong({expression})"
    return f"PyLong_FromUnsignedLongLong({expression})"


def text_of(encoding, pointer, length):
    return f"{'bytes' if encoding == 'bytes' else 'text'}_object({pointer}, (size_t){length})"


def array_of(interface, of, pointer, count):
    scalar = interface.scalar(of)
    if scalar == "float":
        return f"floats_object({pointer}, {count})"
    if scalar == "int32_t":
        return f"tokens_object({pointer}, {count})"
    return f"bytes_object((const char*)({pointer}), ({count}) * sizeof *({pointer}))"


def field_object(interface, field):
    place = f"value->{field['name']}"
    if field["role"] == "text":
        return text_of(field.get("encoding"), place, f"value->{field['length']}")
    if field["role"] == "name":
        return f"name_object({place})"
    if field["role"] == "array":
        return array_of(interface, field["of"], place, f"(size_t)value->{field['length']}")
    if "count" in field:
        kind = "doubles" if field["type"] == "double" else "integers"
        return f"{kind}_object({place}, {field['count']})"
    if field["role"] == "value":
        return to_python(interface, field["type"], place)
    raise SystemExit(f"{field['name']}: no rule reads a field of role {field['role']}")


def read_struct(interface, name):
    fields = interface.shown(name)
    lines = [f"static PyTypeObject* type_{short(name)};",
             f"static PyStructSequence_Field fields_{short(name)}[] = {{"]
    lines += [f'    {{"{field["name"]}", {json.dumps(field["doc"] or None) if field["doc"] else "NULL"}}},'
              for field in fields]
    lines += ["    {NULL, NULL}};",
              f"static PyStructSequence_Desc desc_{short(name)} = {{",
              f'    "tenon.{type_name(name)}", {json.dumps(interface.structs[name]["doc"])},'
              f" fields_{short(name)}, {len(fields)}}};",
              f"static PyObject* from_{short(name)}(const {name}* value) {{",
              f"  PyObject* const members[] = {{"]
    lines += [f"      {field_object(interface, field)}," for field in fields]
    lines += ["  };", f"  return sequence_object(type_{short(name)}, members, {len(fields)});", "}", ""]
    return lines


def write_struct(interface, name):
    """From a dict whose keys are the fields. Arrays of pointers are set by hand, and callbacks but for those of logs."""
    lines = [f"static void fill_{short(name)}(Call* call, PyObject* given, {name}* value) {{",
             "  memset(value, 0, sizeof *value);",
             "  value->struct_size = sizeof *value;",
             "  if (given == NULL || given == Py_None || !is_dict(call, given)) return;",
             "  size_t used = 0;", "  PyObject* item = NULL;"]
    for field in interface.structs[name]["fields"]:
        place, role = f"value->{field['name']}", field["role"]
        is_log = field["type"] == "tenon_log_callback"
        if is_hidden(field) or role in ("length", "user") or role == "callback" and not is_log:
            continue
        if role == "array" and "*" in field["type"].removesuffix("*"):
            continue
        lines.append(f'  if ((item = member(given, "{field["name"]}", &used)) != NULL) {{')
        if role == "text":
            lines += ["    size_t length = 0;", f"    {place} = as_text(call, item, &length);",
                      f"    value->{field['length']} = length;"]
        elif role == "array":
            lines += ["    size_t count = 0;",
                      f"    {place} = {as_array(interface, field['of'])}(call, item, &count);",
                      f"    value->{field['length']} = count;"]
        elif role == "handle":
            lines.append(f"    {place} = as_handle(call, item, KIND_{short(field['of'])}, NULLABLE);")
        elif role == "name":
            lines.append(f"    {place} = as_name(call, item);")
        elif is_log:
            lines += [f"    value->{field['user']} = as_callable(call, item);",
                      f"    if (value->{field['user']} != NULL) {place} = &log_line;"]
        elif "count" in field:
            lines.append(f"    as_doubles(call, item, {place}, {field['count']});")
        else:
            lines.append(f"    {place} = as_{interface.scalar(field['type'])}(call, item);")
        lines.append("  }")
    lines += [f'  all_used(call, given, used, "{name}");', "}", ""]
    return lines


def as_array(interface, of):
    return {"float": "as_floats", "int32_t": "as_tokens", "void": "as_bytes"}[interface.scalar(of)]


def trampoline(interface, callback):
    """The C function that calls a Python function. Only for callbacks that functions take."""
    parameters = callback["parameters"]
    declared = ", ".join(f"{p['type']} {p['name']}" for p in parameters)
    lines = [f"static {callback['returns']} on_{short(callback['name'])}({declared}) {{",
             "  Callback* callback = user;",
             "  PyGILState_STATE lock;",
             "  if (!enter_python(&lock)) return" + (";" if callback["returns"] == "void" else " 1;")]
    arguments = []
    for parameter in parameters:
        if parameter["role"] == "value":
            arguments.append(to_python(interface, parameter["type"], parameter["name"]))
        elif parameter["role"] == "struct":
            arguments.append(f"from_{short(parameter['of'])}({parameter['name']})")
        elif parameter["role"] == "array":
            arguments.append(f"copy_object({parameter['name']}, "
                             f"(size_t){parameter['length']} * sizeof *{parameter['name']})")
    lines += [f"  PyObject* const arguments[] = {{{', '.join(arguments)}}};",
              f"  const int32_t ends = call_python(callback, arguments, {len(arguments)});",
              "  leave_python(lock);",
              "  (void)ends;" if callback["returns"] == "void" else "  return ends;", "}", ""]
    return lines


def callback_field(interface, parameter, kind):
    """The field of a structure that is a callback of that kind, or None."""
    fields = interface.structs[parameter["of"]]["fields"] if parameter["role"] == "struct" else []
    return next((field for field in fields if field["type"] == kind), None)


# Names of variables in each wrapper.
LOCALS = {"call", "args", "status", "result", "notice"}


def wrapper(interface, function):
    name = short(function["name"])
    lines = [f"static PyObject* call_{name}(PyObject* module, PyObject* args) {{",
             "  (void)module;"]
    body, results, passed, cleanup = [], [], [], []
    kept = None  # what the handle that is made keeps
    notice = False
    index = 0
    owner = interface.is_server and next((f"argument(&call, {i})" for i, p in enumerate(function["parameters"][:1])
                                          if p["role"] == "handle"), None) or "NULL"
    buffer = None
    counted = {q["length"] for q in function["parameters"] if q["role"] in ("array", "text")}
    busy_ok = "during other calls" in function["thread"]
    for p in function["parameters"]:
        variable, role, of = p["name"] + ("_" if p["name"] in LOCALS else ""), p["role"], p.get("of")
        passed.append(variable)
        if role in ("length", "capacity", "needed"):
            continue
        if role == "fill" and p["length"] not in counted:
            # The number that says how much is filled.
            counted.add(p["length"])
            body.append(f"  const size_t {p['length']} = as_count(&call, argument(&call, {index}));")
            index += 1
        if role == "handle":
            flags = " | ".join((["NULLABLE"] if p.get("nullable") else []) +
                               (["WHILE_BUSY"] if busy_ok else [])) or "0"
            body.append(f"  {p['type'].replace('const ', '')} {variable} = "
                        f"as_handle(&call, argument(&call, {index}), KIND_{short(of)}, {flags});")
            index += 1
        elif role == "value":
            body.append(f"  const {p['type']} {variable} = "
                        f"as_{interface.scalar(p['type'])}(&call, argument(&call, {index}));")
            index += 1
        elif role in ("text", "array"):
            maker = "as_text" if role == "text" else as_array(interface, of)
            kind = "char" if role == "text" else of
            body += [f"  size_t {p['length']} = 0;",
                     f"  const {kind}* {variable} = "
                     f"{maker}(&call, argument(&call, {index}), &{p['length']});"]
            index += 1
        elif role == "name":
            body.append(f"  const char* {variable} = as_name(&call, argument(&call, {index}));")
            index += 1
        elif role == "struct":
            body += [f"  {of} {variable}_value;", f"  PyObject* {variable}_given = argument(&call, {index});",
                     f"  fill_{short(of)}(&call, {variable}_given, &{variable}_value);"]
            passed[-1] = f"{variable}_given == Py_None ? NULL : &{variable}_value" if p.get("nullable") \
                else f"&{variable}_value"
            told = callback_field(interface, p, "tenon_notify_callback")
            if told:
                notice = True
                body += ["  Notice* notice = new_notice(&call);", f"  {variable}_value.{told['name']} = &tell;",
                         f"  {variable}_value.{told['user']} = notice;"]
            log = callback_field(interface, p, "tenon_log_callback")
            kept = f"{variable}_value.{log['user']}" if log else kept
            index += 1
        elif role == "callback":
            body += [f"  Callback callback = {{.function = as_callable(&call, argument(&call, {index}))}};",
                     "  call.callback = &callback;"]
            passed[-1] = f"callback.function == NULL ? NULL : &on_{short(of)}"
            index += 1
        elif role == "user":
            passed[-1] = "&callback"
        elif role == "out_handle":
            body.append(f"  {of}* {variable} = NULL;")
            passed[-1] = f"&{variable}"
            if "borrowed_from" in p:
                passed[-1] = f"(const {of}**)&{variable}"
                results.append(f"handle_object(KIND_{short(of)}, {variable}, argument(&call, 0), LENT)")
            elif notice:
                results.append(f"request_object(KIND_{short(of)}, {variable}, {owner}, notice)")
            else:
                results.append(f"handle_object(KIND_{short(of)}, {variable}, {owner}, 0)")
        elif role == "out_value":
            body.append(f"  {of} {variable} = 0;")
            passed[-1] = f"&{variable}"
            results.append(to_python(interface, of, variable))
        elif role == "out_struct":
            body.append(f"  {of} {variable} = {{.struct_size = sizeof {variable}}};")
            passed[-1] = f"&{variable}"
            results.append(f"from_{short(of)}(&{variable})")
        elif role in ("out_text", "out_array"):
            body += [f"  const {of}* {variable} = NULL;", f"  size_t {p['length']} = 0;"]
            passed[-1] = f"&{variable}"
            results.append(text_of(p.get("encoding"), variable, p["length"]) if role == "out_text" else
                           f"place_object({variable}, {p['length']})" if of == "float" else
                           array_of(interface, of, variable, p["length"]))
        elif role == "out_name":
            body.append(f"  const char* {variable} = NULL;")
            passed[-1] = f"&{variable}"
            results.append(f"name_object({variable})")
        elif role == "fill":
            body.append(f"  {of}* {variable} = scratch(&call, {p['length']} * sizeof *{variable});")
            results.append(array_of(interface, of, variable, p["length"]))
        elif role == "buffer":
            buffer = p
            kind = "char" if of == "void" else of
            body += [f"  {kind}* {variable} = NULL;", f"  size_t {p['length']} = 0, {p['needed']} = 0;"]
            made = text_of(p.get("encoding"), variable, p["needed"]) if of == "char" else \
                array_of(interface, kind if of != "void" else "char", variable, p["needed"])
            results.append(made)
            cleanup.append(f"  free({variable});")
        else:
            raise SystemExit(f"{function['name']}.{variable}: no rule for the role {role}")
    # Out-lengths of lent texts are passed by address.
    for position, p in enumerate(function["parameters"]):
        if p["role"] == "length" and any(q.get("length") == p["name"] and q["role"] in
                                         ("out_text", "out_array") for q in function["parameters"]):
            passed[position] = f"&{p['name']}"
        if p["role"] == "needed":
            passed[position] = f"&{p['name']}"
    begin = "begin_server" if interface.is_server else "begin"
    lines += ["  Call call;", f'  {begin}(&call, args, "{name}", {index}, (void*)api.{name});'] + body
    lines.append("  if (call.failed) return end(&call, NULL);")
    call = f"api.{name}({', '.join(passed)})"
    void = function["returns"] == "void"
    answer = None
    if function["fails"]:
        lines.append("  tenon_status status;")
        call = f"status = {call}"
    elif not void:
        lines.append(f"  {function['returns']} answer;")
        call = f"answer = {call}"
        answer = "name_object(answer)" if function["returns"] == "const char*" else \
            to_python(interface, function["returns"], "answer")
    if function["may_wait"]:
        lines.append("  release_lock(&call);")
    if buffer:
        name_, capacity, needed = buffer["name"], buffer["length"], buffer["needed"]
        lines += ["  do {", f"    {call};",
                  f"  }} while (status == TENON_OK && {needed} > {capacity} &&",
                  f"           grow((void**)&{name_}, &{capacity}, {needed}, sizeof *{name_}, &status));"]
    else:
        lines.append(f"  {call};")
    if function["may_wait"]:
        lines.append("  take_lock(&call);")
    if function["fails"]:
        lines += ["  PyObject* result = NULL;", "  if (succeeded(&call, status)) {"]
        if len(results) > 1:
            lines += [f"    PyObject* const members[] = {{{', '.join(results)}}};",
                      f"    result = tuple_object(members, {len(results)});"]
        else:
            lines.append(f"    result = {results[0] if results else 'none_object()'};")
        if kept:
            lines += [f"    if (result != NULL && {kept} != NULL && !keep_with(result, {kept})) {{",
                      "      Py_DECREF(result);", "      result = NULL;", "    }"]
        if interface.is_server and sum(p["role"] == "handle" for p in function["parameters"]) > 1:
            lines += ["    if (!keep_handles(&call)) {", "      Py_DECREF(result);", "      result = NULL;", "    }"]
        lines.append("  } else {" if notice else "  }")
        if notice:
            lines += ["    forget_notice(notice);", "  }"]
    else:
        lines.append(f"  PyObject* result = {answer or 'none_object()'};")
    lines += cleanup + ["  return end(&call, result);", "}", ""]
    return lines


def list_of(name, interface):
    return [f"#define {name}(DO) \\", *(f"  DO({short(f['name'])}) \\" for f in interface.functions), ""]


def generated_header(interfaces):
    tenon, server = interfaces
    handles = [(interface, name, handle) for interface in interfaces
               for name, handle in interface.handles.items()]
    read = [name for interface in interfaces for name in interface.read]
    lines = ["/* Generated by generate.py from bindings/interface.json and server_interface.json; not to be edited.",
             " * Included by module.c twice: for the lists, and with TENON_GENERATED_BODIES. */", "",
             "#ifndef TENON_GENERATED_BODIES", *list_of("FUNCTIONS", tenon), *list_of("SERVER_FUNCTIONS", server),
             "enum Kind {", *(f"  KIND_{short(name)}," for _, name, _ in handles),
             "  NUM_KINDS", "};", "", "#else", "", "static const struct KindInfo {",
             "  const char* name;", "  int one_at_a_time;", "  int of_server;", "} kinds[NUM_KINDS] = {"]
    for interface, name, handle in handles:
        alone, said = int(handle["thread"] == "one at a time"), short(name).replace("_", " ")
        lines.append(f'    [KIND_{short(name)}] = {{"{said}", {alone}, {int(interface.is_server)}}},')
    lines += ["};", "", "static void destroy_pointer(enum Kind kind, void* pointer) {", "  switch (kind) {"]
    for _, name, _ in handles:
        lines.append(f"    case KIND_{short(name)}: api.{short(name)}_destroy(pointer); return;")
    lines += ["    default: return;", "  }", "}", ""]
    for interface in interfaces:
        for name in interface.read:
            lines += read_struct(interface, name)
        for name in interface.written:
            lines += write_struct(interface, name)
        wanted = [p["of"] for f in interface.functions if f["name"] not in HAND
                  for p in f["parameters"] if p["role"] == "callback"]
        for name in dict.fromkeys(wanted):
            lines += trampoline(interface, interface.callbacks[name])
        for function in interface.offered:
            lines += wrapper(interface, function)
    lines += ["static const struct StructType {", "  PyTypeObject** type;", "  PyStructSequence_Desc* desc;",
              "  const char* name;", "} struct_types[] = {"]
    lines += [f'    {{&type_{short(name)}, &desc_{short(name)}, "{type_name(name)}"}},' for name in read]
    lines += ["};", "", "#define GENERATED_METHODS \\"]
    for function in tenon.offered + server.offered:
        lines.append(f'  {{"{short(function["name"])}", call_{short(function["name"])}, METH_VARARGS, '
                     "NULL}, \\")
    lines += ["", "/* For tests of layouts: a structure that stands in memory, as Python sees it. */",
              "static PyObject* read_struct(const char* name, const void* memory) {"]
    for name in read:
        lines.append(f'  if (strcmp(name, "{name}") == 0) return from_{short(name)}(memory);')
    lines += ["  PyErr_Format(PyExc_KeyError, \"%s\", name);", "  return NULL;", "}", "",
              "#endif  /* TENON_GENERATED_BODIES */", ""]
    return "\n".join(lines)


def main():
    tenon, server = interfaces = Interface(), Interface(is_server=True)
    hub = Description(file="hub_interface.json")
    for interface in interfaces:
        interface.refuse_arrays_of_pointers()
    files = {"native/generated.h": generated_header(interfaces), "tenon/_native.pyi": native_stub(interfaces),
             "tenon/_options.py": options_module(interfaces), "tenon/constants.py": constants_module(tenon),
             "tenon/_made_for.json": made_for(tenon, tenon.functions),
             "tenon/_server_made_for.json": made_for(server, server.functions),
             "tenon/_hub_made_for.json": made_for(hub, hub.functions)}
    return write(HERE, files, made=set(files) - {"tenon/_native.pyi"})


if __name__ == "__main__":
    sys.exit(main())
