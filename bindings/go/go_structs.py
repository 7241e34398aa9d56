"""Structures of C in Go: as they lie in memory, as programs see them, and the way between the two."""

from generating import HIDDEN, short
from go_interface import (DOCS, HEAD, KEPT, MAY_BE_EMPTY, OPTION_LINES, SHOWN_BY_HAND, TRUTHS, aligned,
                          callback_name, camel, comment, documented, go_name, lower)


def mirror(interface, struct):
    """The structure as it lies in memory, and assertions that the compiler lays it out so."""
    name = "c" + camel(short(struct["name"]))
    rows = []
    for field in struct["fields"]:
        kind = "unsafe.Pointer" if "*" in field["type"] else \
            "uintptr" if field["type"].endswith("_callback") else interface.scalar(field["type"])
        if field["role"] in ("user", "handle"):
            kind = "uintptr"
        rows.append((lower(field["name"]), f"[{field['count']}]{kind}" if "count" in field else kind))
    lines = [f"type {name} struct {{", *aligned(rows), "}", ""]
    lines += [f"var _ [{struct['size']}]byte = [unsafe.Sizeof({name}{{}})]byte{{}}"]
    lines += [f"var _ [{field['offset']}]byte = [unsafe.Offsetof({name}{{}}.{lower(field['name'])})]byte{{}}"
              for field in struct["fields"][1:]]
    return [*lines, ""]


def shown(struct):
    return [field for field in struct["fields"] if field["name"] not in HIDDEN and field["role"] not in ("length", "user")
            and not field["name"].startswith("reserved")]


def shown_name(field):
    return KEPT[field["of"]][0] if field["role"] == "callback" else camel(field["name"])


def shown_type(interface, field):
    if field["role"] == "callback":
        return KEPT[field["of"]][1]
    if field["name"] in OPTION_LINES:
        return f"*{OPTION_LINES[field['name']]}"
    if field["name"] in MAY_BE_EMPTY:
        return "Opt[string]"
    if field["role"] in ("text", "name"):
        return "[]byte" if field.get("encoding") == "bytes" else "string"
    if field["role"] == "array":
        return "[]Token" if field["of"] == "tenon_token" else f"[]{interface.scalar(field['of'])}"
    if field["name"] in TRUTHS:
        return "bool"
    kind = "Token" if field["of"] == "tenon_token" else interface.scalar(field["type"])
    kind = "Finish" if field["name"] == "finish" else "Code" if field["of"] == "tenon_status" else kind
    return f"[{field['count']}]{kind}" if "count" in field else kind


def public(interface, struct):
    """The structure for Go programs."""
    name = go_name(struct["name"])
    doc = DOCS.get(struct["name"]) or (f"{name}: {struct['doc']}" if struct["doc"] else f"{name} is a {struct['name']}.")
    lines = comment(doc, "")
    lines.append(f"type {name} struct {{")
    lines += documented([(field["doc"], shown_name(field), shown_type(interface, field)) for field in shown(struct)])
    return [*lines, "}", ""]


def reader(interface, struct):
    """Its reader: texts and arrays are copied."""
    name = go_name(struct["name"])
    lines = [f"func (c *c{camel(short(struct['name']))}) value() {name} {{", f"\treturn {name}{{"]
    rows = []
    for field in shown(struct):
        place, kind = f"c.{lower(field['name'])}", shown_type(interface, field)
        if field["role"] == "text":
            copied = "bytesAt" if kind == "[]byte" else "textAt"
            value = f"{copied}({place}, c.{lower(field['length'])})"
        elif field["role"] == "name":
            value = f"nameAt({place})"
        elif field["role"] == "array":
            value = f"copyOf[{kind[2:]}]({place}, c.{lower(field['length'])})"
        elif kind == "bool":
            value = f"{place} != 0"
        elif kind in ("Finish", "Code"):
            value = f"{kind}({place})"
        else:
            value = place
        rows.append((camel(field["name"]) + ":", value + ","))
    return [*lines, *aligned(rows, "\t\t"), "\t}", "}", ""]


def writer(interface, struct):
    """Its writer for a call; nil means the defaults."""
    name = camel(short(struct["name"]))
    lines = [f"func (v *{name}) fill(c *call, to *c{name}) {{",
             f"\t*to = c{name}{{structSize: uint32(unsafe.Sizeof(*to))}}",
             "\tif v == nil {", "\t\treturn", "\t}"]
    for field in shown(struct):
        given, to, kind = f"v.{shown_name(field)}", f"to.{lower(field['name'])}", shown_type(interface, field)
        if field["role"] == "callback":  # C may call it as long as the handle is there that the call makes
            entry = KEPT[field["of"]][2].format(given)
            lines.append(f"\t{to}, to.{lower(field['user'])} = c.keep(address{callback_name(field['of'])}, {entry}, "
                         f"{given} == nil)")
        elif field["role"] == "text":
            pinned = "pinnedBytes" if kind == "[]byte" else "pinnedOption" if kind[:3] == "Opt" else "pinnedText"
            lines.append(f"\t{to}, to.{lower(field['length'])} = c.{pinned}({given})")
        elif field["role"] == "name":
            pinned = "pinnedLines" if kind[0] == "*" else "pinnedNameOption" if kind[:3] == "Opt" else "pinnedName"
            lines.append(f"\t{to} = c.{pinned}({given})")
        elif kind == "bool":
            lines.append(f"\t{to} = truth({given})")
        else:
            lines.append(f"\t{to} = {given}")
    return [*lines, "}", ""]


def structs_file(interface):
    lines = [HEAD, "package tenon", "", 'import "unsafe"', ""]
    for struct in interface.data["structs"]:
        lines += mirror(interface, struct)
    for name in interface.read:
        if name not in SHOWN_BY_HAND:
            lines += public(interface, interface.structs[name]) + reader(interface, interface.structs[name])
    for name in interface.taken:
        if name not in interface.read:
            lines += public(interface, interface.structs[name])
        lines += writer(interface, interface.structs[name])
    rows = [(f'"{struct["name"]}":', f"c{camel(short(struct['name']))}{{}},") for struct in interface.data["structs"]]
    lines += ["// The mirrors by name, for the test of layouts.", "var mirrors = map[string]any{",
              *aligned(rows), "}", ""]
    return "\n".join(lines)
