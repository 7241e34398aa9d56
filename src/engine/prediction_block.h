// Runs one of a model's prediction blocks on a text (multi-token prediction, arch/prediction.h).
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

/// Prediction block `index` of a model. Throws State if the model was opened without it,
/// Unsupported for a recurrent block.
const ModelProgram& prediction_program(const Model& model, uint32_t index);

/// Each token is added with the hidden state of the token before, from the trunk or the previous
/// block. Results per token are the logits of the next token and a hidden state for the next block.
/// The cache is private, so truncation is free. Use from one thread at a time. run() needs the
/// model's turn, with no steps of an engine under way.
class PredictionBlock {
 public:
  /// Throws State if the model was opened without this block, Unsupported for a recurrent block.
  ///   context  tokens that fit in the cache
  PredictionBlock(std::shared_ptr<const Model> model, uint32_t index, uint32_t context);
  ~PredictionBlock();
  PredictionBlock(const PredictionBlock&) = delete;
  PredictionBlock& operator=(const PredictionBlock&) = delete;

  /// Adds pending tokens. Throws Limit for more than the context, Argument for a token outside the
  /// vocabulary or hidden states of another size; nothing changes then.
  ///   hidden  [tokens, width()] f32
  void add(std::span<const Token> tokens, std::span<const float> hidden);
  /// Computes the first pending tokens, as many as fit in a step, and returns their number. cancel:
  /// a flag that any thread may set, or null. The tokens stay pending after an error, including
  /// Cancelled.
  uint32_t run(const uint32_t* cancel);
  /// Results of the last run(): [tokens, vocab] and [tokens, width()].
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
  std::vector<float> pending_;  // [size() - computed, width] hidden states of the tokens before
  std::span<const float> logits_;
  std::span<const float> hidden_;
};

}  // namespace tenon
