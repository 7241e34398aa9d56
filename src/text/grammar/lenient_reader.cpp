#include "text/grammar/lenient_reader.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "text/grammar/json_way.h"
#include "text/grammar/widening.h"

namespace tenon::grammar {
namespace {

bool leads_through(const JsonWay& way, const JsonValue* object, std::string_view keyword) {
  return std::any_of(way.begin(), way.end(), [&](const JsonStep& step) {
    return step.parent == object && object->members[step.index].first == keyword;
  });
}

/// ways: to the refusal's place and reader, which are not in the document otherwise.
Omission omission_of(const Refusal& refusal, const JsonWays& ways, const JsonValue& root,
                     Budget& budget) {
  const auto has = [&](const JsonValue& object, const std::string& keyword) {
    budget.pass(object.members.size());
    return object.find(keyword) != nullptr;
  };
  const JsonValue* const place = refusal.place;
  const auto to_place = ways.find(place);
  const bool is_placed = to_place != ways.end();
  if (is_placed && !refusal.keyword.empty() && has(*place, refusal.keyword)) {
    return {place, to_place->second, refusal.keyword};
  }
  const auto to_reader = ways.find(refusal.reader);
  const bool is_read = to_reader != ways.end() && has(*refusal.reader, refusal.read_keyword);
  // A place outside this keyword belongs to another keyword, read earlier.
  if (is_read &&
      !(is_placed && leads_through(to_place->second, refusal.reader, refusal.read_keyword))) {
    return {refusal.reader, to_reader->second, refusal.read_keyword};
  }
  if (!is_placed || to_place->second.empty()) return {&root};
  if (place->kind == JsonValue::Kind::Object) return {place, to_place->second};
  JsonWay to_parent = to_place->second;
  const JsonStep last = to_parent.back();
  to_parent.pop_back();
  if (last.parent->kind == JsonValue::Kind::Object) {
    return {last.parent, std::move(to_parent), last.parent->members[last.index].first};
  }
  if (is_read) return {refusal.reader, to_reader->second, refusal.read_keyword};
  return {&root};
}

constexpr const char* kTooMany = "too many parts are not kept";

/// Parts of a document that are left out. They are collected first: to edit moves values.
class LeftOut {
 public:
  /// False if it is left out already.
  bool add(const Omission& omission, Budget& budget) {
    const JsonValue& of = *omission.of;
    if (is_in(&of)) return false;
    for (const JsonStep& step : omission.way) {
      if (is_in(step.parent) || is_in(&child_at(step))) return false;
    }
    if (!omission.keyword) return schemas_.insert(&of).second;
    budget.pass(of.members.size());
    const JsonValue* const member = of.find(*omission.keyword);
    if (is_in(member) || any_of_.contains(member)) return false;
    return (omission.as_any_of ? any_of_ : members_).insert(member).second;
  }
  void remove_from(JsonValue& at, Budget& budget) const {
    budget.pass(1);
    if (schemas_.contains(&at)) {
      at = {.kind = JsonValue::Kind::True};
      return;
    }
    if (any_of_.contains(&at)) at.text = LenientReader::kSeveral;
    for (JsonValue& item : at.items) remove_from(item, budget);
    for (auto& [name, value] : at.members) remove_from(value, budget);
    std::erase_if(at.members,
                  [&](const auto& member) { return members_.contains(&member.second); });
  }

 private:
  [[nodiscard]] bool is_in(const JsonValue* value) const {
    return schemas_.contains(value) || members_.contains(value);
  }

  std::unordered_set<const JsonValue*> schemas_;  // `true` is left of them
  std::unordered_set<const JsonValue*> members_;  // nothing is left of them
  std::unordered_set<const JsonValue*> any_of_;   // lists of oneOf that become those of anyOf
};

}  // namespace

void LenientReader::leave_out(std::span<const Refusal> refusals) {
  try {
    leave_out_parts(refusals);
  } catch (const Refusal&) {
    // The budget is used up: which parts depend on others is not known.
    leave_out_all(kTooMany);
  }
}

void LenientReader::leave_out_parts(std::span<const Refusal> refusals) {
  if (++num_rounds_ >= kMaxRounds || notes_.size() + refusals.size() > kMaxNotes ||
      budget_.work_together() > kMaxWork) {
    return leave_out_all(kTooMany);
  }
  std::unordered_set<const JsonValue*> values;
  for (const Refusal& refusal : refusals) values.insert({refusal.place, refusal.reader});
  const JsonWays ways = ways_to(std::move(values), root(), budget_);
  const size_t before = notes_.size();
  Widening widening(root(), budget_);
  std::vector<std::pair<Omission, std::string>> parts;
  for (const Refusal& refusal : refusals) {
    Omission omission = omission_of(refusal, ways, root(), budget_);
    if (widening.add(omission)) parts.emplace_back(std::move(omission), refusal.reason);
  }
  // Dependents of a part go first, since the part may be in them.
  LeftOut left_out;
  const auto leave_out_one = [&](Omission& omission, const std::string& reason) {
    if (!left_out.add(omission, budget_)) return;
    notes_.push_back(
        {pointer_of(omission.way), std::move(omission.keyword), reason, omission.as_any_of});
  };
  for (Omission& omission : widening.take_cuts()) {
    leave_out_one(omission, "would exclude valid values, as a part is not kept");
  }
  for (auto& [omission, reason] : parts) leave_out_one(omission, reason);
  if (notes_.size() > kMaxNotes) return leave_out_all(kTooMany);
  left_out.remove_from(document_.root(), budget_);
  if (notes_.size() == before) leave_out_all(refusals.front().reason);
}

void LenientReader::leave_out_all(std::string reason) {
  document_.root() = {.kind = JsonValue::Kind::True};
  notes_.push_back({"", std::nullopt, std::move(reason)});
}

}  // namespace tenon::grammar
