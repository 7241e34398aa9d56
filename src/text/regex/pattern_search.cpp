#include "text/regex/pattern_search.h"

#include <algorithm>
#include <bit>

#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

// Steps of backtracking allowed per byte. Published patterns take fewer than ten.
constexpr int64_t kStepsPerByte = 64;
constexpr int64_t kStepsAtStart = 4096;

}  // namespace

void PatternSearch::begin(std::string_view text) {
  text_ = text;
  at_ = 0;
  last_end_ = kNone;
  has_table_ = false;
  steps_left_ = kStepsAtStart + kStepsPerByte * static_cast<int64_t>(text.size());
  work_ = steps_left_;
  if (table_always_ || pattern_->loops_on_nothing_) fill_table(0);
}

uint32_t PatternSearch::after(uint32_t at) const {
  ++at;
  while (at < text_.size() && utf8_continues(text_[at])) ++at;
  return at;
}

uint32_t PatternSearch::before(uint32_t at) const {
  --at;
  while (at > 0 && utf8_continues(text_[at])) --at;
  return at;
}

bool PatternSearch::next(PatternMatch& match) {
  const auto size = static_cast<uint32_t>(text_.size());
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text_.data());
  const uint8_t* const begins = pattern_->begins_.data();
  while (at_ <= size) {
    uint32_t begin = at_;
    while (begin < size && begins[bytes[begin]] == 0) ++begin;
    if (begin == size && !pattern_->may_be_empty()) return false;
    const uint32_t end = match_at(begin);
    const bool found = end != kNone && (end > begin || begin != last_end_);
    at_ = found && end > begin ? end : after(begin);
    if (!found) continue;
    last_end_ = end;
    match = {begin, end};
    return true;
  }
  return false;
}

uint32_t PatternSearch::match_at(uint32_t at) {
  if (steps_left_ < 0 && !has_table_) fill_table(at);
  if (has_table_) return ends_[at - table_from_];
  if (!pattern_->dfa_.empty()) {
    uint32_t stop = at;
    const uint32_t end = pattern_->dfa_.match(text_, at, stop);
    steps_left_ -= stop - at;
    if (end != PatternDfa::kUnknown) return end;
  }
  uint64_t branches = pattern_->empty_starts_;
  if (at < text_.size()) {
    const auto byte = static_cast<uint8_t>(text_[at]);
    branches = byte < 128 ? pattern_->ascii_starts_[byte] : pattern_->wide_starts_;
  }
  for (; branches != 0; branches &= branches - 1) {
    const auto branch = static_cast<size_t>(std::countr_zero(branches));
    const uint32_t end = match_branch(pattern_->branches_[branch], at);
    if (steps_left_ < 0) {  // out of steps: the result is void
      fill_table(at);
      return ends_[0];
    }
    if (end != kNone) return end;
  }
  return kNone;
}

uint32_t PatternSearch::match_branch(uint32_t number, uint32_t at) {
  const PatternStep* const steps = pattern_->quick_.data();
  const size_t base = choices_.size();
  while (true) {
    const PatternStep& step = steps[number];
    if (step.certain && choices_.size() > base) choices_.resize(base);
    bool on = true;
    --steps_left_;
    switch (step.op) {
      case PatternStep::Char: {
        on = false;
        if (at < text_.size()) {
          const CodePoint c = utf8_decode_valid(text_.data() + at);
          on = pattern_->sets_[step.set].contains(c.code);
          at += c.size;
        }
        ++number;
        break;
      }
      case PatternStep::Run:
        on = run_step(step, number, at);
        ++number;
        break;
      case PatternStep::Split:
        choices_.push_back({step.b, at, at});
        number = step.a;
        break;
      case PatternStep::Jump:
        number = step.a;
        break;
      case PatternStep::Look:
        on = look(step, number, at) != step.negated;
        number = step.a;
        break;
      case PatternStep::Assert:
        on = holds(step.place, at);
        ++number;
        break;
      case PatternStep::Match:
        choices_.resize(base);
        return at;
      default:
        on = false;
    }
    if (on) continue;
    if (choices_.size() == base || steps_left_ < 0) {
      choices_.resize(base);
      return kNone;
    }
    Choice& choice = choices_.back();
    number = choice.step;
    at = choice.at;
    if (choice.at > choice.lowest) {
      choice.at = before(choice.at);
    } else {
      choices_.pop_back();
    }
  }
}

