// Client to which the server attributes use of engine seats and threads.
#pragma once

#include <string>

namespace tenon_http {

/// Client of an API key; of a connection, without keys.
struct Share {
  std::string name{};
  double weight = 1;
};

}  // namespace tenon_http
