// API keys: a file of clients, and the headers that carry a key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace tenon_http {

/// API key and the client it identifies. Clients share an engine by their weights; a client may
/// have several keys.
struct ApiClient {
  std::string key;
  std::string name;           ///< name in logs, metrics and the engine's fair shares
  double weight = 1;          ///< fair share, as tenon_submission.weight
  uint32_t max_requests = 0;  ///< maximum concurrent answers; 0 means unlimited
};

/// Parses one key per line: "KEY [NAME] [weight=W] [requests=N]". The default names are "key-1" and
/// so on. Skips empty lines and lines that begin with '#'. Throws tenon::Error with the line
/// number.
std::vector<ApiClient> read_api_keys(std::string_view text);

/// Secret made of all keys; "" without keys.
std::string secret_of(const std::vector<ApiClient>& clients);

/// Key of a request in either header; "" if absent. Not validated.
std::string_view key_of(const HttpRequest& request);

/// Client of a request's key, sent as "Authorization: Bearer KEY" or "x-api-key: KEY"; null if no
/// key is required. Throws ApiError 401. Takes equal time for every key.
const ApiClient* check_api_key(const HttpRequest& request, const std::vector<ApiClient>& clients);

}  // namespace tenon_http
