#include "http_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "cors_policy.h"
#include "http_exchange.h"
#include "http_head.h"
#include "request_journal.h"

namespace tenon_http {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using ErrorCode = boost::beast::error_code;

/// Below so many bytes an exchange may make more.
constexpr size_t kDrainedBytes = size_t{64} << 10;
constexpr double kLingerSeconds = 2;

bool would_block(const ErrorCode& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

ErrorCode error_of(TlsState state) {
  switch (state) {
    case TlsState::Done:
      return {};
    case TlsState::WantsRead:
    case TlsState::WantsWrite:
      return asio::error::would_block;
    case TlsState::Closed:
      return asio::error::eof;
    case TlsState::Failed:
      break;
  }
  return asio::error::connection_reset;
}

ApiError error_of_bytes(const ErrorCode& error, const HttpLimits& limits) {
  if (error == http::error::body_limit) {
    return ApiError(413, "invalid_request_error",
                    "the body is larger than " + std::to_string(limits.body_bytes) + " bytes")
        .with_code("request_too_large");
  }
  if (error == http::error::header_limit) {
    return ApiError(
        431, "invalid_request_error",
        "the headers are larger than " + std::to_string(limits.header_bytes) + " bytes");
  }
  return invalid_request("the request is not HTTP/1.1: " + error.message(), std::nullopt);
}

/// Whether all who read the header see the same end of the body, and the same host (RFC 9112, 6.3 and 3.2): of
/// other bytes a proxy would make other requests.
template <typename Parser>
bool is_framed(const Parser& parser) {
  const auto& fields = parser.get();
  return (fields.count(http::field::transfer_encoding) == 0 || parser.chunked()) &&
         fields.count(http::field::host) <= 1;
}

HttpRequest request_of(http::request<http::string_body>&& message) {
  HttpRequest request;
  const auto text = [](boost::beast::string_view view) {
    return std::string(view.data(), view.size());
  };
  request.method = text(message.method_string());
  set_target(request, text(message.target()));
  request.origin = text(message[http::field::origin]);
  request.host = text(message[http::field::host]);
  request.authorization = text(message[http::field::authorization]);
  request.api_key = text(message["x-api-key"]);
  request.anthropic_version = text(message["anthropic-version"]);
  request.content_encoding = text(message[http::field::content_encoding]);
  request.record =
      std::make_shared<RequestRecord>(text(message["x-request-id"]), text(message["traceparent"]));
  request.record->method = request.method;
  request.record->path = request.path;
  request.body = std::move(message.body());
  return request;
}

}  // namespace

HttpConnection::HttpConnection(Socket socket, std::unique_ptr<TlsStream> tls,
                               HttpConnections& owner)
    : socket_(std::move(socket)), tls_(std::move(tls)), owner_(owner) {}

void HttpConnection::start() {
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  wait(Wait::Header);
  read();
}

void HttpConnection::refuse() {
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  keeps_alive_ = false;
  const ApiError error =
      ApiError(503, "server_overloaded", "the server has too many connections").with_retry_after(1);
  const HttpAnswer answer = error_answer(error, ErrorShape::OpenAi);
  closes_after_write_ = true;
  write(http_head(answer, {.keep_alive = false}) + answer.body);
}

void HttpConnection::drain() {
  keeps_alive_ = false;
  if (exchange_ == nullptr && outbox_.empty() && wait_ != Wait::Linger) drop();
}

void HttpConnection::cancel() {
  if (exchange_ == nullptr) return;
  const auto exchange = exchange_;
  exchange->request().interest->cancel();
}

void HttpConnection::drop() {
  if (has_ended_) return;
  has_ended_ = true;
  const auto self = shared_from_this();
  lose_exchange();
  ErrorCode ignored;
  socket_.close(ignored);
  owner_.remove(self);
}

void HttpConnection::lose_exchange() {
  if (exchange_ == nullptr) return;
  const auto exchange = std::move(exchange_);
  exchange_ = nullptr;
  exchange->request().interest->lose();
}

void HttpConnection::wait(Wait what) {
  wait_ = what;
  const HttpLimits& limits = owner_.limits();
  const double seconds = what == Wait::Idle      ? limits.idle_seconds
                         : what == Wait::Header  ? limits.header_seconds
                         : what == Wait::Body    ? limits.body_seconds
                         : what == Wait::Write   ? limits.write_seconds
                         : what == Wait::Handler ? 1e8
                                                 : kLingerSeconds;
  deadline_ = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

void HttpConnection::check_clock(Clock::time_point now) {
  if (has_ended_ || now < deadline_) return;
  const bool in_request = wait_ == Wait::Body || (wait_ == Wait::Header && !inbox_.empty());
  if (!in_request) return drop();
  closes_after_write_ = true;
  keeps_alive_ = false;
  parser_.reset();
  inbox_.clear();
  const HttpAnswer answer = error_answer(
      ApiError(408, "timeout", "the request took too long to arrive"), ErrorShape::OpenAi);
  write(http_head(answer, {.keep_alive = false, .cors = allowed_origin(owner_.limits().cors, "")}) +
        answer.body);
}

size_t HttpConnection::receive(std::vector<char>& buffer, ErrorCode& error) {
  if (tls_ == nullptr) return socket_.read_some(asio::buffer(buffer), error);
  const TlsOutcome outcome = tls_->read(buffer.data(), buffer.size());
  read_waits_for_ = outcome.state == TlsState::WantsWrite ? Socket::wait_write : Socket::wait_read;
  error = error_of(outcome.state);
  return outcome.size;
}

size_t HttpConnection::transmit(std::string_view bytes, ErrorCode& error) {
  if (tls_ == nullptr) return socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  const TlsOutcome outcome = tls_->write(bytes);
  write_waits_for_ = outcome.state == TlsState::WantsRead ? Socket::wait_read : Socket::wait_write;
  error = error_of(outcome.state);
  return outcome.size;
}

void HttpConnection::read() {
  if (is_reading_ || has_ended_ || inbox_.size() >= kMaxAhead) return;
  is_reading_ = true;
  if (tls_ != nullptr && tls_->has_pending()) {
    // The socket would not tell of it.
    return owner_.post([self = shared_from_this()] {
      self->is_reading_ = false;
      if (!self->has_ended_) self->on_readable();
    });
  }
  socket_.async_wait(read_waits_for_, [self = shared_from_this()](const ErrorCode& error) {
    self->is_reading_ = false;
    if (self->has_ended_) return;
    if (error) return self->drop();
    self->on_readable();
  });
}

void HttpConnection::on_readable() {
  std::vector<char>& buffer = owner_.buffer();
  ErrorCode error;
  const size_t size = receive(buffer, error);
  if (would_block(error)) return read();
  if (error == asio::error::eof && exchange_ == nullptr && !outbox_.empty()) {
    keeps_alive_ = false;
    closes_after_write_ = true;
    return;
  }
  if (error)
    return drop();  // also at the end of its bytes: a client that leaves sends no other sign
  take({buffer.data(), size});
  read();
}

void HttpConnection::take(std::string_view bytes) {
  if (wait_ == Wait::Linger || closes_after_write_) return;
  inbox_.append(bytes);
  if (exchange_ == nullptr) parse();
}

void HttpConnection::parse() {
  while (exchange_ == nullptr && !inbox_.empty() && !has_ended_ && !closes_after_write_) {
    if (!parser_) {
      parser_.emplace();
      parser_->eager(true);
      parser_->header_limit(static_cast<uint32_t>(owner_.limits().header_bytes));
      parser_->body_limit(owner_.limits().body_bytes);
      wait(Wait::Header);
    }
    const bool had_header = parser_->is_header_done();
    ErrorCode error;
    const size_t used = parser_->put(asio::buffer(inbox_), error);
    inbox_.erase(0, used);
    if (error && error != http::error::need_more) return refuse_bytes(error);
    if (parser_->is_header_done() && !had_header) {
      if (!is_framed(*parser_)) return refuse_bytes(http::error::bad_field);
      wait(Wait::Body);
      const auto expect = parser_->get()[http::field::expect];
      if (!parser_->is_done() && boost::beast::iequals(expect, "100-continue")) {
        write("HTTP/1.1 100 Continue\r\n\r\n");
        wait(Wait::Body);
      }
    }
    if (parser_->is_done()) {
      begin(*parser_);
    } else if (error == http::error::need_more || used == 0) {
      if (!parser_->is_header_done() && inbox_.size() > owner_.limits().header_bytes) {
        return refuse_bytes(http::error::header_limit);
      }
      return;
    }
  }
}

void HttpConnection::begin(Parser& parser) {
  keeps_alive_ = parser.get().keep_alive() && !owner_.is_draining();
  const bool is_old = parser.get().version() < 11;
  HttpRequest request = request_of(parser.release());
  parser_.reset();
  request.shape = shape_of(request);
  exchange_ = std::make_shared<HttpExchange>(weak_from_this(), std::move(request), is_old);
  wait(Wait::Handler);
  const auto exchange = exchange_;
  const HttpRequest& asked = exchange->request();
  if (!may_ask(owner_.limits().cors, asked.origin) && !is_own_page(asked.origin, asked.host)) {
    const ApiError error(403, "permission_error", "pages of this origin may not ask here");
    return exchange->answer(error_answer(error, exchange->request().shape));
  }
  owner_.on_request(exchange);
}

void HttpConnection::refuse_bytes(const ErrorCode& error) {
  HttpRequest request;
  if (parser_->is_header_done() || error == http::error::body_limit) {
    const auto target = parser_->get().target();
    set_target(request, {target.data(), target.size()});
  }
  parser_.reset();
  inbox_.clear();
  keeps_alive_ = false;
  closes_after_write_ = true;
  const HttpAnswer answer = error_answer(error_of_bytes(error, owner_.limits()), shape_of(request));
  write(http_head(answer, {.keep_alive = false, .cors = allowed_origin(owner_.limits().cors, "")}) +
        answer.body);
}

void HttpConnection::write(std::string bytes) {
  if (has_ended_ || has_failed_ || bytes.empty()) return;
  if (outbox_.empty()) wait(Wait::Write);
  unsent_ += bytes.size();
  outbox_.push_back(std::move(bytes));
  if (!is_writing_) flush();
}

void HttpConnection::flush() {
  while (!outbox_.empty()) {
    const std::string& first = outbox_.front();
    ErrorCode error;
    const size_t size = transmit(std::string_view(first).substr(written_), error);
    if (would_block(error)) {
      is_writing_ = true;
      socket_.async_wait(write_waits_for_, [self = shared_from_this()](const ErrorCode& failed) {
        self->is_writing_ = false;
        if (self->has_ended_) return;
        if (failed) return self->drop();
        self->flush();
      });
      return;
    }
    if (error) {
      // Whoever writes is in the middle of something; it hears of it afterwards.
      has_failed_ = true;
      outbox_.clear();
      unsent_ = 0;
      return owner_.post([self = shared_from_this()] { self->drop(); });
    }
    wait(Wait::Write);
    unsent_ -= size;
    written_ += size;
    if (written_ == first.size()) {
      outbox_.pop_front();
      written_ = 0;
    }
    if (unsent_ < kDrainedBytes && is_behind_) {
      is_behind_ = false;
      if (exchange_ != nullptr) {
        owner_.post([exchange = exchange_] { exchange->resume(); });
      }
    }
  }
  if (closes_after_write_) return close_gently();
  if (exchange_ != nullptr) return wait(Wait::Handler);
  wait(Wait::Idle);
}

void HttpConnection::end_exchange() {
  exchange_ = nullptr;
  if (!keeps_alive_ || owner_.is_draining()) {
    closes_after_write_ = true;
    if (outbox_.empty()) close_gently();
    return;
  }
  if (outbox_.empty()) wait(Wait::Idle);
  // The next request may be here already. Not at once, so that a thousand of them make no stack.
  owner_.post([self = shared_from_this()] {
    if (self->has_ended_) return;
    self->parse();
    self->read();
  });
}

void HttpConnection::close_gently() {
  // With bytes of the client unread, close() would make the system throw away what it has not taken.
  if (tls_ != nullptr) tls_->close();
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  wait(Wait::Linger);
  inbox_.clear();
  read();
}

std::string_view HttpExchange::origin_of(const HttpConnection& connection) const {
  return allowed_origin(connection.owner_.limits().cors, request_.origin);
}

HttpExchange::~HttpExchange() {
  RequestRecord& record = *request_.record;
  if (record.journal != nullptr) record.journal->end(record);
}

void HttpExchange::add_request_headers(HttpAnswer& answer) const {
  const bool is_anthropic = request_.shape == ErrorShape::Anthropic;
  answer.headers.emplace_back(is_anthropic ? "Request-Id" : "X-Request-Id", request_.record->id);
  answer.headers.emplace_back("Traceresponse", traceresponse_of(request_.record->trace));
  if (!request_.record->notes.empty()) {
    answer.headers.emplace_back("Tenon-Notes", notes_header(request_.record->notes));
  }
}

void HttpExchange::note_end() {
  request_.record->is_complete = true;
  request_.record->end = RequestRecord::Clock::now();
}

void HttpExchange::answer(HttpAnswer answer) {
  const auto connection = connection_.lock();
  if (connection == nullptr || has_ended_ || has_begun_) return;
  has_begun_ = has_ended_ = true;
  request_.record->status = answer.status;
  note_end();
  add_request_headers(answer);
  const bool keep_alive = connection->keeps_alive_ && !connection->owner_.is_draining();
  if (!keep_alive) connection->keeps_alive_ = false;
  std::string bytes = http_head(answer, {.keep_alive = keep_alive, .cors = origin_of(*connection)});
  if (request_.method != "HEAD") bytes += answer.body;
  connection->write(std::move(bytes));
  connection->end_exchange();
}

void HttpExchange::begin_stream(const std::string& content_type) {
  const auto connection = connection_.lock();
  if (connection == nullptr || has_begun_) return;
  has_begun_ = true;
  if (is_old_) connection->keeps_alive_ = false;
  HttpAnswer answer{.content_type = content_type, .headers = {{"Cache-Control", "no-cache"}}};
  request_.record->status = answer.status;
  add_request_headers(answer);
  connection->write(http_head(answer, {.keep_alive = connection->keeps_alive_,
                                       .chunked = !is_old_,
                                       .bare = is_old_,
                                       .cors = origin_of(*connection)}));
}

void HttpExchange::send(std::string bytes) {
  const auto connection = connection_.lock();
  if (connection == nullptr || has_ended_ || bytes.empty()) return;
  connection->write(is_old_ ? std::move(bytes) : http_chunk(bytes));
}

void HttpExchange::end_stream() {
  const auto connection = connection_.lock();
  if (connection == nullptr || has_ended_) return;
  has_ended_ = true;
  note_end();
  if (!is_old_) connection->write(std::string(kLastChunk));
  connection->end_exchange();
}

size_t HttpExchange::unsent() const {
  const auto connection = connection_.lock();
  return connection == nullptr ? 0 : connection->unsent_;
}

void HttpExchange::on_drained(std::function<void()> resume) {
  resume_ = std::move(resume);
  if (const auto connection = connection_.lock()) connection->is_behind_ = true;
}

void HttpExchange::resume() {
  const std::function<void()> resume = std::move(resume_);
  resume_ = nullptr;
  if (resume) resume();
}

}  // namespace tenon_http
