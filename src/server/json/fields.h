// Reads fields of a request's JSON object and checks type and range. An invalid field becomes a 400
// that names the field; unknown fields are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/json/json.h"

namespace tenon_http {

/// View of a JSON object, which must outlive the view. A null field counts as absent.
class Fields {
 public:
  /// path: position of the object in the request, "" for the request itself. Throws ApiError if
  /// `object` is no JSON object.
  explicit Fields(const Json& object, std::string path = "");

  /// Returns null if the field is absent.
  [[nodiscard]] const Json* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Throws ApiError if the field is absent.
  [[nodiscard]] const Json& required(std::string_view name) const;

  [[nodiscard]] std::optional<int64_t> integer(std::string_view name, int64_t minimum,
                                               int64_t maximum) const;
  [[nodiscard]] std::optional<double> number(std::string_view name, double minimum,
                                             double maximum) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const;
  [[nodiscard]] const std::string* text(std::string_view name) const;
  [[nodiscard]] const std::string& required_text(std::string_view name) const;
  [[nodiscard]] std::optional<Fields> object(std::string_view name) const;
  /// Returns null if the field is absent; throws ApiError if it is no array.
  [[nodiscard]] const Json* list(std::string_view name) const;

  /// Full path of a field: "tools[0].function" for "function" in tools[0].
  [[nodiscard]] std::string path_of(std::string_view name) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Json& json() const { return *object_; }
  /// Throws ApiError with the text "temperature: MESSAGE".
  [[noreturn]] void refuse(std::string_view name, const std::string& message) const;

 private:
  const Json* object_;
  std::string path_;
};

/// Path of a list's item: "messages[3]".
std::string item_path(std::string_view list, size_t index);

}  // namespace tenon_http
