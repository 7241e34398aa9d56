#include "server/operations/api_keys.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "server/json/words.h"

namespace tenon_http {
namespace {

/// Compares in a time that depends on the given key's length only.
bool equal_keys(std::string_view given, std::string_view key) {
  unsigned different = given.size() == key.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char of_key = key.empty() ? '\0' : key[i % key.size()];
    different |= static_cast<unsigned char>(given[i] ^ of_key);
  }
  return different == 0;
}

/// Text after "Bearer ", case-insensitive; empty for another scheme.
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

[[noreturn]] void refuse_line(size_t line, const std::string& message) {
  throw tenon::Error(tenon::Code::Argument,
                     "api_keys, line " + std::to_string(line) + ": " + message);
}

/// Parses "weight=2"; false for other words.
bool read_setting(ApiClient& client, std::string_view word, size_t line) {
  const size_t equals = word.find('=');
  if (equals == word.npos) return false;
  const std::string_view name = word.substr(0, equals);
  const char* begin = word.data() + equals + 1;
  const char* end = word.data() + word.size();
  if (name == "weight") {
    const auto [stop, error] = std::from_chars(begin, end, client.weight);
    const bool fits = error == std::errc() && stop == end && client.weight >= 0.001;
    if (!fits || client.weight > 1000) refuse_line(line, "weight must be 0.001 to 1000");
  } else if (name == "requests") {
    const auto [stop, error] = std::from_chars(begin, end, client.max_requests);
    const bool fits = error == std::errc() && stop == end && client.max_requests > 0;
    if (!fits) refuse_line(line, "requests must be a number of at least 1");
  } else {
    refuse_line(line, "\"" + std::string(name) + "\" is not one of weight and requests");
  }
  return true;
}

}  // namespace

std::vector<ApiClient> read_api_keys(std::string_view text) {
  std::vector<ApiClient> clients;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end), " \t\r");
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words[0].front() == '#') continue;
    ApiClient client{.key = std::string(words[0]),
                     .name = "key-" + std::to_string(clients.size() + 1)};
    for (size_t i = 1; i < words.size(); ++i) {
      if (read_setting(client, words[i], line)) continue;
      if (i > 1) refuse_line(line, "a name has no blanks");
      client.name = words[i];
    }
    clients.push_back(std::move(client));
  }
  return clients;
}

std::string secret_of(const std::vector<ApiClient>& clients) {
  std::string secret;
  for (const ApiClient& client : clients) secret += client.key + "\n";
  return secret;
}

std::string_view key_of(const HttpRequest& request) {
  return request.api_key.empty() ? bearer_of(request.authorization) : request.api_key;
}

const ApiClient* check_api_key(const HttpRequest& request, const std::vector<ApiClient>& clients) {
  if (clients.empty()) return nullptr;
  const std::string_view bearer = bearer_of(request.authorization);
  const ApiClient* known = nullptr;
  for (const ApiClient& client : clients) {
    const bool by_bearer = equal_keys(bearer, client.key);
    const bool by_header = equal_keys(request.api_key, client.key);
    if (by_bearer || by_header) known = &client;
  }
  if (known != nullptr) return known;
  throw ApiError(401, "invalid_request_error",
                 "this server asks for an API key: send it as \"Authorization: Bearer KEY\" or "
                 "\"x-api-key: KEY\"")
      .with_code("invalid_api_key");
}

}  // namespace tenon_http
