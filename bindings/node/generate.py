#!/usr/bin/env python3
"""Writes what of the Node binding follows from bindings/interface.json and server_interface.json.

    generate.py           types/options.d.ts, types/structs.d.ts, and what build_package.mjs makes and the repository
                          does not hold: native/generated.h, lib/constants.js, lib/fields.js, lib/made_for.json
    generate.py --check   says which of the first two are not new, status 1

For each function of the interfaces generated.h has three C functions: `parse_` reads the arguments on the
thread of JavaScript, `run_` calls the library on any thread, `result_` makes the answer, on the thread of
JavaScript again. In-parameters are the arguments in order (a text or array without its length, no `user`;
options as an object), out-parameters the result. Functions of HAND are written in native/ instead.
"""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from generating import HIDDEN, Interface as Description, made_for, short, write  # noqa: E402

# What no rule covers: structures that hold callbacks or arrays of pointers, and requests with their notices.
HAND = {"tenon_model_load", "tenon_tokenizer_load", "tenon_session_submit", "tenon_embedder_embed",
        "tenon_embedder_rank", "tenon_session_score", "tenon_server_create", "tenon_server_submit"}
# Of no use in JavaScript: native/engine_thread.c runs an engine; sets of options are objects.
LEFT_OUT = {"tenon_engine_set_executor", "tenon_engine_set_store", "tenon_engine_run"}
# Called by native/ itself.
INNER = {"tenon_interface_description", "tenon_last_error", "tenon_last_system_error", "tenon_options_create", "tenon_options_set_int",
         "tenon_options_set_float", "tenon_options_set_bool", "tenon_options_set_string",
         "tenon_options_add_string", "tenon_options_parse", "tenon_server_interface_description",
         "tenon_server_last_error"}
# The first handle needs the others as long as it lives.
KEEPS = {"tenon_server_add_model", "tenon_server_add_engine"}
# Structures that programs fill by the names of their fields, as TypeScript calls them.
FILLED = {"tenon_server_options": "ServerFields", "tenon_server_model_file": "ServerFileFields"}


def camel(name):
    """max_tokens -> maxTokens, cache_type_k -> cacheTypeK"""
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)


def type_name(struct):
    """tenon_model_info -> ModelInfo"""
    return "".join(part.capitalize() for part in short(struct).split("_"))


class Interface(Description):
    """That of tenon.h; `server` is that of server.h."""

    def __init__(self, file="interface.json"):
        self.is_server = file == "server_interface.json"
        # What is written by hand fills its structures by generated code in the server's.
        super().__init__(LEFT_OUT, frozenset() if self.is_server else HAND, file=file)
        self.offered = [f for f in self.functions if f["name"] not in INNER | self.destroys]
        self.generated = [f for f in self.offered if f["name"] not in HAND]
        self.server = None if self.is_server else Interface("server_interface.json")


def is_hidden(field):
    return field["name"] in HIDDEN or field["name"].startswith("reserved")


# ---- C -------------------------------------------------------------------------------------------


def scalar_value(interface, kind, expression):
    """The C expression of a JavaScript number made from a scalar."""
    scalar = interface.scalar(kind)
    if scalar in ("double", "float"):
        return f"double_value(env, {expression})"
    if scalar in ("int32_t", "int64_t"):
        return f"int64_value(env, {expression})"
    return f"uint64_value(env, {expression})"


def text_value(encoding, pointer, length):
    return f"{'bytes' if encoding == 'bytes' else 'text'}_value(env, {pointer}, (size_t){length})"


def array_value(interface, of, pointer, count):
    """A typed array with a copy."""
    kind = {"float": "napi_float32_array", "int32_t": "napi_int32_array",
            "uint64_t": "napi_biguint64_array"}.get(interface.scalar(of), "napi_uint8_array")
    return f"array_value(env, {kind}, {pointer}, {count})"


