// GET / and /page/NAME: the chat page.
#include "server/operations/page.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/routes.h"

namespace tenon_http {
namespace {

/// The page connects only to its own server, runs only its own script, and refuses to be framed.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string page_type(std::string_view name) {
  static constexpr auto kTypes = std::to_array<std::pair<std::string_view, const char*>>({
      {".html", "text/html; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".svg", "image/svg+xml"},
  });
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

}  // namespace

Start handle_page(const HttpRequest& request, ServerState& state) {
  const std::string_view path = request.path;
  const std::string_view name =
      path == "/" ? "index.html" : path.substr(std::string_view("/page/").size());
  const auto files = page_files();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.name == name; });
  if (!state.limits.serves_page || found == files.end()) throw nothing_there(request);
  return answer_with({.content_type = page_type(name),
                      .body = std::string(found->content),
                      .headers = {{"Content-Security-Policy", kPagePolicy},
                                  {"X-Content-Type-Options", "nosniff"},
                                  {"Referrer-Policy", "no-referrer"},
                                  {"Cache-Control", "no-cache"}}});
}

}  // namespace tenon_http
