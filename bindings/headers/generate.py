"""Writes what of the headers follows from the options in bindings/interface.json: the members of the structs of
include/tenon/options.hpp and how they become keys, and the list of keys in tenon.h.

A block goes from a line `generated: NAME` to the line `generated: end`; the rest of a file is written by hand.
"""

import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
from generating import Interface, write  # noqa: E402

# What C++ calls a member that has not the name of its key.
MEMBERS = {"plugin": "plugins", "override": "overrides", "template": "chat_template", "chat_format": "format",
           "template_raw": "raw"}
TYPES = {"int": "std::optional<int64_t>", "float": "std::optional<double>", "bool": "std::optional<bool>",
         "string": "std::optional<std::string>", "string_list": "std::vector<std::string>"}
# Members that come first: designated initialisers name members in their order.
FIRST = {"sampler": ["temperature", "top_k", "top_p", "min_p", "typical_p", "repeat_penalty", "repeat_last_n",
                     "presence_penalty", "frequency_penalty", "seed", "stop", "banned_strings", "banned_ignore_case"]}
SCOPES = ["model", "session", "engine", "sampler", "embedder", "chat"]


def of_scope(interface, scope):
    """The options with a member: all but backend.KEY."""
    options = [option for option in interface.data["options"] if option["scope"] == scope and "." not in option["name"]]
    first = FIRST.get(scope, [])
    return sorted(options, key=lambda option: first.index(option["name"]) if option["name"] in first else len(first))


def member(option):
    return MEMBERS.get(option["name"], option["name"])


def members(options):
    lines = []
    for option in options:
        words = f" One of {', '.join(option['choices'])}." if "choices" in option else ""
        lines += textwrap.wrap(option["doc"] + words, 98, initial_indent="/// ", subsequent_indent="/// ",
                               break_long_words=False, break_on_hyphens=False)
        lines.append(f"{TYPES[option['type']]} {member(option)}{{}};")
    return ["  " + line for line in lines]


def settings(options):
    return [f"    {'add' if option['type'] == 'string_list' else 'set'}(\"{option['name']}\", from.{member(option)});"
            for option in options]


def keys(interface):
    """The list of keys, by scope, in a comment of C."""
    lines = []
    for scope in SCOPES:
        names = ", ".join(f'"{option["name"]}"' for option in interface.data["options"] if option["scope"] == scope)
        lines += textwrap.wrap(f"{scope.upper():9}{names}", 97, subsequent_indent=" " * 9, break_long_words=False,
                               break_on_hyphens=False)
    return [f" * {line}" for line in lines]


def with_blocks(path, blocks):
    """The text of a file whose blocks are these: {name: lines}."""
    text = path.read_text()
    for name, lines in blocks.items():
        pattern = rf"(^.*generated: {re.escape(name)}$\n)(?:.*\n)*?(^.*generated: end$)"
        text, count = re.subn(pattern, lambda match, lines=lines: match[1] + "".join(f"{line}\n" for line in lines)
                              + match[2], text, flags=re.MULTILINE)
        if count != 1:
            sys.exit(f"{path.relative_to(ROOT)}: no block, or several, \"generated: {name}\"")
    return text


def main():
    interface = Interface()
    options = {scope: of_scope(interface, scope) for scope in SCOPES}
    blocks = {f"members of {scope}": members(found) for scope, found in options.items()}
    blocks |= {f"keys of {scope}": settings(found) for scope, found in options.items()}
    cpp, c = ROOT / "include/tenon/options.hpp", ROOT / "capi/include/tenon/tenon.h"
    return write(ROOT, {str(cpp.relative_to(ROOT)): with_blocks(cpp, blocks),
                        str(c.relative_to(ROOT)): with_blocks(c, {"keys of options": keys(interface)})})


if __name__ == "__main__":
    sys.exit(main())
