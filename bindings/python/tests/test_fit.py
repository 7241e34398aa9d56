"""Libraries of other versions: 200 changes of the interface, each harmless or refused.

A fake library is a set of ctypes structures, laid out by the compiler's rules, and the description that it
would answer. What fits must be read rightly by the code that was compiled for the real one.
"""

import copy
import ctypes
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import tenon
from tenon import _native
from tenon._errors import UnsupportedError
from tenon._fit import misfits
from tenon._library import check_library, check_server_library, made_for

INTERFACE = json.loads((ROOT / "bindings/interface.json").read_text())
SERVER = json.loads((ROOT / "bindings/server_interface.json").read_text())
# Structures that Python reads, with fields of plain numbers to check by.
READ = ["tenon_piece", "tenon_model_info", "tenon_memory", "tenon_execution", "tenon_token_info",
        "tenon_session_stats", "tenon_engine_stats", "tenon_request_stats", "tenon_plan",
        "tenon_hardware", "tenon_embedder_info", "tenon_metadata", "tenon_candidate", "tenon_server_part"]
# And those of tenon/server.h that it writes.
WRITTEN = ["tenon_server_options", "tenon_server_model_file", "tenon_server_request"]
TYPES = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
         "uint64_t": ctypes.c_uint64, "double": ctypes.c_double, "float": ctypes.c_float,
         "size_t": ctypes.c_size_t}
HARMLESS = ("append", "use_reserved")


def kind_of(type_text):
    return TYPES.get(type_text, ctypes.c_void_p)


def layout(struct):
    """Gives the fields of a struct offsets and sizes as a compiler would."""
    fields = []
    for field in struct["fields"]:
        kind = kind_of(field["type"])
        fields.append((field["name"], kind * field["count"] if "count" in field else kind))
    made = type("Made", (ctypes.Structure,), {"_fields_": fields})
    for field in struct["fields"]:
        place = getattr(made, field["name"])
        field["offset"], field["size"] = place.offset, place.size
    struct["size"] = ctypes.sizeof(made)
    return made


def change(dice, interface):
    """One change of one structure; returns (kind of the change, structure)."""
    struct = dice.choice([item for item in interface["structs"] if item["name"] in READ + WRITTEN])
    fields = struct["fields"]
    kind = dice.choice(["insert", "append", "reorder", "retype", "rename", "remove", "use_reserved"])
    index = dice.randrange(1, len(fields))
    fresh = {"name": f"fresh_{dice.randrange(1000)}", "type": dice.choice(sorted(TYPES)),
             "role": "value", "doc": ""}
    reserved = [field for field in fields if field["name"].startswith("reserved")]
    if kind == "insert":
        fields.insert(index, fresh)
    elif kind == "append":
        fields.append(fresh)
    elif kind == "reorder":
        other = dice.randrange(1, len(fields))
        fields[index], fields[other] = fields[other], fields[index]
    elif kind == "retype":
        fields[index]["type"] = dice.choice([name for name in sorted(TYPES)
                                             if name != fields[index]["type"]])
    elif kind == "rename":
        fields[index]["name"] = fresh["name"]
    elif kind == "remove":
        del fields[index]
    elif reserved:
        dice.choice(reserved).update(name=fresh["name"], type="uint32_t")
    else:
        kind = "append"
        fields.append(fresh)
    return kind, struct


def value_for(dice, field):
    if field["type"] in ("double", "float"):
        return float(dice.randrange(1, 1000))
    return dice.randrange(1, 100)


@pytest.mark.parametrize("described, ours", [(INTERFACE, "_made_for.json"), (SERVER, "_server_made_for.json")])
@pytest.mark.parametrize("seed", range(200))
def test_a_changed_layout_is_harmless_or_refused(described, ours, seed):
    dice = random.Random(seed)
    interface = copy.deepcopy(described)
    kind, struct = change(dice, interface)
    name = struct["name"]
    made = layout(struct)
    reasons = misfits(made_for(ours), interface)
    if kind in HARMLESS:
        assert not reasons, "a later minor version would be refused"
    if reasons:
        assert name in reasons[0]
        return
    original = next(item for item in described["structs"] if item["name"] == name)
    if name in WRITTEN:  # what the compiled code writes by our layout, the fake library reads by its own
        for field in struct["fields"]:
            for mine in original["fields"]:
                if mine["offset"] < field["offset"] + field["size"] and \
                        field["offset"] < mine["offset"] + mine["size"] and not mine["name"].startswith("reserved"):
                    assert all(mine[key] == field[key] for key in ("name", "offset", "size", "type")), kind
        return
    # What the fake library writes by its own layout, the compiled code reads by ours.
    memory = made()
    memory.struct_size = min(ctypes.sizeof(made), original["size"])
    written = {}
    for field in struct["fields"]:
        if "count" in field or kind_of(field["type"]) is ctypes.c_void_p or field["role"] == "length" \
                or field["name"] in ("struct_size", "reserved"):
            continue
        written[field["name"]] = value_for(dice, field)
        setattr(memory, field["name"], written[field["name"]])
    read = _native.read_struct(name, bytes(memory)[:memory.struct_size])
    # Each number that we know is what the library wrote under that name, or 0 where it has no such field.
    for field in original["fields"]:
        if field["role"] == "value" and "count" not in field and hasattr(read, field["name"]):
            assert getattr(read, field["name"]) == written.get(field["name"], 0), \
                f"{kind}: {name}.{field['name']}"


