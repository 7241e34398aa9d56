#!/usr/bin/env python3
"""Makes two working libraries out of one: an older minor version and a newer one, as bindings meet them.

    other_minors.py LIBRARY FOLDER      FOLDER/older/libtenon.so and FOLDER/newer/libtenon.so; needs a C compiler

Both describe themselves as of another version, and all other calls go to a copy of LIBRARY that they are linked with. The newer one
has a function, a constant, a structure and an option more, and a field more at the end of each structure with a
struct_size. The older one lacks the last field of some structures, and functions: their names are spoiled in its copy,
so that the loader finds them no more.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

INTERFACE = Path(__file__).resolve().parent / "interface.json"
# No scenario needs them. At least one of each kind of call: makes or ends a handle, fills, answers a text or a value.
GONE = ["tenon_measure_hardware", "tenon_model_plan", "tenon_placement_create", "tenon_placement_destroy",
        "tenon_placement_count", "tenon_placement_get_device", "tenon_sampler_roll_back", "tenon_engine_stats_text",
        "tenon_grammar_cache_create", "tenon_grammar_cache_destroy", "tenon_grammar_cache_get",
        "tenon_last_system_error", "tenon_chat_answer", "tenon_random_model_shape", "tenon_random_model_format",
        "tenon_random_model_write"]
SHORTER = ["tenon_session_stats", "tenon_engine_stats", "tenon_request_stats", "tenon_memory", "tenon_execution"]


def older(interface):
    interface["version"] = "0.0.9"
    interface["functions"] = [item for item in interface["functions"] if item["name"] not in GONE]
    for struct in interface["structs"]:
        if struct["name"] in SHORTER:
            last = struct["fields"].pop()
            struct["size"] = -(-last["offset"] // struct["alignment"]) * struct["alignment"]


def newer(interface):
    interface["version"] = "0.99.0"
    interface["functions"].append({"name": "tenon_fresh", "returns": "int32_t", "parameters": []})
    interface["constants"].append({"name": "TENON_FRESH", "value": 99})
    fresh = {"name": "fresh", "type": "uint64_t", "role": "value", "size": 8}
    for struct in interface["structs"]:
        if struct["fields"][0]["name"] == "struct_size":
            at = -(-struct["size"] // 8) * 8
            struct["fields"].append({**fresh, "offset": at})
            struct.update(size=at + 8, alignment=8)
    interface["structs"].append({"name": "tenon_fresh_struct", "size": 8, "alignment": 8,
                                 "fields": [{**fresh, "offset": 0}]})
    interface["options"].append({**interface["options"][0], "name": "fresh_option"})


def without_prose(value):
    if isinstance(value, dict):
        return {key: without_prose(item) for key, item in value.items() if key != "doc"}
    return [without_prose(item) for item in value] if isinstance(value, list) else value


def make(library, folder, change, gone=()):
    folder.mkdir(parents=True)
    real = folder / "libtenon-real.so"
    shutil.copy(library, real)
    data = real.read_bytes()
    for name in gone:
        # In the table of strings, where each name stands once between NULs; its hash there no longer fits it.
        spoiled = re.sub(rb"\0" + name.encode() + rb"\0", b"\0-" + name.encode()[1:] + b"\0", data)
        if spoiled == data:
            sys.exit(f"{library} has no {name}")
        data = spoiled
    real.write_bytes(data)
    interface = without_prose(json.loads(INTERFACE.read_text(encoding="utf-8")))
    change(interface)
    source = folder / "other.c"
    source.write_text(f"const char* tenon_interface_description(void) {{ return {json.dumps(json.dumps(interface))}; }}\n"
                      "int tenon_fresh(void) { return 0; }\n")
    # The copy keeps the soname: under that name the loader finds it, in this folder.
    soname = re.search(r"SONAME.*\[(.*)\]", subprocess.run(["readelf", "-d", real], check=True, capture_output=True,
                                                          text=True).stdout).group(1)
    real.rename(folder / soname)
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", folder / "libtenon.so", "-Wl,--no-as-needed",
                    folder / soname, "-Wl,-rpath,$ORIGIN"], check=True)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    library, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    make(library, folder / "older", older, GONE)
    make(library, folder / "newer", newer)


if __name__ == "__main__":
    main()
