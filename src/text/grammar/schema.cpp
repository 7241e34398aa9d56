// Writes a compiled schema into an NFA: a rule for each subschema, string, array and object.
#include "text/grammar/schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "text/grammar/json_strings.h"
#include "text/grammar/json_way.h"
#include "text/grammar/schema_compiler.h"
#include "text/grammar/schema_names.h"
#include "text/grammar/schema_pieces.h"

namespace tenon::grammar {
namespace {

void append_words(const std::vector<uint32_t>& words, std::string& out) {
  out.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
}

class SchemaWriter {
 public:
  SchemaWriter(SchemaCompiler& compiled, Nfa& nfa, KeptParts& parts, bool any_order)
      : compiled_(compiled), nfa_(nfa), parts_(parts), any_order_(any_order) {}

  /// Writes the schema as rule 0.
  void run() {
    add_rule_of(0);
    for (size_t i = 0; i < todo_.size(); ++i) write_node(todo_[i]);
  }

 private:
  void add_rule_of(NodeId node) {
    rules_.emplace(node, nfa_.add_rule(""));
    todo_.push_back(node);
  }
  uint32_t rule_of(NodeId node) {
    const auto known = rules_.find(node);
    if (known != rules_.end()) return known->second;
    if (!compiled_.nodes()[node].key.empty() || any_order_) {
      add_rule_of(node);
    } else {
      rules_.emplace(node, piece("any", [this](Nfa& nfa) { read_schema("true", nfa, parts_); }));
    }
    return rules_.at(node);
  }
  /// Rule of a piece that many schemas share.
  uint32_t piece(const std::string& key, const std::function<void(Nfa&)>& write) {
    return nfa_.link(parts_.piece(key, nfa_.budget(), write));
  }

  [[nodiscard]] bool is_possible(NodeId node) const {
    return node != kNoNode && compiled_.nodes()[node].possible;
  }

  void write_node(NodeId id) {
    const SchemaNode& node = compiled_.nodes()[id];
    compiled_.normalizer().set_place(node.key);
    const uint32_t start = nfa_.rule(rules_[id]).start, final = nfa_.rule(rules_[id]).final;
    for (const Alternative& alternative : node.alternatives) {
      if (!alternative.possible) continue;
      switch (alternative.type) {
        case JsonType::Null:
          nfa_.add_epsilon(nfa_.add_text(start, "null"), final);
          break;
        case JsonType::Boolean:
          if (alternative.shape.may_be_true) nfa_.add_epsilon(nfa_.add_text(start, "true"), final);
          if (alternative.shape.may_be_false)
            nfa_.add_epsilon(nfa_.add_text(start, "false"), final);
          break;
        case JsonType::Number:
          add_number(alternative, start, final);
          break;
        case JsonType::String:
          nfa_.add_call(start, string_rule(alternative), final);
          break;
        case JsonType::Array:
          nfa_.add_call(start, array_rule(alternative), final);
          break;
        case JsonType::Object:
          nfa_.add_call(start, object_rule(alternative), final);
          break;
      }
    }
  }

  void add_number(const Alternative& alternative, uint32_t from, uint32_t to) {
    if (alternative.counted) {
      nfa_.add_call(from, counted_number_rule(alternative), to);
    } else {
      add_dfa(nfa_, *alternative.texts, from, [to](uint32_t) { return to; });
    }
    if (!alternative.checked) return;
    const uint32_t checked = nfa_.add_node();
    nfa_.add_act(from, {.kind = ActionKind::Check}, checked);
    add_dfa(nfa_, *alternative.checked, checked, [to](uint32_t) { return to; });
  }

  /// Rule of a number with counted digits, so that it is bounded.
  uint32_t counted_number_rule(const Alternative& alternative) {
    const Dfa& texts = *alternative.texts;
    const std::vector<uint32_t>& below = alternative.counted->below;
    std::string key = "number ";
    if (alternative.kept_number != 0) {
      key = fmt::format("kept number {}", alternative.kept_number);
    } else {
      append_words(texts, key);
      append_words(below, key);
    }
    return piece(key, [&](Nfa& nfa) { write_counted_number(texts, below, nfa); });
  }

