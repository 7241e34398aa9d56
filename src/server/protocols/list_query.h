// Pagination of GET requests by the query: "limit", "order" and the ids that bound the page.
#pragma once

#include <string>
#include <string_view>

#include "server/http/exchange.h"
#include "server/json/json.h"

namespace tenon_http {

/// Parameter names and limits of an interface.
struct ListNames {
  std::string_view after;     ///< the page begins after the item of this id
  std::string_view before{};  ///< the page ends before the item of this id; "" if unsupported
  size_t max_limit = 1000;
  size_t default_limit = 1000;
};

/// OpenAI's lists of items, and Anthropic's list of models.
inline constexpr ListNames kItemList{.after = "after", .max_limit = 100, .default_limit = 20};
inline constexpr ListNames kModelList{.after = "after_id", .before = "before_id"};

/// Decoded value of the query; "" if absent.
std::string query_value(std::string_view query, std::string_view name);

/// {"object": "list", "data": PAGE, "first_id", "last_id", "has_more"}. Throws ApiError 400 for a
/// limit out of range and for an unknown id.
///   items  [n] objects with "id", in the requested order
Json list_part(const Json& items, const HttpRequest& request, const ListNames& names);

}  // namespace tenon_http
