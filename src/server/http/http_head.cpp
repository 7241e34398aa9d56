#include "server/http/http_head.h"

#include <array>
#include <cstdio>
#include <utility>

namespace tenon_http {
namespace {

const char* reason_of(int status) {
  static constexpr auto kReasons = std::to_array<std::pair<int, const char*>>({
      {200, "OK"},
      {204, "No Content"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
  });
  for (const auto& [known, reason] : kReasons) {
    if (known == status) return reason;
  }
  return "Status";
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) {
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string http_head(const HttpAnswer& answer, const HeadOptions& options) {
  std::string head =
      "HTTP/1.1 " + std::to_string(answer.status) + " " + reason_of(answer.status) + "\r\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  add("Server", "tenon");
  if (answer.status != 204) add("Content-Type", answer.content_type);
  if (options.chunked) {
    add("Transfer-Encoding", "chunked");
  } else if (!options.bare && answer.status != 204) {
    add("Content-Length", std::to_string(answer.body.size()));
  }
  add("Connection", options.keep_alive ? "keep-alive" : "close");
  if (!options.cors.empty()) {
    add("Access-Control-Allow-Origin", options.cors);
    if (options.cors != "*") add("Vary", "Origin");
    add("Access-Control-Expose-Headers",
        "X-Request-Id, Request-Id, Traceresponse, Retry-After, Tenon-Notes");
    if (answer.status == 204) {
      add("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS");
      add("Access-Control-Allow-Headers", "*, Authorization, Content-Type, X-Api-Key");
      add("Access-Control-Max-Age", "86400");
    }
  }
  for (const auto& [name, value] : answer.headers) add(name, value);
  return head + "\r\n";
}

std::string notes_header(const std::vector<std::string>& notes) {
  constexpr size_t kMaxBytes = 4096;
  std::string value;
  for (const std::string& note : notes) {
    if (!value.empty()) value += "; ";
    for (const char c : note) value += c >= ' ' && c <= '~' ? c : '?';
    if (value.size() > kMaxBytes) break;
  }
  if (value.size() > kMaxBytes) value.replace(kMaxBytes - 3, value.npos, "...");
  return value;
}

std::string http_chunk_begin(size_t size) {
  std::array<char, 24> line{};
  const int length = std::snprintf(line.data(), line.size(), "%zx\r\n", size);
  return {line.data(), static_cast<size_t>(length)};
}

std::string http_chunk(std::string_view bytes) {
  return http_chunk_begin(bytes.size()).append(bytes).append("\r\n");
}

void set_target(HttpRequest& request, std::string_view target) {
  const size_t query = target.find('?');
  request.path = percent_decoded(target.substr(0, query));
  request.query = query == target.npos ? "" : std::string(target.substr(query + 1));
}

}  // namespace tenon_http