  /// Positions of white space, with the white space that programs usually write. Checked documents
  /// have none (canonical_json.h).
  enum class Place : uint8_t {
    /// After a bracket or comma, or before a closing bracket: a space, or a line's end and
    /// indentation.
    AfterBracket,
    AfterColon,  ///< a space
  };
  /// Two nodes with a position's white space between them.
  struct Spaced {
    uint32_t from, to;
  };
  Spaced add_space(Place place) {
    const uint32_t from = nfa_.add_node();
    const uint32_t to = nfa_.add_node();
    nfa_.add_epsilon(from, to);
    add_byte(from, ' ', to);
    if (place == Place::AfterBracket) nfa_.add_call(from, line_rule(), to);
    return {from, to};
  }
  /// Rule of a line's end and the next line's indentation.
  uint32_t line_rule() { return piece("line", write_line); }
  void add_byte(uint32_t from, char c, uint32_t to) {
    nfa_.add_bytes(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), to);
  }

  uint32_t string_rule(const Alternative& alternative) {
    const StringShape& shape = alternative.shape.string;
    if (shape.lark != nullptr) {
      return piece("lark " + *shape.lark, [&](Nfa& nfa) { write_lark_string(*shape.lark, nfa); });
    }
    const bool written = alternative.texts && !alternative.counted;
    const auto known_as = std::tuple{alternative.texts.get(), alternative.texts ? 0 : shape.minimum,
                                     written ? 0 : shape.maximum};
    const auto known = strings_.find(known_as);
    if (known != strings_.end()) return known->second;
    std::string key = "string ";
    if (!alternative.texts) {
      key = fmt::format("characters {} {}", shape.minimum, shape.maximum);
    } else if (alternative.kept_number != 0) {
      key = fmt::format("kept string {}", alternative.kept_number);
    } else {
      append_words(*alternative.texts, key);
      if (alternative.counted) append_words(alternative.counted->below, key);
    }
    const uint32_t rule = piece(key, [&](Nfa& nfa) { write_string(alternative, parts_, nfa); });
    strings_.emplace(known_as, rule);
    return rule;
  }

  uint32_t array_rule(const Alternative& alternative) {
    const ArrayShape& shape = alternative.shape.array;
    const uint32_t rule = nfa_.add_rule("");
    const uint32_t final = nfa_.rule(rule).final;
    const size_t prefix = shape.prefix.size();
    uint64_t maximum = shape.maximum;
    for (size_t i = 0; i <= prefix; ++i) {
      const auto& of_set = alternative.elements[i];
      const bool some = std::any_of(of_set.begin(), of_set.end(),
                                    [this](NodeId node) { return is_possible(node); });
      if (!some) maximum = std::min<uint64_t>(maximum, i);
    }
    if (shape.unique && maximum > 1) return unique_array_rule(alternative);
    // With `contains`, each length has its own nodes; otherwise the register counts.
    const bool bounded = shape.minimum > 0 || maximum != UINT64_MAX;
    const bool counts = bounded && shape.contains.empty();
    uint64_t last = prefix;
    if (bounded && !counts) {
      last = std::max<uint64_t>({last, shape.minimum, maximum == UINT64_MAX ? 0 : maximum});
      constexpr uint64_t kMostPlaces = 10'000;
      if (last > kMostPlaces) {
        nfa_.budget().refuse_keyword("contains",
                                     "contains with minItems or maxItems above {} is not supported",
                                     kMostPlaces);
      }
    }
    nfa_.rule(rule).counts = counts;
    const Spaced opened = add_space(Place::AfterBracket);
    const uint32_t close = nfa_.add_node();
    add_byte(nfa_.rule(rule).start, '[', opened.from);
    add_byte(close, ']', final);
    const Action enough{.kind = ActionKind::AtLeast, .limit = static_cast<uint32_t>(shape.minimum)};
    using Counts = std::vector<uint64_t>;
    // Elements so far, up to `last`; counts of contains.
    using Prefix = std::pair<uint64_t, Counts>;
    std::map<Prefix, uint32_t> known;  // node after them
    std::vector<Prefix> todo;
    const auto node_of = [&](const Prefix& place) {
      const auto [at, is_new] = known.try_emplace(place, 0);
      if (is_new) {
        at->second = place.first == 0 && todo.empty() ? opened.to : nfa_.add_node();
        todo.push_back(place);
      }
      return at->second;
    };
    (void)node_of({0, Counts(shape.contains.size(), 0)});
    // Without a prefix, the first node after it is the array's start. It must not be reached again,
    // since no comma precedes it.
    for (size_t t = 0; t < todo.size(); ++t) {
      const auto [index, counts_so_far] = todo[t];
      const uint32_t here = known[todo[t]];
      bool closes = counts || index >= shape.minimum;
      for (size_t j = 0; j < shape.contains.size(); ++j) {
        closes &= counts_so_far[j] >= shape.contains[j].minimum;
      }
      uint32_t before = here, ends = close;
      if (t > 0) {
        const Spaced end = add_space(Place::AfterBracket), next = add_space(Place::AfterBracket);
        nfa_.add_epsilon(end.to, close);
        ends = end.from;
        before = next.to;
        add_byte(here, ',', next.from);
      }
      // Ask before the white space, which must not lead to a dead end.
      const bool asks = counts && shape.minimum > 0;
      if (closes && asks) nfa_.add_act(here, enough, ends);
      if (closes && !asks) nfa_.add_epsilon(here, ends);
      if (index >= maximum) continue;
      const auto& of_set = alternative.elements[std::min<uint64_t>(index, prefix)];
      for (size_t set = 0; set < of_set.size(); ++set) {
        if (!is_possible(of_set[set])) continue;
        Counts after = counts_so_far;
        bool fits = true;
        for (size_t j = 0; j < after.size(); ++j) {
          if ((set >> j & 1) == 0) continue;
          fits &= after[j] < shape.contains[j].maximum;
          after[j] = std::min(after[j] + 1, contains_cap(shape.contains[j]));
        }
        if (!fits) continue;
        uint32_t from = before;
        if (counts) {
          from = nfa_.add_node();
          const bool endless = maximum >= kUnlimited;
          nfa_.add_act(before,
                       {.kind = ActionKind::CountUp,
                        .limit = endless ? kUnlimited : static_cast<uint32_t>(maximum),
                        .keep = endless ? static_cast<uint32_t>(shape.minimum) : kUnlimited},
                       from);
        }
        // Length last + 1 represents all longer ones.
        nfa_.add_call(from, rule_of(of_set[set]),
                      node_of({std::min(index + 1, last + 1), std::move(after)}));
      }
    }
    return rule;
  }

