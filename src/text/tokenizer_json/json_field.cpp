#include "text/tokenizer_json/json_field.h"

#include "base/error.h"
#include "base/utf8.h"
#include "text/utf8_codec.h"

namespace tenon::tokenizer_json {
namespace {

/// Refuses what goes beyond the limits while it is read.
class Limits {
 public:
  explicit Limits(std::string_view name) : name_(name) {}

  bool operator()(int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    if (depth > kMaxJsonDepth) {
      fail(Code::Limit, "{}: nested deeper than {}", name_, kMaxJsonDepth);
    }
    if (++values_ > 2 * kMaxJsonValues) {  // a key counts, too
      fail(Code::Limit, "{}: more than {} values", name_, kMaxJsonValues);
    }
    return true;
  }

 private:
  std::string_view name_;
  size_t values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view name) {
  if (text.size() > kMaxJsonBytes) {
    fail(Code::Limit, "{}: {} bytes, the limit is {}", name, text.size(), kMaxJsonBytes);
  }
  try {
    return Json::parse(text.begin(), text.end(), Limits(name));
  } catch (const Json::parse_error& error) {
    fail(Code::Format, "{}: not JSON at byte {}", name, error.byte);
  } catch (const Json::exception& error) {
    fail(Code::Format, "{}: {}", name, error.what());
  }
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
