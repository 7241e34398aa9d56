#!/usr/bin/env python3
"""Makes a libtenon that writes down which options a binding sets, and does all else as LIBRARY does.

    recording.py LIBRARY FOLDER      FOLDER/libtenon.so; needs a C compiler and binutils
    recording.py --samples           prints a value of each option, and what is to be written of it, as JSON

Each option that is set goes as a line to the file that TENON_RECORD names: KIND NAME VALUE, with tabs between. KIND is
int, float, bool, string, or list for one text of a list. Test programs of the languages make an object with each option
of interface.json (`samples`) and compare. What the library does with a value, tests/capi/options tells.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "tenon/tenon.h"

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define RECORD(...)                                                  \
  do {                                                               \
    FILE* const file = fopen(getenv("TENON_RECORD"), "ab");          \
    if (file == NULL) abort();                                       \
    fprintf(file, __VA_ARGS__);                                      \
    fclose(file);                                                    \
  } while (0)

tenon_status tenon_options_set_int(tenon_options* options, const char* name, int64_t value) {
  RECORD("int\t%s\t%lld\n", name, (long long)value);
  return REAL(tenon_options_set_int)(options, name, value);
}
tenon_status tenon_options_set_float(tenon_options* options, const char* name, double value) {
  RECORD("float\t%s\t%.17g\n", name, value);
  return REAL(tenon_options_set_float)(options, name, value);
}
tenon_status tenon_options_set_bool(tenon_options* options, const char* name, int32_t value) {
  RECORD("bool\t%s\t%d\n", name, (int)value);
  return REAL(tenon_options_set_bool)(options, name, value);
}
tenon_status tenon_options_set_string(tenon_options* options, const char* name, const char* text, size_t length) {
  RECORD("string\t%s\t%.*s\n", name, (int)length, text);
  return REAL(tenon_options_set_string)(options, name, text, length);
}
tenon_status tenon_options_add_string(tenon_options* options, const char* name, const char* text, size_t length) {
  RECORD("list\t%s\t%.*s\n", name, (int)length, text);
  return REAL(tenon_options_add_string)(options, name, text, length);
}
"""


def make(library, folder):
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "recording.c"
    source.write_text(SOURCE)
    soname = re.search(r"SONAME.*\[(.*)\]", subprocess.run(["readelf", "-d", library], check=True, capture_output=True,
                                                          text=True).stdout).group(1)
    shutil.copy(library, folder / soname)
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{HERE.parent / 'capi/include'}", source, "-o", folder / "libtenon.so",
                    "-Wl,--no-as-needed", folder / soname, "-Wl,-rpath,$ORIGIN"], check=True)
    return folder / "libtenon.so"


def samples():
    """(scope, name, value, lines) of each option: a value other than its default, and what is to be written of it."""
    for option in json.loads((HERE / "interface.json").read_text(encoding="utf-8"))["options"]:
        name, kind = option["name"].replace("KEY", "isa"), option["type"]
        initial = option.get("default")
        if kind == "int":
            # One that no float holds, where the range has it.
            value = next(number for number in (2**53 + 1, 5, 7, 1, 0)
                         if option["minimum"] <= number <= option["maximum"] and number != initial)
            lines = [f"int\t{name}\t{value}"]
        elif kind == "float":
            low, high = float(option["minimum"]), float(option["maximum"])
            value = next(number for number in (0.1, 0.3, 1.1, 2.3, low, high) if low <= number <= high and number != initial)
            lines = [f"float\t{name}\t{value:.17g}"]
        elif kind == "bool":
            value = not initial
            lines = [f"bool\t{name}\t{int(value)}"]
        elif kind == "string_list":
            value = ["a.b=str:x", "c.d=int:7"] if name == "override" else ["first", "second é"]  # has a form
            lines = [f"list\t{name}\t{text}" for text in value]
        else:
            value = next(choice for choice in option.get("choices", ["text é"]) if choice != initial)
            lines = [f"string\t{name}\t{value}"]
        yield option["scope"], name, value, lines


if __name__ == "__main__":
    if sys.argv[1:] == ["--samples"]:
        members = ("scope", "name", "value", "lines")
        print(json.dumps([dict(zip(members, sample)) for sample in samples()]))
        sys.exit()
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    make(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
