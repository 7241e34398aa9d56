// One of a model's prediction blocks at work on one text (multi-token prediction, arch/prediction.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/model.h"
#include "model/program_runner.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Each token comes with the hidden state of the token before, as the trunk or the block before this
/// one gives it. The results of a token are the logits of the token after it, and its own hidden state
/// for the next block. The cache is private, so going back costs nothing. For one thread at a time,
/// which has the model's turn in run(); no steps of an engine are under way then.
class PredictionBlock {
 public:
  /// Throws State for a model that was opened without such a block, Unsupported for a recurrent one.
  ///   context  tokens that the cache has room for
  PredictionBlock(std::shared_ptr<const Model> model, uint32_t index, uint32_t context);
  ~PredictionBlock();
  PredictionBlock(const PredictionBlock&) = delete;
  PredictionBlock& operator=(const PredictionBlock&) = delete;

  /// Adds pending tokens. Throws Limit for more than the context, Argument for a token outside the
  /// vocabulary and for hidden states of another size; nothing is then changed.
  ///   hidden  [tokens, width()] f32
  void add(std::span<const Token> tokens, std::span<const float> hidden);
  /// Computes the first pending tokens, as many as a step takes, and returns their number. cancel: a
  /// flag of any thread's, or null. After an error, Cancelled included, the tokens are still pending.
  uint32_t run(const uint32_t* cancel);
  /// Of the tokens of the last run(): [tokens, vocab] and [tokens, width()].
  [[nodiscard]] std::span<const float> logits() const { return logits_; }
  [[nodiscard]] std::span<const float> hidden() const { return hidden_; }

  /// Drops the tokens from `size` <= size() on, computed or pending.
  void truncate(uint32_t size) noexcept;
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(tokens_.size()); }
  [[nodiscard]] uint32_t num_computed() const { return computed_; }
  [[nodiscard]] uint32_t width() const { return width_; }

 private:
  std::shared_ptr<const Model> model_;
  uint32_t context_;
  uint32_t input_slot_ = TENON_NO_SLOT;
  uint32_t hidden_slot_ = TENON_NO_SLOT;
  uint32_t width_ = 0;
  std::optional<ProgramRunner> runner_;
  std::vector<Token> tokens_;
  uint32_t computed_ = 0;
  std::vector<float> pending_;  // [size() - computed, width]: the hidden states before them
  std::span<const float> logits_;
  std::span<const float> hidden_;
};

}  // namespace tenon
