// Ended answers as a source of guesses: what one conversation said is often said again in the next.
// Only texts of sessions with an equal salt share answers.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text_drafter.h"

namespace tenon {

/// Keeps the latest answers within a budget. Any thread.
class EndedAnswers {
 public:
  /// Shorter and longer answers are not kept.
  static constexpr size_t kLeastTokens = 16;
  static constexpr size_t kMostTokens = size_t{1} << 17;
  /// Answers of a salt in which a text looks for itself, the latest ones.
  static constexpr size_t kMostLooked = 16;

  explicit EndedAnswers(uint64_t most_bytes) : most_bytes_(most_bytes) {}
  /// Adds an answer as the latest one; the oldest ones make room. Throws std::bad_alloc.
  void add(std::string_view salt, std::span<const Token> tokens);
  /// The latest answers of a salt, the latest first. Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::weak_ptr<const Prediction>> of(std::string_view salt) const;
  /// Memory of all answers, at most the budget.
  [[nodiscard]] uint64_t bytes() const;

 private:
  struct Answer {
    std::string salt;
    std::shared_ptr<const Prediction> text;
    uint64_t bytes;
  };

  uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<Answer> answers_;  // the latest first
  uint64_t bytes_ = 0;
};

/// Repetitions of ended answers. Those that make room for others meanwhile are not looked at.
class AnswersDrafter final : public Drafter {
 public:
  explicit AnswersDrafter(std::vector<std::weak_ptr<const Prediction>> answers)
      : answers_(std::move(answers)) {}
  size_t propose(std::span<const Token> text, std::span<Token> tokens,
                 std::span<float> probabilities) override;
  [[nodiscard]] DraftSource source() const override { return DraftSource::Answers; }

 private:
  std::vector<std::weak_ptr<const Prediction>> answers_;
};

}  // namespace tenon