def test_the_real_description_fits():
    assert misfits(made_for(), INTERFACE) == []
    assert misfits(made_for("_server_made_for.json"), SERVER) == []


@pytest.mark.parametrize("change_of, reason", [
    (lambda d: d["constants"][2].update(value=77), "77"),
    (lambda d: d["functions"][0]["parameters"].pop(), "tenon_model_open"),
    (lambda d: d["functions"][0].update(returns="void"), "tenon_model_open"),
    (lambda d: d["callbacks"][0].update(returns="void"), "tenon_piece_callback"),
    (lambda d: d.update(version="1.0.0"), "major"),
])
def test_other_changes_are_refused(change_of, reason):
    interface = copy.deepcopy(INTERFACE)
    change_of(interface)
    assert reason in misfits(made_for(), interface)[0]


def test_new_functions_and_missing_ones_are_harmless():
    interface = copy.deepcopy(INTERFACE)
    interface["functions"].pop()
    interface["functions"].append({"name": "tenon_fresh", "returns": "void", "parameters": []})
    assert misfits(made_for(), interface) == []


def fake_library(folder, description, function="tenon_interface_description", name="libfake.so", works_with=None):
    """A shared library with nothing but a description, and a version or the library that this is of."""
    source = folder / "fake.c"
    text = "NULL" if description is None else json.dumps(json.dumps(description))
    source.write_text("#include <stddef.h>\n"
                      f"const char* {function}(void) {{ return {text}; }}\n"
                      + ('const char* tenon_version_text(void) { return "0.9.0"; }\n' if works_with is None else ""))
    library = folder / name
    linked = [] if works_with is None else ["-Wl,--no-as-needed", str(works_with), f"-Wl,-rpath,{folder}"]
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library), *linked], check=True)
    return str(library)


def test_a_function_that_the_library_lacks_is_an_error_of_tenon(tmp_path):
    interface = {key: INTERFACE[key] for key in ("version", "format", "aliases", "constants", "callbacks", "structs")}
    library = fake_library(tmp_path, {**interface, "functions": [], "handles": [], "options": []})
    program = f"""import tenon
tenon.use_library({library!r})
try:
    tenon.Model("m.gguf")
except tenon.Error as error:
    print(error.code, error)
"""
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=False)
    assert done.stdout.startswith("UNSUPPORTED this libtenon has no tenon_"), done.stderr


def test_a_library_that_does_not_fit_is_refused_with_a_sentence(tmp_path):
    interface = copy.deepcopy(INTERFACE)
    struct = next(item for item in interface["structs"] if item["name"] == "tenon_piece")
    struct["fields"].insert(1, {"name": "fresh", "type": "uint64_t", "role": "value", "doc": ""})
    layout(struct)
    for member in ("functions", "structs", "constants", "callbacks"):
        for item in interface[member]:
            item.pop("doc", None)
    with pytest.raises(UnsupportedError, match=r"libtenon 0\.9\.0, which does not fit this binding.*"
                                               r"tenon_piece\.token lies at byte"):
        check_library(fake_library(tmp_path, interface))


def test_a_library_without_a_description_is_refused(tmp_path):
    source = tmp_path / "old.c"
    source.write_text('const char* tenon_version_text(void) { return "0.0.1"; }\n')
    library = tmp_path / "libold.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    with pytest.raises(UnsupportedError, match="too old"):
        check_library(str(library))


def test_what_is_no_library_is_an_error(tmp_path):
    (tmp_path / "libtext.so").write_text("not a library")
    with pytest.raises(OSError):
        check_library(str(tmp_path / "libtext.so"))


def run_with(library):
    """What a first Server says in a process that uses this libtenon."""
    program = f"import tenon\ntenon.use_library({str(library)!r})\ntry:\n    tenon.Server()\n" \
        "except tenon.Error as error:\n    print(error.code, error)\n"
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_server_library_that_is_absent_or_does_not_fit_is_refused(tmp_path):
    library = tmp_path / Path(tenon.library_path()).name
    shutil.copy(tenon.library_path(), library)
    assert re.match("UNSUPPORTED no libtenon-server was found beside .*libtenon", run_with(library))
    name = library.name.replace("libtenon.", "libtenon-server.")
    function = "tenon_server_interface_description"
    changed = copy.deepcopy(SERVER)
    struct = next(item for item in changed["structs"] if item["name"] == "tenon_server_request")
    struct["fields"].insert(2, {"name": "fresh", "type": "uint64_t", "role": "value", "doc": ""})
    layout(struct)
    fake_library(tmp_path, changed, function, name)
    assert re.match("UNSUPPORTED .*libtenon-server 0.9.0, which does not fit this binding.*tenon_server_request.method",
                    run_with(library))
    fake_library(tmp_path, {**SERVER, "functions": []}, function, name, works_with=library)
    assert run_with(library).startswith("UNSUPPORTED this libtenon-server has no tenon_server_create")
    fake_library(tmp_path, SERVER, function, name)  # with a tenon_version_text of its own
    with pytest.raises(UnsupportedError, match="works with another libtenon than .*, which is in use"):
        check_server_library(str(tmp_path / name))
    fake_library(tmp_path, SERVER, "tenon_other", name)
    with pytest.raises(UnsupportedError, match="too old"):
        check_server_library(str(tmp_path / name))
