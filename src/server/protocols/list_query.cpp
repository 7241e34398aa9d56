#include "server/protocols/list_query.h"

#include <algorithm>
#include <charconv>

#include "server/api_error.h"
#include "server/http/http_head.h"

namespace tenon_http {
namespace {

size_t read_limit(std::string_view query, const ListNames& names) {
  const std::string text = query_value(query, "limit");
  if (text.empty()) return names.default_limit;
  size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || limit < 1 || limit > names.max_limit) {
    throw invalid_request("limit: must be 1 to " + std::to_string(names.max_limit), "limit");
  }
  return limit;
}

/// Index of the item that the query names; `otherwise` if it names none.
size_t place_of(const Json& items, std::string_view query, std::string_view name,
                size_t otherwise) {
  const std::string id = name.empty() ? "" : query_value(query, name);
  if (id.empty()) return otherwise;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i]["id"] == id) return i;
  }
  throw invalid_request(std::string(name) + ": there is no \"" + id + "\" in this list",
                        std::string(name));
}

}  // namespace

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = pair.find('=');
    if (equals != pair.npos && percent_decoded(pair.substr(0, equals)) == name) {
      return percent_decoded(pair.substr(equals + 1));
    }
  }
  return "";
}

Json list_part(const Json& items, const HttpRequest& request, const ListNames& names) {
  const size_t limit = read_limit(request.query, names);
  const size_t end = place_of(items, request.query, names.before, items.size());
  const size_t before_first = place_of(items, request.query, names.after, items.size());
  const size_t begin = before_first == items.size() ? 0 : before_first + 1;
  // A page that ends before an item holds the nearest items.
  const bool is_from_end = end < items.size();
  const size_t first = is_from_end && end > begin + limit ? end - limit : begin;
  Json data = Json::array();
  for (size_t i = first; i < end && data.size() < limit; ++i) data.push_back(items[i]);
  const bool has_more = is_from_end ? first > begin : first + data.size() < end;
  const Json first_id = data.empty() ? Json(nullptr) : data.front()["id"];
  const Json last_id = data.empty() ? Json(nullptr) : data.back()["id"];
  return {{"object", "list"},
          {"data", std::move(data)},
          {"first_id", first_id},
          {"last_id", last_id},
          {"has_more", has_more}};
}

}  // namespace tenon_http
