#include "json/json_reader.h"

#include <nlohmann/json.hpp>

namespace tenon {
namespace {

using Json = nlohmann::json;

/// Hands the parser's events on.
class EventHandler {
 public:
  explicit EventHandler(JsonEvents& events) : events_(events) {}

  bool null() { return events_.null(); }
  bool boolean(bool value) { return events_.boolean(value); }
  bool number_integer(int64_t value) { return events_.integer(value); }
  bool number_unsigned(uint64_t value) { return events_.count(value); }
  bool number_float(double value, const std::string& text) { return events_.real(value, text); }
  bool string(std::string& text) { return events_.string(text); }
  bool binary(Json::binary_t& /*value*/) { return false; }
  bool start_object(size_t /*size*/) { return events_.begin_object(); }
  bool key(std::string& text) { return events_.key(text); }
  bool end_object() { return events_.end_object(); }
  bool start_array(size_t /*size*/) { return events_.begin_array(); }
  bool end_array() { return events_.end_array(); }
  bool parse_error(size_t position, const std::string& /*token*/, const Json::exception& error) {
    constexpr int kNumberOverflow = 406;  // the library's number
    events_.refuse(error.id == kNumberOverflow ? JsonFault::Range : JsonFault::Syntax, position);
    return false;
  }

 private:
  JsonEvents& events_;
};

}  // namespace

bool read_json(std::string_view text, JsonEvents& events) {
  EventHandler handler(events);
  // Not Json::sax_parse, which also names the readers of four binary formats.
  const char* begin = text.data();
  using Input = decltype(nlohmann::detail::input_adapter(begin, begin));
  nlohmann::detail::parser<Json, Input> parser(
      nlohmann::detail::input_adapter(begin, begin + text.size()));
  if (!parser.sax_parse(&handler)) return false;
  // The parser takes a zero byte after the value for the end of the text.
  const size_t zero = text.find('\0');
  if (zero == text.npos) return true;
  events.refuse(JsonFault::Syntax, zero + 1);
  return false;
}

}  // namespace tenon
