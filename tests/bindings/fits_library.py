"""The description that a library answers against the checked-in one.

    fits_library.py INTERFACE_JSON LIBRARY FUNCTION    FUNCTION answers it
"""

import ctypes
import json
import sys


def without_prose(value):
    if isinstance(value, dict):
        return {key: without_prose(member) for key, member in value.items() if key != "doc"}
    if isinstance(value, list):
        return [without_prose(member) for member in value]
    return value


with open(sys.argv[1], encoding="utf-8") as file:
    checked_in = without_prose(json.load(file))
library = ctypes.CDLL(sys.argv[2])
answer = getattr(library, sys.argv[3])
answer.restype = ctypes.c_char_p
answered = json.loads(answer())
if answered != checked_in:
    sys.exit(f"FAILED: {sys.argv[2]} does not answer {sys.argv[1]}")
missing = [function["name"] for function in checked_in["functions"]
           if not hasattr(library, function["name"])]
if missing:
    sys.exit(f"FAILED: described but not exported: {missing}")
