// Guesses from repetition: finds the latest place where the end of the text stood before, and
// proposes what followed there. The place may be in the text itself or in a predicted answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/drafter.h"

namespace tenon {

/// Index of pairs of tokens in a text that grows and shrinks at its end. Memory: 8 bytes per token,
/// for the last kMostTokens at most, and a table of kSlots * 4 bytes.
class PairIndex {
 public:
  static constexpr size_t kSlots = size_t{1} << 13;
  static constexpr size_t kMostTokens = size_t{1} << 20;

  explicit PairIndex(size_t expected_tokens);
  /// Memory of the index of `count` tokens.
  [[nodiscard]] static uint64_t bytes_of(uint64_t count) {
    return kSlots * sizeof(uint32_t) + count * sizeof(Entry);
  }

  /// Follows a text that was extended, or cut and extended. Texts beyond kMostTokens are not
  /// followed further.
  void follow(std::span<const Token> text);
  [[nodiscard]] size_t size() const { return entries_.size(); }

  /// A place in the indexed text.
  struct Match {
    size_t end = 0;       ///< position after the repeated tokens
    uint32_t length = 0;  ///< repeated tokens; 0: none found
  };
  /// Longest repetition of the end of `text` that ends before the end of `indexed`, the latest of
  /// equal ones among the latest kMostLooks places.
  ///   is_same  `text` is `indexed` itself or begins with it
  [[nodiscard]] Match find(std::span<const Token> text, std::span<const Token> indexed,
                           bool is_same) const;

 private:
  static constexpr uint32_t kMostLooks = 24;
  static constexpr uint32_t kLongest = 32;
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Entry i is the pair that ends with token i.
  struct Entry {
    uint32_t before = kNone;  // latest earlier entry of the slot
    uint32_t slot = 0;
  };
  [[nodiscard]] static uint32_t slot_of(Token first, Token second);

  std::vector<uint32_t> latest_;  // [kSlots]
  std::vector<Entry> entries_;
};

/// Proposes indexed tokens from match.end on, with claims by the match's length.
size_t copy_match(std::span<const Token> indexed, PairIndex::Match match, std::span<Token> tokens,
                  std::span<float> probabilities);

/// Repetitions of the text itself.
class TextDrafter final : public Drafter {
 public:
  explicit TextDrafter(size_t expected_tokens) : index_(expected_tokens) {}
  size_t propose(std::span<const Token> text, std::span<Token> tokens,
                 std::span<float> probabilities) override;
  [[nodiscard]] DraftSource source() const override { return DraftSource::Text; }

 private:
  PairIndex index_;
};

/// A predicted answer (OpenAI's `prediction`) and its index. Immutable, so that requests share it.
class Prediction {
 public:
  explicit Prediction(std::span<const Token> tokens)
      : tokens_(tokens.begin(), tokens.end()), index_(tokens.size()) {
    index_.follow(tokens_);
  }
  [[nodiscard]] std::span<const Token> tokens() const { return tokens_; }
  /// Memory of a prediction of `count` tokens.
  [[nodiscard]] static uint64_t bytes_of(uint64_t count) {
    return sizeof(Prediction) + count * sizeof(Token) + PairIndex::bytes_of(count);
  }
  /// Place of the end of `text` in it.
  [[nodiscard]] PairIndex::Match find(std::span<const Token> text) const {
    return index_.find(text, tokens_, false);
  }

 private:
  std::vector<Token> tokens_;
  PairIndex index_;
};

/// Repetitions of a predicted answer.
class PredictionDrafter final : public Drafter {
 public:
  ///   prompt_size  tokens of the text before the answer
  PredictionDrafter(std::shared_ptr<const Prediction> prediction, size_t prompt_size);
  size_t propose(std::span<const Token> text, std::span<Token> tokens,
                 std::span<float> probabilities) override;
  [[nodiscard]] DraftSource source() const override { return DraftSource::Prediction; }

 private:
  std::shared_ptr<const Prediction> prediction_;
  size_t prompt_size_;
  size_t next_ = 0;   // position in the prediction that continues the text so far
  size_t text_size_;  // tokens of the text that next_ follows
};

}  // namespace tenon
