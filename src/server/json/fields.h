// The fields of a request's JSON object, read with type and range: what is wrong becomes a 400 that
// names the field, what is unknown is not looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/json/json.h"

namespace tenon_http {

/// A view of a JSON object that must outlive it. A field that is null counts as absent.
class Fields {
 public:
  /// path: of the object in the request, "" for the request itself. Throws ApiError for what is no
  /// object.
  explicit Fields(const Json& object, std::string path = "");

  /// The value; null when it is absent.
  [[nodiscard]] const Json* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The value; throws when it is absent.
  [[nodiscard]] const Json& required(std::string_view name) const;

  [[nodiscard]] std::optional<int64_t> integer(std::string_view name, int64_t minimum,
                                               int64_t maximum) const;
  [[nodiscard]] std::optional<double> number(std::string_view name, double minimum,
                                             double maximum) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const;
  [[nodiscard]] const std::string* text(std::string_view name) const;
  [[nodiscard]] const std::string& required_text(std::string_view name) const;
  [[nodiscard]] std::optional<Fields> object(std::string_view name) const;
  /// An array.
  [[nodiscard]] const Json* list(std::string_view name) const;

  /// "tools[0].function" of "function" in tools[0].
  [[nodiscard]] std::string path_of(std::string_view name) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Json& json() const { return *object_; }
  /// Throws ApiError: "temperature: MESSAGE".
  [[noreturn]] void refuse(std::string_view name, const std::string& message) const;

 private:
  const Json* object_;
  std::string path_;
};

/// "messages[3]"
std::string item_path(std::string_view list, size_t index);

}  // namespace tenon_http
