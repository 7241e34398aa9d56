#include "server/http/http_connection.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <cstdint>
#include <new>
#include <utility>

#include "server/http/cors_policy.h"
#include "server/http/host_names.h"
#include "server/http/http_exchange.h"
#include "server/http/http_head.h"
#include "server/operations/request_journal.h"

namespace tenon_http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

/// Fill level of the outbox below which an exchange may produce more.
constexpr size_t kDrainedBytes = size_t{64} << 10;
constexpr double kLingerSeconds = 2;
/// Size above which a text is written on its own, to save a copy.
constexpr size_t kLargeBytes = size_t{64} << 10;
/// Bytes written per turn, so that other connections get theirs.
constexpr size_t kTurnBytes = size_t{512} << 10;
constexpr size_t kMaxShownHost = 100;
/// Size up to which writes ignore the budget: errors, events of streams.
constexpr size_t kSmallWriteBytes = size_t{64} << 10;

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

}  // namespace

HttpConnection::HttpConnection(asio::io_context& io, std::unique_ptr<TlsStream> tls,
                               ConnectionPlace place, HttpConnections& owner)
    : socket_(io),
      tls_(std::move(tls)),
      owner_(owner),
      place_(std::move(place)),
      unsent_(owner.budget()),
      number_([] {
        static std::atomic<uint64_t> count{0};
        return ++count;
      }()) {}

void HttpConnection::adopt(int family, int socket) {
  socket_.assign(Socket::protocol_type(family, 0), socket);
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
}

void HttpConnection::start() noexcept {
  guard([this] {
    wait(Wait::Header);
    read();
  });
}

void HttpConnection::refuse() noexcept {
  guard([this] {
    keeps_alive_ = false;
    const ApiError error = ApiError(503, "server_overloaded", "the server has too many connections")
                               .with_retry_after(1);
    const HttpAnswer answer = error_answer(error, ErrorShape::OpenAi);
    closes_after_write_ = true;
    write(http_head(answer, {.keep_alive = false}) + answer.body);
  });
}

void HttpConnection::drain() noexcept {
  keeps_alive_ = false;
  if (exchange_ == nullptr && outbox_.empty() && wait_ != Wait::Linger) drop();
}

void HttpConnection::cancel() noexcept {
  if (exchange_ == nullptr) return;
  const auto exchange = exchange_;
  exchange->request().interest->cancel();
}

void HttpConnection::drop() noexcept {
  if (has_ended_) return;
  has_ended_ = true;
  const auto self = shared_from_this();
  lose_exchange();
  forget_outbox();
  ErrorCode ignored;
  socket_.close(ignored);
  owner_.remove(*this);
}

void HttpConnection::fail(Failure why) noexcept {
  if (has_ended_ || wait_ == Wait::Linger) return;
  const bool has_begun = exchange_ != nullptr && exchange_->has_begun();
  if (has_begun || closes_after_write_ || has_failed_) return post(drop_task_);
  const std::string_view words = owner_.last_words(
      why, exchange_ == nullptr ? ErrorShape::OpenAi : exchange_->request().shape);
  keeps_alive_ = false;
  closes_after_write_ = true;
  parser_.reset();
  lose_exchange();
  if (!outbox_.empty()) {
    if (!fenced([&] { write(std::string(words)); })) post(drop_task_);
    return;
  }
  ErrorCode ignored;
  (void)transmit(words, ignored);
  close_gently();
}

void HttpConnection::lose_exchange() noexcept {
  if (exchange_ == nullptr) return;
  const auto exchange = std::move(exchange_);
  exchange_ = nullptr;
  exchange->request().interest->lose();
}

