// Converts schemas to disjunctive normal form: every keyword and its negation becomes shapes
// (schema_dnf.h), exactly, or is refused.
//
//   {"not": {"minimum": 3, "type": "number"}}   numbers: {below 3};  every other type: {any}
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "text/grammar/kept_parts.h"
#include "text/grammar/schema_dnf.h"
#include "text/grammar/schema_index.h"

namespace tenon::grammar {

class SchemaNormalizer {
 public:
  /// refusals: may be null; else receives the refused keywords, which are skipped.
  SchemaNormalizer(const JsonValue& root, KeptParts& kept, Budget& budget,
                   std::vector<Refusal>* refusals = nullptr);

  /// Number of a schema, of a constant, or of their negation. Number 0 is satisfied by no value.
  SubId id_of(const JsonValue& schema, bool negated, bool constant = false);
  /// Conjunction of a single schema; empty if any value satisfies it.
  Conjunction only(const JsonValue& schema, bool negated, bool constant = false);
  SubId negation(SubId id);
  static constexpr SubId kNever = 0;

  /// Values of one type that satisfy all of a conjunction.
  SchemaDnf dnf(const Conjunction& all, JsonType type);
  /// Sets the place of messages to the first schema of a conjunction.
  void set_place(const Conjunction& all);
  [[nodiscard]] Budget& budget() const { return budget_; }

 private:
  struct Sub {
    const JsonValue* value;
    bool negated;
    bool constant;
    auto operator<=>(const Sub&) const = default;
  };
  /// Query to a schema: shapes of one type, for the schema or its negation. exact: tracks which
  /// branches are taken, for unevaluated*.
  struct Ask {
    JsonType type;
    bool negated;
    bool exact;
  };

  SchemaDnf of_sub(SubId id, JsonType type);
  SchemaDnf of_schema(const JsonValue& schema, Ask ask);
  SchemaDnf compute(const JsonValue& schema, Ask ask);
  /// Skips a refused keyword, or rethrows.
  void skip_refused(Refusal& refusal, const JsonValue& schema, std::string_view keyword,
                    size_t num_open);
  SchemaDnf of_constant(const JsonValue& value, JsonType type, bool negated);
  SchemaDnf of_enum(const JsonValue& values, JsonType type, bool negated);
  SchemaDnf strings_among(const std::vector<std::string>& texts, bool negated);
  SchemaDnf of_type(const JsonValue& value, JsonType type, bool negated);
  SchemaDnf of_combination(const JsonValue& schema, const std::string& key, const JsonValue& value,
                           Ask ask);
  SchemaDnf any_of(const JsonValue& list, Ask ask);
  SchemaDnf one_of(const JsonValue& list, Ask ask);
  SchemaDnf conditional(const JsonValue& schema, Ask ask);
  SchemaDnf of_numbers(const std::string& key, const JsonValue& value, bool negated);
  SchemaDnf of_strings(const std::string& key, const JsonValue& value, bool negated);
  SchemaDnf strings_of(std::shared_ptr<const Dfa> texts, bool negated);
  SchemaDnf of_lark(const JsonValue& value, bool negated);
  SchemaDnf of_items(const JsonValue& schema, bool negated);
  SchemaDnf of_contains(const JsonValue& schema, bool negated);
  SchemaDnf of_properties(const JsonValue& schema, bool negated);
  SchemaDnf of_dependent(const std::string& key, const JsonValue& value, Ask ask);
  SchemaDnf of_counts(const std::string& key, const JsonValue& value, JsonType type, bool negated);
  void add_unevaluated(const JsonValue& schema, JsonType type, SchemaDnf& shapes);
  bool are_disjoint(const JsonValue& a, const JsonValue& b);
  bool is_plainly_empty(const Conjunction& all, uint32_t depth);

  SchemaDnf both(const SchemaDnf& a, const SchemaDnf& b, JsonType type);
  void check_size(const SchemaDnf& shapes) const;
  std::shared_ptr<const Dfa> pattern(const std::string& text);
  uint64_t whole_number(const JsonValue& value);
  Decimal number(const JsonValue& value);
  const JsonValue& schema_in(const JsonValue& value);

  const JsonValue never_{.kind = JsonValue::Kind::False};
  KeptParts& kept_;
  Budget& budget_;
  SchemaIndex index_;
  std::vector<Sub> subs_;
  std::map<Sub, SubId> numbers_;
  struct Key {
    const JsonValue* schema;
    JsonType type;
    bool negated, exact;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, SchemaDnf> known_;
  std::vector<Key> open_;  // being computed: a reference back is a cycle
  std::map<std::string, std::shared_ptr<const Dfa>> patterns_;
  std::vector<Refusal>* refusals_;
};

}  // namespace tenon::grammar
