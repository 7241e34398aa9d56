#include "server/json/fields.h"

#include <cmath>
#include <sstream>

#include "server/api_error.h"

namespace tenon_http {
namespace {

std::string range_of(double minimum, double maximum) {
  std::ostringstream text;
  text << "must be from " << minimum << " to " << maximum;
  return text.str();
}

/// Empty text instead of a number, as unfilled forms send it.
bool is_empty_text(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().empty();
}

}  // namespace

std::string item_path(std::string_view list, size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

Fields::Fields(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {
  if (object.is_object()) return;
  if (path_.empty()) throw invalid_request("the body must be a JSON object", std::nullopt);
  throw invalid_request(path_ + ": must be an object", path_);
}

const Json* Fields::find(std::string_view name) const {
  const auto at = object_->find(name);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

const Json& Fields::required(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) refuse(name, "is missing");
  return *value;
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t minimum,
                                       int64_t maximum) const {
  const Json* value = find(name);
  if (value == nullptr || is_empty_text(*value)) return std::nullopt;
  if (!value->is_number_integer()) refuse(name, "must be an integer");
  const bool beyond = value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX};
  const int64_t number = beyond ? 0 : value->get<int64_t>();
  if (beyond || number < minimum || number > maximum) {
    refuse(name, "must be from " + std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return number;
}

std::optional<double> Fields::number(std::string_view name, double minimum, double maximum) const {
  const Json* value = find(name);
  if (value == nullptr || is_empty_text(*value)) return std::nullopt;
  if (!value->is_number()) refuse(name, "must be a number");
  const double number = value->get<double>();
  if (!(number >= minimum && number <= maximum)) refuse(name, range_of(minimum, maximum));
  return number;
}

std::optional<bool> Fields::boolean(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse(name, "must be true or false");
  return value->get<bool>();
}

const std::string* Fields::text(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_string()) refuse(name, "must be a string");
  return &value->get_ref<const std::string&>();
}

const std::string& Fields::required_text(std::string_view name) const {
  (void)required(name);
  return *text(name);
}

std::optional<Fields> Fields::object(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return Fields(*value, path_of(name));
}

const Json* Fields::list(std::string_view name) const {
  const Json* value = find(name);
  if (value != nullptr && !value->is_array()) refuse(name, "must be a list");
  return value;
}

std::string Fields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void Fields::refuse(std::string_view name, const std::string& message) const {
  const std::string path = path_of(name);
  throw invalid_request(path + ": " + message, path);
}

}  // namespace tenon_http