void HttpConnection::wait(Wait what) noexcept {
  wait_ = what;
  const HttpLimits& limits = owner_.limits();
  const double seconds = what == Wait::Idle      ? limits.idle_seconds
                         : what == Wait::Header  ? limits.header_seconds
                         : what == Wait::Body    ? limits.body_seconds
                         : what == Wait::Write   ? limits.write_seconds
                         : what == Wait::Handler ? 1e8
                                                 : kLingerSeconds;
  since_ = Clock::now();
  deadline_ = since_ + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

std::optional<HttpConnection::Clock::time_point> HttpConnection::idle_since() const {
  const bool is_idle = exchange_ == nullptr && outbox_.empty() && !closes_after_write_ &&
                       (wait_ == Wait::Idle || wait_ == Wait::Header);
  return is_idle ? std::optional(since_) : std::nullopt;
}

void HttpConnection::check_clock(Clock::time_point now) noexcept {
  if (has_ended_ || now < deadline_) return;
  const bool in_request = wait_ == Wait::Body || (wait_ == Wait::Header && !inbox_.empty());
  if (!in_request) return drop();
  guard([this] { refuse_bytes(ApiError(408, "timeout", "the request took too long to arrive")); });
}

size_t HttpConnection::receive(std::vector<char>& buffer, ErrorCode& error) {
  if (tls_ == nullptr) return socket_.read_some(asio::buffer(buffer), error);
  const TlsOutcome outcome = tls_->read(buffer.data(), buffer.size());
  read_waits_for_ = outcome.state == TlsState::WantsWrite ? Socket::wait_write : Socket::wait_read;
  error = error_of(outcome.state);
  return outcome.size;
}

size_t HttpConnection::transmit(std::string_view bytes, ErrorCode& error) noexcept {
  if (tls_ == nullptr) return socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  const TlsOutcome outcome = tls_->write(bytes);
  write_waits_for_ = outcome.state == TlsState::WantsRead ? Socket::wait_read : Socket::wait_write;
  error = error_of(outcome.state);
  return outcome.size;
}

void HttpConnection::read() {
  const size_t header_bytes = owner_.limits().header_bytes;
  const size_t limit = exchange_ != nullptr ? kMaxAhead : std::max(kMaxAhead, header_bytes + 1);
  if (is_reading_ || has_ended_ || inbox_.size() >= limit) return;
  is_reading_ = true;
  // TLS may hold decrypted bytes that the socket does not report.
  if (tls_ != nullptr && tls_->has_pending()) return post(pending_task_);
  socket_.async_wait(read_waits_for_, [self = shared_from_this()](const ErrorCode& error) {
    self->is_reading_ = false;
    if (self->has_ended_) return;
    if (error) return self->drop();
    self->guard([&] { self->on_readable(); });
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
  if (error) return drop();  // also at end of file: a leaving client sends no other sign
  take({buffer.data(), size});
  read();
}

void HttpConnection::take(std::string_view bytes) {
  if (wait_ == Wait::Linger || closes_after_write_) return;
  inbox_.append(bytes);
  if (exchange_ == nullptr) parse();
}

void HttpConnection::parse() {
  try {
    while (exchange_ == nullptr && !inbox_.empty() && !has_ended_ && !closes_after_write_) {
      if (!parser_) {
        parser_.emplace(owner_.limits().header_bytes, owner_.limits().body_bytes, owner_.budget());
        wait(Wait::Header);
      }
      const bool had_header = parser_->has_header();
      inbox_.erase(0, parser_->put(inbox_));
      if (parser_->has_header() && !had_header && !take_header()) return;
      if (parser_->is_complete()) {
        begin(true);
      } else if (parser_->needs_more()) {
        return;
      }
    }
  } catch (const ApiError& error) {
    refuse_bytes(error);
  }
}

/// Decides whether to read the body. A refused request is answered without its body, unless the
/// body has arrived.
bool HttpConnection::take_header() {
  wait(Wait::Body);
  if (parser_->is_complete()) return true;
  const HttpRequest& request = parser_->request();
  if (refusal_of(request) || !owner_.admits(request)) {
    if (!inbox_.empty()) inbox_.erase(0, parser_->put(inbox_));
    if (!parser_->is_complete()) begin(false);
    return parser_.has_value();
  }
  if (parser_->expects_continue()) {
    write("HTTP/1.1 100 Continue\r\n\r\n");
    wait(Wait::Body);
  }
  return true;
}

std::optional<ApiError> HttpConnection::refusal_of(const HttpRequest& request) const {
  const HttpLimits& limits = owner_.limits();
  if (!may_ask(limits.cors, request.origin) && !is_own_page(request.origin, request.host)) {
    return ApiError(403, "permission_error", "pages of this origin may not ask here");
  }
  if (place_.is_loopback && !is_local_host(request.host, limits.hosts)) {
    return ApiError(403, "permission_error",
                    "this server is for programs of this machine and is not known as \"" +
                        request.host.substr(0, kMaxShownHost) +
                        "\": ask it as localhost or by its address, or allow the name "
                        "(allowed_hosts, tenon serve --allow-host)")
        .with_code("host_not_allowed");
  }
  return std::nullopt;
}

void HttpConnection::begin(bool is_whole) {
  keeps_alive_ = is_whole && parser_->keeps_alive() && !owner_.is_draining();
  HeldBytes body_bytes = parser_->take_body_bytes();
  HttpRequest request = parser_->take_request();
  request.record = std::make_shared<RequestRecord>(parser_->request_id(), parser_->traceparent());
  request.record->method = request.method;
  request.record->path = request.path;
  request.shape = shape_of(request);
  request.connection = number_;
  exchange_ = std::make_shared<HttpExchange>(weak_from_this(), std::move(request),
                                             std::move(body_bytes), parser_->is_old());
  parser_.reset();
  if (!is_whole) inbox_.clear();
  wait(Wait::Handler);
  const auto exchange = exchange_;
  if (const auto refusal = refusal_of(exchange->request())) {
    return exchange->answer(error_answer(*refusal, exchange->request().shape));
  }
  owner_.on_request(exchange);
}

void HttpConnection::refuse_bytes(const ApiError& error) {
  const ErrorShape shape = parser_ ? shape_of(parser_->request()) : ErrorShape::OpenAi;
  parser_.reset();
  inbox_.clear();
  keeps_alive_ = false;
  closes_after_write_ = true;
  const HttpAnswer answer = error_answer(error, shape);
  write(http_head(answer, {.keep_alive = false, .cors = allowed_origin(owner_.limits().cors, "")}) +
        answer.body);
}

void HttpConnection::write(std::string bytes) {
  if (has_ended_ || has_failed_ || bytes.empty()) return;
  const size_t size = bytes.size();
  const bool was_empty = outbox_.empty();
  if (size <= kSmallWriteBytes) {
    unsent_.grow_anyway(size);
  } else if (!unsent_.grow(size)) {
    throw ApiError(503, "server_overloaded",
                   "the answers that wait for clients take all the memory that they may have")
        .with_retry_after(1);
  }
  if (!fenced([&] { outbox_.push_back(std::move(bytes)); })) {
    unsent_.shrink(size);
    throw std::bad_alloc();
  }
  if (was_empty) wait(Wait::Write);
  if (!is_writing_) flush();
}

void HttpConnection::flush() noexcept {
  for (size_t in_turn = 0; !outbox_.empty();) {
    if (in_turn >= kTurnBytes) {
      is_writing_ = true;
      return post(flush_task_);
    }
    const std::string& first = outbox_.front();
    ErrorCode error;
    const size_t size = transmit(std::string_view(first).substr(written_, kTurnBytes), error);
    const bool is_blocked = would_block(error) && fenced([&] { flush_when_writable(); });
    if (is_blocked) return;
    if (error) {
      // Report the failure later: the caller is in the middle of an operation.
      has_failed_ = true;
      forget_outbox();
      return post(drop_task_);
    }
    written_ += size;
    in_turn += size;
    unsent_.shrink(size);
    wait(Wait::Write);
    if (written_ == first.size()) {
      outbox_.pop_front();
      written_ = 0;
    }
    if (unsent_.size() < kDrainedBytes && exchange_ != nullptr) {
      if (auto resume = exchange_->take_resume()) owner_.post(std::move(resume));
    }
  }
  if (closes_after_write_) return close_gently();
  if (exchange_ != nullptr) return wait(Wait::Handler);
  wait(Wait::Idle);
}

void HttpConnection::flush_when_writable() {
  socket_.async_wait(write_waits_for_, [self = shared_from_this()](const ErrorCode& failed) {
    self->is_writing_ = false;
    if (self->has_ended_) return;
    if (failed) return self->drop();
    self->flush();
  });
  is_writing_ = true;
}

void HttpConnection::forget_outbox() noexcept {
  outbox_.clear();
  written_ = 0;
  unsent_.shrink(unsent_.size());
}

void HttpConnection::end_exchange() noexcept {
  exchange_ = nullptr;
  if (!keeps_alive_ || owner_.is_draining()) {
    closes_after_write_ = true;
    if (outbox_.empty()) close_gently();
    return;
  }
  if (outbox_.empty()) wait(Wait::Idle);
  // The next request may have arrived. Post it, since a thousand pipelined requests would exhaust
  // the stack.
  post(next_task_);
}

void HttpConnection::close_gently() noexcept {
  // Unread client bytes would make close() discard the sent bytes still in flight.
  if (tls_ != nullptr) tls_->close();
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  wait(Wait::Linger);
  inbox_.clear();
  // On failure the timeout ends the connection.
  (void)fenced([this] { read(); });
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

void HttpExchange::note_end() noexcept {
  request_.record->is_complete = true;
  request_.record->end = RequestRecord::Clock::now();
}

void HttpExchange::answer(HttpAnswer answer) {
  const auto connection = connection_.lock();
  if (connection == nullptr || has_ended_ || has_begun_) return;
  add_request_headers(answer);
  const bool keep_alive = connection->keeps_alive_ && !connection->owner_.is_draining();
  if (!keep_alive) connection->keeps_alive_ = false;
  std::string bytes = http_head(answer, {.keep_alive = keep_alive, .cors = origin_of(*connection)});
  const bool has_body = request_.method != "HEAD";
  const bool is_large = has_body && answer.body.size() > kLargeBytes;
  if (has_body && !is_large) bytes += answer.body;
  connection->write(std::move(bytes));
  if (is_large) connection->write(std::move(answer.body));
  has_begun_ = has_ended_ = true;
  request_.record->status = answer.status;
  note_end();
  connection->end_exchange();
}

void HttpExchange::begin_stream(const std::string& content_type) {
  const auto connection = connection_.lock();
  if (connection == nullptr || has_begun_) return;
  if (is_old_) connection->keeps_alive_ = false;
  HttpAnswer answer{.content_type = content_type, .headers = {{"Cache-Control", "no-cache"}}};
  add_request_headers(answer);
  connection->write(http_head(answer, {.keep_alive = connection->keeps_alive_,
                                       .chunked = !is_old_,
                                       .bare = is_old_,
                                       .cors = origin_of(*connection)}));
  has_begun_ = true;
  request_.record->status = answer.status;
}

void HttpExchange::send(std::string bytes) {
  const auto connection = connection_.lock();
  if (connection == nullptr || has_ended_ || bytes.empty()) return;
  if (is_old_ || bytes.size() <= kLargeBytes) {
    return connection->write(is_old_ ? std::move(bytes) : http_chunk(bytes));
  }
  connection->write(http_chunk_begin(bytes.size()));
  connection->write(std::move(bytes));
  connection->write("\r\n");
}

void HttpExchange::end_stream() {
  const auto connection = connection_.lock();
  if (connection == nullptr || has_ended_) return;
  if (!is_old_) connection->write(std::string(kLastChunk));
  has_ended_ = true;
  note_end();
  connection->end_exchange();
}

void HttpExchange::fail(Failure why) noexcept {
  const auto connection = connection_.lock();
  if (connection == nullptr || has_ended_) return;
  has_ended_ = true;
  if (!has_begun_) {
    request_.record->status = why == Failure::Memory ? 503 : 500;
    note_end();
  }
  // The owner may be using the connection, so it stays registered.
  connection->fail(why);
}

size_t HttpExchange::unsent() const {
  const auto connection = connection_.lock();
  if (connection == nullptr) return 0;
  // While the shared budget is full, an exchange waits until its own bytes are sent.
  const size_t own = connection->unsent_.size();
  return own >= kDrainedBytes && connection->owner_.budget()->is_full() ? SIZE_MAX : own;
}

void HttpExchange::on_drained(std::shared_ptr<Task> resume) noexcept {
  resume_ = std::move(resume);
}

}  // namespace tenon_http
