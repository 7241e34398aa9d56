// Trees of JSON texts, read within limits. The meaning of members is not known here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// One value with all below it.
struct JsonNode {
  enum class Kind : uint8_t { Null, Bool, Number, String, Array, Object };

  Kind kind = Kind::Null;
  bool flag = false;                   ///< Bool
  bool is_count = false;               ///< Number: a whole number in 0..2^64-1
  uint64_t count = 0;                  ///< such a number
  double number = 0;                   ///< Number
  std::string text = {};               ///< String
  std::vector<JsonNode> items = {};    ///< elements of an Array, values of an Object
  std::vector<std::string> keys = {};  ///< Object: key of each value; no key twice

  /// The member of an object; null for an absent one and for a value that is no object.
  [[nodiscard]] const JsonNode* find(std::string_view key) const;
  [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
  /// The text of a member; empty for an absent member and for another type.
  [[nodiscard]] std::string_view text_of(std::string_view key) const;
};

struct JsonLimits {
  uint64_t max_bytes = uint64_t{16} << 20;
  uint64_t max_values = 1'000'000;  ///< of one tree
  uint32_t max_depth = 32;
};

/// The tree of a text. Throws Format naming `name` and the byte for text that is no JSON and for a
/// key that an object has twice, Limit beyond the limits.
JsonNode parse_json_tree(std::string_view text, std::string_view name,
                         const JsonLimits& limits = {});

/// Parses the text of an object and hands over its members one by one: memory holds one member at a
/// time. Keys may repeat. Throws as parse_json_tree, and Format for a root that is no object.
void for_each_json_member(std::string_view text, std::string_view name, const JsonLimits& limits,
                          const std::function<void(std::string key, JsonNode value)>& take);

}  // namespace tenon
