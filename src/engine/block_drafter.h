// Guesses by the prediction blocks of the model's file (multi-token prediction, arch/prediction.h).
// A block reads each token with the hidden state from which the model drew it, so it knows a text
// from the answer's first token on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cache_pools.h"
#include "engine/engine_options.h"
#include "engine/model_drafter.h"
#include "model/model.h"
#include "model/program_runner.h"

namespace tenon {

/// propose() requires the model's turn, with no steps of an engine under way.
class BlockDrafter final : public ModelDrafter, public std::enable_shared_from_this<BlockDrafter> {
 public:
  /// Throws State for a model opened without prediction blocks, Unsupported for a recurrent block,
  /// NoMemory.
  BlockDrafter(const std::shared_ptr<const Model>& model, const EngineOptions& options);
  ~BlockDrafter() override;

  /// Begins a text of at most `context` tokens.
  [[nodiscard]] std::unique_ptr<DraftText> begin_text(uint32_t context);

 private:
  class Text;

  bool follow(DraftText& text, std::span<const Token> tokens, DraftPricer::Text& worth) override;
  uint64_t read(std::span<Draft> drafts, uint64_t most) override;
  uint64_t compute(std::span<Draft> drafts) override;
  void go_on(Draft& draft, Token token) override;
  void leave(Draft& draft) override;
  void release(DraftText& text) override;
  void count_memory(DraftStats& stats) const override;
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] uint32_t add(Draft& draft, uint32_t room);

  int owner_pid_;
  const ModelProgram& block_;
  uint64_t budget_bytes_;
  CachePools pools_;
  uint32_t input_slot_ = TENON_NO_SLOT;
  uint32_t hidden_slot_ = TENON_NO_SLOT;
  uint32_t width_ = 0;
  std::optional<ProgramRunner> runner_;
  std::vector<const uint32_t*> tables_;  // scratch of a slice
  std::vector<float> input_;             // [tokens of the step, width] hidden states
};

}  // namespace tenon
