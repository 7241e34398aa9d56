"""Writes docs/options.md from bindings/interface.json: every option of the library with kind, range, default and meaning."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
from generating import Interface, write  # noqa: E402

SCOPES = {
    "model": ("Opening a model", "`tenon_model_open`, `Model`"),
    "session": ("A session", "`tenon_session_create`, `Session`"),
    "engine": ("An engine", "`tenon_engine_create`, `Engine`"),
    "sampler": ("Drawing tokens", "`tenon_sampler_create`, `sampling` and `temperature=` of a generation"),
    "chat": ("A chat", "`tenon_chat_create`, `Chat`"),
    "embedder": ("An embedder", "`tenon_embedder_create`, `Embedder`"),
}
KINDS = {"int": "whole number", "float": "number", "bool": "true or false", "string": "text", "string_list": "texts"}


def values(option):
    if "choices" in option:
        return ", ".join(f"`{choice}`" for choice in option["choices"])
    kind = KINDS[option["type"]]
    return f"{kind}, {option['minimum']} to {option['maximum']}" if "minimum" in option else kind


def default(option):
    value = option.get("default")
    if value in (None, "", []):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def page(interface):
    lines = ["# Options of the library", "",
             "Made by `bindings/docs/generate.py` from the list that the library answers (`tenon_option_get_info`).",
             "`tenon_options_set_int` and its like take these names in C; other languages have them as fields or",
             "arguments, and `tenon run --help-all` as flags, with `-` for `_`.", ""]
    for scope, (title, where) in SCOPES.items():
        lines += [f"## {title}", "", f"{where}.", "", "| option | values | default | meaning |", "|---|---|---|---|"]
        for option in interface.data["options"]:
            if option["scope"] == scope:
                meaning = option["doc"].replace("|", "\\|").replace("\n", " ")
                lines.append(f"| `{option['name']}` | {values(option)} | {default(option)} | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def main():
    interface = Interface()
    unknown = {option["scope"] for option in interface.data["options"]} - set(SCOPES)
    if unknown:
        sys.exit(f"bindings/docs/generate.py: scopes without a title: {', '.join(sorted(unknown))}")
    return write(HERE.parent.parent / "docs", {"options.md": page(interface)})


if __name__ == "__main__":
    sys.exit(main())