bool PatternSearch::run_step(const PatternStep& step, uint32_t number, uint32_t& at) {
  const CharSet& set = pattern_->sets_[step.set];
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text_.data());
  const auto size = static_cast<uint32_t>(text_.size());
  uint32_t count = 0;
  uint32_t end = at;
  uint32_t lowest = at;
  while (end < size && count < step.maximum) {
    const uint8_t byte = bytes[end];
    if (byte < 128) {
      if (!set.contains_ascii(byte)) break;
      ++end;
    } else {
      const CodePoint c = utf8_decode_valid(text_.data() + end);
      if (!set.contains_wide(c.code)) break;
      end += c.size;
    }
    if (++count == step.minimum) lowest = end;
  }
  steps_left_ -= count;
  if (count < step.minimum) return false;
  if (!step.keeps_all && end > lowest) {
    choices_.push_back({number + 1, before(end), lowest});
  }
  at = end;
  return true;
}

bool PatternSearch::look(const PatternStep& step, uint32_t number, uint32_t at) {
  if (step.behind) {
    for (uint32_t i = 0; i < step.minimum; ++i) {
      if (at == 0) return false;
      at = before(at);
    }
  }
  return match_branch(number + 1, at) != kNone;
}

bool PatternSearch::is_word(uint32_t at) const {
  return pattern_->words_.contains(utf8_decode_valid(text_.data() + at).code);
}

bool PatternSearch::holds(PatternNode::Place place, uint32_t at) const {
  const auto size = static_cast<uint32_t>(text_.size());
  switch (place) {
    case PatternNode::LineBegin:
      return at == 0 || (text_[at - 1] == '\n' && at < size);
    case PatternNode::LineEnd:
      return at == size || text_[at] == '\n';
    case PatternNode::TextBegin:
      return at == 0;
    case PatternNode::TextEnd:
      return at == size;
    case PatternNode::LastLineEnd:
      return at == size || (at + 1 == size && text_[at] == '\n');
    case PatternNode::WordEdge:
    case PatternNode::NoWordEdge: {
      const bool left = at > 0 && is_word(before(at));
      const bool right = at < size && is_word(at);
      return (left != right) == (place == PatternNode::WordEdge);
    }
  }
  return false;
}

void PatternSearch::fill_table(uint32_t from) {
  const auto size = static_cast<uint32_t>(text_.size());
  has_table_ = true;
  table_from_ = from;
  ends_.assign(size - from + 1, kNone);
  for (auto& cells : rows_) cells.assign(pattern_->table_.size(), kNone);
  uint32_t at = size;
  uint32_t char_size = 0;
  while (true) {
    std::vector<uint32_t>& cells = row(at);
    std::fill(cells.begin(), cells.end(), kNone);
    for (const uint32_t number : pattern_->table_order_) {
      cells[number] = table_value(pattern_->table_[number], number, at, char_size);
    }
    ends_[at - from] = cells[0];
    if (at == from) return;
    const uint32_t previous = before(at);
    char_size = at - previous;
    at = previous;
  }
}

uint32_t PatternSearch::table_value(const PatternStep& step, uint32_t number, uint32_t at,
                                    uint32_t char_size) {
  const auto in_set = [&] {
    return char_size > 0 &&
           pattern_->sets_[step.set].contains(utf8_decode_valid(text_.data() + at).code);
  };
  const std::vector<uint32_t>& here = row(at);
  switch (step.op) {
    case PatternStep::Char:
      return in_set() ? row(at + char_size)[number + 1] : kNone;
    case PatternStep::Possess:
      return in_set() ? row(at + char_size)[step.a] : here[step.b];
    case PatternStep::Split:
      return here[step.a] != kNone ? here[step.a] : here[step.b];
    case PatternStep::Jump:
      return here[step.a];
    case PatternStep::Look: {
      steps_left_ = INT64_MAX;  // a look behind is short and ends
      const bool matches = step.behind ? look(step, step.b, at) : here[number + 1] != kNone;
      return matches != step.negated ? here[step.a] : kNone;
    }
    case PatternStep::Assert:
      return holds(step.place, at) ? here[number + 1] : kNone;
    case PatternStep::Match:
      return at;
    default:
      return kNone;
  }
}

}  // namespace tenon
