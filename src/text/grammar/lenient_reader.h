// Leaves out of a schema what has no grammar, and says what that was. Which keywords are refused is
// for the compiler of schemas to say.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/json_value.h"

namespace tenon::grammar {

/// A part of a schema that is left out.
struct SchemaNote {
  std::string pointer;                 ///< JSON pointer of an object: "/properties/a"
  std::optional<std::string> keyword;  ///< its member; none: the schema, of which `true` is left
  std::string reason;
};

/// A schema that loses what is refused:
///
///     {"type": "string", "pattern": "(?<=x)y"}   ->   {"type": "string"}
///     {"", "pattern", "pattern, byte 0: lookaround is not supported ..."}
class LenientReader {
 public:
  /// Compilations of one schema; what is refused beyond takes the whole schema along.
  static constexpr size_t kMaxRounds = 16;
  static constexpr size_t kMaxNotes = 256;
  static constexpr uint64_t kMaxWork = 4 * Budget::kMaxWork;  ///< of all compilations together

  /// Throws Error(Grammar) for what is no JSON.
  ///   budget  alive as long as the reader; compilations of root() use budgets that are its parts
  LenientReader(std::string_view text, Budget& budget) : budget_(budget), document_(text, budget) {}

  [[nodiscard]] const JsonValue& root() const { return document_.root(); }
  /// Leaves out what was refused in one compilation of root().
  void leave_out(std::span<const Refusal> refusals);
  [[nodiscard]] std::vector<SchemaNote>& notes() { return notes_; }

 private:
  void leave_out_all(std::string reason);

  Budget& budget_;
  JsonDocument document_;
  std::vector<SchemaNote> notes_;
  size_t num_rounds_ = 0;
};

}  // namespace tenon::grammar
