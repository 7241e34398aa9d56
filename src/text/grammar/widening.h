// Finds what a schema must lose with a part of it, so that nothing valid is excluded: `not`, `if`
// and the single match of `oneOf` around the part, and keywords that depend on it.
//
//   {"not": {"minLength": 3, "pattern": P}}   without P, `not` would exclude more: it goes
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "text/grammar/json_way.h"
#include "text/grammar/schema_index.h"

namespace tenon::grammar {

/// Part to drop: a member of an object, or a whole schema, which becomes `true`.
struct Omission {
  const JsonValue* of = nullptr;
  JsonWay way = {};  ///< to `of`
  std::optional<std::string> keyword = std::nullopt;
  bool as_any_of = false;  ///< a oneOf that becomes an anyOf
};

class Widening {
 public:
  /// root, budget: outlive this object.
  Widening(const JsonValue& root, Budget& budget);

  /// Adds the cuts that an omission needs. Returns false if they may make it needless: the schema
  /// is to be compiled again without the cuts first.
  bool add(const Omission& omission);
  /// The cuts of all omissions, with their ways.
  std::vector<Omission> take_cuts();

 private:
  struct Use {
    const JsonValue* schema;
    std::string_view keyword;
  };
  void find_uses();
  void widen(const JsonValue& schema, bool evaluates_less);
  void widen_user(const Use& use, bool evaluates_less);
  void run();
  void lose(const JsonValue& schema, std::string_view keyword);
  void cut(const JsonValue& schema, std::string_view keyword, bool as_any_of = false);

  const JsonValue& root_;
  Budget& budget_;
  std::optional<SchemaIndex> index_;  // empty for a document that it refuses
  std::unordered_map<const JsonValue*, std::vector<Use>> uses_;  // of each schema
  std::vector<Omission> cuts_;
  std::unordered_set<const JsonValue*> cut_members_;
  // State of one omission:
  std::unordered_map<const JsonValue*, bool> widened_;  // true: it evaluates less
  std::vector<std::pair<const JsonValue*, bool>> todo_;
  std::vector<Omission> narrowing_;  // keywords that a wider subschema makes narrower
};

}  // namespace tenon::grammar
