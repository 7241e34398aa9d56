// One request and its answer, as the routes see them: plain data in, and a place to write to. How bytes
// get there is http_connection.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/json/json.h"
#include "server/operations/request_record.h"
#include "server/work/fence.h"
#include "server/work/share.h"
#include "server/work/task.h"
#include "server/work/work_limit.h"

namespace tenon_http {

/// Whether an answer is still wanted. Any thread.
class Interest {
 public:
  /// The server stops: runs what on_end() was given, once each. The client is there, and is to hear of it.
  void cancel() noexcept { end(State::Cancelled); }
  /// The client has gone: the same, and nobody hears of it.
  void lose() noexcept { end(State::Lost); }
  [[nodiscard]] bool is_lost() const;
  /// `stop` runs on the thread that cancels or loses, or at once if that has happened.
  void on_end(std::function<void()> stop);

 private:
  enum class State : uint8_t { Held, Cancelled, Lost };
  void end(State state) noexcept;

  mutable std::mutex mutex_;
  State state_ = State::Held;
  std::vector<std::function<void()>> stops_;
};

struct HttpRequest {
  std::string method;
  std::string path;   ///< decoded, without the query
  std::string query;  ///< as it came
  std::string body;
  std::string origin;  ///< header of that name, as the next ones; "" when absent
  std::string host;
  std::string authorization;
  std::string api_key;  ///< x-api-key
  std::string anthropic_version;
  std::string content_encoding;
  ErrorShape shape = ErrorShape::OpenAi;
  uint64_t connection = 0;  ///< its number; 0: a request of the host itself
  std::shared_ptr<Interest> interest = std::make_shared<Interest>();
  std::shared_ptr<RequestRecord> record = std::make_shared<RequestRecord>("", "");
  /// Limit on understanding the request; stopped when the answer is no longer wanted.
  std::shared_ptr<WorkLimit> limit = std::make_shared<WorkLimit>();
};

/// Client that a request counts for when the server divides seats and threads.
Share share_of(const HttpRequest& request);

/// The interface whose shape of errors a request expects, by its path and headers.
ErrorShape shape_of(const HttpRequest& request);

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// Where an answer goes. One thread, the loop's; after the client has gone all of it does nothing.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual const HttpRequest& request() const = 0;

  /// The whole answer. Either this once, or begin_stream(), send() any number of times, end_stream().
  virtual void answer(HttpAnswer answer) = 0;

  virtual void begin_stream(const std::string& content_type) = 0;
  virtual void send(std::string bytes) = 0;
  virtual void end_stream() = 0;
  /// Ends the answer without completing it: sends a prepared error, or cuts an answer that has
  /// begun. Does nothing after a complete answer. Allocates nothing.
  virtual void fail(Failure why) noexcept = 0;
  /// Bytes that were sent and have not left: what makes more waits until they are few.
  [[nodiscard]] virtual size_t unsent() const = 0;
  /// Posts `resume` to the loop when few unsent bytes are left.
  virtual void on_drained(std::shared_ptr<Task> resume) noexcept = 0;
};

/// Answers with an error in the shape of the request's interface.
void answer_error(Exchange& exchange, const ApiError& error);
HttpAnswer error_answer(const ApiError& error, ErrorShape shape);
/// Ends the answer with the exception being handled, as far as memory allows.
void answer_current_exception(Exchange& exchange) noexcept;
/// Error that Exchange::fail() sends.
ApiError error_of(Failure why);

/// What a client should know of its request, as the field "notes" of an answer; nothing without any.
void add_notes(const Exchange& exchange, Json& answer);

}  // namespace tenon_http
