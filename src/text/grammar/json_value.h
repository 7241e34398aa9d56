// JSON tree that keeps the spelling of numbers, for schemas, which compare numbers exactly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/budget.h"

namespace tenon::grammar {

struct JsonValue {
  enum class Kind : uint8_t { Null, True, False, Number, String, Array, Object };
  Kind kind = Kind::Null;
  std::string text = {};              ///< a string's text, or a number as written
  std::vector<JsonValue> items = {};  ///< items of an Array
  std::vector<std::pair<std::string, JsonValue>> members = {};  ///< members of an Object, in order

  /// Member of an object; null if absent, or if this is no object.
  [[nodiscard]] const JsonValue* find(std::string_view name) const {
    for (const auto& [key, value] : members) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  [[nodiscard]] bool is_bool() const { return kind == Kind::True || kind == Kind::False; }
};

/// Parses a text into a tree. Throws Error(Grammar) for invalid JSON, for a duplicate member, and
/// beyond the limits on depth, bytes and values.
class JsonDocument {
 public:
  JsonDocument(std::string_view text, Budget& budget);
  [[nodiscard]] const JsonValue& root() const { return root_; }
  [[nodiscard]] JsonValue& root() { return root_; }

  static constexpr size_t kMaxBytes = size_t{16} << 20;
  static constexpr size_t kMaxValues = 200'000;
  static constexpr size_t kMaxDepth = 128;

 private:
  JsonValue root_;
};

}  // namespace tenon::grammar
