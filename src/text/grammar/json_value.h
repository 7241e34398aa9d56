// A JSON document as a tree that keeps numbers as they were written; for schemas, which compare
// numbers exactly. Reading is nlohmann-json's.
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
  std::string text = {};              ///< of a string; a number as it was written
  std::vector<JsonValue> items = {};  ///< Array
  std::vector<std::pair<std::string, JsonValue>> members = {};  ///< Object, in order

  /// The member of an object; null when there is none, or for what is no object.
  [[nodiscard]] const JsonValue* find(std::string_view name) const {
    for (const auto& [key, value] : members) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  [[nodiscard]] bool is_bool() const { return kind == Kind::True || kind == Kind::False; }
};

/// The tree of a text. Throws Error(Grammar) for what is no JSON, for a member twice in one object,
/// and beyond the limits of depth, bytes and values.
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
