// Client that is charged for engine seats and threads.
#pragma once

#include <string>

namespace tenon_http {

/// Client per API key, or per connection if the server has no keys.
struct Share {
  std::string name{};
  double weight = 1;
};

}  // namespace tenon_http
