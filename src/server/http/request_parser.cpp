#include "server/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <functional>
#include <string>
#include <utility>

#include "server/http/http_head.h"

namespace tenon_http {
namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::beast::error_code;
using View = boost::beast::string_view;

std::string_view text_of(View view) { return {view.data(), view.size()}; }

ApiError no_request(const std::string& why) {
  return invalid_request("the request is not HTTP/1.1: " + why, std::nullopt);
}

ApiError too_large(const std::string& what, size_t limit, const char* unit) {
  return ApiError(431, "invalid_request_error",
                  what + " more than " + std::to_string(limit) + " " + unit);
}

}  // namespace

/// Writes everything straight into an HttpRequest. Boost's own container throws for fields beyond
/// 65,535 bytes and takes unlimited trailers.
class RequestParser::State : public http::basic_parser<true> {
 public:
  State(size_t header_bytes, size_t body_bytes, std::shared_ptr<ByteBudget> bodies)
      : held(std::move(bodies)), header_bytes_(header_bytes), body_bytes_(body_bytes) {
    header_limit(static_cast<uint32_t>(header_bytes));
    body_limit(body_bytes);
  }

  [[noreturn]] void refuse(const ErrorCode& error) const {
    if (error == http::error::body_limit) {
      throw ApiError(413, "invalid_request_error",
                     "the body is larger than " + std::to_string(body_bytes_) + " bytes")
          .with_code("request_too_large");
    }
    if (error == http::error::header_limit) refuse_header();
    throw no_request(error.message());
  }
  [[nodiscard]] size_t header_limit_bytes() const { return header_bytes_; }
  [[noreturn]] void refuse_header() const {
    throw too_large("the headers are", header_bytes_, "bytes long");
  }

  HttpRequest request;
  std::string request_id;
  std::string traceparent;
  HeldBytes held;
  std::string_view input;  ///< argument of put()
  bool is_old = false;
  bool expects_continue = false;

 private:
  void on_request_impl(http::verb, View method, View target, int version, ErrorCode&) override {
    request.method = text_of(method);
    set_target(request, text_of(target));
    is_old = version < 11;
  }
  void on_response_impl(int, View, int, ErrorCode&) override {}

  void on_field_impl(http::field field, View name, View value, ErrorCode&) override {
    if (is_in_trailers_) return count_trailer(name.size() + value.size());
    if (++num_fields_ > kMaxFields) throw too_large("the headers have", kMaxFields, "fields");
    if (is_folded(name, value)) throw no_request("a header goes on in the next line");
    take_field(field, text_of(name), text_of(value));
  }

  /// True if the value spans several lines. Boost joins such lines in its own buffer, unless all
  /// but one are empty.
  [[nodiscard]] bool is_folded(View name, View value) const {
    const std::less<const char*> before;
    const char* const end = input.data() + input.size();
    if (before(value.data(), name.data()) || before(end, value.data() + value.size())) return true;
    const std::string_view between(name.data() + name.size(),
                                   static_cast<size_t>(value.data() - name.data()) - name.size());
    const char* const line_end = std::find(value.data() + value.size(), end, '\n');
    const bool goes_on = end - line_end > 1 && (line_end[1] == ' ' || line_end[1] == '\t');
    return goes_on || between.find('\n') != between.npos;
  }

  void take_field(http::field field, std::string_view name, std::string_view value) {
    switch (field) {
      case http::field::content_length:
        return take_length(value);
      case http::field::transfer_encoding:
        return take_coding(value);
      case http::field::host:
        if (std::exchange(has_host_, true)) throw no_request("it names two hosts");
        request.host = value;
        return;
      case http::field::origin:
        return take_first(request.origin, value);
      case http::field::authorization:
        return take_first(request.authorization, value);
      case http::field::content_encoding:
        return take_first(request.content_encoding, value);
      case http::field::expect:
        expects_continue |= boost::beast::iequals(View(value.data(), value.size()), "100-continue");
        return;
      default:
        break;
    }
    const auto is = [&](View known) {
      return boost::beast::iequals(View(name.data(), name.size()), known);
    };
    if (is("x-api-key")) return take_first(request.api_key, value);
    if (is("anthropic-version")) return take_first(request.anthropic_version, value);
    if (is("x-request-id")) return take_first(request_id, value);
    if (is("traceparent")) return take_first(traceparent, value);
  }

  static void take_first(std::string& into, std::string_view value) {
    if (into.empty()) into = value;
  }

  void take_length(std::string_view value) {
    const bool is_number = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
    if (!is_number || std::exchange(has_length_, true)) {
      throw no_request("Content-Length is not one number");
    }
  }

