#include "api_keys.h"

#include <algorithm>
#include <cctype>

namespace tenon_http {
namespace {

/// Does not tell by its time how much of a key is right.
bool equal_keys(std::string_view given, std::string_view key) {
  unsigned different = given.size() == key.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char of_key = key.empty() ? '\0' : key[i % key.size()];
    different |= static_cast<unsigned char>(given[i] ^ of_key);
  }
  return different == 0;
}

/// What follows "Bearer ", in capitals or not; empty when it is another scheme.
std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return {};
  const bool same = std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                               [](char scheme, char given) {
                                 return scheme == std::tolower(static_cast<unsigned char>(given));
                               });
  if (!same) return {};
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return authorization;
}

}  // namespace

std::vector<std::string> read_api_keys(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string> keys;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = line.find_first_not_of(kBlank);
    if (first == line.npos || line[first] == '#') continue;
    keys.emplace_back(line.substr(first, line.find_last_not_of(kBlank) - first + 1));
  }
  return keys;
}

void check_api_key(const HttpRequest& request, const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  const std::string_view bearer = bearer_of(request.authorization);
  bool known = false;
  for (const std::string& key : keys) {
    known |= equal_keys(bearer, key);
    known |= equal_keys(request.api_key, key);
  }
  if (known) return;
  throw ApiError(401, "invalid_request_error",
                 "this server asks for an API key: send it as \"Authorization: Bearer KEY\" or "
                 "\"x-api-key: KEY\"")
      .with_code("invalid_api_key");
}

}  // namespace tenon_http
