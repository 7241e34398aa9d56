#include "text/grammar/schema_compiler.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "text/grammar/interner.h"
#include "text/grammar/number_texts.h"

namespace tenon::grammar {
namespace {

constexpr size_t kMaxSchemaNodes = 20'000;
constexpr size_t kMaxContains = 2;
constexpr size_t kMaxPatterns = 24;

/// Texts of a shape within its length limits.
LimitedTexts limited_texts(const StringShape& shape, Budget& budget) {
  // Unroll short lengths: short texts are faster without a register.
  constexpr uint64_t kWrittenOut = 32;
  const uint64_t states = shape.texts->size();
  const bool short_ones = shape.maximum <= kWrittenOut && states * shape.maximum <= kWrittenOut;
  uint64_t maximum = shape.maximum;
  if (!short_ones && maximum != UINT64_MAX) {
    Dfa texts = *shape.texts;
    if (shape.minimum > 0) {
      texts = both(texts, of_length(shape.minimum, UINT64_MAX, budget), budget);
    }
    const CharacterCounts counts(texts, budget);
    if (texts.empty() || counts.most() <= maximum) {
      maximum = UINT64_MAX;
    } else if (maximum < kUnlimited && counts.fewest_are_shortest()) {
      const auto counted = counts.limited_to(static_cast<uint32_t>(maximum));
      if (!counted) texts = Dfa();
      return {std::make_shared<const Dfa>(std::move(texts)), counted};
    }
  }
  if (shape.minimum == 0 && maximum == UINT64_MAX) return {shape.texts, std::nullopt};
  Dfa texts = both(*shape.texts, of_length(shape.minimum, maximum, budget), budget);
  return {std::make_shared<const Dfa>(std::move(texts)), std::nullopt};
}

void append_decimal(const Decimal& value, std::string& out) {
  out += value.negative ? "-" : "";
  out.append(value.integer).append(1, '.').append(value.fraction).append(1, ' ');
}

/// Key that identifies the texts of a number.
std::string key_of_number(const NumberShape& shape) {
  std::string key = "number ";
  for (const auto* const bound : {&shape.lower, &shape.upper}) {
    key += !*bound ? '-' : (*bound)->exclusive ? 'x' : 'i';
    if (*bound) append_decimal((*bound)->value, key);
  }
  key += shape.integer ? 'n' : '-';
  key += shape.not_integer ? 'n' : '-';
  for (const auto* const values : {&shape.multiples, &shape.not_multiples}) {
    for (const Decimal& value : *values) append_decimal(value, key);
    key += '|';
  }
  return key;
}

}  // namespace

uint64_t contains_cap(const ArrayShape::Contains& contains) {
  return contains.maximum == UINT64_MAX ? contains.minimum : contains.maximum;
}

SchemaCompiler::SchemaCompiler(const JsonValue& root, KeptParts& kept, Budget& budget,
                               std::vector<Refusal>* refusals)
    : kept_(kept),
      budget_(budget),
      normalizer_(root, kept, budget, refusals),
      any_text_(kept.dfa("any text", budget, [&] { return any_text(budget); })) {
  (void)node_of(normalizer_.only(root, false));
  for (NodeId node = 0; node < nodes_.size(); ++node) expand(node);
  list_unique();
  find_possible();
  if (nodes_.empty() || !nodes_[0].possible) {
    budget.set_place("#");
    budget.refuse("the schema is contradictory: no value is valid, so no token can follow");
  }
}

NodeId SchemaCompiler::node_of(const Conjunction& all) {
  if (!all.empty() && all.front() == SchemaNormalizer::kNever) return kNoNode;
  const auto [at, is_new] = numbers_.try_emplace(all, static_cast<NodeId>(nodes_.size()));
  if (is_new) {
    if (nodes_.size() >= kMaxSchemaNodes)
      budget_.refuse("more than {} subschemas", kMaxSchemaNodes);
    nodes_.push_back({.key = all});
  }
  return at->second;
}

void SchemaCompiler::expand(NodeId node) {
  const Conjunction key = nodes_[node].key;
  normalizer_.set_place(key);
  std::vector<Alternative> alternatives;
  for (const JsonType type : kJsonTypes) {
    for (Shape& shape : normalizer_.dnf(key, type)) {
      normalizer_.set_place(key);
      Alternative alternative{.type = type, .shape = std::move(shape)};
      if (type == JsonType::Number) {
        compile_number(alternative);
      } else if (type == JsonType::String) {
        compile_string(alternative);
      } else if (type == JsonType::Array) {
        compile_array(alternative);
      } else if (type == JsonType::Object) {
        compile_object(alternative);
      }
      alternatives.push_back(std::move(alternative));
    }
  }
  nodes_[node].alternatives = std::move(alternatives);
}

void SchemaCompiler::compile_number(Alternative& alternative) {
  const NumberShape& shape = alternative.shape.number;
  if (shape.spelled.empty()) {
    const auto limited = kept_.limited(key_of_number(shape), budget_, [&] {
      auto texts = std::make_shared<const Dfa>(number_texts(shape, budget_));
      auto counted = limit_of_digits(*texts, budget_);
      return LimitedTexts{std::move(texts), std::move(counted)};
    });
    return take(limited, alternative);
  }
  Dfa texts = number_texts(shape, budget_);
  if (!texts.empty()) {
    alternative.checked = std::make_shared<const Dfa>(std::move(texts));
    texts = of_texts({&shape.spelled, 1}, true, budget_);
  } else {
    alternative.counted = limit_of_digits(texts, budget_);
  }
  alternative.texts = std::make_shared<const Dfa>(std::move(texts));
}

void SchemaCompiler::take(const std::shared_ptr<const LimitedTexts>& limited,
                          Alternative& alternative) {
  alternative.texts = {limited, limited->texts.get()};
  alternative.counted = limited->counted;
  alternative.kept_number = limited->number;
}

void SchemaCompiler::compile_string(Alternative& alternative) {
  const StringShape& shape = alternative.shape.string;
  if (shape.lark != nullptr) return;
  if (!shape.texts) {
    if (shape.minimum == 0 && shape.maximum == UINT64_MAX) alternative.texts = any_text_;
    return;
  }
  alternative.texts = shape.texts;
  if (shape.minimum == 0 && shape.maximum == UINT64_MAX) return;
  std::string key = fmt::format("{} {} ", shape.minimum, shape.maximum);
  append_words(*shape.texts, key);
  take(kept_.limited(key, budget_, [&] { return limited_texts(shape, budget_); }), alternative);
}

void SchemaCompiler::write_out_length(Alternative& alternative) {
  if (!alternative.counted) return;
  const uint64_t maximum = alternative.shape.string.maximum;
  alternative.texts = std::make_shared<const Dfa>(
      both(*alternative.texts, of_length(0, maximum, budget_), budget_));
  alternative.counted.reset();
  alternative.kept_number = 0;
}

void SchemaCompiler::compile_array(Alternative& alternative) {
  const ArrayShape& shape = alternative.shape.array;
  const size_t sets = size_t{1} << shape.contains.size();
  if (shape.contains.size() > kMaxContains) {
    budget_.refuse("more than {} contains together are not supported", kMaxContains);
  }
  for (size_t i = 0; i <= shape.prefix.size(); ++i) {
    std::vector<NodeId> of_set;
    for (size_t set = 0; set < sets; ++set) {
      Conjunction all = shape.element(i);
      for (size_t j = 0; j < shape.contains.size(); ++j) {
        const ArrayShape::Contains& contains = shape.contains[j];
        if ((set >> j & 1) != 0) {
          all = meet(all, {contains.what});
        } else if (contains.maximum != UINT64_MAX) {
          all = meet(all, {contains.what_not});
        }
      }
      of_set.push_back(node_of(all));
    }
    alternative.elements.push_back(std::move(of_set));
  }
}

void SchemaCompiler::list_unique() {
  for (SchemaNode& node : nodes_) {
    for (Alternative& alternative : node.alternatives) {
      const ArrayShape& shape = alternative.shape.array;
      if (!shape.unique || !shape.prefix.empty() || !shape.contains.empty()) continue;
      const NodeId item = alternative.elements[0][0];
      alternative.values = item == kNoNode ? FewValues() : few_values(nodes_[item], budget_);
    }
  }
}

void SchemaCompiler::compile_object(Alternative& alternative) {
  const ObjectShape& shape = alternative.shape.object;
  std::set<std::string> names = shape.required;
  std::vector<const Dfa*> patterns;
  for (const ObjectShape::Clause& clause : shape.clauses) {
    for (const auto& [name, value] : clause.named) names.insert(name);
    for (const auto& [texts, value] : clause.patterns) {
      if (std::find(patterns.begin(), patterns.end(), texts.get()) == patterns.end()) {
        patterns.push_back(texts.get());
      }
    }
  }
  for (const auto& [name, needed] : shape.needs) {
    names.insert(name);
    names.insert(needed.begin(), needed.end());
  }
  if (patterns.size() > kMaxPatterns) {
    budget_.refuse("more than {} patterns of properties together", kMaxPatterns);
  }
  // Names that propertyNames allows, as strings.
  Dfa allowed = *any_text_;
  if (!shape.names.empty()) {
    Conjunction all;
    for (const SubId id : shape.names) all = meet(all, {id});
    Dfa some;
    for (const Shape& name : normalizer_.dnf(all, JsonType::String)) {
      Alternative text{.type = JsonType::String, .shape = name};
      compile_string(text);
      write_out_length(text);
      if (name.string.lark != nullptr) {
        budget_.refuse_keyword(
            "propertyNames",
            "names of an x-lark with rules that recur or are large are not supported");
      }
      const Dfa one =
          text.texts ? *text.texts : of_length(name.string.minimum, name.string.maximum, budget_);
      some = either(some, one, budget_);
    }
    allowed = std::move(some);
    // Few names are remembered one by one.
    std::vector<std::string> few;
    if (add_few_words(allowed, budget_, few)) names.insert(few.begin(), few.end());
  }
  const std::vector<std::string> list(names.begin(), names.end());
  const Dfa literal = of_texts(list, false, budget_);
  std::vector<const Dfa*> all{&allowed, &literal};
  all.insert(all.end(), patterns.begin(), patterns.end());
  Interner kinds;  // the name, then the matching patterns
  std::vector<uint32_t> kind;
  alternative.keys = combine(
      all,
      [&](std::span<const uint32_t> labels) -> uint32_t {
        if (labels[0] == 0) return 0;
        kind.assign(1, labels[1]);
        for (size_t i = 2; i < labels.size(); ++i) kind.push_back(labels[i] != 0 ? 1 : 0);
        return kinds.intern(kind) + 1;
      },
      budget_);
  for (uint32_t k = 0; k < kinds.size(); ++k) {
    const auto words = kinds.words(k);
    Alternative::KeyClass result;
    if (words[0] != 0) result.name = list[words[0] - 1];
    Conjunction value;
    for (const ObjectShape::Clause& clause : shape.clauses) {
      bool matched = false;
      if (result.name) {
        const auto found = clause.named.find(*result.name);
        matched = found != clause.named.end();
        if (matched) value = meet(value, found->second);
      }
      for (const auto& [texts, of_pattern] : clause.patterns) {
        const auto at = std::find(patterns.begin(), patterns.end(), texts.get());
        if (words[1 + static_cast<size_t>(at - patterns.begin())] == 0) continue;
        matched = true;
        value = meet(value, of_pattern);
      }
      if (!matched && clause.additional) value = meet(value, *clause.additional);
    }
    result.value = node_of(value);
    alternative.classes.push_back(std::move(result));
  }
}

void SchemaCompiler::find_possible() {
  // Propagate satisfiability upwards until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (NodeId n = static_cast<NodeId>(nodes_.size()); n-- > 0;) {
      SchemaNode& node = nodes_[n];
      for (Alternative& alternative : node.alternatives) {
        budget_.spend(1 + alternative.classes.size());
        if (alternative.possible) continue;
        switch (alternative.type) {
          case JsonType::Null:
          case JsonType::Boolean:
            alternative.possible = true;
            break;
          case JsonType::Number:
          case JsonType::String:
            alternative.possible = !alternative.texts || !alternative.texts->empty();
            break;
          case JsonType::Array:
            alternative.possible = array_is_possible(alternative);
            break;
          case JsonType::Object:
            alternative.possible = object_is_possible(alternative);
            break;
        }
        if (alternative.possible && !node.possible) node.possible = changed = true;
        changed = changed || alternative.possible;
      }
    }
  }
  for (SchemaNode& node : nodes_) {
    for (Alternative& alternative : node.alternatives) {
      if (alternative.shape.object.needs.empty()) continue;
      const std::set<std::string> names = possible_names(alternative);
      for (Alternative::KeyClass& kind : alternative.classes) {
        if (kind.name && !names.contains(*kind.name)) kind.value = kNoNode;
      }
    }
  }
}

