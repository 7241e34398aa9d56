#include "text/grammar/matcher.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

using namespace grammar;

namespace {

// Longest stretch without a choice that is searched for at once.
constexpr size_t kMaxForced = 4096;
constexpr size_t kPieceBytes = 4096;
// Bytes of the machine collected per unit of work.
constexpr size_t kCollectedBytes = 32;

}  // namespace

GrammarMatcher::GrammarMatcher(std::shared_ptr<const TokenMasks> masks)
    : masks_(std::move(masks)), machine_(masks_->automaton()), config_(machine_.start()) {
  past_.reserve(kHistory);
  mask_.resize((tokens().size() + 63) / 64);
}

void GrammarMatcher::copy(const GrammarMatcher& other) {
  machine_ = other.machine_;
  config_ = other.config_;
  ended_ = other.ended_;
  tokens_left_ = other.tokens_left_;
  past_ = other.past_;
  forced_ = other.forced_;
}

void GrammarMatcher::restart() {
  config_ = machine_.start();
  ended_ = false;
  tokens_left_ = kUnlimitedTokens;
  past_.clear();
  forced_.clear();
}

Config GrammarMatcher::after(std::string_view text) {
  Config at = config_;
  machine_.spend(text.size());
  for (const char c : text) {
    at = machine_.step(at, static_cast<uint8_t>(c));
    if (at == kNowhere) break;
  }
  return at;
}

bool GrammarMatcher::allows(Token token) {
  if (token < 0 || static_cast<size_t>(token) >= tokens().size() || ended_) return false;
  begin_question();
  if (tokens().is_end(token)) return is_complete();
  const std::string_view text = tokens().text(token);
  if (text.empty()) return false;
  const Config next = after(text);
  if (next == kNowhere) return false;
  if (tokens_left_ == kUnlimitedTokens) return true;
  if (!is_short_of_tokens()) return machine_.distance(next) < tokens_left_;
  if (step_from_ != config_) {
    longest_step_ = masks_->add_longest_steps(machine_, config_, {});
    step_from_ = config_;
  }
  return text.size() == longest_step_ && gets_nearer(text);
}

bool GrammarMatcher::gets_nearer(std::string_view text) {
  Config at = config_;
  for (const char c : text) {
    const Config next = machine_.step(at, static_cast<uint8_t>(c));
    if (machine_.distance(next) >= machine_.distance(at)) return false;
    at = next;
  }
  return true;
}

void GrammarMatcher::accept(Token token) {
  begin_question();
  const bool known = token >= 0 && static_cast<size_t>(token) < tokens().size();
  const bool end = known && tokens().is_end(token);
  const Config next = !known || ended_ || end || tokens().text(token).empty()
                          ? kNowhere
                          : after(tokens().text(token));
  if ((end && !is_complete()) || (!end && next == kNowhere)) {
    fail(Code::State, "grammar: token {} cannot follow", token);
  }
  if (!forced_.empty() && forced_.back() == token)
    forced_.pop_back();
  else
    forced_.clear();
  take(next, end);
}

bool GrammarMatcher::accept_text(std::string_view text) {
  forced_.clear();
  Config next = ended_ ? kNowhere : config_;
  // Check a long text piece by piece, each with its own budget.
  for (size_t i = 0; i < text.size() && next != kNowhere; ++i) {
    if (i % kPieceBytes == 0) begin_question();
    make_room({&next, 1});
    next = machine_.step(next, static_cast<uint8_t>(text[i]));
  }
  if (next == kNowhere) return false;
  take(next, false);
  return true;
}

void GrammarMatcher::take(Config next, bool end) {
  looked_at_ = kNowhere;
  if (past_.size() == kHistory) past_.erase(past_.begin());
  past_.push_back({config_, ended_, tokens_left_});
  if (end) {
    ended_ = true;
  } else {
    config_ = next;
  }
  if (tokens_left_ != kUnlimitedTokens && tokens_left_ > 0) --tokens_left_;
}

