// One POST to another server, on the calling thread: for what the server reports, not for answers.
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
  double seconds = 2;  ///< for all of it together
  /// Looked at twenty times a second: whether it is to end now. May be empty.
  std::function<bool()> gives_up{};
};

/// The status of the answer; 0 when none came in time. Looking up a name that is no address may take longer.
int http_post(const HttpPost& post);

}  // namespace tenon_http
