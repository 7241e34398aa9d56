#include "text/grammar/widening.h"

#include <algorithm>

#include "text/grammar/lenient_reader.h"

namespace tenon::grammar {

Widening::Widening(const JsonValue& root, Budget& budget) : root_(root), budget_(budget) {
  try {
    index_.emplace(root, budget);
  } catch (const Refusal& refusal) {
    if (refusal.is_limit) throw;
    // References of such a document are refused later.
  }
  find_uses();
}

void Widening::find_uses() {
  std::vector<const JsonValue*> todo{&root_};
  while (!todo.empty()) {
    const JsonValue& schema = *todo.back();
    todo.pop_back();
    budget_.pass(1 + schema.members.size());
    const auto add_use = [&](std::string_view keyword, const JsonValue& subschema) {
      const auto [uses, is_new] = uses_.try_emplace(&subschema);
      if (is_new) todo.push_back(&subschema);
      const bool is_applied =
          keyword != "$defs" && keyword != "definitions" && keyword != "contentSchema";
      if (is_applied) uses->second.push_back({&schema, keyword});
    };
    if (&schema == &root_) uses_.try_emplace(&root_);
    for_each_subschema(schema, add_use);
    for (const std::string_view keyword : {"$ref", "$dynamicRef"}) {
      const JsonValue* const reference = schema.find(keyword);
      if (!index_ || reference == nullptr) continue;
      try {
        add_use(keyword, index_->resolve(schema, reference->text, keyword == "$dynamicRef"));
      } catch (const Refusal& refusal) {
        if (refusal.is_limit) throw;
        // It is refused, and left out, as a keyword of the schema.
      }
    }
  }
}

bool Widening::add(const Omission& omission) {
  const size_t before = cuts_.size();
  widened_.clear();
  narrowing_.clear();
  const JsonValue& of = *omission.of;
  if (!omission.keyword) {
    for (const Use& use : uses_[&of]) widen_user(use, true);
  } else if (uses_.contains(&of)) {
    lose(of, *omission.keyword);
  } else if (!omission.way.empty() && omission.way.back().parent->kind == JsonValue::Kind::Object) {
    const JsonStep& last = omission.way.back();
    lose(*last.parent, last.parent->members[last.index].first);
  }
  run();
  if (narrowing_.empty()) return true;
  // The omission waits, and so do the cuts that it alone needs.
  for (size_t i = before; i < cuts_.size(); ++i) {
    cut_members_.erase(cuts_[i].of->find(*cuts_[i].keyword));
  }
  cuts_.resize(before);
  widened_.clear();
  const std::vector<Omission> narrowing = std::move(narrowing_);
  for (const Omission& each : narrowing) {
    cut(*each.of, *each.keyword, each.as_any_of);
    widen(*each.of, false);
  }
  run();
  return false;
}

void Widening::run() {
  while (!todo_.empty()) {
    const auto [schema, evaluates_less] = todo_.back();
    todo_.pop_back();
    budget_.pass(1);
    for (const Use& use : uses_[schema]) widen_user(use, evaluates_less);
  }
}

/// evaluates_less: fewer items or properties may count as evaluated for unevaluated*.
void Widening::widen(const JsonValue& schema, bool evaluates_less) {
  const auto [known, is_new] = widened_.try_emplace(&schema, evaluates_less);
  if (!is_new && (known->second || !evaluates_less)) return;
  known->second = evaluates_less;
  todo_.emplace_back(&schema, evaluates_less);
  if (!evaluates_less) return;
  cut(schema, "unevaluatedProperties");
  cut(schema, "unevaluatedItems");
}

void Widening::widen_user(const Use& use, bool evaluates_less) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> keywords) {
    return std::find(keywords.begin(), keywords.end(), use.keyword) != keywords.end();
  };
  const bool is_several =
      use.keyword == "oneOf" && use.schema->find("oneOf")->text != LenientReader::kSeveral;
  const bool counts = use.keyword == "contains" && use.schema->find("maxContains") != nullptr;
  if (is_several || counts || is_one_of({"not", "if"})) {
    const std::string_view keyword = counts ? "maxContains" : use.keyword;
    narrowing_.push_back({use.schema, {}, std::string(keyword), is_several});
    cut(*use.schema, keyword, is_several);
  }
  widen(*use.schema,
        evaluates_less && is_one_of({"allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas",
                                     "dependencies", "$ref", "$dynamicRef"}));
}

void Widening::lose(const JsonValue& schema, std::string_view keyword) {
  if (keyword == "properties" || keyword == "patternProperties") {
    cut(schema, "additionalProperties");
  }
  if (keyword == "prefixItems") cut(schema, "items");
  widen(schema, is_applicator(keyword) || keyword.starts_with("$"));
}

void Widening::cut(const JsonValue& schema, std::string_view keyword, bool as_any_of) {
  const JsonValue* const member = schema.find(keyword);
  if (member == nullptr || member->kind == JsonValue::Kind::True) return;
  if (cut_members_.insert(member).second) {
    cuts_.push_back({&schema, {}, std::string(keyword), as_any_of});
  }
  if (!as_any_of) lose(schema, keyword);
}

std::vector<Omission> Widening::take_cuts() {
  std::unordered_set<const JsonValue*> schemas;
  for (const Omission& each : cuts_) schemas.insert(each.of);
  const JsonWays ways = ways_to(std::move(schemas), root_, budget_);
  for (Omission& each : cuts_) each.way = ways.at(each.of);
  return std::move(cuts_);
}

}  // namespace tenon::grammar