void GrammarMatcher::make_room(std::span<Config> also) {
  if (machine_.used_bytes() <= collect_at_) return;
  most_bytes_ = most_bytes();
  const size_t before = machine_.used_bytes();
  std::vector<Config> keep{config_};
  for (const Past& past : past_) keep.push_back(past.config);
  keep.insert(keep.end(), also.begin(), also.end());
  machine_.collect(keep);
  config_ = keep[0];
  for (size_t i = 0; i < past_.size(); ++i) past_[i].config = keep[i + 1];
  std::copy_n(keep.end() - static_cast<std::ptrdiff_t>(also.size()), also.size(), also.begin());
  looked_at_ = step_from_ = kNowhere;
  // Half of the remaining memory, so that a text that keeps much memory alive is not collected at
  // each token.
  collect_at_ = std::max(kMachineBytes, (machine_.used_bytes() + PushdownMachine::kMaxBytes) / 2);
  // Spend last: it may throw, and all numbers are new by now.
  machine_.spend(before / kCollectedBytes);
}

void GrammarMatcher::roll_back(size_t count) {
  if (count == 0) return;
  if (count > past_.size()) {
    fail(Code::Argument, "grammar: cannot take back {} tokens, {} are remembered", count,
         past_.size());
  }
  const Past& past = past_[past_.size() - count];
  config_ = past.config;
  ended_ = past.ended;
  tokens_left_ = past.tokens_left;
  past_.resize(past_.size() - count);
  forced_.clear();
  looked_at_ = kNowhere;
}

std::span<const uint64_t> GrammarMatcher::mask(bool exact) {
  begin_question();
  std::fill(mask_.begin(), mask_.end(), 0);
  const auto room = [this](std::span<Config> also) { make_room(also); };
  const auto set = [this](Token token) {
    mask_[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
  };
  if (ended_) {
    for (const Token token : tokens().end_tokens()) set(token);
    return mask_;
  }
  if (!exact || tokens_left_ == kUnlimitedTokens) {
    masks_->add_allowed(machine_, config_, kFar, mask_, room);
  } else if (is_short_of_tokens()) {
    (void)masks_->add_longest_steps(machine_, config_, mask_);
  } else if (tokens_left_ > 0) {
    const uint64_t reach = std::min<uint64_t>(tokens_left_ - 1, kFar);
    masks_->add_allowed(machine_, config_, static_cast<uint32_t>(reach), mask_, room);
  }
  if (is_complete()) {
    for (const Token token : tokens().end_tokens()) set(token);
  }
  return mask_;
}

std::optional<Token> GrammarMatcher::forced_token() {
  // Drawing is as quick for a stretch of fewer bytes.
  constexpr size_t kLeast = 3;
  begin_question();
  if (forced_.empty() && looked_at_ != config_) {
    Config stretch_end = config_;
    const std::string text = forced_text(stretch_end);
    if (text.size() >= kLeast) {
      forced_ = is_closed(stretch_end) ? tokens().spell(text) : tokens().spell_beginning(text);
    }
    std::reverse(forced_.begin(), forced_.end());
    // Set only now, so that an aborted search runs again.
    looked_at_ = config_;
  }
  if (forced_.empty()) return std::nullopt;
  if (allows(forced_.back())) return forced_.back();
  forced_.clear();
  return std::nullopt;
}

std::string GrammarMatcher::forced_text() {
  begin_question();
  Config at = config_;
  return forced_text(at);
}

std::string GrammarMatcher::forced_text(Config& at) {
  std::string text;
  const Automaton& automaton = machine_.automaton();
  while (!ended_ && text.size() < kMaxForced && !machine_.accepts(at)) {
    Config only = kNowhere;
    uint32_t byte_class = 0, ways = 0;
    machine_.spend(automaton.num_classes());
    for (uint32_t c = 0; c < automaton.num_classes() && ways < 2; ++c) {
      const Config next = machine_.step_class(at, c);
      if (next == kNowhere) continue;
      ways += automaton.class_size(c);
      only = next;
      byte_class = c;
    }
    if (ways != 1) break;
    text += static_cast<char>(automaton.byte_of(byte_class));
    at = only;
  }
  return text;
}

}  // namespace tenon
