#include "text/tokenizer_json/json_field.h"

#include "base/error.h"
#include "base/utf8.h"
#include "json/json_reader.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::tokenizer_json {
namespace {

/// Builds the tree and enforces the limits while parsing. A callback of Json::parse would be slow:
/// it searches an array at the end of each object in it.
class Builder final : public JsonEvents {
 public:
  explicit Builder(std::string_view name) : name_(name) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool count(uint64_t value) override { return add(value); }
  bool integer(int64_t value) override { return add(value); }
  bool real(double value, const std::string& /*text*/) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool begin_object() override { return open(Json::object()); }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool begin_array() override { return open(Json::array()); }
  bool end_array() override { return close(); }
  void refuse(JsonFault fault, size_t position) override {
    if (fault == JsonFault::Range) {
      fail(Code::Format, "{}: a number is beyond the range of doubles", name_);
    }
    fail(Code::Format, "{}: not JSON at byte {}", name_, position);
  }

  [[nodiscard]] Json take() { return std::move(tree_); }

 private:
  /// Inserts a value into the tree.
  Json& place(Json value) {
    if (++num_values_ > kMaxJsonValues) {
      fail(Code::Limit, "{}: more than {} values", name_, kMaxJsonValues);
    }
    if (open_.empty()) return tree_ = std::move(value);
    if (open_.back()->is_array()) return open_.back()->emplace_back(std::move(value));
    return (*open_.back())[key_] = std::move(value);
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() >= kMaxJsonDepth) {
      fail(Code::Limit, "{}: nested deeper than {}", name_, kMaxJsonDepth);
    }
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view name_;
  Json tree_;
  std::vector<Json*> open_;  // stack: each value contains the next
  std::string key_;
  size_t num_values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view name) {
  if (text.size() > kMaxJsonBytes) {
    fail(Code::Limit, "{}: {} bytes, the limit is {}", name, text.size(), kMaxJsonBytes);
  }
  Builder builder(name);
  read_json(text, builder);
  return builder.take();
}

std::string JsonField::shown() const {
  if (value_ == nullptr) return "nothing";
  return value_->is_string() ? tenon::quoted(value_->get_ref<const std::string&>())
                             : std::string(value_->type_name());
}

void JsonField::expected(std::string_view what) const {
  fail(Code::Format, "{}: expected {}, found {}", where_, what, shown());
}

void JsonField::unsupported(std::string_view what) const {
  fail(Code::Unsupported, "{}: {} {} is not supported", where_, what, shown());
}

JsonField JsonField::at(std::string_view key) const {
  if (value_ == nullptr || !value_->is_object()) expected("an object");
  const auto place = value_->find(key);
  return {place == value_->end() ? nullptr : &*place, where_ + "." + std::string(key)};
}

bool JsonField::has(std::string_view key) const {
  return value_ != nullptr && value_->is_object() && value_->contains(key);
}

const Json::object_t& JsonField::object() const {
  if (value_ == nullptr || !value_->is_object()) expected("an object");
  return value_->get_ref<const Json::object_t&>();
}

const Json::array_t& JsonField::array() const {
  if (value_ == nullptr || !value_->is_array()) expected("an array");
  return value_->get_ref<const Json::array_t&>();
}

JsonField JsonField::item(size_t i) const {
  return {array()[i], where_ + "[" + std::to_string(i) + "]"};
}

std::vector<JsonField> JsonField::items() const {
  std::vector<JsonField> out;
  for (size_t i = 0; i < array().size(); ++i) out.push_back(item(i));
  return out;
}

const std::string& JsonField::text() const {
  if (value_ == nullptr || !value_->is_string()) expected("a text");
  return value_->get_ref<const std::string&>();
}

const std::string& JsonField::short_text() const {
  check_size(text().size(), kMaxContentBytes);
  return text();
}

void JsonField::check_size(size_t size_bytes, size_t limit) const {
  if (size_bytes > limit) {
    fail(Code::Limit, "{}: {} bytes, the limit is {}", where_, size_bytes, limit);
  }
}

bool JsonField::flag() const {
  if (value_ == nullptr || !value_->is_boolean()) expected("true or false");
  return value_->get<bool>();
}

uint64_t JsonField::number() const {
  if (value_ == nullptr || !value_->is_number_unsigned()) expected("a number from 0");
  return value_->get<uint64_t>();
}

uint32_t JsonField::character() const {
  const std::string& of_value = text();
  if (!of_value.empty()) {
    const CodePoint c = utf8_decode_valid(of_value.data());
    if (c.size == of_value.size()) return c.code;
  }
  expected("one character");
}

std::string escaped_pattern(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '_' || static_cast<uint8_t>(c) >= 128;
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\0') {
      out += "\\x00";
    } else {
      if (!is_word) out.push_back('\\');
      out.push_back(c);
    }
  }
  return out;
}

std::string pattern_text(const JsonField& field) {
  if (field.has("Regex")) return field.at("Regex").text();
  if (field.has("String")) return escaped_pattern(field.at("String").text());
  field.expected("{\"String\": ...} or {\"Regex\": ...}");
}

}  // namespace tenon::tokenizer_json
