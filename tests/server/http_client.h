// Client that sends raw bytes and parses answers by RFC 9112, for requests that no library would
// send.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tenon_http::test {

using Value = nlohmann::ordered_json;

struct Reply {
  int status = 0;  ///< 0 if the connection ended, or nothing arrived in time
  std::map<std::string, std::string> headers{};
  std::string body{};

  [[nodiscard]] Value json() const { return Value::parse(body, nullptr, false); }
  [[nodiscard]] Value error() const {
    const Value parsed = json();
    return parsed.is_object() && parsed.contains("error") ? parsed["error"] : Value::object();
  }
};

class HttpClient {
 public:
  explicit HttpClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ =
        ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  explicit HttpClient(const std::string& path)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    is_connected_ =
        ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] bool is_connected() const { return is_connected_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  /// True if the server closes the connection within `seconds`.
  bool is_closed_within(double seconds) {
    const auto end = deadline(seconds);
    while (std::chrono::steady_clock::now() < end) {
      if (!more(end)) return is_over_;
    }
    return false;
  }

  Reply request(std::string_view method, std::string_view path, std::string_view body = "",
                std::string_view headers = "") {
    send(text_of(method, path, body, headers));
    return read();
  }
  Reply post(std::string_view path, const Value& body) {
    return request("POST", path, body.dump());
  }

  static std::string text_of(std::string_view method, std::string_view path, std::string_view body,
                             std::string_view headers = "") {
    std::string text(method);
    text.append(" ").append(path).append(" HTTP/1.1\r\nHost: test\r\n").append(headers);
    if (!body.empty() || method == "POST") {
      text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
    }
    return text.append("\r\n").append(body);
  }

  /// Reads the next answer on the connection.
  Reply read(double seconds = 30) {
    const auto end = deadline(seconds);
    Reply reply;
    size_t head_end = 0;
    do {
      while ((head_end = inbox_.find("\r\n\r\n")) == std::string::npos) {
        if (!more(end)) return reply;
      }
      read_head(reply, inbox_.substr(0, head_end));
      inbox_.erase(0, head_end + 4);
    } while (reply.status == 100);
    if (is_to_head_) return reply;
    if (reply.headers["transfer-encoding"] == "chunked") {
      if (!read_chunks(reply, end)) reply.status = 0;
    } else if (reply.headers.contains("content-length")) {
      const size_t size = std::stoul(reply.headers["content-length"]);
      while (inbox_.size() < size) {
        if (!more(end)) return {};
      }
      reply.body = inbox_.substr(0, size);
      inbox_.erase(0, size);
    }
    return reply;
  }
  /// Call before reading an answer to HEAD, which has no body.
  void expect_no_body() { is_to_head_ = true; }

  /// Waits for a text; returns everything received so far.
  std::string read_until(std::string_view text, double seconds = 30) {
    const auto end = deadline(seconds);
    while (inbox_.find(text) == std::string::npos && more(end)) {
    }
    return inbox_;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  static Time deadline(double seconds) {
    return std::chrono::steady_clock::now() +
           std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  }

  bool more(Time end) {
    if (is_over_) return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd waiting{fd_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return false;
    char buffer[16384];
    const ssize_t size = ::recv(fd_, buffer, sizeof buffer, 0);
    is_over_ = size <= 0;
    if (size > 0) inbox_.append(buffer, static_cast<size_t>(size));
    return size > 0;
  }

  static void read_head(Reply& reply, std::string_view head) {
    reply = {};
    if (head.size() > 12) reply.status = std::stoi(std::string(head.substr(9, 3)));
    for (size_t at = head.find("\r\n"); at != head.npos; at = head.find("\r\n", at + 2)) {
      std::string_view line = head.substr(at + 2);
      line = line.substr(0, line.find("\r\n"));
      const size_t colon = line.find(": ");
      if (colon == line.npos) continue;
      std::string name(line.substr(0, colon));
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      reply.headers[name] = line.substr(colon + 2);
    }
  }

  bool read_chunks(Reply& reply, Time end) {
    for (;;) {
      size_t line = 0;
      while ((line = inbox_.find("\r\n")) == std::string::npos) {
        if (!more(end)) return false;
      }
      const size_t size = std::stoul(inbox_.substr(0, line), nullptr, 16);
      while (inbox_.size() < line + 2 + size + 2) {
        if (!more(end)) return false;
      }
      reply.body += inbox_.substr(line + 2, size);
      inbox_.erase(0, line + 2 + size + 2);
      if (size == 0) return true;
    }
  }

  int fd_;
  bool is_connected_ = false;
  bool is_over_ = false;
  bool is_to_head_ = false;
  std::string inbox_;
};

/// Data of server-sent events as JSON; "[DONE]" becomes a string.
inline std::vector<Value> events_of(const std::string& body) {
  std::vector<Value> events;
  for (size_t at = 0; (at = body.find("data: ", at)) != std::string::npos;) {
    const size_t end = body.find('\n', at);
    const std::string data = body.substr(at + 6, end - at - 6);
    events.push_back(data == "[DONE]" ? Value(data) : Value::parse(data, nullptr, false));
    at = end;
  }
  return events;
}

}  // namespace tenon_http::test
