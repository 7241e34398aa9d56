#include "server/json/json.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "server/api_error.h"
#include "server/work/work_limit.h"

namespace tenon_http {
namespace {

/// Builds a tree from parser events. nlohmann's own builder searches all earlier members for each
/// name and has no bounds.
class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    name_ = std::move(name);
    return true;
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(at);
  }
  /// The text is no JSON; at: number of bytes read. Returns false.
  bool refuse(size_t at) {
    error_ = "the body is not valid JSON: it stops making sense at byte " + std::to_string(at);
    return false;
  }

  Json take(bool complete) {
    if (!complete) throw invalid_request(std::move(error_), std::nullopt);
    return std::move(root_);
  }
  /// Takes the values that were complete at the end of the text.
  Json take_begin() { return std::move(root_); }

 private:
  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      auto& items = parent.get_ref<Json::array_t&>();
      items.push_back(std::move(value));
      return &items.back();
    }
    // Item of the vector underlying an object. A lookup searches from the front, so the first of
    // equal names counts.
    using Member = std::pair<const std::string, Json>;
    using Members = std::vector<Member, JsonAllocator<Member>>;
    Members& members = parent.get_ref<Json::object_t&>();
    members.emplace_back(std::move(name_), std::move(value));
    return &members.back().second;
  }

  bool count() {
    WorkLimit::look();
    if (++num_values_ <= kMaxJsonValues) return true;
    error_ = "the JSON has more than " + std::to_string(kMaxJsonValues) + " values";
    return false;
  }

  template <typename T>
  bool add(T&& value) {
    if (!count()) return false;
    place(Json(std::forward<T>(value)));
    return true;
  }

  bool open(Json value) {
    if (open_.size() == kMaxJsonDepth) {
      error_ = "the JSON is nested deeper than " + std::to_string(kMaxJsonDepth) + " levels";
      return false;
    }
    if (!count()) return false;
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  // Pointers stay valid: a list grows only while its last item is complete.
  std::vector<Json*> open_;
  std::string name_;
  std::string error_ = "the body is not valid JSON";
  size_t num_values_ = 0;
};

/// UTF-16 code unit of the escape "\\uXXXX" at byte `at`; empty if no escape starts at `at`.
std::optional<uint32_t> unit_at(std::string_view text, size_t at) {
  const std::string_view escape = text.substr(std::min(at, text.size()), 6);
  if (escape.size() < 6 || !escape.starts_with("\\u")) return std::nullopt;
  uint32_t unit = 0;
  const auto [end, error] = std::from_chars(escape.data() + 2, escape.data() + 6, unit, 16);
  if (error != std::errc() || end != escape.data() + 6) return std::nullopt;
  return unit;
}

/// Replaces escapes of unpaired surrogates by U+FFFD; empty if the text has none. JavaScript writes
/// such escapes after cutting a text inside a character.
std::optional<std::string> without_half_surrogates(std::string_view text) {
  std::optional<std::string> repaired;
  for (size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
    const std::optional<uint32_t> unit = unit_at(text, at);
    if (!unit) {
      at += 2;  // a short escape, such as that of a quote
      continue;
    }
    const bool is_first = *unit >= 0xD800 && *unit < 0xDC00;
    const std::optional<uint32_t> next = is_first ? unit_at(text, at + 6) : std::nullopt;
    if (next && *next >= 0xDC00 && *next < 0xE000) {
      at += 12;
      continue;
    }
    if (*unit >= 0xD800 && *unit < 0xE000) {
      if (!repaired) repaired.emplace(text);
      repaired->replace(at, 6, "\\ufffd");
    }
    at += 6;
  }
  return repaired;
}

/// Parses the text; false if it is no complete document.
bool build(std::string_view text, JsonBuilder& builder) {
  const std::optional<std::string> repaired = without_half_surrogates(text);
  if (repaired) text = *repaired;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return false;
  // The parser takes a zero byte after the value for the end of the text.
  const size_t zero = text.find('\0');
  return zero == text.npos || builder.refuse(zero + 1);
}

}  // namespace

Json parse_json(std::string_view text) {
  JsonBuilder builder;
  const bool complete = build(text, builder);
  return builder.take(complete);
}

Json parse_cut_object(std::string_view text) {
  JsonBuilder builder;
  (void)build(text, builder);
  Json begin = builder.take_begin();
  return begin.is_object() ? begin : Json::object();
}

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon_http
