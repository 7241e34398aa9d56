// SchemaNormalizer: numbers of subschemas, combinations, references.
#include "text/grammar/schema_normalizer.h"

#include <algorithm>
#include <array>

#include "text/grammar/lenient_reader.h"
#include "text/grammar/number_texts.h"

namespace tenon::grammar {
namespace {

constexpr size_t kMaxShapes = 512;
constexpr size_t kMaxExact = 6;
constexpr size_t kMaxOpen = 150;

}  // namespace

SchemaNormalizer::SchemaNormalizer(const JsonValue& root, KeptParts& kept, Budget& budget,
                                   std::vector<Refusal>* refusals)
    : kept_(kept), budget_(budget), index_(root, budget), refusals_(refusals) {
  subs_.push_back({&never_, false, false});
}

SubId SchemaNormalizer::id_of(const JsonValue& schema, bool negated, bool constant) {
  if (!constant && schema.is_bool()) {
    const bool holds = (schema.kind == JsonValue::Kind::True) != negated;
    if (!holds) return kNever;
  }
  const Sub sub{&schema, negated, constant};
  const auto [at, is_new] = numbers_.try_emplace(sub, static_cast<SubId>(subs_.size()));
  if (is_new) subs_.push_back(sub);
  return at->second;
}

Conjunction SchemaNormalizer::only(const JsonValue& schema, bool negated, bool constant) {
  if (!constant) {
    (void)schema_in(schema);
    const bool any = schema.kind == JsonValue::Kind::True ||
                     (schema.kind == JsonValue::Kind::Object && schema.members.empty());
    if (any) return negated ? Conjunction{kNever} : Conjunction{};
    if (schema.kind == JsonValue::Kind::False) {
      return negated ? Conjunction{} : Conjunction{kNever};
    }
  }
  return {id_of(schema, negated, constant)};
}

SubId SchemaNormalizer::negation(SubId id) {
  const Sub sub = subs_[id];
  return id_of(*sub.value, !sub.negated, sub.constant);
}

void SchemaNormalizer::set_place(const Conjunction& all) {
  for (const SubId id : all) {
    if (id != kNever) return index_.set_place(*subs_[id].value);
  }
  budget_.set_place("#");
}

const JsonValue& SchemaNormalizer::schema_in(const JsonValue& value) {
  if (value.kind == JsonValue::Kind::Object || value.is_bool()) return value;
  index_.set_place(value);
  budget_.refuse("a schema is an object or a boolean");
}

void SchemaNormalizer::check_size(const SchemaDnf& shapes) const {
  if (shapes.size() > kMaxShapes) budget_.refuse("more than {} alternatives", kMaxShapes);
}

SchemaDnf SchemaNormalizer::both(const SchemaDnf& a, const SchemaDnf& b, JsonType type) {
  SchemaDnf result;
  for (const Shape& left : a) {
    for (const Shape& right : b) {
      if (auto shape = meet(left, right, type, budget_)) result.push_back(std::move(*shape));
      check_size(result);
    }
  }
  return result;
}

SchemaDnf SchemaNormalizer::dnf(const Conjunction& all, JsonType type) {
  SchemaDnf result{Shape{}};
  for (const SubId id : all) result = both(result, of_sub(id, type), type);
  return result;
}

SchemaDnf SchemaNormalizer::of_sub(SubId id, JsonType type) {
  if (id == kNever) return {};
  const Sub sub = subs_[id];
  if (sub.constant) {
    try {
      return of_constant(*sub.value, type, sub.negated);
    } catch (Refusal& refusal) {
      if (refusals_ != nullptr) refusal.place = nullptr;  // a part of a constant cannot be left out
      throw;
    }
  }
  return of_schema(*sub.value, {type, sub.negated, false});
}

SchemaDnf SchemaNormalizer::of_schema(const JsonValue& schema, Ask ask) {
  (void)schema_in(schema);
  if (schema.is_bool()) {
    return (schema.kind == JsonValue::Kind::True) != ask.negated ? SchemaDnf{Shape{}} : SchemaDnf{};
  }
  const Key key{&schema, ask.type, ask.negated, ask.exact};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  if (std::find(open_.begin(), open_.end(), key) != open_.end()) {
    index_.set_place(schema);
    budget_.refuse("the schema refers to itself without a step into the value");
  }
  if (budget_.is_too_deep(open_.size(), kMaxOpen)) {
    budget_.refuse("schemas are nested deeper than {}, or than the stack allows", kMaxOpen);
  }
  open_.push_back(key);
  SchemaDnf result = compute(schema, ask);
  open_.pop_back();
  return known_.emplace(key, std::move(result)).first->second;
}

SchemaDnf SchemaNormalizer::compute(const JsonValue& schema, Ask ask) {
  const JsonType type = ask.type;
  const bool negated = ask.negated;
  const bool unevaluated =
      schema.find("unevaluatedProperties") != nullptr || schema.find("unevaluatedItems") != nullptr;
  if (unevaluated && negated) {
    index_.set_place(schema);
    budget_.refuse("the negation of unevaluated properties or items is not supported");
  }
  ask.exact |= unevaluated;
  // All keywords must hold; in the negation, at least one must not.
  SchemaDnf result;
  if (!negated) result.push_back({});
  const auto add = [&](SchemaDnf more) {
    if (negated) {
      result.insert(result.end(), more.begin(), more.end());
      check_size(result);
    } else {
      result = both(result, more, type);
    }
  };
  bool items = false, contains = false, properties = false, condition = false;
  const auto add_keyword = [&](const std::string& key, const JsonValue& value) {
    if (key == "$recursiveRef") {
      index_.set_place(value);
      budget_.refuse("{} is not supported", key);
    }
    const auto once = [](bool& done) { return !std::exchange(done, true); };
    if (key == "type") {
      add(of_type(value, type, negated));
    } else if (key == "enum") {
      if (value.kind != JsonValue::Kind::Array) {
        index_.set_place(value);
        budget_.refuse("enum is an array");
      }
      add(of_enum(value, type, negated));
    } else if (key == "const") {
      add(of_constant(value, type, negated));
    } else if (key == "allOf" || key == "anyOf" || key == "oneOf" || key == "not" ||
               key == "$ref" || key == "$dynamicRef") {
      add(of_combination(schema, key, value, ask));
    } else if (key == "if") {
      if (once(condition)) add(conditional(schema, ask));
    } else if (type == JsonType::Number &&
               (key == "minimum" || key == "maximum" || key == "exclusiveMinimum" ||
                key == "exclusiveMaximum" || key == "multipleOf")) {
      add(of_numbers(key, value, negated));
    } else if (type == JsonType::String && (key == "pattern" || key == "format")) {
      add(of_strings(key, value, negated));
    } else if (type == JsonType::String && key == "x-lark") {
      add(of_lark(value, negated));
    } else if ((type == JsonType::String && (key == "minLength" || key == "maxLength")) ||
               (type == JsonType::Array && (key == "minItems" || key == "maxItems")) ||
               (type == JsonType::Object && (key == "minProperties" || key == "maxProperties"))) {
      add(of_counts(key, value, type, negated));
    } else if (type == JsonType::Array && (key == "items" || key == "prefixItems")) {
      if (once(items)) add(of_items(schema, negated));
    } else if (type == JsonType::Array && key == "contains") {
      if (once(contains)) add(of_contains(schema, negated));
    } else if (type == JsonType::Array && key == "uniqueItems") {
      if (value.kind != JsonValue::Kind::True) {
        if (negated) return;
      } else if (negated) {
        index_.set_place(value);
        budget_.refuse("the negation of uniqueItems is not supported");
      } else {
        Shape unique;
        unique.array.unique = true;
        add({unique});
      }
    } else if (type == JsonType::Object &&
               (key == "properties" || key == "patternProperties" || key == "required" ||
                key == "additionalProperties" || key == "propertyNames")) {
      if (once(properties)) add(of_properties(schema, negated));
    } else if (type == JsonType::Object &&
               (key == "dependentRequired" || key == "dependentSchemas" || key == "dependencies")) {
      add(of_dependent(key, value, ask));
    }
  };
  const size_t num_open = open_.size();
  for (const auto& [key, value] : schema.members) {
    budget_.spend(50);
    try {
      add_keyword(key, value);
    } catch (Refusal& refusal) {
      skip_refused(refusal, schema, key, num_open);
    }
  }
  if (!unevaluated) return result;
  try {
    add_unevaluated(schema, type, result);
  } catch (Refusal& refusal) {
    const bool items_alone = schema.find("unevaluatedProperties") == nullptr;
    skip_refused(refusal, schema, items_alone ? "unevaluatedItems" : "unevaluatedProperties",
                 num_open);
  }
  return result;
}

/// Call while handling the refusal.
void SchemaNormalizer::skip_refused(Refusal& refusal, const JsonValue& schema,
                                    std::string_view keyword, size_t num_open) {
  if (refusal.reader == nullptr) {
    refusal.reader = &schema;
    refusal.read_keyword = keyword;
  }
  constexpr size_t kMost = 2 * LenientReader::kMaxNotes;
  if (refusals_ == nullptr || refusal.is_limit || refusals_->size() >= kMost) throw;
  open_.resize(num_open);
  budget_.pass(refusals_->size());
  // A keyword may be refused for several types of values.
  const bool is_known =
      std::any_of(refusals_->begin(), refusals_->end(), [&](const Refusal& other) {
        return other.reader == refusal.reader && other.read_keyword == refusal.read_keyword &&
               other.place == refusal.place && other.keyword == refusal.keyword;
      });
  if (!is_known) refusals_->push_back(refusal);
}

SchemaDnf SchemaNormalizer::of_type(const JsonValue& value, JsonType type, bool negated) {
  struct Name {
    std::string_view name;
    JsonType type;
  };
  constexpr std::array kNames = {
      Name{"null", JsonType::Null},     Name{"boolean", JsonType::Boolean},
      Name{"number", JsonType::Number}, Name{"integer", JsonType::Number},
      Name{"string", JsonType::String}, Name{"array", JsonType::Array},
      Name{"object", JsonType::Object}};
  const auto refuse = [&](const JsonValue& at) {
    index_.set_place(at);
    budget_.refuse("\"{}\" is no type", at.text.substr(0, 40));
  };
  bool any = false, integer = false;
  const auto look = [&](const JsonValue& name) {
    if (name.kind != JsonValue::Kind::String) refuse(name);
    bool known = false;
    for (const Name& entry : kNames) {
      if (entry.name != name.text) continue;
      known = true;
      if (entry.type != type) continue;
      (name.text == "integer" ? integer : any) = true;
    }
    if (!known) refuse(name);
  };
  if (value.kind == JsonValue::Kind::Array) {
    for (const JsonValue& item : value.items) look(item);
  } else {
    look(value);
  }
  Shape shape;
  if (integer && !any) (negated ? shape.number.not_integer : shape.number.integer) = true;
  if (integer && !any) return {shape};
  return any != negated ? SchemaDnf{shape} : SchemaDnf{};
}

SchemaDnf SchemaNormalizer::of_combination(const JsonValue& schema, const std::string& key,
                                           const JsonValue& value, Ask ask) {
  if (key == "not") {
    return of_schema(value, {ask.type, !ask.negated, false});
  }
  if (key == "$ref" || key == "$dynamicRef") {
    index_.set_place(schema);
    if (value.kind != JsonValue::Kind::String) budget_.refuse("{} is a string", key);
    return of_schema(index_.resolve(schema, value.text, key == "$dynamicRef"), ask);
  }
  if (value.kind != JsonValue::Kind::Array || value.items.empty()) {
    index_.set_place(value);
    budget_.refuse("{} is a list of schemas that is not empty", key);
  }
  if (key == "anyOf" || value.text == LenientReader::kSeveral) return any_of(value, ask);
  if (key == "oneOf") return one_of(value, ask);
  SchemaDnf result;
  if (!ask.negated) result.push_back({});
  for (const JsonValue& item : value.items) {
    const SchemaDnf one = of_schema(item, ask);
    if (ask.negated) {
      result.insert(result.end(), one.begin(), one.end());
    } else {
      result = both(result, one, ask.type);
    }
  }
  check_size(result);
  return result;
}

SchemaDnf SchemaNormalizer::any_of(const JsonValue& list, Ask ask) {
  SchemaDnf result;
  if (ask.negated) {
    result.push_back({});
    for (const JsonValue& item : list.items) {
      result = both(result, of_schema(item, ask), ask.type);
    }
    return result;
  }
  if (!ask.exact) {
    for (const JsonValue& item : list.items) {
      const SchemaDnf one = of_schema(item, ask);
      result.insert(result.end(), one.begin(), one.end());
      check_size(result);
    }
    return result;
  }
  // Every branch that holds counts as evaluated: make an alternative for each set of branches.
  if (list.items.size() > kMaxExact) {
    index_.set_place(list);
    budget_.refuse("anyOf of more than {} under unevaluated* is not supported", kMaxExact);
  }
  for (uint32_t set = 1; set < 1u << list.items.size(); ++set) {
    SchemaDnf some{Shape{}};
    for (size_t i = 0; i < list.items.size(); ++i) {
      const bool holds = (set >> i & 1) != 0;
      some = both(some, of_schema(list.items[i], {ask.type, !holds, holds}), ask.type);
    }
    result.insert(result.end(), some.begin(), some.end());
    check_size(result);
  }
  return result;
}

SchemaDnf SchemaNormalizer::one_of(const JsonValue& list, Ask ask) {
  const size_t n = list.items.size();
  SchemaDnf result;
  if (ask.negated) {
    // No branch holds, or two do.
    result = any_of(list, ask);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i + 1; j < n; ++j) {
        const Ask holds{ask.type, false, false};
        const SchemaDnf two =
            both(of_schema(list.items[i], holds), of_schema(list.items[j], holds), ask.type);
        result.insert(result.end(), two.begin(), two.end());
        check_size(result);
      }
    }
    return result;
  }
  for (size_t i = 0; i < n; ++i) {
    SchemaDnf one = of_schema(list.items[i], ask);
    for (size_t j = 0; j < n && !one.empty(); ++j) {
      if (i == j) continue;
      const SchemaDnf other = of_schema(list.items[j], {ask.type, false, false});
      if (other.empty() || both(one, other, ask.type).empty()) continue;
      if (are_disjoint(list.items[i], list.items[j])) continue;
      one = both(one, of_schema(list.items[j], {ask.type, true, false}), ask.type);
    }
    result.insert(result.end(), one.begin(), one.end());
    check_size(result);
  }
  return result;
}

