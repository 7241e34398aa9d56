#include "text/grammar/json_way.h"

#include <string_view>
#include <utility>

namespace tenon::grammar {
namespace {

/// Depth first.
class WaySearch {
 public:
  WaySearch(std::unordered_set<const JsonValue*> values, Budget& budget)
      : missing_(std::move(values)), budget_(budget) {}

  void search(const JsonValue& at) {
    budget_.pass(1);
    if (missing_.erase(&at) > 0) found.emplace(&at, way_);
    const bool is_array = at.kind == JsonValue::Kind::Array;
    const size_t count = is_array ? at.items.size() : at.members.size();
    for (size_t i = 0; i < count && !missing_.empty(); ++i) {
      way_.push_back({&at, i});
      search(child_at(way_.back()));
      way_.pop_back();
    }
  }

  JsonWays found;

 private:
  std::unordered_set<const JsonValue*> missing_;
  Budget& budget_;
  JsonWay way_;
};

}  // namespace

const JsonValue& child_at(const JsonStep& step) {
  const JsonValue& parent = *step.parent;
  return parent.kind == JsonValue::Kind::Array ? parent.items[step.index]
                                               : parent.members[step.index].second;
}

JsonWays ways_to(std::unordered_set<const JsonValue*> values, const JsonValue& root,
                 Budget& budget) {
  values.erase(nullptr);
  WaySearch search(std::move(values), budget);
  search.search(root);
  return std::move(search.found);
}

std::string pointer_of(const JsonWay& way, size_t max_name) {
  std::string pointer;
  for (const JsonStep& step : way) {
    pointer += '/';
    if (step.parent->kind == JsonValue::Kind::Array) {
      pointer += std::to_string(step.index);
      continue;
    }
    const std::string_view name = step.parent->members[step.index].first;
    for (const char c : name.substr(0, max_name)) {
      if (c == '~' || c == '/') {
        pointer += c == '~' ? "~0" : "~1";
      } else {
        pointer += c;
      }
    }
  }
  return pointer;
}

}  // namespace tenon::grammar
