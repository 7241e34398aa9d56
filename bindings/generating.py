"""What the generators of all languages share: the description as they see it, what a binding compares with a library
when it loads one, and writing or checking files.

Some generated files are in the repository: headers, docs, types for editors, and the code of Go and Rust, whose packages
are sources. The others are made when a package is built (`made`), which git ignores.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HIDDEN = {"struct_size", "reserved"}


def short(name):
    return name.removeprefix("tenon_")


class Interface:
    """A description: bindings/interface.json, server_interface.json or hub_interface.json.

    left_out   functions that the language does not offer
    by_hand    functions that its generator leaves to handwritten code
    callbacks  all, or those that the language gives to the library
    file       its name
    """

    def __init__(self, left_out=frozenset(), by_hand=frozenset(), callbacks=lambda name: True,
                 file="interface.json"):
        self.data = json.loads((Path(__file__).resolve().parent / file).read_text())
        data = self.data
        self.aliases = data["aliases"]
        self.structs = {item["name"]: item for item in data["structs"]}
        self.callbacks = {item["name"]: item for item in data["callbacks"] if callbacks(item["name"])}
        self.handles = {item["name"]: item for item in data["handles"]}
        self.destroys = {item["destroy"] for item in data["handles"]}
        self.functions = [item for item in data["functions"] if item["name"] not in left_out]
        self.read = []     # structures that a function or a callback hands out
        self.written = []  # structures that a function of the generator takes
        for item in data["functions"] + list(self.callbacks.values()):
            for parameter in item["parameters"]:
                of = parameter.get("of")
                if parameter["role"] == "out_struct" or \
                        parameter["role"] == "struct" and item["name"] in self.callbacks:
                    self.read += [of] if of not in self.read else []
                elif parameter["role"] == "struct" and \
                        item["name"] not in (by_hand | left_out) - {"tenon_session_submit"}:
                    self.written += [of] if of not in self.written else []

    def scalar(self, kind):
        return self.aliases.get(kind, kind)

    def refuse_arrays_of_pointers(self):
        """For generators without a rule for them: names the function that takes a structure with one."""
        for function in self.data["functions"]:
            for parameter in function["parameters"]:
                if parameter["role"] != "struct" or parameter["of"] not in self.written:
                    continue
                for field in self.structs[parameter["of"]]["fields"]:
                    if field["role"] == "array" and "*" in field.get("of", ""):
                        raise SystemExit(f"{function['name']}: no rule passes {parameter['of']}.{field['name']}, an "
                                         "array of pointers; name the function in HAND or LEFT_OUT")

    def shown(self, struct):
        """The fields of a structure that programs see: without sizes, lengths and padding."""
        return [field for field in self.structs[struct]["fields"]
                if field["name"] not in HIDDEN and field["role"] != "length"]


def made_for(interface, functions, field=lambda f: [f["name"], f["offset"], f["size"], f["type"]],
             most=2**64):
    """What a binding compares with a library: layouts and signatures, without prose and roles.

    field  how one of a structure is told
    most   constants of that size and above have no number in the language
    """
    data = interface.data

    def signature(item):
        return [item["returns"], *(p["type"] for p in item["parameters"])]
    return json.dumps({
        "version": data["version"],
        "constants": {item["name"]: item["value"] for item in data["constants"]
                      if not item["name"].startswith("TENON_VERSION_") and abs(item["value"]) < most},
        "structs": {item["name"]: {"size": item["size"], "fields": [field(f) for f in item["fields"]]}
                    for item in data["structs"]},
        "callbacks": {item["name"]: signature(item) for item in data["callbacks"]},
        "functions": {item["name"]: signature(item) for item in functions},
    }, separators=(",", ":")) + "\n"


def write(here, files, made=frozenset()):
    """Writes the files, or with --check says which of them are not new. The status for sys.exit.

    files  their texts by their names below `here`; None: there is to be none of that name
    made   names of those that are not in the repository, and not checked
    """
    old = []
    for name, text in files.items():
        path = here / name
        if (path.read_text() if path.exists() else None) == text:
            continue
        if "--check" in sys.argv:
            old += [] if name in made else [name]
        elif text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if old:
        places = ", ".join(str((here / name).relative_to(ROOT)) for name in old)
        print(f"{places}: not what bindings/interface.json says: run bindings/generate.sh BUILD_FOLDER",
              file=sys.stderr)
    return 1 if old else 0
