// SchemaNormalizer: constants, and keywords of numbers and strings.
#include <algorithm>

#include "text/grammar/automaton.h"
#include "text/grammar/formats.h"
#include "text/grammar/lark.h"
#include "text/grammar/regex.h"
#include "text/grammar/schema_normalizer.h"
#include "text/grammar/subset_construction.h"

namespace tenon::grammar {
namespace {

constexpr size_t kMaxEnum = 20'000;
constexpr uint64_t kMaxCount = 1'000'000;

bool is_of(const JsonValue& value, JsonType type) {
  using Kind = JsonValue::Kind;
  switch (type) {
    case JsonType::Null:
      return value.kind == Kind::Null;
    case JsonType::Boolean:
      return value.is_bool();
    case JsonType::Number:
      return value.kind == Kind::Number;
    case JsonType::String:
      return value.kind == Kind::String;
    case JsonType::Array:
      return value.kind == Kind::Array;
    case JsonType::Object:
      return value.kind == Kind::Object;
  }
  return false;
}

}  // namespace

std::shared_ptr<const Dfa> SchemaNormalizer::pattern(const std::string& text) {
  auto& known = patterns_[text];
  if (!known) {
    known = kept_.dfa("p" + text, budget_, [&] { return regex_dfa(text, true, budget_); });
  }
  return known;
}

Decimal SchemaNormalizer::number(const JsonValue& value) {
  std::optional<Decimal> result;
  if (value.kind == JsonValue::Kind::Number) result = Decimal::parse(value.text);
  if (!result) {
    index_.set_place(value);
    budget_.refuse("no number, or one with an exponent beyond 400");
  }
  return *result;
}

uint64_t SchemaNormalizer::whole_number(const JsonValue& value) {
  const Decimal result = number(value);
  if (result.negative || !result.is_integer()) {
    index_.set_place(value);
    budget_.refuse("{} is no number of items or characters", value.text.substr(0, 40));
  }
  return result.integer.size() > 18 ? UINT64_MAX - 1
                                    : std::stoull(result.integer.empty() ? "0" : result.integer);
}

SchemaDnf SchemaNormalizer::strings_among(const std::vector<std::string>& texts, bool negated) {
  if (texts.empty()) return negated ? SchemaDnf{Shape{}} : SchemaDnf{};
  Dfa dfa = of_texts(texts, true, budget_);
  if (negated) dfa = without(any_text(budget_), dfa, budget_);
  Shape shape;
  shape.string.texts = std::make_shared<const Dfa>(std::move(dfa));
  return {shape};
}

SchemaDnf SchemaNormalizer::of_enum(const JsonValue& values, JsonType type, bool negated) {
  if (values.items.size() > kMaxEnum) {
    index_.set_place(values);
    budget_.refuse("an enum of {} values, more than {}", values.items.size(), kMaxEnum);
  }
  if (type == JsonType::String) {
    std::vector<std::string> texts;
    for (const JsonValue& item : values.items) {
      if (item.kind == JsonValue::Kind::String) texts.push_back(item.text);
    }
    return strings_among(texts, negated);
  }
  SchemaDnf result;
  if (negated) result.push_back({});
  for (const JsonValue& item : values.items) {
    const SchemaDnf one = of_constant(item, type, negated);
    if (negated) {
      result = both(result, one, type);
    } else {
      result.insert(result.end(), one.begin(), one.end());
      check_size(result);
    }
  }
  return result;
}

SchemaDnf SchemaNormalizer::of_constant(const JsonValue& value, JsonType type, bool negated) {
  if (!is_of(value, type)) return negated ? SchemaDnf{Shape{}} : SchemaDnf{};
  Shape shape;
  SchemaDnf result;
  switch (type) {
    case JsonType::Null:
      return negated ? SchemaDnf{} : SchemaDnf{shape};
    case JsonType::Boolean: {
      const bool wanted = (value.kind == JsonValue::Kind::True) != negated;
      shape.may_be_true = wanted;
      shape.may_be_false = !wanted;
      return {shape};
    }
    case JsonType::Number: {
      const Decimal exact = number(value);
      if (!negated) {
        shape.number.lower = shape.number.upper = NumberShape::Bound{exact, false};
        shape.number.spelled = value.text;
        return {shape};
      }
      Shape above;
      shape.number.upper = above.number.lower = NumberShape::Bound{exact, true};
      return {shape, above};
    }
    case JsonType::String:
      return strings_among({value.text}, negated);
    case JsonType::Array: {
      const uint64_t size = value.items.size();
      if (!negated) {
        for (const JsonValue& item : value.items) {
          shape.array.prefix.push_back(only(item, false, true));
        }
        shape.array.minimum = shape.array.maximum = size;
        return {shape};
      }
      if (size > 0) {
        Shape shorter;
        shorter.array.maximum = size - 1;
        result.push_back(shorter);
      }
      Shape longer;
      longer.array.minimum = size + 1;
      result.push_back(longer);
      for (uint64_t i = 0; i < size; ++i) {
        Shape other;
        other.array.minimum = i + 1;
        other.array.prefix.assign(i + 1, {});
        other.array.prefix[i] = only(value.items[i], true, true);
        result.push_back(other);
      }
      return result;
    }
    case JsonType::Object: {
      if (!negated) {
        ObjectShape::Clause clause;
        clause.additional = Conjunction{kNever};
        clause.evaluates = false;
        for (const auto& [name, member] : value.members) {
          clause.named[name] = only(member, false, true);
          shape.object.required.insert(name);
          shape.object.order.push_back(name);
        }
        shape.object.clauses.push_back(std::move(clause));
        shape.object.minimum = shape.object.maximum = value.members.size();
        return {shape};
      }
      Shape longer;
      longer.object.minimum = value.members.size() + 1;
      result.push_back(longer);
      for (const auto& [name, member] : value.members) {
        Shape other;
        ObjectShape::Clause clause;
        clause.named[name] = only(member, true, true);  // another value, or absent
        clause.evaluates = false;
        other.object.clauses.push_back(std::move(clause));
        result.push_back(other);
      }
      return result;
    }
  }
  return result;
}

SchemaDnf SchemaNormalizer::of_numbers(const std::string& key, const JsonValue& value,
                                       bool negated) {
  Shape shape;
  const Decimal limit = number(value);
  if (key == "multipleOf") {
    if (limit.negative || limit.is_zero()) {
      index_.set_place(value);
      budget_.refuse("multipleOf is {}, not above 0", value.text.substr(0, 40));
    }
    (negated ? shape.number.not_multiples : shape.number.multiples).push_back(limit);
    return {shape};
  }
  const bool exclusive = key.starts_with("exclusive");
  const bool lower = key == "minimum" || key == "exclusiveMinimum";
  // The negation of "above a limit" is "at most the limit".
  ((lower != negated) ? shape.number.lower : shape.number.upper) =
      NumberShape::Bound{limit, exclusive != negated};
  return {shape};
}

SchemaDnf SchemaNormalizer::of_strings(const std::string& key, const JsonValue& value,
                                       bool negated) {
  if (value.kind != JsonValue::Kind::String) {
    index_.set_place(value);
    budget_.refuse("{} is a string", key);
  }
  std::shared_ptr<const Dfa> texts;
  if (key == "pattern") {
    index_.set_place(value);
    texts = pattern(value.text);
  } else {
    const FormatKind kind = find_format(value.text);
    if (kind == FormatKind::Unknown) return negated ? SchemaDnf{} : SchemaDnf{Shape{}};
    index_.set_place(value);
    if (kind == FormatKind::Unsupported) {
      budget_.refuse("the format \"{}\" is not supported", value.text);
    }
    auto& known = patterns_["format " + value.text];
    if (!known) {
      known = kept_.dfa("f" + value.text, budget_,
                        [&] { return regex_dfa(format_pattern(value.text), false, budget_); });
    }
    texts = known;
  }
  return strings_of(std::move(texts), negated);
}

SchemaDnf SchemaNormalizer::strings_of(std::shared_ptr<const Dfa> texts, bool negated) {
  if (negated) {
    texts = std::make_shared<const Dfa>(without(any_text(budget_), *texts, budget_));
  }
  if (texts->empty()) return {};
  Shape shape;
  shape.string.texts = std::move(texts);
  return {shape};
}

SchemaDnf SchemaNormalizer::of_lark(const JsonValue& value, bool negated) {
  index_.set_place(value);
  if (value.kind != JsonValue::Kind::String) budget_.refuse("x-lark is a string");
  Nfa nfa(budget_);
  bool is_regular = false;
  try {
    is_regular = read_lark(value.text, nfa);
    // Refuses left recursion and rules without an end while the place is known.
    if (!is_regular) (void)Automaton(nfa);
  } catch (Refusal& refusal) {
    // The place is one in the grammar's text.
    constexpr size_t kBeforePlace = std::string_view("grammar: ").size();
    refusal.reason = refusal.what() + kBeforePlace;
    refusal.place = &value;
    throw;
  }
  index_.set_place(value);
  if (is_regular) {
    const NfaRule& rule = nfa.rules()[0];
    return strings_of(std::make_shared<const Dfa>(
                          minimise(make_deterministic(nfa, rule.start, rule.final).dfa, budget_)),
                      negated);
  }
  if (negated)
    budget_.refuse("the negation of x-lark with rules that recur or are large is not supported");
  Shape shape;
  shape.string.lark = &value.text;
  return {shape};
}

SchemaDnf SchemaNormalizer::of_counts(const std::string& key, const JsonValue& value, JsonType type,
                                      bool negated) {
  const uint64_t count = whole_number(value);
  const bool lower = key.starts_with("min");
  if (lower && count > kMaxCount) {
    index_.set_place(value);
    budget_.refuse("{} is {}, more than {}", key, value.text.substr(0, 40), kMaxCount);
  }
  Shape shape;
  uint64_t minimum = 0, maximum = UINT64_MAX;
  if (!negated) {
    (lower ? minimum : maximum) = count;
  } else if (lower) {
    if (count == 0) return {};
    maximum = count - 1;
  } else {
    if (count > kMaxCount) {
      index_.set_place(value);
      budget_.refuse("the negation of {} {} is not supported", key, value.text.substr(0, 40));
    }
    minimum = count + 1;
  }
  if (type == JsonType::String) shape.string.minimum = minimum, shape.string.maximum = maximum;
  if (type == JsonType::Array) shape.array.minimum = minimum, shape.array.maximum = maximum;
  if (type == JsonType::Object) shape.object.minimum = minimum, shape.object.maximum = maximum;
  return {shape};
}

}  // namespace tenon::grammar
