#include "load_connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace serve_load {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

/// Value of a header; "" if absent. name: in lower case.
std::string header_of(std::string_view head, std::string_view name) {
  for (size_t at = head.find("\r\n"); at != head.npos; at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    const size_t colon = line.find(':');
    if (colon != name.size()) continue;
    bool same = true;
    for (size_t i = 0; i < colon; ++i) same &= (line[i] | 0x20) == name[i];
    if (!same) continue;
    const size_t begin = line.find_first_not_of(' ', colon + 1);
    return begin == line.npos ? "" : std::string(line.substr(begin));
  }
  return "";
}

/// Connected non-blocking socket.
int connected_socket(const Target& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found) != 0) {
    fail("there is no host " + target.host);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  const int descriptor = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) fail(std::string("no socket: ") + std::strerror(errno));
  if (::connect(descriptor, found->ai_addr, found->ai_addrlen) != 0) {
    const int error = errno;
    ::close(descriptor);
    fail("cannot connect to " + target.host + ":" + target.port + ": " + std::strerror(error));
  }
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  return descriptor;
}

}  // namespace

Target read_target(std::string_view address) {
  constexpr std::string_view kScheme = "http://";
  if (!address.starts_with(kScheme)) fail("the address must begin with http://");
  std::string_view rest = address.substr(kScheme.size());
  rest = rest.substr(0, rest.find('/'));
  const size_t colon = rest.rfind(':');
  Target target{.host = std::string(rest.substr(0, colon))};
  if (colon != rest.npos) target.port = rest.substr(colon + 1);
  return target;
}

LoadConnection::LoadConnection(const Target& target)
    : target_(target), descriptor_(connected_socket(target)) {}

LoadConnection::~LoadConnection() { ::close(descriptor_); }

void LoadConnection::connect_again() {
  ::close(descriptor_);
  descriptor_ = -1;
  descriptor_ = connected_socket(target_);
  has_reconnected_ = true;
  if (is_waiting_) (void)::send(descriptor_, request_.data(), request_.size(), MSG_NOSIGNAL);
}

void LoadConnection::send(std::string_view request) {
  request_ = request;
  is_waiting_ = true;
  body_.clear();
  status_ = 0;
  has_head_ = is_chunked_ = false;
  num_events_ = 0;
  sent_ = Clock::now();
  // A connection that the server has just closed is noticed on reading.
  (void)::send(descriptor_, request.data(), request.size(), MSG_NOSIGNAL);
}

bool LoadConnection::on_readable() {
  std::array<char, 16384> buffer;
  const ssize_t size = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (size <= 0) {
    if (has_head_ || !inbox_.empty()) fail("the server has closed the connection within an answer");
    connect_again();
    return false;
  }
  if (inbox_.empty() && !has_head_) first_byte_ = first_event_ = Clock::now();
  inbox_.append(buffer.data(), static_cast<size_t>(size));
  if (!take()) return false;
  is_waiting_ = has_head_ = false;
  return true;
}

bool LoadConnection::take() {
  if (!has_head_) {
    const size_t end = inbox_.find("\r\n\r\n");
    if (end == inbox_.npos) return false;
    const std::string_view head = std::string_view(inbox_).substr(0, end);
    if (!head.starts_with("HTTP/1.1 ") || head.size() < 12) fail("the answer is not HTTP/1.1");
    status_ = std::stoi(std::string(head.substr(9, 3)));
    const std::string length = header_of(head, "content-length");
    is_chunked_ = header_of(head, "transfer-encoding") == "chunked";
    body_left_ = length.empty() ? 0 : std::stoul(length);
    has_head_ = true;
    inbox_.erase(0, end + 4);
  }
  if (is_chunked_) return take_chunks();
  const size_t size = std::min(body_left_, inbox_.size());
  take_body(std::string_view(inbox_).substr(0, size));
  inbox_.erase(0, size);
  body_left_ -= size;
  return body_left_ == 0;
}

bool LoadConnection::take_chunks() {
  for (;;) {
    const size_t line = inbox_.find("\r\n");
    if (line == inbox_.npos) return false;
    const size_t size = std::stoul(inbox_.substr(0, line), nullptr, 16);
    if (inbox_.size() < line + 2 + size + 2) return false;
    take_body(std::string_view(inbox_).substr(line + 2, size));
    inbox_.erase(0, line + 2 + size + 2);
    if (size == 0) return true;
  }
}

void LoadConnection::take_body(std::string_view bytes) {
  // A server writes each event as one chunk, so no event is split.
  for (size_t at = bytes.find("data: "); at != bytes.npos; at = bytes.find("data: ", at + 1)) {
    if (num_events_++ == 0) first_event_ = Clock::now();
  }
  body_.append(bytes);
}

}  // namespace serve_load
