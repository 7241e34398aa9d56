// The drafters of one text: collects their guesses and corrects what they claim by what their
// claims were worth lately.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/drafter.h"

namespace tenon {

class DraftText;
class EndedAnswers;

/// Belongs to a session or a generation; its state never leaves the text. One thread at a time.
class Speculator {
 public:
  ///   vocab  tokens are 0..vocab - 1
  ///   most   most guesses at once
  Speculator(Speculation mode, uint64_t vocab, uint32_t most = Drafter::kMostGuesses);
  ~Speculator();

  /// Adds a drafter, unless null. They are asked in this order, until one is likely to be right;
  /// the likeliest one guesses.
  void add(std::shared_ptr<Drafter> drafter);
  [[nodiscard]] Speculation mode() const { return mode_; }
  [[nodiscard]] uint32_t most() const { return most_; }

  /// Guesses the tokens after `text`, in place of earlier guesses.
  ///   forced  tokens that a grammar leaves no choice about, the next one last
  ///   room    most guesses
  void propose(std::span<const Token> text, std::span<const Token> forced, uint64_t room);
  void forget() noexcept { num_guesses_ = 0; }
  /// Replaces the guesses by those of `draft`, for a text of `size` tokens.
  void adopt(uint64_t size, std::span<const Token> tokens, std::span<const float> claims);
  /// Chance of a guess of `draft` to be right, if those before it are.
  ///   before  that of other texts
  [[nodiscard]] float chance_of_draft(float before) const;
  /// The same for a guess with a claim.
  [[nodiscard]] float chance_of_draft_with(float claim);
  /// True if guesses of `draft`, of that chance, may take the place of those there are.
  [[nodiscard]] bool gives_way(float chance) const;
  /// The guesses, if they continue a text of `size` tokens.
  [[nodiscard]] std::span<const Token> guesses(uint64_t size) const {
    return std::span(tokens_).first(size == text_size_ ? num_guesses_ : 0);
  }
  /// Chance of each guess to become a token of the text, descending.
  [[nodiscard]] std::span<const float> values() const {
    return std::span(values_).first(num_guesses_);
  }
  [[nodiscard]] std::span<const DraftSource> sources() const {
    return std::span(sources_).first(num_guesses_);
  }
  std::unique_ptr<DraftText> draft;  ///< the text as a ModelDrafter reads it; may be null
  /// Gets the answer at its end, if it is a request's; may be null.
  std::shared_ptr<EndedAnswers> answers;
  std::string salt;                        ///< for `answers`
  std::vector<Token> answer;               ///< for `answers`
  std::unique_ptr<Speculator> next_spent;  ///< link of the engine's list

 private:
  static constexpr uint32_t kMost = Drafter::kMostGuesses;
  static constexpr size_t kClaims = 5;
  /// Guesses remembered per drafter and size of claim.
  static constexpr float kMemory = 32;
  /// Chance of a first guess beyond which no other drafter is asked.
  static constexpr float kGood = 0.7F;

  struct Truth {
    float tries = 0;
    float hits = 0;
  };
  [[nodiscard]] Truth& truth_of(DraftSource source, float claim);
  [[nodiscard]] float corrected(DraftSource source, float claim);
  void check_latest(std::span<const Token> text);
  void append(DraftSource source, std::span<const Token> tokens, std::span<const float> claims);

  Speculation mode_;
  uint64_t vocab_;
  uint32_t most_;
  std::vector<std::shared_ptr<Drafter>> drafters_;
  uint64_t text_size_ = 0;  // tokens before the guesses
  uint32_t num_guesses_ = 0;
  std::array<Token, kMost> tokens_{};
  std::array<float, kMost> claims_{};
  std::array<float, kMost> values_{};
  std::array<DraftSource, kMost> sources_{};
  std::array<Drafter*, kMost> drafters_of_{};  // null for a grammar
  std::array<std::array<Truth, kClaims>, kDraftSources> truths_{};
};

}  // namespace tenon
