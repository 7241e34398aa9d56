// Among whom the server divides what it has: seats of engines, turns of threads.
#pragma once

#include <string>

namespace tenon_http {

/// The client of a key, or without keys a connection.
struct Share {
  std::string name{};
  double weight = 1;
};

}  // namespace tenon_http
