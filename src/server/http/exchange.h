// Request and answer as routes see them: plain data in, and an interface for output.
// http_connection.cpp sends the bytes.
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

/// Tracks whether an answer is still wanted. Thread-safe.
class Interest {
 public:
  /// The server stops. Runs each callback of on_end() once. The client is connected and gets an
  /// error.
  void cancel() noexcept { end(State::Cancelled); }
  /// The client has gone. Runs each callback of on_end() once; no answer is sent.
  void lose() noexcept { end(State::Lost); }
  [[nodiscard]] bool is_lost() const;
  /// `stop` runs on the thread that calls cancel() or lose(), or immediately if either was called
  /// before.
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
  std::string query;  ///< as received, not decoded
  std::string body;
  std::string origin;  ///< header of this name, as for the next members; "" if absent
  std::string host;
  std::string authorization;
  std::string api_key;  ///< x-api-key
  std::string anthropic_version;
  std::string content_encoding;
  ErrorShape shape = ErrorShape::OpenAi;
  uint64_t connection = 0;  ///< number of the connection; 0 for a request of the host itself
  std::shared_ptr<Interest> interest = std::make_shared<Interest>();
  std::shared_ptr<RequestRecord> record = std::make_shared<RequestRecord>("", "");
  /// Limit on understanding the request; stopped when the answer is no longer wanted.
  std::shared_ptr<WorkLimit> limit = std::make_shared<WorkLimit>();
};

/// Client that is charged for a request's seats and threads.
Share share_of(const HttpRequest& request);

/// Error format that a request expects, by its path and headers.
ErrorShape shape_of(const HttpRequest& request);

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// Receives the answer. Used on the loop's thread; ignores calls after the client has gone.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual const HttpRequest& request() const = 0;

  /// Sends the whole answer. Call either answer() once, or begin_stream(), send() repeatedly and
  /// end_stream().
  virtual void answer(HttpAnswer answer) = 0;

  virtual void begin_stream(const std::string& content_type) = 0;
  virtual void send(std::string bytes) = 0;
  virtual void end_stream() = 0;
  /// Ends the answer without completing it: sends a prepared error, or cuts an answer that has
  /// begun. Does nothing after a complete answer. Allocates nothing.
  virtual void fail(Failure why) noexcept = 0;
  /// Bytes accepted but not yet sent; producers wait until few are left.
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

/// Adds the request's notes as the field "notes"; leaves `answer` unchanged without notes.
void add_notes(const Exchange& exchange, Json& answer);

}  // namespace tenon_http
