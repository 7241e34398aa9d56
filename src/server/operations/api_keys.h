// Who may ask: the clients of a file of keys, and the headers that carry one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace tenon_http {

/// A key, and the client that it stands for. Clients share an engine by their weights; several keys may
/// be of one client.
struct ApiClient {
  std::string key;
  std::string name;           ///< in logs, metrics and the engine's fair shares
  double weight = 1;          ///< as tenon_submission.weight
  uint32_t max_requests = 0;  ///< answers at once; 0: any number
};

/// One key a line: "KEY [NAME] [weight=W] [requests=N]"; without a name it is "key-1" and so on. Empty
/// lines and those that begin with '#' are left out. Throws tenon::Error with the number of the line.
std::vector<ApiClient> read_api_keys(std::string_view text);

/// A text that only who knows all the keys knows; "" without any.
std::string secret_of(const std::vector<ApiClient>& clients);

/// The key that a request has, in either header; "" when it has none. It need not be one of a client.
std::string_view key_of(const HttpRequest& request);

/// The client whose key the request has, as "Authorization: Bearer KEY" or "x-api-key: KEY"; null when
/// none is asked for. Throws ApiError 401. Takes the same time whichever key it is.
const ApiClient* check_api_key(const HttpRequest& request, const std::vector<ApiClient>& clients);

}  // namespace tenon_http
