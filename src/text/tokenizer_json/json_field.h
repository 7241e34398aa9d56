// A value of a tokenizer.json together with where it stands, so that what is wrong with it can be
// named. What the fields mean is not known here.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::tokenizer_json {

using Json = nlohmann::json;

/// Parses within limits of bytes, values and depth. Throws Error(Format) or Error(Limit) naming
/// `name`.
Json parse_json(std::string_view text, std::string_view name);

inline constexpr size_t kMaxJsonBytes = size_t{256} << 20;  // the largest published: 33 MB
inline constexpr size_t kMaxJsonValues = size_t{8} << 20;
inline constexpr size_t kMaxJsonDepth = 64;
inline constexpr size_t kMaxContentBytes = 256;  // of what is put into texts; published: 3

/// A view: the tree must outlive it. All errors are Error(Format) that name the place.
class JsonField {
 public:
  JsonField(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  /// Not for one that is null.
  [[nodiscard]] const Json& value() const { return *value_; }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool is_null() const { return value_ == nullptr || value_->is_null(); }

  /// A member of an object; one that is absent is null.
  [[nodiscard]] JsonField at(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const;
  /// The members of an object and the elements of an array as they are, for long ones.
  [[nodiscard]] const Json::object_t& object() const;
  [[nodiscard]] const Json::array_t& array() const;
  /// An element of an array that has it, all of them.
  [[nodiscard]] JsonField item(size_t i) const;
  [[nodiscard]] std::vector<JsonField> items() const;

  [[nodiscard]] const std::string& text() const;
  /// The same of kMaxContentBytes at most, else throws Error(Limit).
  [[nodiscard]] const std::string& short_text() const;
  [[nodiscard]] bool flag() const;
  /// A number from 0.
  [[nodiscard]] uint64_t number() const;
  /// A text of one character.
  [[nodiscard]] uint32_t character() const;
  [[nodiscard]] bool flag_or(bool otherwise) const { return is_null() ? otherwise : flag(); }
  [[nodiscard]] std::string text_or(std::string_view otherwise) const {
    return is_null() ? std::string(otherwise) : text();
  }

  /// Throws Error(Limit) where `size_bytes` is beyond `limit`.
  void check_size(size_t size_bytes, size_t limit) const;
  /// Throws Error(Format): "where: expected `what`, found ...".
  [[noreturn]] void expected(std::string_view what) const;
  /// Throws Error(Unsupported) that names the value.
  [[noreturn]] void unsupported(std::string_view what) const;

 private:
  JsonField(const Json* value, std::string where) : value_(value), where_(std::move(where)) {}
  [[nodiscard]] std::string shown() const;

  const Json* value_;  // nullptr: absent
  std::string where_;
};

/// What a "Split" or "Replace" looks for, as an expression of class Pattern: {"String": ...} or
/// {"Regex": ...}.
std::string pattern_text(const JsonField& field);
/// The expression that matches `literal` and nothing else.
std::string escaped_pattern(std::string_view literal);

}  // namespace tenon::tokenizer_json
