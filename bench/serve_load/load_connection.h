// A connection of the load generator: one request after another on a socket that does not block, and when
// the parts of the answer came.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace serve_load {

using Clock = std::chrono::steady_clock;

/// Where a server listens.
struct Target {
  std::string host;
  std::string port = "80";
};

/// "http://HOST[:PORT]". Throws std::runtime_error.
Target read_target(std::string_view address);

class LoadConnection {
 public:
  /// Connects, and waits for that. Throws std::runtime_error.
  explicit LoadConnection(const Target& target);
  ~LoadConnection();
  LoadConnection(const LoadConnection&) = delete;
  LoadConnection& operator=(const LoadConnection&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Begins a request, which is short: it fits into the system's buffer.
  void send(std::string_view request);
  /// Takes what has come; true once the answer is complete. Where the server has closed the connection
  /// between two answers it connects again, which counts for the time of the next one. Throws
  /// std::runtime_error when it closes within an answer, or answers something that is not HTTP/1.1.
  bool on_readable();
  /// Whether the descriptor is another one since the last call.
  bool take_reconnected() { return std::exchange(has_reconnected_, false); }

  // Of the latest answer.
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& body() const { return body_; }
  [[nodiscard]] Clock::time_point sent() const { return sent_; }
  [[nodiscard]] Clock::time_point first_byte() const { return first_byte_; }
  /// Of its server-sent events; as first_byte() when there is none.
  [[nodiscard]] Clock::time_point first_event() const { return first_event_; }
  [[nodiscard]] uint64_t num_events() const { return num_events_; }

 private:
  void connect_again();
  bool take();
  bool take_chunks();
  void take_body(std::string_view bytes);

  Target target_;
  int descriptor_;
  std::string request_;
  bool is_waiting_ = false;  ///< for an answer
  bool has_reconnected_ = false;
  std::string inbox_;
  std::string body_;
  int status_ = 0;
  bool has_head_ = false;
  bool is_chunked_ = false;
  size_t body_left_ = 0;
  uint64_t num_events_ = 0;
  Clock::time_point sent_{};
  Clock::time_point first_byte_{};
  Clock::time_point first_event_{};
};

}  // namespace serve_load