bool SchemaCompiler::array_is_possible(Alternative& alternative) const {
  const ArrayShape& shape = alternative.shape.array;
  if (alternative.values && alternative.values->size() < shape.minimum) return false;
  // Find the reachable counts of `contains` per length; after the prefix, all lengths are alike.
  using Counts = std::vector<uint64_t>;
  std::set<Counts> now{Counts(shape.contains.size(), 0)};
  const uint64_t prefix = shape.prefix.size();
  uint64_t needed = 0;
  for (const auto& contains : shape.contains) needed += contains_cap(contains);
  const uint64_t last = std::min(shape.maximum, std::max(prefix, shape.minimum) + needed + 1);
  for (uint64_t length = 0;; ++length) {
    for (const Counts& counts : now) {
      bool enough = length >= shape.minimum;
      for (size_t j = 0; j < counts.size(); ++j) enough &= counts[j] >= shape.contains[j].minimum;
      if (enough) return true;
    }
    if (length >= last) return false;
    std::set<Counts> next;
    const auto& of_set = alternative.elements[std::min(length, prefix)];
    for (const Counts& counts : now) {
      for (size_t set = 0; set < of_set.size(); ++set) {
        if (!is_possible(of_set[set])) continue;
        Counts after = counts;
        bool fits = true;
        for (size_t j = 0; j < after.size(); ++j) {
          if ((set >> j & 1) == 0) continue;
          fits &= after[j] < shape.contains[j].maximum;
          after[j] = std::min(after[j] + 1, contains_cap(shape.contains[j]));
        }
        if (fits) next.insert(after);
      }
    }
    if (next.empty()) return false;
    // Equal elements and nothing to find: any length is possible.
    if (length >= prefix && shape.contains.empty()) return true;
    now = std::move(next);
  }
}

