// A value of a tokenizer.json and its path, for error messages. Callers know the meaning of fields.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::tokenizer_json {

using Json = nlohmann::json;

/// Parses within limits on bytes, values and depth. Throws Format or Limit naming `name`.
Json parse_json(std::string_view text, std::string_view name);

inline constexpr size_t kMaxJsonBytes = size_t{256} << 20;  // the largest published file has 33 MB
inline constexpr size_t kMaxJsonValues = size_t{8} << 20;
inline constexpr size_t kMaxJsonDepth = 64;
inline constexpr size_t kMaxContentBytes = 256;  // limit of text inserted into texts; published: 3

/// A view: the tree must outlive it. All errors are Format and name the path.
class JsonField {
 public:
  JsonField(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  /// The value; must not be absent.
  [[nodiscard]] const Json& value() const { return *value_; }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool is_null() const { return value_ == nullptr || value_->is_null(); }

  /// Member of an object; null if absent.
  [[nodiscard]] JsonField at(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const;
  /// Raw members of an object, or elements of an array; cheaper for long ones.
  [[nodiscard]] const Json::object_t& object() const;
  [[nodiscard]] const Json::array_t& array() const;
  /// Element i of an array, which must exist, or all elements.
  [[nodiscard]] JsonField item(size_t i) const;
  [[nodiscard]] std::vector<JsonField> items() const;

  [[nodiscard]] const std::string& text() const;
  /// Like text(), but throws Limit beyond kMaxContentBytes.
  [[nodiscard]] const std::string& short_text() const;
  [[nodiscard]] bool flag() const;
  /// A non-negative integer.
  [[nodiscard]] uint64_t number() const;
  /// A text of one character, as its code point.
  [[nodiscard]] uint32_t character() const;
  [[nodiscard]] bool flag_or(bool otherwise) const { return is_null() ? otherwise : flag(); }
  [[nodiscard]] std::string text_or(std::string_view otherwise) const {
    return is_null() ? std::string(otherwise) : text();
  }

  /// Throws Limit if `size_bytes` exceeds `limit`.
  void check_size(size_t size_bytes, size_t limit) const;
  /// Throws Format: "where: expected `what`, found ...".
  [[noreturn]] void expected(std::string_view what) const;
  /// Throws Unsupported naming the value.
  [[noreturn]] void unsupported(std::string_view what) const;

 private:
  JsonField(const Json* value, std::string where) : value_(value), where_(std::move(where)) {}
  [[nodiscard]] std::string shown() const;

  const Json* value_;  // nullptr means absent
  std::string where_;
};

/// The pattern of a "Split" or "Replace" in the syntax of class Pattern: {"String": ...} or
/// {"Regex": ...}.
std::string pattern_text(const JsonField& field);
/// A pattern that matches only `literal`.
std::string escaped_pattern(std::string_view literal);

}  // namespace tenon::tokenizer_json
