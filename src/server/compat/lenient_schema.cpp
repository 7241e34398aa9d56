#include "server/compat/lenient_schema.h"

#include <algorithm>
#include <tenon/grammar.hpp>

#include "server/work/limited_compile.h"

namespace tenon_http {
namespace {

/// Makes references through the path `from` lead through `to`.
void repoint(Json& at, const std::string& from, const std::string& to) {
  if (!at.is_structured()) return;
  for (Json& part : at) repoint(part, from, to);
  if (!at.is_object() || !at.contains("$ref") || !at["$ref"].is_string()) return;
  const std::string reference = at["$ref"];
  if (reference.starts_with(from + "/")) at["$ref"] = to + reference.substr(from.size());
}

}  // namespace

Json lenient_schema(Json schema, const std::string& path, std::vector<std::string>& notes) {
  tenon::CompileOptions options = under_work_limit();
  options.lenient = true;
  const tenon::Grammar grammar =
      tenon::Grammar::compile(TENON_GRAMMAR_JSON_SCHEMA, to_text(schema), options);
  std::vector<Json::json_pointer> any_of;  // of schemas whose oneOf becomes an anyOf
  for (const Json& note : Json::parse(grammar.notes())) {
    std::string pointer = note["pointer"];
    Json& part = schema.at(Json::json_pointer(pointer));
    if (note["keyword"].is_string()) {
      const std::string keyword = note["keyword"];
      if (note.contains("instead")) {
        any_of.emplace_back(pointer);
      } else {
        part.erase(keyword);
      }
      pointer = (Json::json_pointer(pointer) / keyword).to_string();
    } else {
      part = true;
    }
    notes.push_back(path + ": #" + pointer +
                    (note.contains("instead") ? " is kept as anyOf: " : " is not kept: ") +
                    note["reason"].get_ref<const std::string&>());
  }
  // The innermost first: the pointers lead through the oneOf of others.
  std::sort(any_of.begin(), any_of.end(), [](const auto& a, const auto& b) {
    return a.to_string().size() > b.to_string().size();
  });
  for (const Json::json_pointer& pointer : any_of) {
    if (!schema.contains(pointer / "oneOf")) continue;
    Json& part = schema.at(pointer);
    Json list = std::move(part["oneOf"]);
    part.erase("oneOf");
    Json::json_pointer to = pointer;
    if (part.contains("anyOf")) {
      to = to / "allOf" / part["allOf"].size();
      part["allOf"].push_back({{"anyOf", std::move(list)}});
    } else {
      part["anyOf"] = std::move(list);
    }
    repoint(schema, "#" + (pointer / "oneOf").to_string(), "#" + (to / "anyOf").to_string());
  }
  return schema;
}

}  // namespace tenon_http