  /// Rule of an array with few different values: the register holds the values so far, like an
  /// object's properties.
  uint32_t unique_array_rule(const Alternative& alternative) {
    if (!alternative.values) {
      nfa_.budget().refuse_keyword(
          "uniqueItems",
          "uniqueItems is supported for items of at most {} values (enum, const, booleans, short "
          "ranges of integers) and without prefixItems and contains",
          kMaxFewValues);
    }
    const FewValues& values = *alternative.values;
    const ArrayShape& shape = alternative.shape.array;
    ObjectSpec spec;
    spec.any_order = true;
    spec.minimum = static_cast<uint32_t>(shape.minimum);
    spec.maximum = static_cast<uint32_t>(std::min<uint64_t>(shape.maximum, values.size()));
    const uint32_t rule = nfa_.add_rule("");
    const auto object = static_cast<uint32_t>(nfa_.objects.size());
    nfa_.rule(rule).object = object;
    const Spaced open = add_space(Place::AfterBracket), more = add_space(Place::AfterBracket),
                 last = add_space(Place::AfterBracket);
    const uint32_t value = nfa_.add_node(), quoted = nfa_.add_node(), after = nfa_.add_node(),
                   close = nfa_.add_node();
    add_byte(nfa_.rule(rule).start, '[', open.from);
    nfa_.add_epsilon(open.to, value);
    add_byte(after, ',', more.from);
    nfa_.add_epsilon(more.to, value);
    // Ask before the white space, which must not lead to a dead end.
    const Action ends{.kind = ActionKind::Close, .object = object};
    nfa_.add_act(open.to, ends, close);
    nfa_.add_act(after, ends, last.from);
    nfa_.add_epsilon(last.to, close);
    add_byte(close, ']', nfa_.rule(rule).final);
    const auto taken = [&](uint32_t bytes) {
      const uint32_t node = nfa_.add_node();
      const auto property = static_cast<uint32_t>(spec.properties.size());
      spec.properties.push_back({.key_bytes = bytes});
      nfa_.add_act(node, {.kind = ActionKind::Take, .object = object, .property = property}, after);
      return node;
    };
    std::vector<uint32_t> after_string;
    for (const std::string& text : values.strings) {
      after_string.push_back(taken(shortest_spelling(text)));
    }
    if (!values.strings.empty()) add_byte(value, '"', quoted);
    add_json_strings(nfa_, of_texts(values.strings, false, nfa_.budget()), quoted,
                     {.needed_escapes = true},
                     [&](uint32_t label) { return after_string[label - 1]; });
    for (const FewValues::Other& other : values.others) {
      const uint32_t node = taken(other.texts.shortest());
      add_dfa(nfa_, other.texts, value, [node](uint32_t) { return node; });
      if (other.checked.empty()) continue;
      const uint32_t checked = nfa_.add_node();
      nfa_.add_act(value, {.kind = ActionKind::Check}, checked);
      add_dfa(nfa_, other.checked, checked, [node](uint32_t) { return node; });
    }
    nfa_.objects.push_back(std::move(spec));
    return rule;
  }

