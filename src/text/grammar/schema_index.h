// Locates a document's subschemas and the targets of its references, which never leave the
// document.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/grammar/json_value.h"

namespace tenon::grammar {

/// True for keywords that hold subschemas.
bool is_applicator(std::string_view keyword);
/// Calls visit(keyword, subschema) for each direct subschema of an object.
void for_each_subschema(
    const JsonValue& schema,
    const std::function<void(std::string_view keyword, const JsonValue& subschema)>& visit);

class SchemaIndex {
 public:
  /// Walks all subschemas. Throws Error(Grammar) for a dialect other than JSON Schema's own.
  SchemaIndex(const JsonValue& root, Budget& budget);

  /// Schema that `reference` in `schema` names. Throws Error(Grammar) if the document has no such
  /// schema.
  ///   dynamic  for $dynamicRef, which is refused if its dynamic scope could matter
  const JsonValue& resolve(const JsonValue& schema, const std::string& reference, bool dynamic);

  /// Makes a value in the document the place of refusals.
  void set_place(const JsonValue& value) const { budget_.set_place(value); }

 private:
  struct Anchor {
    const JsonValue* schema;
    bool dynamic;
  };
  struct Resource {
    std::string uri;
    const JsonValue* root;
    std::map<std::string, Anchor, std::less<>> anchors;
  };
  void walk(const JsonValue& schema, size_t resource);
  const JsonValue* follow(const JsonValue* from, std::string_view pointer) const;
  size_t enter(const JsonValue& schema, size_t resource);

  size_t num_schemas_ = 0;
  Budget& budget_;
  std::vector<Resource> resources_;
  std::map<std::string, size_t, std::less<>> by_uri_;
  // Resource of each schema with references.
  std::unordered_map<const JsonValue*, size_t> resource_of_;
};

}  // namespace tenon::grammar
