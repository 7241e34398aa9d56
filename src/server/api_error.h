// Error answers: status, kind, field and message, in the shapes that OpenAI's and Anthropic's
// clients expect.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <tenon/error.hpp>

namespace tenon_http {

/// Format of errors, by the interface of the requested path.
enum class ErrorShape : uint8_t { OpenAi, Anthropic };

class ApiError : public std::runtime_error {
 public:
  ApiError(int status, std::string type, const std::string& message)
      : std::runtime_error(message), type_(std::move(type)), status_(status) {}

  ApiError& with_param(std::optional<std::string> param) {
    param_ = std::move(param);
    return *this;
  }
  ApiError& with_code(std::string code) {
    code_ = std::move(code);
    return *this;
  }
  /// Adds details for programs: a JSON object, "details" in Anthropic's shape.
  ApiError& with_details(std::string json) {
    details_ = std::move(json);
    return *this;
  }
  /// Adds the methods that the path takes, as the header Allow of a 405 lists them.
  ApiError& with_allowed(std::string methods) {
    allowed_methods_ = std::move(methods);
    return *this;
  }
  ApiError& with_retry_after(int seconds) {
    retry_after_seconds_ = seconds;
    return *this;
  }

  [[nodiscard]] int status() const { return status_; }
  /// Kind under OpenAI's name, such as "invalid_request_error".
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] const std::optional<std::string>& code() const { return code_; }
  /// Invalid field, such as "messages[0].content".
  [[nodiscard]] const std::optional<std::string>& param() const { return param_; }
  [[nodiscard]] const std::string& details() const { return details_; }  ///< "" for none
  [[nodiscard]] const std::string& allowed_methods() const { return allowed_methods_; }
  [[nodiscard]] std::optional<int> retry_after_seconds() const { return retry_after_seconds_; }

 private:
  std::string type_;
  std::optional<std::string> code_;
  std::optional<std::string> param_;
  std::string details_;
  std::string allowed_methods_;
  std::optional<int> retry_after_seconds_;
  int status_;
};

/// Makes a 400. param: the invalid field, if the error has one.
ApiError invalid_request(const std::string& message, std::optional<std::string> param);

/// Translates a failure of the library for a client. param: field that caused it.
ApiError api_error_of(const tenon::Error& error, std::optional<std::string> param = std::nullopt);

/// Translates the exception being handled. A defect of the server becomes a 500 without internals.
ApiError api_error_of_current_exception();

/// Body of an answer, in JSON.
std::string error_body(const ApiError& error, ErrorShape shape);

}  // namespace tenon_http