def field_value(interface, field):
    place = f"value->{field['name']}"
    if field["role"] == "text":
        return text_value(field.get("encoding"), place, f"value->{field['length']}")
    if field["role"] == "name":
        return f"name_value(env, {place})"
    if field["role"] == "array":
        return array_value(interface, field["of"], place, f"(size_t)value->{field['length']}")
    if "count" in field:
        kind = "doubles" if field["type"] == "double" else "integers"
        return f"{kind}_value(env, {place}, {field['count']})"
    if field["role"] == "value":
        return scalar_value(interface, field["type"], place)
    raise SystemExit(f"{field['name']}: no rule reads a field of role {field['role']}")


def read_struct(interface, name):
    lines = [f"static napi_value from_{short(name)}(napi_env env, const {name}* value) {{",
             "  napi_value object = object_value(env);"]
    lines += [f'  set_member(env, object, "{camel(field["name"])}", {field_value(interface, field)});'
              for field in interface.shown(name)]
    return lines + ["  return object;", "}", ""]


def write_struct(interface, name):
    """From an object whose members are the fields. Callbacks are set by hand."""
    lines = [f"static void fill_{short(name)}(Call* call, napi_value given, {name}* value) {{",
             "  memset(value, 0, sizeof *value);", "  value->struct_size = sizeof *value;",
             f'  if (!is_object(call, given, "{name}")) return;', "  napi_value item = NULL;"]
    for field in interface.structs[name]["fields"]:
        place, role, shown = f"value->{field['name']}", field["role"], camel(field["name"])
        if is_hidden(field) or role in ("length", "callback", "user"):
            continue
        lines.append(f'  if ((item = member(call, given, "{shown}")) != NULL) {{')
        if role in ("text", "array"):
            maker = "as_text" if role == "text" else as_array(interface, field["of"])
            lines += ["    size_t count = 0;", f'    {place} = {maker}(call, item, "{shown}", &count);',
                      f"    value->{field['length']} = count;"]
        elif role == "handle":
            lines.append(f'    {place} = as_handle(call, item, "{shown}", KIND_{short(field["of"])}, 0);')
        elif role == "name":
            lines.append(f'    {place} = as_name(call, item, "{shown}");')
        elif "count" in field:
            lines.append(f'    as_doubles(call, item, "{shown}", {place}, {field["count"]});')
        else:
            lines.append(f'    {place} = as_{interface.scalar(field["type"])}(call, item, "{shown}");')
        lines.append("  }")
    return lines + ["}", ""]


def as_array(interface, of):
    return {"float": "as_floats", "int32_t": "as_tokens", "void": "as_bytes"}[interface.scalar(of)]


def trampoline(interface, callback):
    """The C function that has a JavaScript function called, and what makes its arguments."""
    name, given, made = short(callback["name"]), [], []
    for parameter in callback["parameters"]:
        if parameter["role"] == "user":
            continue
        given.append(parameter)
        place = f"given->{parameter['name']}"
        if parameter["role"] == "value":
            made.append(scalar_value(interface, parameter["type"], place))
        elif parameter["role"] == "struct":
            made.append(f"from_{short(parameter['of'])}(env, {place})")
        elif parameter["role"] == "array":
            made.append(array_value(interface, parameter["of"], place,
                                    f"(size_t)given->{parameter['length']}"))
    declared = ", ".join(f"{p['type']} {p['name']}" for p in callback["parameters"])
    head = f"static size_t arguments_{name}(napi_env env, const void* data, napi_value* arguments) {{"
    call = [f"static {callback['returns']} on_{name}({declared}) {{"]
    if given:
        fields = " ".join(f"{p['type']} {p['name']};" for p in given)
        lines = [f"typedef struct {{ {fields} }} Given_{name};", head,
                 f"  const Given_{name}* given = data;"]
        lines += [f"  arguments[{index}] = {value};" for index, value in enumerate(made)]
        call += [f"  const Given_{name} given = {{{', '.join(p['name'] for p in given)}}};"]
    else:
        lines = [head, "  (void)env, (void)data, (void)arguments;"]
    lines += [f"  return {len(made)};", "}"] + call
    ask = f"ask_javascript(user, &arguments_{name}, {'&given' if given else 'NULL'})"
    return lines + [f"  (void){ask};" if callback["returns"] == "void" else f"  return {ask};", "}", ""]


