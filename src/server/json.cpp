#include "json.h"

#include <utility>
#include <vector>

#include "api_error.h"
#include "work_limit.h"

namespace tenon_http {
namespace {

/// Builds the value as its parts come. Not nlohmann's own builder: that looks for each name among all
/// before it, and knows no bounds.
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
    error_ = "the body is not valid JSON: it stops making sense at byte " + std::to_string(at);
    return false;
  }

  Json take(bool complete) {
    if (!complete) throw invalid_request(std::move(error_), std::nullopt);
    return std::move(root_);
  }

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
    // The vector that the object is: members are found from its beginning, so the first one counts.
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
  // A list grows only while its last item is complete, so these stay where they are.
  std::vector<Json*> open_;
  std::string name_;
  std::string error_ = "the body is not valid JSON";
  size_t num_values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text) {
  JsonBuilder builder;
  const bool complete = Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take(complete);
}

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon_http
