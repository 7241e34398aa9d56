#include "engine/ended_answers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tenon {

void EndedAnswers::add(std::string_view salt, std::span<const Token> tokens) {
  if (tokens.size() < kLeastTokens || tokens.size() > kMostTokens) return;
  const uint64_t bytes = Prediction::bytes_of(tokens.size()) + sizeof(Answer) + salt.size();
  if (bytes > most_bytes_) return;
  std::list<Answer> made;
  made.push_back({std::string(salt), std::make_shared<const Prediction>(tokens), bytes});
  std::list<Answer> gone;  // freed without the lock
  const std::scoped_lock lock(mutex_);
  const auto same = std::ranges::find_if(answers_, [&](const Answer& one) {
    return one.salt == salt && std::ranges::equal(one.text->tokens(), tokens);
  });
  if (same != answers_.end()) {
    answers_.splice(answers_.begin(), answers_, same);
    return;
  }
  while (bytes_ + bytes > most_bytes_) {
    bytes_ -= answers_.back().bytes;
    gone.splice(gone.begin(), answers_, std::prev(answers_.end()));
  }
  bytes_ += bytes;
  answers_.splice(answers_.begin(), made);
}

std::vector<std::weak_ptr<const Prediction>> EndedAnswers::of(std::string_view salt) const {
  std::vector<std::weak_ptr<const Prediction>> found;
  const std::scoped_lock lock(mutex_);
  for (const Answer& one : answers_) {
    if (one.salt != salt) continue;
    found.push_back(one.text);
    if (found.size() == kMostLooked) break;
  }
  return found;
}

uint64_t EndedAnswers::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

size_t AnswersDrafter::propose(std::span<const Token> text, std::span<Token> tokens,
                               std::span<float> probabilities) {
  std::shared_ptr<const Prediction> best;
  PairIndex::Match longest;
  for (const auto& answer : answers_) {
    std::shared_ptr<const Prediction> one = answer.lock();
    if (one == nullptr) continue;
    const PairIndex::Match match = one->find(text);
    if (match.length <= longest.length) continue;
    longest = match;
    best = std::move(one);
  }
  return best == nullptr ? 0 : copy_match(best->tokens(), longest, tokens, probabilities);
}

}  // namespace tenon
