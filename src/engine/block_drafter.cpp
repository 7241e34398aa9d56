#include "engine/block_drafter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/process_id.h"
#include "engine/prediction_block.h"
#include "engine/sequence.h"

namespace tenon {
namespace {

uint64_t block_cache_bytes(const ModelProgram& block, const Model& model,
                           const EngineOptions& options) {
  if (options.draft_bytes != 0) return options.draft_bytes;
  if (options.cache_bytes > uint64_t{INT64_MAX}) return options.cache_bytes;
  // Room for as many tokens as the model's own cache.
  const auto bytes_of = [](const ModelProgram& program) {
    double bytes = 0;
    for (uint32_t i = 0; i < program.program.groups().size(); ++i) {
      bytes += static_cast<double>(block_bytes_of(program, i));
    }
    return std::max(bytes, 1.0);
  };
  const double share = bytes_of(block) / bytes_of(model.trunk());
  return static_cast<uint64_t>(
      std::clamp(static_cast<double>(options.cache_bytes) * share, 1.0, 9e18));
}

EngineOptions block_options(EngineOptions options, uint64_t cache_bytes) {
  options.cache_bytes = cache_bytes;
  return options;
}

}  // namespace

class BlockDrafter::Text final : public DraftText {
 public:
  Text(const std::shared_ptr<BlockDrafter>& by_blocks, uint32_t context)
      : DraftText(by_blocks), width_(by_blocks->width_), text_(by_blocks->pools_.all(), context) {}

  void take_row(uint64_t size, Token token, std::span<const float> hidden) override {
    const uint64_t position = size - 1;
    // A text that is not guessed for long is read anew.
    const bool is_far = text_.num_pending() >= kMostPending || text_.size() == text_.context();
    if (is_far || position != from_ + text_.size()) begin_at(position);
    text_.append({&token, 1});
    hidden_.insert(hidden_.end(), hidden.begin(), hidden.end());
  }

 private:
  friend class BlockDrafter;
  static constexpr uint64_t kMostPending = 64;

  /// Forgets the tokens before a position: rows between them are missing.
  void begin_at(uint64_t position) {
    text_.truncate(0);
    hidden_.clear();
    from_ = position;
  }
  /// Drops the tokens from `size` on. Returns false if the rows of others are missing then.
  [[nodiscard]] bool cut(uint64_t size) {
    text_.truncate(size);
    const uint64_t wanted = text_.num_pending() * width_;
    if (hidden_.size() < wanted) return false;
    hidden_.resize(wanted);
    return true;
  }

  uint32_t width_;
  Sequence text_;              // tokens from from_ on, in the block's cache
  uint64_t from_ = 0;          // tokens of the text before them
  std::vector<float> hidden_;  // [pending, width] rows that the pending tokens were drawn from
  std::vector<float> next_;    // [width] the block's own row of its last token
};

BlockDrafter::BlockDrafter(const std::shared_ptr<const Model>& model, const EngineOptions& options)
    : ModelDrafter(DraftSource::Block, model, model->spec().vocab),
      owner_pid_(process_id()),
      block_(prediction_program(*model, 0)),
      budget_bytes_(block_cache_bytes(block_, *model, options)),
      pools_(*model, block_, block_options(options, budget_bytes_)) {
  const std::span<const tenon_slot> slots = block_.program.slots();
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].kind == TENON_SLOT_INPUT) input_slot_ = slot;
  }
  for (const uint32_t slot : block_.program.results()) {
    if (slot != block_.program.view().logits) hidden_slot_ = slot;
  }
  width_ = static_cast<uint32_t>(slots[input_slot_].columns);
  runner_.emplace(block_, pools_.all(), model->options().system);
}

BlockDrafter::~BlockDrafter() {
  if (process_id() != owner_pid_) return;  // the thread that holds the turn does not exist here
  const DeviceTurn::Access turn(model().turn());  // buffers go back to the device
  runner_.reset();
  pools_.clear(turn.held());
}

std::unique_ptr<DraftText> BlockDrafter::begin_text(uint32_t context) {
  return std::make_unique<Text>(shared_from_this(), context);
}

