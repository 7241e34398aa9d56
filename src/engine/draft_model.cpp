#include "engine/draft_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/idle_sequences.h"
#include "engine/sequence.h"
#include "model/draft_vocabulary.h"

namespace tenon {
namespace {

uint64_t draft_cache_bytes(const Model& draft, const Model& model, const EngineOptions& options) {
  if (options.draft_bytes != 0) return options.draft_bytes;
  if (options.cache_bytes > uint64_t{INT64_MAX}) return options.cache_bytes;
  const uint32_t context = model.default_context();
  const auto theirs = static_cast<double>(draft.memory(context).kv_bytes);
  const auto ours = static_cast<double>(std::max<uint64_t>(model.memory(context).kv_bytes, 1));
  const double bytes = static_cast<double>(options.cache_bytes) * theirs / ours;
  return static_cast<uint64_t>(std::clamp(bytes, 1.0, 9e18));
}

EngineOptions draft_engine_options(const Model& draft, const Model& model,
                                   const EngineOptions& options) {
  EngineOptions own = unbounded_engine();
  own.cache_bytes = draft_cache_bytes(draft, model, options);
  own.prefix_cache = options.prefix_cache;
  own.max_running = 65536;
  own.state_checkpoints = options.state_checkpoints;
  own.state_checkpoint_tokens = options.state_checkpoint_tokens;
  own.speculation = Speculation::Off;
  return own;
}

uint32_t draft_context(const Model& draft, uint32_t context) {
  const ModelSpec& spec = draft.spec();
  return spec.learned_positions ? std::min(context, spec.trained_context) : context;
}

uint64_t checked_draft_vocab(const Model& draft, const Model& model) {
  check_draft_model(model, draft);
  return draft.spec().vocab;
}

}  // namespace

/// A text with its guesses, if states could not go back to the text.
struct DraftModel::Fork {
  Fork(Engine& of_draft, Sequence fork) : engine(of_draft), sequence(std::move(fork)) {
    idle.sequence = &sequence;
  }
  ~Fork() {
    engine.with_sequence(idle, [this] {
      sequence.lose(0);
      idle.sequence = nullptr;
    });
  }
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;

  Engine& engine;
  Sequence sequence;
  IdleSequences::Entry idle;
};

class DraftModel::Text final : public DraftText {
 public:
  Text(const std::shared_ptr<DraftModel>& by_model, uint32_t context, std::string_view salt)
      : DraftText(by_model),
        engine_(*by_model->engine_),
        text_(engine_.pools(), draft_context(engine_.model(), context), engine_.root_of(salt)) {
    idle_.sequence = &text_;
  }
  ~Text() override {
    if (!engine_.is_of_this_process()) return;
    fork_.reset();
    engine_.with_sequence(idle_, [this] {
      text_.lose(0);
      idle_.sequence = nullptr;
    });
  }

 private:
  friend class DraftModel;

  /// The text with the guesses so far.
  [[nodiscard]] Sequence& sequence() { return fork_ != nullptr ? fork_->sequence : text_; }
  [[nodiscard]] IdleSequences::Entry& idle() { return fork_ != nullptr ? fork_->idle : idle_; }
  [[nodiscard]] uint64_t num_pending() {
    return engine_.with_sequence(idle(), [this] { return sequence().num_pending(); });
  }

