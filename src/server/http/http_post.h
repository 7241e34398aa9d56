// POST to another server on the calling thread, for the server's reports, not for answers.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace tenon_http {

struct HttpPost {
  std::string host;
  std::string port;
  std::string path;
  std::string content_type;
  std::string body{};
  double seconds = 2;  ///< deadline for the whole request
  /// Polled twenty times a second; true ends the request. May be empty.
  std::function<bool()> gives_up{};
};

/// Status of the answer; 0 without an answer in time. A name lookup may exceed the deadline.
int http_post(const HttpPost& post);

}  // namespace tenon_http