bool BlockDrafter::follow(DraftText& text, std::span<const Token> tokens,
                          DraftPricer::Text& worth) {
  auto& own = static_cast<Text&>(text);
  if (own.from_ >= tokens.size()) return false;
  const std::span<const Token> since = tokens.subspan(own.from_);
  const std::span<const Token> known = own.text_.tokens();
  const auto differ = std::ranges::mismatch(known, since);
  if (!own.cut(static_cast<uint64_t>(differ.in1 - known.begin()))) {
    own.begin_at(tokens.size());
    return false;
  }
  // A token that was not drawn from a row has no hidden state.
  if (own.text_.size() != since.size() || own.text_.num_pending() == 0) return false;
  worth.behind = own.text_.num_pending() - 1;
  worth.most =
      static_cast<uint32_t>(std::min<uint64_t>(worth.most, own.text_.context() - own.text_.size()));
  return true;
}

/// Pending tokens are few: those of the latest steps.
uint64_t BlockDrafter::read(std::span<Draft>, uint64_t) { return 0; }

/// Adds the pending tokens of a draft to the step. Returns their number, or 0 and closes it.
uint32_t BlockDrafter::add(Draft& draft, uint32_t room) {
  auto& text = static_cast<Text&>(*draft.text);
  const uint64_t count = text.text_.num_pending();
  if (count > room) {
    draft.is_open = false;
    return 0;
  }
  const auto num_tokens = static_cast<uint32_t>(count);
  try {
    text.text_.prepare(num_tokens);
    input_.reserve(input_.size() + text.hidden_.size());  // nothing may throw behind add()
    runner_->add(text.text_.next_slice(num_tokens, 1, tables_));
    input_.insert(input_.end(), text.hidden_.begin(), text.hidden_.end());
  } catch (...) {
    draft.is_open = false;
    text.text_.roll_back();
    give_up(text, "the prediction blocks' cache has no room for all texts");
    return 0;
  }
  text.text_.begin(num_tokens);
  return num_tokens;
}

uint64_t BlockDrafter::compute(std::span<Draft> drafts) {
  runner_->clear();
  input_.clear();
  uint32_t room = runner_->max_tokens();
  for (Draft& draft : drafts) {
    if (draft.is_open) room -= add(draft, room);
  }
  const uint32_t num_tokens = runner_->num_tokens();
  if (num_tokens == 0) return 0;
  std::span<const float> logits;
  std::span<const float> hidden;
  try {
    runner_->bind(input_slot_, input_.data());
    logits = runner_->bind_own(block_.program.view().logits, "logits of a prediction");
    hidden = runner_->bind_own(hidden_slot_, "hidden states of a prediction");
    runner_->run(nullptr);
  } catch (...) {
    for (Draft& draft : drafts) {
      if (!draft.is_open) continue;
      draft.is_open = false;
      static_cast<Text&>(*draft.text).text_.roll_back();
      give_up(*draft.text, "a prediction block failed");
    }
    return 0;
  }
  size_t row = 0;
  const uint64_t vocab = draft_vocab();
  for (Draft& draft : drafts) {
    if (!draft.is_open) continue;
    auto& text = static_cast<Text&>(*draft.text);
    text.text_.commit(static_cast<uint32_t>(text.text_.num_pending()), text.text_.size());
    text.hidden_.clear();
    const std::span<const float> of_logits = logits.subspan(row * vocab, vocab);
    std::ranges::copy(of_logits, logits_of(draft).begin());
    const std::span<const float> of_hidden = hidden.subspan(row * width_, width_);
    text.next_.assign(of_hidden.begin(), of_hidden.end());
    ++row;
  }
  return num_tokens;
}

/// The block goes on from its own row.
void BlockDrafter::go_on(Draft& draft, Token token) {
  auto& text = static_cast<Text&>(*draft.text);
  text.hidden_ = text.next_;
  text.text_.append({&token, 1});
}

void BlockDrafter::leave(Draft& draft) {
  auto& text = static_cast<Text&>(*draft.text);
  const uint64_t size = draft.ask->text.size() - text.from_;
  if (text.text_.size() > size && !text.cut(size)) text.begin_at(draft.ask->text.size());
}

void BlockDrafter::release(DraftText& text) { static_cast<Text&>(text).begin_at(0); }

void BlockDrafter::count_memory(DraftStats& stats) const {
  EngineMetrics metrics;
  pools_.measure(metrics);
  stats.kv_limit_bytes = budget_bytes_;
  stats.kv_held_bytes = metrics.kv_held_bytes;
}

std::string BlockDrafter::name() const { return "prediction block"; }

}  // namespace tenon
