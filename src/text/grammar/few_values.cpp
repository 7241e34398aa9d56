#include "text/grammar/few_values.h"

#include <algorithm>
#include <utility>

#include "text/grammar/number_texts.h"
#include "text/grammar/schema_compiler.h"

namespace tenon::grammar {

bool add_few_words(const Dfa& dfa, Budget& budget, std::vector<std::string>& words) {
  if (dfa.empty()) return true;
  struct Step {
    uint32_t state;
    size_t range;   ///< next range of the state
    uint32_t byte;  ///< next byte of the range
  };
  std::vector<Step> path;
  std::string word;
  const auto enter = [&](uint32_t state) {
    if (dfa.label[state] != 0) words.push_back(word);
    const auto ranges = dfa.of(state);
    path.push_back({state, 0, ranges.empty() ? 0u : ranges[0].low});
    budget.spend(1);
  };
  enter(dfa.start);
  while (!path.empty()) {
    // A longer path repeats a state, so the number of words is unbounded.
    if (words.size() > kMaxFewValues || word.size() >= dfa.size()) return false;
    Step& at = path.back();
    const auto ranges = dfa.of(at.state);
    if (at.range == ranges.size()) {
      path.pop_back();
      if (!word.empty()) word.pop_back();
      continue;
    }
    const ByteRange range = ranges[at.range];
    word.push_back(static_cast<char>(at.byte));
    if (at.byte < range.high) {
      ++at.byte;
    } else if (++at.range < ranges.size()) {
      at.byte = ranges[at.range].low;
    }
    enter(range.to);
  }
  return true;
}

namespace {

bool add_strings(const Alternative& alternative, Budget& budget,
                 std::vector<std::string>& strings) {
  if (alternative.texts) {
    return !alternative.counted && add_few_words(*alternative.texts, budget, strings);
  }
  if (alternative.shape.string.maximum > 0) return false;
  strings.emplace_back();
  return true;
}

/// Number and its spelling in the schema; "" for any spelling.
using SpelledNumber = std::pair<Decimal, std::string>;

bool add_numbers(const Alternative& alternative, std::vector<SpelledNumber>& numbers) {
  const NumberShape& shape = alternative.shape.number;
  if (alternative.texts->empty()) return true;
  if (!shape.lower || !shape.upper) return false;
  const Decimal &low = shape.lower->value, &high = shape.upper->value;
  if (low == high) {
    numbers.emplace_back(low, shape.spelled);
    return true;
  }
  constexpr size_t kMaxDigits = 9;
  if (!shape.integer || low.integer.size() > kMaxDigits || high.integer.size() > kMaxDigits)
    return false;
  const auto whole = [](const Decimal& of) {
    const int64_t value = of.integer.empty() ? 0 : std::stoll(of.integer);
    return of.negative ? -value : value;
  };
  // Division rounds towards zero; extend the interval by one on each side.
  const int64_t first = whole(low) - 1, last = whole(high) + 1;
  if (static_cast<uint64_t>(last - first) > kMaxFewValues + 2) return false;
  for (int64_t i = first; i <= last; ++i) {
    const std::string text = std::to_string(i);
    if (alternative.texts->run(text) != 0) numbers.emplace_back(*Decimal::parse(text), "");
  }
  return true;
}

}  // namespace

std::optional<FewValues> few_values(const SchemaNode& node, Budget& budget) {
  FewValues values;
  std::vector<SpelledNumber> numbers;
  bool may_be_null = false, may_be_true = false, may_be_false = false;
  for (const Alternative& alternative : node.alternatives) {
    switch (alternative.type) {
      case JsonType::Null:
        may_be_null = true;
        break;
      case JsonType::Boolean:
        may_be_true |= alternative.shape.may_be_true;
        may_be_false |= alternative.shape.may_be_false;
        break;
      case JsonType::Number:
        if (!add_numbers(alternative, numbers)) return std::nullopt;
        break;
      case JsonType::String:
        if (!add_strings(alternative, budget, values.strings)) return std::nullopt;
        break;
      case JsonType::Array:
      case JsonType::Object:
        return std::nullopt;
    }
  }
  std::sort(values.strings.begin(), values.strings.end());
  values.strings.erase(std::unique(values.strings.begin(), values.strings.end()),
                       values.strings.end());
  std::stable_sort(numbers.begin(), numbers.end(),
                   [](const auto& a, const auto& b) { return compare(a.first, b.first) < 0; });
  const auto is_same = [](const auto& a, const auto& b) { return a.first == b.first; };
  numbers.erase(std::unique(numbers.begin(), numbers.end(), is_same), numbers.end());
  if (values.strings.size() + numbers.size() + 3 > kMaxFewValues) return std::nullopt;
  const auto add_word = [&](const char* word) {
    const std::string text[] = {word};
    values.others.push_back({of_texts(text, true, budget)});
  };
  if (may_be_null) add_word("null");
  if (may_be_true) add_word("true");
  if (may_be_false) add_word("false");
  for (const auto& [number, spelled] : numbers) {
    NumberShape shape;
    shape.lower = shape.upper = NumberShape::Bound{number, false};
    Dfa texts = number_texts(shape, budget);
    if (spelled.empty()) {
      values.others.push_back({std::move(texts)});
    } else {
      values.others.push_back({of_texts({&spelled, 1}, true, budget), std::move(texts)});
    }
  }
  return values;
}

}  // namespace tenon::grammar
