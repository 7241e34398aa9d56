#include "engine/prediction_block.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tenon {
const ModelProgram& prediction_program(const Model& model, uint32_t index) {
  const ModelProgram* program = model.find(ProgramRole::Prediction, index);
  if (program == nullptr || program->executable == nullptr) {
    fail(Code::State, "{}: prediction block {} is not loaded", model.file().name(), index);
  }
  for (const tenon_cache_group& group : program->program.groups()) {
    if (group.kind != TENON_CACHE_STATE) continue;
    fail(Code::Unsupported, "{}: prediction block {} has a state, which cannot go back",
         model.file().name(), index);
  }
  return *program;
}

PredictionBlock::PredictionBlock(std::shared_ptr<const Model> model, uint32_t index,
                                 uint32_t context)
    : model_(std::move(model)), context_(context) {
  const ModelProgram& block = prediction_program(*model_, index);
  const std::span<const tenon_slot> slots = block.program.slots();
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].kind == TENON_SLOT_INPUT) input_slot_ = slot;
  }
  for (const uint32_t slot : block.program.results()) {
    if (slot != block.program.view().logits) hidden_slot_ = slot;
  }
  width_ = static_cast<uint32_t>(slots[input_slot_].columns);
  runner_.emplace(block, std::span<const std::shared_ptr<BlockPool>>{}, model_->options().system);
}

PredictionBlock::~PredictionBlock() {
  const std::scoped_lock turn(model_->turn());  // buffers go back to the device
  runner_.reset();
}

void PredictionBlock::add(std::span<const Token> tokens, std::span<const float> hidden) {
  if (tokens.size() > context_ - size()) {
    fail(Code::Limit, "prediction: tokens {} > context {}", size() + tokens.size(), context_);
  }
  if (hidden.size() != tokens.size() * width_) {
    fail(Code::Argument, "prediction: {} tokens with {} values of hidden states, not {} each",
         tokens.size(), hidden.size(), width_);
  }
  const uint32_t vocab = model_->spec().vocab;
  for (const Token token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocab) {
      fail(Code::Argument, "prediction: token {} is outside 0..{}", token, vocab - 1);
    }
  }
  pending_.reserve(pending_.size() + hidden.size());
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  pending_.insert(pending_.end(), hidden.begin(), hidden.end());
}

uint32_t PredictionBlock::run(const uint32_t* cancel) {
  logits_ = hidden_ = {};
  const uint32_t most = std::min(runner_->max_tokens(), kMostPrivateOutputs);
  const uint32_t count = std::min(size() - computed_, most);
  if (count == 0) return 0;
  runner_->clear();
  runner_->add({.text = tokens_,
                .past = computed_,
                .num_tokens = count,
                .num_outputs = count,
                .private_positions = context_});
  runner_->bind(input_slot_, pending_.data());
  const std::span<const float> logits =
      runner_->bind_own(runner_->program().program.view().logits, "logits of a prediction");
  const std::span<const float> hidden =
      runner_->bind_own(hidden_slot_, "hidden states of a prediction");
  runner_->run(cancel);
  logits_ = logits;
  hidden_ = hidden;
  computed_ += count;
  pending_.erase(pending_.begin(), pending_.begin() + ptrdiff_t{count} * width_);
  return count;
}

void PredictionBlock::truncate(uint32_t size) noexcept {
  tokens_.resize(size);
  computed_ = std::min(computed_, size);
  pending_.resize(size_t{size - computed_} * width_);
}

}  // namespace tenon