  uint32_t object_rule(const Alternative& alternative) {
    const uint32_t rule = nfa_.add_rule("");
    const auto object = static_cast<uint32_t>(nfa_.objects.size());
    nfa_.rule(rule).object = object;
    const std::vector<std::string> properties = properties_of(alternative);
    std::map<std::string_view, uint32_t> numbers;
    for (const std::string& name : properties) {
      numbers.emplace(name, static_cast<uint32_t>(numbers.size()));
    }
    nfa_.budget().spend(8 * properties.size());
    nfa_.objects.push_back(describe(alternative, properties, numbers));
    const uint32_t final = nfa_.rule(rule).final;
    const Spaced open = add_space(Place::AfterBracket), more = add_space(Place::AfterBracket),
                 last = add_space(Place::AfterBracket);
    const uint32_t key = nfa_.add_node(), after = nfa_.add_node(), close = nfa_.add_node();
    add_byte(nfa_.rule(rule).start, '{', open.from);
    add_byte(open.to, '"', key);
    add_byte(after, ',', more.from);
    add_byte(more.to, '"', key);
    // Ask before the white space, which must not lead to a dead end.
    const Action ends{.kind = ActionKind::Close, .object = object};
    nfa_.add_act(open.to, ends, close);
    nfa_.add_act(after, ends, last.from);
    nfa_.add_epsilon(last.to, close);
    add_byte(close, '}', final);
    // Drop keys of classes without a possible value.
    Dfa keys = alternative.keys;
    bool all_possible = true;
    for (uint32_t& label : keys.label) {
      if (label == 0 || is_possible(alternative.classes[label - 1].value)) continue;
      label = 0;
      all_possible = false;
    }
    if (!all_possible) keys = minimise(keys, nfa_.budget());
    const uint32_t kinds = nfa_.objects[object].name_kinds;
    if (kinds > 0) keys = names_by_kind(keys, alternative, kinds, nfa_.budget());
    std::set<uint32_t> kinds_met;
    std::map<uint32_t, uint32_t> quoted;
    add_json_strings(nfa_, keys, key, {.needed_escapes = true}, [&](uint32_t label) {
      const auto [at, is_new] = quoted.try_emplace(label, 0);
      if (!is_new) return at->second;
      at->second = nfa_.add_node();
      const Alternative::KeyClass& kind =
          alternative.classes[kinds > 0 ? (label - 1) / kinds : label - 1];
      const uint32_t name_kind = kinds > 0 ? (label - 1) % kinds : 0;
      if (!kind.name) kinds_met.insert(name_kind);
      const Spaced value = add_space(Place::AfterColon);
      const uint32_t colon = nfa_.add_node();
      const uint32_t property = kind.name ? numbers.at(*kind.name) : kOther;
      nfa_.add_act(at->second,
                   {.kind = ActionKind::Take,
                    .object = object,
                    .property = property,
                    .name_kind = name_kind},
                   colon);
      add_byte(colon, ':', value.from);
      nfa_.add_call(value.to, rule_of(kind.value), after);
      return at->second;
    });
    const ObjectSpec& spec = nfa_.objects[object];
    if (kinds > 0 && spec.properties.size() + kinds_met.size() < spec.minimum) {
      nfa_.budget().refuse_keyword("minProperties",
                                   "minProperties {} is more than can be told apart of such names",
                                   spec.minimum);
    }
    return rule;
  }

