// Connection of the load generator: sequential requests on a non-blocking socket, with the arrival
// times of the answer's parts.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace serve_load {

using Clock = std::chrono::steady_clock;

/// Address of a server.
struct Target {
  std::string host;
  std::string port = "80";
};

/// Parses "http://HOST[:PORT]". Throws std::runtime_error.
Target read_target(std::string_view address);

class LoadConnection {
 public:
  /// Connects, blocking. Throws std::runtime_error.
  explicit LoadConnection(const Target& target);
  ~LoadConnection();
  LoadConnection(const LoadConnection&) = delete;
  LoadConnection& operator=(const LoadConnection&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Sends a request, which must fit into the system's buffer.
  void send(std::string_view request);
  /// Reads what has arrived; true once the answer is complete. Reconnects if the server has closed
  /// the connection between two answers, which counts towards the next answer's time. Throws
  /// std::runtime_error if the server closes within an answer, or does not answer in HTTP/1.1.
  bool on_readable();
  /// True if the descriptor has changed since the last call.
  bool take_reconnected() { return std::exchange(has_reconnected_, false); }

  // Properties of the latest answer.
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& body() const { return body_; }
  [[nodiscard]] Clock::time_point sent() const { return sent_; }
  [[nodiscard]] Clock::time_point first_byte() const { return first_byte_; }
  /// Time of the first server-sent event; first_byte() without events.
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
  bool is_waiting_ = false;  ///< waiting for an answer
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
