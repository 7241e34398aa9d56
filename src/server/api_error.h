// What a client is told when its request is not served: status, kind, field and sentence, and the two
// shapes in which clients expect them.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <tenon/error.hpp>

namespace tenon_http {

/// Of the interface that a path belongs to.
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
  /// More for a client that acts on it: a JSON object, "details" in Anthropic's shape.
  ApiError& with_details(std::string json) {
    details_ = std::move(json);
    return *this;
  }
  /// Of a 405: the methods that the path takes, as the header Allow has them.
  ApiError& with_allowed(std::string methods) {
    allowed_methods_ = std::move(methods);
    return *this;
  }
  ApiError& with_retry_after(int seconds) {
    retry_after_seconds_ = seconds;
    return *this;
  }

  [[nodiscard]] int status() const { return status_; }
  /// OpenAI's names: "invalid_request_error", ...
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] const std::optional<std::string>& code() const { return code_; }
  /// The field that is wrong: "messages[0].content".
  [[nodiscard]] const std::optional<std::string>& param() const { return param_; }
  [[nodiscard]] const std::string& details() const { return details_; }  ///< "": none
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

/// 400. param: the field that is wrong, where it is one.
ApiError invalid_request(const std::string& message, std::optional<std::string> param);

/// What a failure of the library means for a client. param: the field that it comes from.
ApiError api_error_of(const tenon::Error& error, std::optional<std::string> param = std::nullopt);

/// The exception being handled as an error for the client; a defect of ours is a 500 that tells
/// nothing of the inside.
ApiError api_error_of_current_exception();

/// The body of an answer: JSON.
std::string error_body(const ApiError& error, ErrorShape shape);

}  // namespace tenon_http
