// Who may ask: the keys of a file, and the headers that carry one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exchange.h"

namespace tenon_http {

/// One key a line; empty lines and those that begin with '#' are left out.
std::vector<std::string> read_api_keys(std::string_view text);

/// Throws ApiError 401 unless the request has one of the keys, as "Authorization: Bearer KEY" or
/// "x-api-key: KEY", or none is asked for. Takes the same time whichever key it is.
void check_api_key(const HttpRequest& request, const std::vector<std::string>& keys);

}  // namespace tenon_http