class Function:
    """The three C functions of one function of the library."""

    def __init__(self, interface, function):
        self.interface, self.function = interface, function
        self.name = short(function["name"])
        self.fields, self.parse, self.passed, self.results = [], [], [], []
        self.before, self.after, self.free = [], [], []
        self.buffer = None
        self.arguments = 0
        self.makes_handle = False
        for parameter in function["parameters"]:
            self.add(parameter)
        # Out-lengths of lent texts are passed by address.
        for position, p in enumerate(function["parameters"]):
            if p["role"] == "needed" or p["role"] == "length" and any(
                    q.get("length") == p["name"] and q["role"] in ("out_text", "out_array")
                    for q in function["parameters"]):
                self.passed[position] = f"&c->{p['name']}"
        if function["name"] in KEEPS:
            self.parse.append("  reserve_keeps(call);")
            self.after.append("  if (call->status == TENON_OK) handle_keep(call->handles[0], &call->keeps);")

    def argument(self, maker, field, *more):
        self.parse.append(f'  c->{field} = {maker}(call, argument(call, {self.arguments}), "{camel(field)}"'
                          f"{''.join(', ' + str(item) for item in more)});")
        self.arguments += 1

    def add(self, p):
        role, of, interface = p["role"], p.get("of"), self.interface
        name = "asked" if p["name"] == "call" else p["name"]  # each struct begins with its Call
        self.passed.append(f"c->{name}")
        if role == "handle" and of == "tenon_options":
            self.fields.append(f"OptionList* {name};")
            self.argument("as_options", name)
            self.before += ["  tenon_options* options = NULL;",
                            f"  if (!make_options(call, c->{name}, &options)) return;"]
            self.after.append("  if (options != NULL) api.options_destroy(options);")
            self.passed[-1] = "options"
        elif role == "handle":
            busy_ok = "during other calls" in self.function["thread"]
            flags = " | ".join((["NULLABLE"] if p.get("nullable") else []) +
                               (["WHILE_BUSY"] if busy_ok else [])) or "0"
            self.fields.append(f"{p['type']} {name};")
            self.argument("as_handle", name, f"KIND_{short(of)}", flags)
        elif role == "value":
            self.fields.append(f"{p['type']} {name};")
            self.argument(f"as_{interface.scalar(p['type'])}", name)
        elif role in ("text", "array"):
            self.fields += [f"{p['type']} {name};", f"size_t {p['length']};"]
            maker = "as_text" if role == "text" else as_array(interface, of)
            self.argument(maker, name, f"&c->{p['length']}")
        elif role == "name":
            self.fields.append(f"const char* {name};")
            self.argument("as_name", name)
        elif role == "struct":
            self.fields += [f"{of} {name};", f"bool has_{name};"]
            self.parse += [f"  c->has_{name} = !is_absent(call, argument(call, {self.arguments}));"
                           if p.get("nullable") else f"  c->has_{name} = true;",
                           f"  if (c->has_{name}) fill_{short(of)}(call, argument(call, {self.arguments}), "
                           f"&c->{name});"]
            self.passed[-1] = f"c->has_{name} ? &c->{name} : NULL"
            self.arguments += 1
        elif role == "callback":
            self.parse.append(f'  as_callback(call, argument(call, {self.arguments}), "{camel(name)}");')
            self.arguments += 1
            self.passed[-1] = f"call->callback == NULL ? NULL : &on_{short(of)}"
        elif role == "user":
            self.passed[-1] = "call"
        elif role == "out_handle":
            self.makes_handle = True
            constant = "const " if "borrowed_from" in p else ""
            self.fields.append(f"{constant}{of}* {name};")
            self.passed[-1] = f"&c->{name}"
            self.results.append((name, f"handle_value(call, KIND_{short(of)}, (void*)c->{name}, "
                                       f"{'LENT' if 'borrowed_from' in p else '0'})"))
        elif role == "out_value":
            self.fields.append(f"{of} {name};")
            self.passed[-1] = f"&c->{name}"
            self.results.append((name, scalar_value(interface, of, f"c->{name}")))
        elif role == "out_struct":
            self.fields.append(f"{of} {name};")
            self.before.append(f"  c->{name}.struct_size = sizeof c->{name};")
            self.passed[-1] = f"&c->{name}"
            self.results.append((name, f"from_{short(of)}(env, &c->{name})"))
        elif role in ("out_text", "out_array"):
            self.fields += [f"const {of}* {name};", f"size_t {p['length']};"]
            self.passed[-1] = f"&c->{name}"
            self.results.append((name, text_value(p.get("encoding"), f"c->{name}", f"c->{p['length']}")
                                 if role == "out_text" else
                                 array_value(interface, of, f"c->{name}", f"c->{p['length']}")))
        elif role == "out_name":
            self.fields.append(f"const char* {name};")
            self.passed[-1] = f"&c->{name}"
            self.results.append((name, f"name_value(env, c->{name})"))
        elif role == "fill":
            # The first of several that are filled alike takes the number, unless an array brings it.
            count = p["length"]
            if f"size_t {count};" not in self.fields:
                self.fields.append(f"size_t {count};")
                self.argument("as_count", count)
            self.fields.append(f"{of}* {name};")
            self.parse.append(f"  c->{name} = scratch(call, c->{count} * sizeof *c->{name});")
            self.results.append((name, array_value(interface, of, f"c->{name}", f"c->{count}")))
        elif role == "buffer":
            self.buffer = p
            kind = "char" if of == "void" else of
            self.fields += [f"{kind}* {name};", f"size_t {p['length']};", f"size_t {p['needed']};"]
            if of == "char" and p.get("encoding") != "bytes":
                made = text_value(None, f"c->{name}", f"c->{p['needed']}")
            else:
                made = f"owned_value(env, {self.typed(of)}, (void**)&c->{name}, c->{p['needed']})"
            self.results.append((name, made))
            self.free.append(f"  free(c->{name});")
        elif role not in ("length", "capacity", "needed"):
            raise SystemExit(f"{self.function['name']}.{name}: no rule for the role {role}")

    def typed(self, of):
        return {"int32_t": "napi_int32_array", "float": "napi_float32_array",
                "uint64_t": "napi_biguint64_array"}.get(self.interface.scalar(of), "napi_uint8_array")

    def text(self):
        f = self.function
        call = f"api.{self.name}({', '.join(self.passed)})"
        if f["fails"]:
            call = f"call->status = {call}"
        elif f["returns"] != "void":
            self.fields.append(f"{f['returns']} answer;")
            call = f"c->answer = {call}"
            self.results.append(("answer", "name_value(env, c->answer)" if f["returns"] == "const char*"
                                 else scalar_value(self.interface, f["returns"], "c->answer")))
        struct = f"Call_{self.name}"
        cast = f"  {struct}* const c = ({struct}*)call;"
        parse, run, result = ("\n".join(part) for part in (self.parse, self.run(call), self.result()))
        lines = ["typedef struct {", "  Call call;"] + [f"  {field}" for field in self.fields] + \
            [f"}} {struct};", f"static void parse_{self.name}(Call* call) {{"] + \
            ([cast] if "c->" in parse else []) + [parse or "  (void)call;", "}",
             f"static void run_{self.name}(Call* call) {{"] + \
            ([cast] if "c->" in run else ["  (void)call;"]) + [run, "}",
             f"static napi_value result_{self.name}(Call* call) {{"] + \
            ([cast] if "c->" in result else []) + \
            (["  napi_env const env = call->env;"] if "(env" in result else []) + [result, "}"]
        if self.free:
            lines += [f"static void free_{self.name}(Call* call) {{", cast, *self.free, "}"]
        return lines + [""]

    def run(self, call):
        if self.buffer is None:
            body = [f"  {call};"]
        else:
            name, capacity, needed = (self.buffer[key] for key in ("name", "length", "needed"))
            body = ["  do {", f"    {call};", f"  }} while (call->status == TENON_OK && c->{needed} > c->{capacity} &&",
                    f"           grow(call, (void**)&c->{name}, &c->{capacity}, c->{needed}, sizeof *c->{name}));"]
        # The message of a failure must be kept before anything else is called.
        if self.function["fails"]:
            body.append(f"  keep_{'server_' if self.interface.is_server else ''}message(call);")
        return self.before + body + self.after

    def result(self):
        if not self.results:
            return ["  return undefined_value(call->env);"]
        if len(self.results) == 1:
            return [f"  return {self.results[0][1]};"]
        return ["  napi_value object = object_value(env);"] + \
            [f'  set_member(env, object, "{camel(name)}", {made});' for name, made in self.results] + \
            ["  return object;"]


