// Which part of a list a GET request asks for, in its query: "limit", "order" and the ids that the part
// stands between.
#pragma once

#include <string>
#include <string_view>

#include "server/http/exchange.h"
#include "server/json/json.h"

namespace tenon_http {

/// The names of one interface, and what it takes.
struct ListNames {
  std::string_view after;     ///< the part begins after the item of this id
  std::string_view before{};  ///< the part ends before it; "": there is no such name
  size_t max_limit = 1000;
  size_t default_limit = 1000;
};

/// OpenAI's lists of items, and Anthropic's of models.
inline constexpr ListNames kItemList{.after = "after", .max_limit = 100, .default_limit = 20};
inline constexpr ListNames kModelList{.after = "after_id", .before = "before_id"};

/// A value of the query, decoded; "" when it is absent.
std::string query_value(std::string_view query, std::string_view name);

/// {"object": "list", "data": PART, "first_id", "last_id", "has_more"}.
///   items  [n] objects with "id", in the order that is asked for
/// Throws ApiError 400 for a limit out of range and an id that no item has.
Json list_part(const Json& items, const HttpRequest& request, const ListNames& names);

}  // namespace tenon_http
