// Drafters guess the next tokens of a text. A guess is a token with a claim: the engine computes its
// row beside the token before, draws as ever, and keeps the row if the draw is the guess
// (docs/inside/speculation.md). So a guess changes speed, never an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// When guesses are computed.
enum class Speculation : uint8_t {
  Auto,   ///< while they pay by measured times
  Off,    ///< never
  Forced  ///< all that drafters propose, for tests and measurements
};

/// Speculation of one text.
enum class Guessing : uint8_t { Engine, Auto, Off, Forced };
/// Empty for that of the engine.
inline std::optional<Speculation> speculation_of(Guessing guessing) {
  if (guessing == Guessing::Engine) return std::nullopt;
  return guessing == Guessing::Auto  ? Speculation::Auto
         : guessing == Guessing::Off ? Speculation::Off
                                     : Speculation::Forced;
}

/// Source of guesses, as counters name it.
enum class DraftSource : uint8_t { None, Grammar, Text, Prediction, Other, Model, Answers, Block };
inline constexpr size_t kDraftSources = 8;

/// Guesses the continuation of one text. One thread at a time.
class Drafter {
 public:
  /// Longest proposal, in tokens.
  static constexpr uint32_t kMostGuesses = 16;

  virtual ~Drafter() = default;
  /// Writes up to room() guesses for the tokens after `text`, and for each guess the probability
  /// that it is right if those before it are. Returns their number. Tokens that are none of the
  /// vocabulary end a proposal.
  ///   tokens, probabilities  [room], at most kMostGuesses
  virtual size_t propose(std::span<const Token> text, std::span<Token> tokens,
                         std::span<float> probabilities) = 0;
  /// The first `count` guesses of the latest proposal were right; the one after them was not, or is
  /// not known.
  virtual void accepted(size_t count) { (void)count; }
  [[nodiscard]] virtual DraftSource source() const { return DraftSource::Other; }
};

/// Makes a drafter for each text: of the engine's host, in place of the built-in ones.
using DrafterFactory = std::function<std::shared_ptr<Drafter>()>;

}  // namespace tenon
