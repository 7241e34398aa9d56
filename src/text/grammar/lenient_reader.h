// Drops unsupported parts of a schema and notes them. The schema compiler decides which keywords
// are unsupported. No valid value is excluded: what would exclude more without a part is dropped,
// too (widening.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/json_value.h"

namespace tenon::grammar {

/// Dropped part of a schema.
struct SchemaNote {
  std::string pointer;  ///< JSON pointer to an object: "/properties/a"
  /// Dropped member; empty if `true` replaces the whole schema.
  std::optional<std::string> keyword;
  std::string reason;
  bool as_any_of = false;  ///< the member is a oneOf that became an anyOf
};

/// Schema that loses its refused parts:
///
///   {"type": "string", "pattern": "(?<=x)y"}   ->   {"type": "string"}
///   {"", "pattern", "pattern, byte 0: lookaround is not supported ..."}
class LenientReader {
 public:
  /// Compilations per schema; refusals beyond drop the whole schema.
  static constexpr size_t kMaxRounds = 16;
  static constexpr size_t kMaxNotes = 256;
  /// JsonValue::text of the list of a oneOf that is kept as an anyOf.
  static constexpr std::string_view kSeveral = "anyOf";
  static constexpr uint64_t kMaxWork = 4 * Budget::kMaxWork;  ///< of all compilations together

  /// Throws Error(Grammar) for invalid JSON.
  ///   budget  alive as long as the reader; compilations of root() use budgets that are its parts
  LenientReader(std::string_view text, Budget& budget) : budget_(budget), document_(text, budget) {}

  [[nodiscard]] const JsonValue& root() const { return document_.root(); }
  /// Drops the parts that one compilation of root() refused.
  void leave_out(std::span<const Refusal> refusals);
  [[nodiscard]] std::vector<SchemaNote>& notes() { return notes_; }

 private:
  void leave_out_parts(std::span<const Refusal> refusals);
  void leave_out_all(std::string reason);

  Budget& budget_;
  JsonDocument document_;
  std::vector<SchemaNote> notes_;
  size_t num_rounds_ = 0;
};

}  // namespace tenon::grammar