def generated_header(interface):
    both = [interface, interface.server]
    lines = ["/* Generated by generate.py from bindings/interface.json and server_interface.json; not to be edited.",
             " * For the lists in handles.h; with TENON_GENERATED_BODIES for functions.c. */", "",
             "#ifndef TENON_GENERATED_BODIES", "#define FUNCTIONS(DO) \\"]
    lines += [f"  DO({short(f['name'])}) \\" for f in interface.functions]
    lines += ["  DO(engine_run)", "", "#define SERVER_FUNCTIONS(DO) \\"]
    lines += [f"  DO({short(f['name'])}) \\" for f in interface.server.functions]
    handles = {**interface.handles, **interface.server.handles}
    lines += ["", "enum Kind {"] + [f"  KIND_{short(name)}," for name in handles]
    lines += ["  NUM_KINDS", "};", "", "#define KINDS(DO) \\"]
    kinds = [f"  DO({short(name)}, {int(handle['thread'] == 'one at a time')}) \\"
             for name, handle in handles.items()]
    lines += kinds + ["", "#else", ""]
    for one in both:
        for name in one.read:
            lines += read_struct(one, name)
        for name in one.written:
            lines += write_struct(one, name)
    wanted = [p["of"] for f in interface.generated for p in f["parameters"] if p["role"] == "callback"]
    for name in dict.fromkeys([*wanted, "tenon_progress_callback"]):
        lines += trampoline(interface, interface.callbacks[name])
    made = [Function(one, f) for one in both for f in one.generated]
    for function in made:
        lines += function.text()
    lines.append("static const Function generated_functions[] = {")
    for function in made:
        name = function.name
        lines.append(f'    {{"{name}", {function.arguments}, sizeof(Call_{name}), (void**)&api.{name}, &parse_{name}, '
                     f"&run_{name}, &result_{name}, {f'&free_{name}' if function.free else 'NULL'}}},")
    lines += ["};", "", "/* For tests of layouts: a structure that stands in memory, as JavaScript sees it. */",
              "static napi_value read_struct(napi_env env, const char* name, const void* memory) {"]
    for name in [name for one in both for name in one.read]:
        lines.append(f'  if (strcmp(name, "{name}") == 0) return from_{short(name)}(env, memory);')
    return "\n".join([*lines, "  return undefined_value(env);", "}", "", "#endif  /* TENON_GENERATED_BODIES */", ""])


