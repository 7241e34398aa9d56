"""The lowest layer of the Java binding: NativeCalls and its two ways, JNI and foreign functions, and what the library
calls."""

from interface import JAVA_TYPES, JNI_TYPES, NOTE, camel, declared, doc, parameters_of, record_name, short, upcall_name

# Not a function object but a number of the dispatcher.
NOTIFY = "tenon_notify_callback"


def native_calls(interface):
    lines = ["package tenon;", "", f"/** The functions of tenon.h and server.h with their C types. {NOTE} */",
             "abstract class NativeCalls extends NativeMemory {"]
    for function in interface.functions:
        lines.append(f"  abstract {interface.java(function['returns'])} {camel(function['name'])}"
                     f"({declared(interface, function)});")
    return "\n".join([*lines, "}", ""])


def jni_calls(interface):
    lines = ["package tenon;", "", f"/** NativeCalls by JNI: native/generated.h. {NOTE} */",
             "abstract class JniCalls extends NativeCalls {"]
    for function in interface.functions:
        lines += ["  @Override", f"  native {interface.java(function['returns'])} "
                  f"{camel(function['name'])}({declared(interface, function)});"]
    return "\n".join([*lines, "}", ""])


def group(function):
    """tenon_model_open -> ModelFunctions"""
    return short(function["name"]).split("_")[0].capitalize() + "Functions"


def foreign_calls(interface):
    layouts = {"char": "JAVA_CHAR", "int": "JAVA_INT", "long": "JAVA_LONG", "double": "JAVA_DOUBLE"}
    def descriptor(item):
        given = ", ".join(layouts[kind] for kind, _ in parameters_of(interface, item))
        answer = interface.java(item["returns"])
        if answer == "void":
            return f"FunctionDescriptor.ofVoid({given})"
        return f"FunctionDescriptor.of({', '.join(filter(None, (layouts[answer], given)))})"
    lines = ["package tenon;", "", "import static java.lang.foreign.ValueLayout.JAVA_CHAR;",
             "import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;",
             "import static java.lang.foreign.ValueLayout.JAVA_INT;",
             "import static java.lang.foreign.ValueLayout.JAVA_LONG;", "",
             "import java.lang.foreign.FunctionDescriptor;", "import java.lang.invoke.MethodHandle;", "",
             f"/** NativeCalls by foreign functions, of the library that Foreign has. {NOTE} */",
             "abstract class ForeignCalls extends NativeCalls {",
             "  /** Each callback's descriptor, by the numbers of Upcalls. */",
             "  static final FunctionDescriptor[] UPCALLS = {"]
    lines += [f"      {descriptor(callback)}," for callback in interface.callbacks]
    lines.append("  };")
    groups = {}
    for function in interface.functions:
        groups.setdefault(group(function), []).append(function)
    lines += ["", "  // Found when the first one of a group is called, so after the library was chosen."]
    for name, functions in groups.items():
        lines += ["", f"  private static final class {name} {{"]
        lines += [f"    static final MethodHandle {short(function['name']).upper()} =\n"
                  f'        Foreign.find{"InServer" if interface.is_of_server(function) else ""}("{function["name"]}", '
                  f"{descriptor(function)});" for function in functions]
        lines.append("  }")
    for function in interface.functions:
        name, answer = function["name"], interface.java(function["returns"])
        constant = f"{group(function)}.{short(name).upper()}"
        passed = ", ".join(name for _, name in parameters_of(interface, function))
        cast = "" if answer == "void" else f"return ({answer}) "
        lines += ["", "  @Override", f"  {answer} {camel(name)}({declared(interface, function)}) {{",
                  f'    if ({constant} == null) throw missing("{name}");', "    try {",
                  f"      {cast}{constant}.invokeExact({passed});", "    } catch (Throwable thrown) {",
                  "      throw Foreign.unexpected(thrown);", "    }", "  }"]
    return "\n".join([*lines, "}", ""])