  /// Possible properties with names: in the schema's order, then names that are only required,
  /// sorted. A property's number is its index.
  std::vector<std::string> properties_of(const Alternative& alternative) const {
    std::set<std::string> names;
    for (const Alternative::KeyClass& kind : alternative.classes) {
      if (kind.name && is_possible(kind.value)) names.insert(*kind.name);
    }
    std::vector<std::string> result;
    for (const std::string& name : alternative.shape.object.order) {
      if (names.erase(name) > 0) result.push_back(name);
    }
    result.insert(result.end(), names.begin(), names.end());
    return result;
  }

  ObjectSpec describe(const Alternative& alternative, std::span<const std::string> properties,
                      const std::map<std::string_view, uint32_t>& numbers) const {
    const ObjectShape& shape = alternative.shape.object;
    constexpr uint64_t kMost = 1'000'000;
    ObjectSpec spec;
    spec.minimum = static_cast<uint32_t>(std::min(shape.minimum, kMost));
    spec.maximum = shape.maximum > kMost ? kUnlimited : static_cast<uint32_t>(shape.maximum);
    if (spec.minimum <= shape.required.size()) spec.minimum = 0;
    // More kinds make it rarer that different names have one kind.
    const uint64_t several = spec.minimum > 0 ? spec.minimum - shape.required.size() : 0;
    const uint64_t name_kinds = several > 1 ? std::min<uint64_t>(4 * several, 16) : 0;
    spec.any_order = any_order_;
    for (const Alternative::KeyClass& kind : alternative.classes) {
      if (kind.name || !is_possible(kind.value)) continue;
      spec.others = true;
      spec.name_kinds = static_cast<uint32_t>(name_kinds);
    }
    for (const std::string& name : properties) {
      spec.properties.push_back(
          {.required = shape.required.contains(name), .key_bytes = shortest_spelling(name)});
      for (const std::string& other : with_needed({name}, shape, nfa_.budget())) {
        if (other != name) spec.properties.back().needs.push_back(numbers.at(other));
      }
    }
    if (!shape.needs.empty() && spec.minimum > 0 && spec.maximum != kUnlimited) {
      nfa_.budget().refuse_keyword(
          "dependentRequired",
          "dependentRequired with minProperties and maxProperties is not supported");
    }
    return spec;
  }

  SchemaCompiler& compiled_;
  Nfa& nfa_;
  std::map<NodeId, uint32_t> rules_;
  std::vector<NodeId> todo_;
  /// Rules of strings by automaton and lengths.
  std::map<std::tuple<const Dfa*, uint64_t, uint64_t>, uint32_t> strings_;
  KeptParts& parts_;
  bool any_order_;
};

/// The refusal with the JSON pointer of its place, as a URI fragment: "#/properties/a".
Refusal with_pointer(const Refusal& refusal, const JsonValue& root, Budget& budget) {
  constexpr size_t kShownName = 100;
  const JsonWays ways = ways_to({refusal.place}, root, budget);
  const auto way = ways.find(refusal.place);
  const std::string pointer = way == ways.end() ? "" : pointer_of(way->second, kShownName);
  return {"#" + pointer, refusal.reason, nullptr, refusal.is_limit};
}

}  // namespace

void read_schema(std::string_view text, Nfa& nfa, KeptParts& parts) {
  const JsonDocument document(text, nfa.budget());
  read_schema(document.root(), nfa, parts, nullptr);
}

void read_schema(const JsonValue& root, Nfa& nfa, KeptParts& parts,
                 std::vector<Refusal>* refusals) {
  try {
    const bool any_order = any_order_of(root, nfa.budget());
    SchemaCompiler plan(root, parts, nfa.budget(), refusals);
    SchemaWriter(plan, nfa, parts, any_order).run();
    nfa.budget().set_place("");
  } catch (const Refusal& refusal) {
    if (refusals != nullptr || refusal.place == nullptr) throw;
    throw with_pointer(refusal, root, nfa.budget());
  }
}

uint32_t add_schema(std::string_view text, Nfa& nfa, KeptParts& parts) {
  return nfa.link(
      parts.schema(text, nfa.budget(), [&](Nfa& own) { read_schema(text, own, parts); }));
}

}  // namespace tenon::grammar