# ---- JavaScript ----------------------------------------------------------------------------------


def constants_module(interface):
    lines = ["// The constants of tenon.h without TENON_. Generated by generate.py.", "'use strict'", "",
             "module.exports = Object.freeze({"]
    lines += [f"  {item['name'].removeprefix('TENON_')}: {item['value']}," for item in interface.data["constants"]
              if abs(item["value"]) < 2**53]
    return "\n".join([*lines, "})", ""])


def filled_fields(interface, name):
    """Those of a structure that programs fill, but for its callbacks."""
    return [field for field in interface.structs[name]["fields"]
            if not is_hidden(field) and field["role"] not in ("length", "callback", "user")]


def is_flag(field):
    """Whether it is 1 where something holds."""
    return field["type"] == "uint32_t" and field["doc"].startswith("1: ")


def fields_module(interface):
    lines = ["// The fields of structures that programs fill. Generated by generate.py.", "'use strict'", "",
             "module.exports = Object.freeze({"]
    for name, shown in FILLED.items():
        lines.append(f"  {shown}: [")
        lines += [f"    '{camel(field['name'])}'," for field in filled_fields(interface.server, name)] + ["  ],"]
    return "\n".join([*lines, "})", ""])


def made_for_both(interface):
    # JavaScript looks at tenon_engine_run, and larger numbers are no whole ones there.
    known = [f for f in interface.data["functions"] if f["name"] not in LEFT_OUT - {"tenon_engine_run"}]
    made = json.loads(made_for(interface, known, most=2**53))
    made["server"] = json.loads(made_for(interface.server, interface.server.functions))
    return json.dumps(made, separators=(",", ":")) + "\n"