  void take_coding(std::string_view value) const {
    if (is_old) throw no_request("HTTP/1.0 has no Transfer-Encoding");
    if (!boost::beast::iequals(View(value.data(), value.size()), "chunked")) {
      throw no_request("Transfer-Encoding is not \"chunked\"");
    }
  }

  void count_trailer(size_t bytes) {
    trailer_bytes_ += bytes;
    if (++num_trailers_ > kMaxTrailerFields) {
      throw too_large("the trailers have", kMaxTrailerFields, "fields");
    }
    if (trailer_bytes_ > kMaxTrailerBytes) {
      throw too_large("the trailers are", kMaxTrailerBytes, "bytes long");
    }
  }

  void on_header_impl(ErrorCode&) override {
    if (!has_host_ && !is_old) throw no_request("it names no Host");
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {
    if (held.budget() != nullptr && held.budget()->is_full()) refuse_memory();
  }

  [[noreturn]] static void refuse_memory() {
    throw ApiError(503, "server_overloaded",
                   "the bodies of requests and the answers that wait take all the memory that they "
                   "may have")
        .with_retry_after(1);
  }

  std::size_t on_body_impl(View part, ErrorCode&) override { return append(part); }
  std::size_t on_chunk_body_impl(std::uint64_t, View part, ErrorCode&) override {
    return append(part);
  }

  /// Allocate by received bytes, so that a large announced length costs nothing.
  std::size_t append(View part) {
    const size_t needed = request.body.size() + part.size();
    if (needed > request.body.capacity()) {
      size_t capacity = std::max(needed, std::min(request.body.capacity() * 2, body_bytes_));
      if (const auto length = content_length()) {
        capacity = std::max(needed, std::min<size_t>(capacity, *length));
      }
      if (!held.grow(capacity - held.size())) refuse_memory();
      request.body.reserve(capacity);
      held.grow_anyway(request.body.capacity() - capacity);
    }
    request.body.append(part.data(), part.size());
    return part.size();
  }

  void on_chunk_header_impl(std::uint64_t size, View extensions, ErrorCode&) override {
    extension_bytes_ += extensions.size();
    if (extensions.size() > kMaxChunkExtensionBytes || extension_bytes_ > kMaxExtensionBytes) {
      throw no_request("the extensions of its chunks are too long");
    }
    if (size == 0) is_in_trailers_ = true;
  }
  void on_finish_impl(ErrorCode&) override {}

  const size_t header_bytes_;
  const size_t body_bytes_;
  size_t num_fields_ = 0;
  size_t num_trailers_ = 0;
  size_t trailer_bytes_ = 0;
  size_t extension_bytes_ = 0;
  bool has_host_ = false;
  bool has_length_ = false;
  bool is_in_trailers_ = false;
};

RequestParser::RequestParser(size_t header_bytes, size_t body_bytes,
                             std::shared_ptr<ByteBudget> bodies)
    : state_(std::make_unique<State>(header_bytes, body_bytes, std::move(bodies))) {}
RequestParser::~RequestParser() = default;

size_t RequestParser::put(std::string_view bytes) {
  // Stop at the end of the header, so that a refused client need not send its body.
  state_->eager(state_->is_header_done());
  state_->input = bytes;
  ErrorCode error;
  const size_t used = state_->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  needs_more_ = error == http::error::need_more || (used == 0 && !is_complete());
  if (error && error != http::error::need_more) state_->refuse(error);
  if (needs_more_ && !has_header() && bytes.size() - used > state_->header_limit_bytes()) {
    state_->refuse_header();
  }
  // The bytes left after the body begin a chunk or the trailers.
  if (needs_more_ && has_header() &&
      bytes.size() - used > kMaxTrailerBytes + kMaxChunkExtensionBytes) {
    throw too_large("the trailers are", kMaxTrailerBytes, "bytes long");
  }
  return used;
}

bool RequestParser::has_header() const { return state_->is_header_done(); }
bool RequestParser::is_complete() const { return state_->is_done(); }
bool RequestParser::keeps_alive() const { return state_->keep_alive(); }
bool RequestParser::is_old() const { return state_->is_old; }
bool RequestParser::expects_continue() const { return state_->expects_continue; }
const HttpRequest& RequestParser::request() const { return state_->request; }
std::string_view RequestParser::request_id() const { return state_->request_id; }
std::string_view RequestParser::traceparent() const { return state_->traceparent; }
HttpRequest RequestParser::take_request() { return std::move(state_->request); }
HeldBytes RequestParser::take_body_bytes() { return std::move(state_->held); }

}  // namespace tenon_http