/// Names that may occur: their value is possible, and so are all names that they require.
std::set<std::string> SchemaCompiler::possible_names(const Alternative& alternative) const {
  std::set<std::string> names;
  for (const Alternative::KeyClass& kind : alternative.classes) {
    if (kind.name && is_possible(kind.value)) names.insert(*kind.name);
  }
  for (bool shrinks = true; shrinks;) {
    shrinks = false;
    budget_.spend(alternative.classes.size() + 10 * alternative.shape.object.needs.size());
    for (const auto& [name, needed] : alternative.shape.object.needs) {
      const bool met = std::all_of(needed.begin(), needed.end(),
                                   [&](const std::string& other) { return names.contains(other); });
      if (!met && names.erase(name) > 0) shrinks = true;
    }
  }
  return names;
}

bool SchemaCompiler::object_is_possible(const Alternative& alternative) const {
  const ObjectShape& shape = alternative.shape.object;
  const std::set<std::string> possible = possible_names(alternative);
  const bool others = std::any_of(
      alternative.classes.begin(), alternative.classes.end(),
      [&](const Alternative::KeyClass& kind) { return !kind.name && is_possible(kind.value); });
  const std::set<std::string> wanted = with_needed(shape.required, shape, budget_);
  for (const std::string& name : wanted) {
    if (!possible.contains(name)) return false;
  }
  return wanted.size() <= shape.maximum && (others || possible.size() >= shape.minimum);
}

}  // namespace tenon::grammar
