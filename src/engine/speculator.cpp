#include "engine/speculator.h"

#include <algorithm>

#include "engine/model_drafter.h"

namespace tenon {

Speculator::Speculator(Speculation mode, uint64_t vocab, uint32_t most)
    : mode_(mode), vocab_(vocab), most_(std::min(most, kMost)) {}

Speculator::~Speculator() = default;

void Speculator::add(std::shared_ptr<Drafter> drafter) {
  if (drafter != nullptr) drafters_.push_back(std::move(drafter));
}

Speculator::Truth& Speculator::truth_of(DraftSource source, float claim) {
  const size_t size = claim < 0.4F    ? 0
                      : claim < 0.6F  ? 1
                      : claim < 0.8F  ? 2
                      : claim < 0.93F ? 3
                                      : 4;
  return truths_[static_cast<size_t>(source)][size];
}

float Speculator::corrected(DraftSource source, float claim) {
  // A first claim counts little, so that a useless drafter costs a few rows; being right costs
  // nothing, since guesses are checked without being computed. A predicted answer is trusted, and
  // so is a grammar, whose tokens a banned text may forbid.
  const bool is_trusted = source == DraftSource::Prediction || source == DraftSource::Grammar;
  float trust = is_trusted ? 1.0F : 0.1F;
  // Other texts have tried it before.
  if (draft != nullptr && source == draft->source()) trust = draft->trust();
  const Truth& truth = truth_of(source, claim);
  return (truth.hits + trust * claim) / (truth.tries + 1);
}

/// Compares the latest guesses with the tokens that came, computed or not: a drafter whose guesses
/// are not used is still seen to be right.
void Speculator::check_latest(std::span<const Token> text) {
  size_t right = 0;
  Drafter* first = num_guesses_ > 0 ? drafters_of_[0] : nullptr;
  for (uint32_t i = 0; i < num_guesses_ && text_size_ + i < text.size(); ++i) {
    const bool is_right = text[text_size_ + i] == tokens_[i];
    if (draft != nullptr && sources_[i] == draft->source()) draft->note(claims_[i], is_right);
    Truth& truth = truth_of(sources_[i], claims_[i]);
    truth.tries += 1;
    truth.hits += is_right ? 1 : 0;
    if (truth.tries > kMemory) {
      truth.tries /= 2;
      truth.hits /= 2;
    }
    if (!is_right) break;
    ++right;
  }
  if (first != nullptr) first->accepted(right);
}

void Speculator::append(DraftSource source, std::span<const Token> tokens,
                        std::span<const float> claims) {
  for (size_t i = 0; i < tokens.size() && num_guesses_ < kMost; ++i) {
    if (tokens[i] < 0 || static_cast<uint64_t>(tokens[i]) >= vocab_) return;
    // NaN becomes 0.
    const float claim = claims[i] > 0 ? std::min(claims[i], 1.0F) : 0;
    const float before = num_guesses_ == 0 ? 1 : values_[num_guesses_ - 1];
    tokens_[num_guesses_] = tokens[i];
    claims_[num_guesses_] = claim;
    sources_[num_guesses_] = source;
    values_[num_guesses_++] = before * corrected(source, claim);
  }
}

void Speculator::propose(std::span<const Token> text, std::span<const Token> forced,
                         uint64_t room) {
  check_latest(text);
  num_guesses_ = 0;
  text_size_ = text.size();
  drafters_of_.fill(nullptr);
  const size_t most = std::min<uint64_t>(room, most_);
  if (most == 0) return;
  std::array<Token, kMost> tokens{};
  std::array<float, kMost> claims{};
  const size_t num_forced = std::min(forced.size(), most);
  std::reverse_copy(forced.end() - static_cast<ptrdiff_t>(num_forced), forced.end(),
                    tokens.begin());
  claims.fill(1);
  append(DraftSource::Grammar, std::span(tokens).first(num_forced), claims);
  if (num_forced > 0) return;
  for (const auto& drafter : drafters_) {
    const size_t count = std::min(
        drafter->propose(text, std::span(tokens).first(most), std::span(claims).first(most)), most);
    if (count == 0) continue;
    const float value = corrected(drafter->source(), claims[0] > 0 ? std::min(claims[0], 1.0F) : 0);
    if (num_guesses_ > 0 && !(value > values_[0])) continue;
    num_guesses_ = 0;
    append(drafter->source(), std::span(tokens).first(count), claims);
    std::fill_n(drafters_of_.begin(), num_guesses_, drafter.get());
    if (num_guesses_ > 0 && values_[0] >= kGood) return;
  }
}

void Speculator::adopt(uint64_t size, std::span<const Token> tokens,
                       std::span<const float> claims) {
  num_guesses_ = 0;
  text_size_ = size;
  drafters_of_.fill(nullptr);
  append(draft->source(), tokens.first(std::min<size_t>(tokens.size(), most_)), claims);
}

float Speculator::chance_of_draft_with(float claim) { return corrected(draft->source(), claim); }

float Speculator::chance_of_draft(float before) const {
  constexpr float kWeight = 4;
  float tries = kWeight;
  float hits = kWeight * before;
  for (const Truth& truth : truths_[static_cast<size_t>(draft->source())]) {
    tries += truth.tries;
    hits += truth.hits;
  }
  return hits / tries;
}

bool Speculator::gives_way(float chance) const {
  if (num_guesses_ == 0) return true;
  if (sources_[0] == DraftSource::Grammar || sources_[0] == DraftSource::Prediction) return false;
  return mode_ == Speculation::Forced || values_[0] < chance / 2;
}

}  // namespace tenon
