#include "server/api_error.h"

#include <new>

#include "server/json/json.h"
#include "server/work/work_limit.h"

namespace tenon_http {
namespace {

/// Anthropic's name for the kind of error, by status.
const char* anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
    case 405:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

Json text_or_null(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}

}  // namespace

ApiError invalid_request(const std::string& message, std::optional<std::string> param) {
  return ApiError(400, "invalid_request_error", message).with_param(std::move(param));
}

ApiError api_error_of(const tenon::Error& error, std::optional<std::string> param) {
  using tenon::Code;
  switch (error.code()) {
    case Code::Argument:
    case Code::Grammar:
    case Code::Template:
    case Code::Unsupported:
    case Code::Limit:
      return invalid_request(error.what(), std::move(param));
    case Code::Busy:
      return ApiError(429, "rate_limit_exceeded", error.what())
          .with_code("rate_limit_exceeded")
          .with_retry_after(1);
    case Code::NoMemory:
      return ApiError(503, "server_overloaded", error.what())
          .with_code("out_of_memory")
          .with_retry_after(2);
    case Code::Cancelled:
      return ApiError(503, "server_shutting_down", "the request was cancelled").with_retry_after(5);
    case Code::Deadline:
      return ApiError(504, "timeout", "the request took longer than the server allows")
          .with_code("timeout");
    default:
      return ApiError(500, "server_error", error.what());
  }
}

ApiError api_error_of_current_exception() {
  try {
    throw;
  } catch (const ApiError& error) {
    return error;
  } catch (const tenon::Error& error) {
    return api_error_of(error);
  } catch (const WorkEnd end) {
    if (end == WorkEnd::Unwanted) return api_error_of(tenon::Error(tenon::Code::Cancelled, ""));
    return invalid_request("the request takes more than 10 seconds of work to be understood",
                           std::nullopt)
        .with_code("request_too_complex");
  } catch (const std::bad_alloc&) {
    return ApiError(503, "server_overloaded", "the server is out of memory")
        .with_code("out_of_memory")
        .with_retry_after(2);
  } catch (...) {
    return ApiError(500, "server_error", "the server failed to handle the request");
  }
}

std::string error_body(const ApiError& error, ErrorShape shape) {
  if (shape == ErrorShape::Anthropic) {
    Json told{{"type", anthropic_type(error.status())},
              {"message", error.what()},
              {"param", text_or_null(error.param())}};
    if (!error.details().empty()) told["details"] = Json::parse(error.details());
    return to_text({{"type", "error"}, {"error", std::move(told)}});
  }
  return to_text({{"error",
                   {{"message", error.what()},
                    {"type", error.type()},
                    {"param", text_or_null(error.param())},
                    {"code", text_or_null(error.code())}}}});
}

}  // namespace tenon_http
