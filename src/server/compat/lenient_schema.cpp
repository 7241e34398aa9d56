#include "server/compat/lenient_schema.h"

#include <algorithm>
#include <tenon/grammar.hpp>

#include "server/work/limited_compile.h"

namespace tenon_http {

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
                    " is not kept: " + note["reason"].get_ref<const std::string&>());
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
    if (part.contains("anyOf")) {
      part["allOf"].push_back({{"anyOf", std::move(list)}});
    } else {
      part["anyOf"] = std::move(list);
    }
  }
  return schema;
}

}  // namespace tenon_http