  Engine& engine_;  // of the drafter, which the base holds
  Sequence text_;
  IdleSequences::Entry idle_;
  std::unique_ptr<Fork> fork_;
  uint64_t computed_ = 0;  // positions of the text computed when it was last guessed
  uint32_t num_lost_ = 0;  // times that these were lost to others
};

DraftModel::DraftModel(std::shared_ptr<const Model> draft, std::shared_ptr<const Model> drafts_for,
                       const EngineOptions& options)
    : ModelDrafter(DraftSource::Model, drafts_for, checked_draft_vocab(*draft, *drafts_for)),
      engine_(Engine::create(draft, draft_engine_options(*draft, *drafts_for, options), nullptr)) {}

DraftModel::~DraftModel() = default;

std::unique_ptr<DraftText> DraftModel::begin_text(uint32_t context, std::string_view salt) {
  return std::make_unique<Text>(shared_from_this(), context, salt);
}

bool DraftModel::follow(DraftText& text, std::span<const Token> tokens, DraftPricer::Text& worth) {
  auto& own = static_cast<Text&>(text);
  Sequence& sequence = own.text_;
  if (tokens.empty() || tokens.size() >= sequence.context()) {
    give_up(text, "a text is longer than the draft model's context");
    return false;
  }
  const std::span<const Token> known = sequence.tokens();
  const auto differ = std::ranges::mismatch(known, tokens);
  const auto same = static_cast<uint64_t>(differ.in1 - known.begin());
  const std::span<const Token> more = tokens.subspan(same);
  const auto is_missing = [this](Token token) {
    return static_cast<uint64_t>(token) >= draft_vocab();
  };
  if (std::ranges::any_of(more, is_missing)) {
    give_up(text, "a text has tokens that the draft model lacks");
    return false;
  }
  const bool was_lost = engine_->with_sequence(own.idle_, [&] {
    const bool lost = sequence.can_go_back() &&
                      sequence.cached() + sequence.block_tokens() < std::min(own.computed_, same);
    sequence.truncate(same);
    sequence.append(more);
    // The logits after the last token are needed.
    if (sequence.num_pending() == 0) sequence.forget_cached(sequence.size() - 1);
    worth.behind = sequence.num_pending() - 1;
    return lost;
  });
  own.computed_ = 0;
  // Once by another text that begins, but not for ever.
  if (was_lost && ++own.num_lost_ > 1) {
    give_up(text, "the draft model's cache has no room for all texts");
    return false;
  }
  worth.most =
      static_cast<uint32_t>(std::min<uint64_t>(worth.most, sequence.context() - tokens.size()));
  return true;
}

/// Computes an item for each draft that is open and has one. Closes those that fail.
uint64_t DraftModel::run(std::span<Draft> drafts, std::span<const BatchItem> items) {
  if (items.empty()) return 0;
  try {
    return engine_->run(items);
  } catch (...) {
    // Which ones failed is seen below.
  }
  for (Draft& draft : drafts) {
    if (!draft.is_open) continue;
    auto& text = static_cast<Text&>(*draft.text);
    const Sequence* const sequence = &text.sequence();
    const auto item = std::ranges::find_if(
        items, [sequence](const BatchItem& one) { return one.sequence == sequence; });
    if (item == items.end()) continue;
    const uint64_t wanted = sequence->size() - item->end;  // pending after the item
    if (text.num_pending() <= wanted) continue;
    draft.is_open = false;
    if (!is_set(draft.ask->cancel)) give_up(text, "the draft model had no memory, or failed");
  }
  return 0;
}

uint64_t DraftModel::read(std::span<Draft> drafts, uint64_t most) {
  std::vector<BatchItem> items;
  for (Draft& draft : drafts) {
    const uint64_t behind = draft.worth.behind;
    if (behind <= kNear) continue;
    auto& text = static_cast<Text&>(*draft.text);
    const uint64_t count = std::min(most, std::max(behind / 4, kNear));
    BatchItem item;
    item.sequence = &text.sequence();
    item.end = text.sequence().size() - 1 - behind + std::min(count, behind);
    item.begin = item.end;
    item.cancel = draft.ask->cancel;
    item.idle = &text.idle();
    item.deadline_ns = draft.ask->deadline_ns;
    items.push_back(item);
  }
  const uint64_t num_read = run(drafts, items);
  for (Draft& draft : drafts) {
    if (!draft.is_open) continue;
    draft.is_open = static_cast<Text&>(*draft.text).num_pending() <= kNear + 1;
  }
  return num_read;
}

uint64_t DraftModel::compute(std::span<Draft> drafts) {
  std::vector<BatchItem> items;
  for (Draft& draft : drafts) {
    if (!draft.is_open) continue;
    auto& text = static_cast<Text&>(*draft.text);
    BatchItem item;
    item.sequence = &text.sequence();
    item.end = text.sequence().size();
    item.begin = item.end;
    item.outputs = Outputs::Last;
    item.logits = logits_of(draft).data();
    item.cancel = draft.ask->cancel;
    item.idle = &text.idle();
    item.deadline_ns = draft.ask->deadline_ns;
    items.push_back(item);
  }
  return run(drafts, items);
}

void DraftModel::go_on(Draft& draft, Token token) {
  auto& text = static_cast<Text&>(*draft.text);
  if (text.fork_ == nullptr && !text.text_.can_go_back()) {
    text.fork_ = engine_->with_sequence(
        text.idle_, [&] { return std::make_unique<Fork>(*engine_, text.text_.fork()); });
  }
  text.sequence().append({&token, 1});
}

void DraftModel::leave(Draft& draft) {
  auto& text = static_cast<Text&>(*draft.text);
  text.fork_.reset();
  text.computed_ = engine_->with_sequence(
      text.idle_, [&] { return std::min<uint64_t>(text.text_.cached(), draft.ask->text.size()); });
}

void DraftModel::release(DraftText& text) {
  auto& own = static_cast<Text&>(text);
  own.fork_.reset();
  engine_->with_sequence(own.idle_, [&own] { own.text_.lose(0); });
}

void DraftModel::count_memory(DraftStats& stats) const {
  const EngineMetrics metrics = engine_->metrics();
  stats.kv_limit_bytes = metrics.kv_limit_bytes;
  stats.kv_held_bytes = metrics.kv_held_bytes;
}

std::string DraftModel::name() const {
  return fmt::format("draft model {}", engine_->model().file().name());
}

}  // namespace tenon