def field_type(interface, field):
    role, of = field["role"], field.get("of")
    if role in ("text", "name"):
        return "Uint8Array" if field.get("encoding") == "bytes" else "string"
    if role == "array":
        return {"float": "Float32Array", "int32_t": "Int32Array"}.get(interface.scalar(of), "Uint8Array")
    if "count" in field:
        return "number[]"
    return "number"


def documented(doc, line, indent="  "):
    return ([f"{indent}/** {doc.replace('*/', '* /')} */"] if doc else []) + [f"{indent}{line}"]


def structs_types(interface):
    lines = ["// What the library hands out. Generated by generate.py.", ""]
    for name in interface.read:
        lines += documented(interface.structs[name]["doc"], f"export interface {type_name(name)} {{", "")
        for field in interface.shown(name):
            lines += documented(field["doc"],
                                f"readonly {camel(field['name'])}: {field_type(interface, field)}")
        lines += ["}", ""]
    lines += ["/** The constants of tenon.h without TENON_. */", "export const constants: Readonly<{"]
    lines += [f"  {item['name'].removeprefix('TENON_')}: {item['value']}" for item in interface.data["constants"]
              if abs(item["value"]) < 2**53]
    return "\n".join([*lines, "}>", ""])


def options_types(interface):
    lines = ["// The options of each kind of object. Generated by generate.py.", ""]
    kinds = {"int": "number", "float": "number", "bool": "boolean", "string": "string",
             "string_list": "readonly string[]"}
    for scope in ("model", "session", "sampler", "engine", "chat", "embedder"):
        lines.append(f"export interface {scope.capitalize()}Options {{")
        for option in interface.data["options"]:
            if option["scope"] != scope or "." in option["name"]:
                continue
            if re.sub("[A-Z]", lambda found: "_" + found[0].lower(), camel(option["name"])) != option["name"]:
                raise SystemExit(f"option {option['name']}: lib/objects.js would not find its name again")
            lines += documented(option["doc"], f"{camel(option['name'])}?: {kinds[option['type']]}")
        lines += ["}", ""]
    for name, shown in FILLED.items():
        lines.append(f"export interface {shown} {{")
        for field in filled_fields(interface.server, name):
            kind = "string" if field["role"] in ("text", "name") else "boolean" if is_flag(field) else "number"
            lines += documented(field["doc"], f"{camel(field['name'])}?: {kind}")
        lines += ["}", ""]
    return "\n".join(lines)


def main():
    interface = Interface()
    interface.refuse_arrays_of_pointers()
    interface.server.refuse_arrays_of_pointers()
    files = {"native/generated.h": generated_header, "lib/constants.js": constants_module,
             "lib/fields.js": fields_module, "lib/made_for.json": made_for_both,
             "types/options.d.ts": options_types, "types/structs.d.ts": structs_types}
    return write(HERE, {name: make(interface) for name, make in files.items()},
                 made={name for name in files if not name.startswith("types/")})


if __name__ == "__main__":
    sys.exit(main())