SchemaDnf SchemaNormalizer::conditional(const JsonValue& schema, Ask ask) {
  const JsonValue& condition = *schema.find("if");
  const JsonValue* const branches[] = {schema.find("then"), schema.find("else")};
  SchemaDnf result;
  for (const bool holds : {true, false}) {
    const JsonValue* const branch = branches[holds ? 0 : 1];
    if (branch == nullptr && ask.negated) continue;
    SchemaDnf some = of_schema(condition, {ask.type, !holds, ask.exact && holds});
    if (branch != nullptr) some = both(some, of_schema(*branch, ask), ask.type);
    result.insert(result.end(), some.begin(), some.end());
  }
  check_size(result);
  return result;
}

bool SchemaNormalizer::are_disjoint(const JsonValue& a, const JsonValue& b) {
  return is_plainly_empty(meet(only(a, false), only(b, false)), 0);
}

bool SchemaNormalizer::is_plainly_empty(const Conjunction& all, uint32_t depth) {
  constexpr uint32_t kDepth = 3;
  if (all.empty()) return false;
  if (all.front() == kNever) return true;
  for (const JsonType type : kJsonTypes) {
    for (const Shape& shape : dnf(all, type)) {
      bool empty = false;
      if (type == JsonType::Object && depth < kDepth) {
        for (const std::string& name : shape.object.required) {
          Conjunction value;
          for (const ObjectShape::Clause& clause : shape.object.clauses) {
            const auto found = clause.named.find(name);
            bool matched = found != clause.named.end();
            if (matched) value = meet(value, found->second);
            for (const auto& [texts, of_pattern] : clause.patterns) {
              if (texts->run(name) == 0) continue;
              matched = true;
              value = meet(value, of_pattern);
            }
            if (!matched && clause.additional) value = meet(value, *clause.additional);
          }
          empty = empty || is_plainly_empty(value, depth + 1);
        }
      }
      if (type == JsonType::Array && depth < kDepth) {
        const uint64_t known = std::min<uint64_t>(shape.array.minimum, shape.array.prefix.size());
        for (uint64_t i = 0; i < known; ++i) {
          empty = empty || is_plainly_empty(shape.array.prefix[i], depth + 1);
        }
      }
      if (type == JsonType::Number) empty = number_texts(shape.number, budget_).empty();
      if (!empty) return false;
    }
  }
  return true;
}

}  // namespace tenon::grammar