def generated_header(interface):
    lines = [f"/* {NOTE}", " * Included by tenon_jni.c twice: for the lists, and with TENON_GENERATED_BODIES. */",
             "", "#ifndef TENON_GENERATED_BODIES", "#define FUNCTIONS(DO) \\"]
    lines += [f"  DO({short(f['name'])}) \\" for f in interface.own_functions]
    lines += ["", "#define SERVER_FUNCTIONS(DO) \\"]
    lines += [f"  DO({short(f['name'])}) \\" for f in interface.server.functions]
    lines += ["", f"enum {{ NUM_UPCALLS = {len(interface.callbacks)} }};", "", "#else", ""]
    for number, callback in enumerate(interface.callbacks):
        names = ", ".join(f"{p['type']} {p['name']}" for p in callback["parameters"])
        java = [interface.java(p["type"]) for p in callback["parameters"]]
        passed = ", ".join(
            f"({JNI_TYPES[kind]}){'(intptr_t)' if '*' in p['type'] else ''}{p['name']}"
            for kind, p in zip(java, callback["parameters"]))
        void = callback["returns"] == "void"
        lines += [f"static {callback['returns']} on_{short(callback['name'])}({names}) {{",
                  "  JNIEnv* const env = environment();",
                  f"  if (env == NULL) return{'' if void else ' 1'};",
                  f"  {'' if void else 'const jint ends = '}(*env)->CallStatic{'Void' if void else 'Int'}Method("
                  f"env, upcalls, upcall_methods[{number}], {passed});",
                  "  (void)has_thrown(env);" if void else "  return has_thrown(env) ? 1 : ends;", "}"]
    signatures = {"int": "I", "long": "J", "double": "D", "void": "V"}
    lines += ["", "static const struct Upcall {", "  const char* name;", "  const char* signature;",
              "  void* function;", "} upcall_list[NUM_UPCALLS] = {"]
    for callback in interface.callbacks:
        given = "".join(signatures[kind] for kind, _ in parameters_of(interface, callback))
        lines.append(f'    {{"on{upcall_name(callback["name"])}", '
                     f'"({given}){signatures[interface.java(callback["returns"])]}", '
                     f'(void*)&on_{short(callback["name"])}}},')
    lines += ["};", ""]
    for function in interface.functions:
        name, answer = short(function["name"]), interface.java(function["returns"])
        taken = "".join(f", {JNI_TYPES[kind]} {p['name']}" for kind, p in
                        zip([k for k, _ in parameters_of(interface, function)], function["parameters"]))
        passed = []
        for p in function["parameters"]:
            is_address = interface.scalar(p["type"]) not in JAVA_TYPES
            passed.append(f"({p['type']}){'(intptr_t)' if is_address else ''}{p['name']}")
        call = f"api.{name}({', '.join(passed)})"
        is_pointer = "*" in function["returns"]
        lines += [f"JNIEXPORT {JNI_TYPES[answer]} JNICALL Java_tenon_JniCalls_{camel(name)}"
                  f"(JNIEnv* env, jobject self{taken}) {{", "  (void)self;",
                  f"  if (api.{name} == NULL) {{", f'    missing(env, "{function["name"]}");',
                  f"    return{'' if answer == 'void' else ' 0'};", "  }",
                  f"  {call};" if answer == "void" else
                  f"  return ({JNI_TYPES[answer]}){'(intptr_t)' if is_pointer else ''}{call};", "}"]
    return "\n".join([*lines, "", "#endif  /* TENON_GENERATED_BODIES */", ""])


# ---- Callbacks -------------------------------------------------------------------------------------


def upcalls(interface):
    lines = ["package tenon;", "", "/** What the library calls: its callbacks with their C types. None throws;"
             " Callback keeps what the", f" * functions behind them throw. {NOTE} */", "final class Upcalls {",
             "  private Upcalls() {}"]
    for number, callback in enumerate(interface.callbacks):
        lines.append(f"  static final int {short(callback['name']).upper()} = {number};")
    for callback in interface.callbacks:
        name, void = upcall_name(callback["name"]), callback["returns"] == "void"
        types, made, lent = [], [], None
        for p in callback["parameters"]:
            variable = camel(p["name"])
            if p["role"] == "struct":
                struct = interface.structs[p["of"]]
                types.append(f"{record_name(p['of'])} {variable}")
                made.append(f"Structs.read{record_name(p['of'])}(Block.given({variable}, {struct['size']}))")
            elif p["role"] == "array":
                types.append(f"java.nio.FloatBuffer {variable}")
                made.append("lent.floats()")
                lent = f"Lent lent = Library.use().lend({variable}, 4 * {camel(p['length'])})"
            elif p["role"] == "text":
                types.append(f"String {variable}")
                made.append(f"Structs.text({variable}, {camel(p['length'])})")
            elif p["role"] == "value":
                types.append(f"{interface.java(p['type'])} {variable}")
                made.append(variable)
        answer = "void" if void else "int"
        lines.append("")
        if callback["name"] == NOTIFY:
            lines += [f"  static void on{name}(long user) {{", "    Dispatcher.notified(user);", "  }"]
            continue
        lines += [f"  interface On{name} {{", *doc(f"{callback['doc']}" + ("" if void else
                  " True stands for nonzero."), "    "),
                  f"    {'void' if void else 'boolean'} call({', '.join(types)}) throws Exception;", "  }", "",
                  f"  static {answer} on{name}({declared(interface, callback)}) {{",
                  f"    {'' if void else 'return '}Callback.run(user, function -> {{"]
        call = f"((On{name}) function).call({', '.join(made)});"
        body = [f"{call}", "return false;"] if void else [f"return {call}"]
        if lent:
            lines += [f"      try ({lent}) {{", *(f"        {line}" for line in body), "      }"]
        else:
            lines += [f"      {line}" for line in body]
        lines += ["    });", "  }"]
    return "\n".join([*lines, "}", ""])
