#include "server/compat/loose_schema.h"

#include <optional>
#include <string_view>
#include <tenon/grammar.hpp>

#include "server/work/work_limit.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxParts = 256;  ///< left out of one schema; beyond, nothing of it is kept

/// Why a schema is refused: "grammar: #/properties/a/pattern: lookaround is not supported".
struct Refusal {
  std::string pointer;  ///< "/properties/a/pattern"
  std::string reason;
};

std::optional<Refusal> refusal_of(const Json& schema) {
  try {
    (void)tenon::Grammar::json_schema(to_text(schema));
    return std::nullopt;
  } catch (const tenon::Error& error) {
    const std::string_view text = error.what();
    const size_t begin = text.find('#');
    const size_t end = text.find(": ", begin);
    if (begin == text.npos || end == text.npos) return Refusal{"", std::string(text)};
    return Refusal{std::string(text.substr(begin + 1, end - begin - 1)),
                   std::string(text.substr(end + 2))};
  }
}

/// Takes out what the pointer names: a keyword with its value, the keyword that the reason begins with,
/// or the whole of a schema.
std::string leave_out(Json& schema, const Refusal& refusal) {
  const Json::json_pointer place(refusal.pointer);
  Json& part = schema.at(place);
  if (!part.is_object()) {
    Json& parent = schema.at(place.parent_pointer());
    if (parent.is_object()) {
      parent.erase(place.back());
    } else {
      part = true;
    }
    return refusal.pointer;
  }
  std::string keyword = refusal.reason.substr(0, refusal.reason.find_first_of(" ,:"));
  if (keyword == "reference") keyword = "$ref";
  if (part.contains(keyword)) {
    part.erase(keyword);
    return refusal.pointer + "/" + keyword;
  }
  part = true;
  return refusal.pointer;
}

}  // namespace

Json loose_schema(Json schema, const std::string& path, std::vector<std::string>& notes) {
  for (size_t i = 0; i < kMaxParts; ++i) {
    WorkLimit::look(WorkLimit::kLongWork);
    const std::optional<Refusal> refusal = refusal_of(schema);
    if (!refusal) return schema;
    std::string left_out;
    try {
      left_out = leave_out(schema, *refusal);
    } catch (const Json::exception&) {  // the pointer names no part
      schema = true;
    }
    notes.push_back(path + ": #" + left_out + " is not kept: " + refusal->reason);
  }
  notes.push_back(path + ": is not kept at all");
  return true;
}

}  // namespace tenon_http
