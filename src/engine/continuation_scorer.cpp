#include "engine/continuation_scorer.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "sampler/logprobs.h"

namespace tenon {
namespace {

// Bytes of logits held at once, which bounds the rows per step.
constexpr uint64_t kRoundBytes = uint64_t{16} << 20;

}  // namespace

struct ContinuationScorer::Branch {
  Branch(Engine& of_text, Sequence fork) : engine(of_text), sequence(std::move(fork)) {
    idle.sequence = &sequence;
  }
  ~Branch() {
    engine.with_sequence(idle, [this] {
      sequence.lose(0);
      idle.sequence = nullptr;
    });
  }
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

  Engine& engine;
  Sequence sequence;
  IdleSequences::Entry idle;
};

ContinuationScorer::ContinuationScorer(Engine& engine, IdleSequences::Entry& text,
                                       const BatchItem& call,
                                       std::span<const Continuation> continuations)
    : engine_(engine),
      text_(text),
      call_(call),
      watch_(*engine.model().options().system, call.deadline_ns, call.cancel),
      continuations_(continuations),
      text_size_(text.sequence->size()),
      vocab_(engine.model().spec().vocab),
      order_(continuations.size()) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::ranges::sort(order_, [&](size_t a, size_t b) {
    watch_.look();
    return std::ranges::lexicographical_compare(continuations_[a].tokens, continuations_[b].tokens);
  });
}

/// End of the tokens that the group shares and needs rows for, at most `most` tokens further.
/// Sorting puts continuations that end before those that continue.
uint64_t ContinuationScorer::shared_end(const Group& group, uint64_t most) const {
  size_t first = group.first;
  uint64_t end = group.begin;
  for (;;) {
    while (first < group.last && tokens_at(first).size() == end + 1) ++first;
    if (first == group.last) return end;
    ++end;
    if (end - group.begin == most) return end;
    if (tokens_at(first)[end] != tokens_at(group.last - 1)[end]) return end;
  }
}

/// Scores the next tokens of the group from a row.
///   row      logits after the first `depth` tokens of the group
///   goes_on  later tokens are computed in forks of group.from
void ContinuationScorer::note_row(std::span<const float> row, const Group& group, uint64_t depth,
                                  bool goes_on) {
  size_t first = group.first;
  while (first < group.last && tokens_at(first).size() <= depth) ++first;
  wanted_.clear();
  for (size_t i = first; i < group.last; ++i) {
    watch_.look();
    const Token token = tokens_at(i)[depth];
    if (wanted_.empty() || wanted_.back() != token) wanted_.push_back(token);
  }
  found_.resize(wanted_.size());
  logprobs_of(row, wanted_, found_, {}, {});
  size_t begin = first;
  for (size_t k = 0; k < wanted_.size(); ++k) {
    size_t end = begin;
    for (; end < group.last && tokens_at(end)[depth] == wanted_[k]; ++end) {
      watch_.look();
      continuations_[order_[end]].logprobs[depth] = found_[k];
    }
    if (goes_on && tokens_at(end - 1).size() > depth + 1) {
      waiting_.push_back({group.from, begin, end, depth, 0});
    }
    begin = end;
  }
}

std::shared_ptr<ContinuationScorer::Branch> ContinuationScorer::branch_of(const Group& group) {
  IdleSequences::Entry& from = group.from == nullptr ? text_ : group.from->idle;
  std::shared_ptr<Branch> branch = engine_.with_sequence(from, [&] {
    from.sequence->claim_ahead();
    return std::make_shared<Branch>(engine_, from.sequence->fork());
  });
  branch->sequence.append(
      tokens_at(group.last - 1)
          .subspan(static_cast<size_t>(group.begin), static_cast<size_t>(group.end - group.begin)));
  return branch;
}

/// Computes as many waiting groups as fit into rows [n, vocab].
uint64_t ContinuationScorer::compute_round(std::span<float> rows) {
  std::vector<Group> round;
  std::vector<BatchItem> items;
  uint64_t left = rows.size() / vocab_;
  for (; left > 0 && !waiting_.empty(); left -= round.back().end - round.back().begin) {
    Group group = std::move(waiting_.back());
    waiting_.pop_back();
    group.end = shared_end(group, left);
    group.from = branch_of(group);
    round.push_back(std::move(group));
  }
  float* to = rows.data();
  for (const Group& group : round) {
    BatchItem item = call_;
    item.sequence = &group.from->sequence;
    item.begin = text_size_ + group.begin;
    item.end = text_size_ + group.end;
    item.outputs = Outputs::All;
    item.logits = to;
    item.idle = &group.from->idle;
    items.push_back(item);
    to += (group.end - group.begin) * vocab_;
  }
  const uint64_t num_computed = engine_.run(items);
  const float* row = rows.data();
  for (const Group& group : round) {
    for (uint64_t depth = group.begin + 1; depth <= group.end; ++depth, row += vocab_) {
      note_row({row, vocab_}, group, depth, depth == group.end);
    }
  }
  return num_computed;
}

uint64_t ContinuationScorer::run(std::span<const float> next) {
  const Group all{nullptr, 0, order_.size(), 0, 0};
  note_row(next, all, 0, true);
  if (waiting_.empty()) return 0;
  const uint64_t row_bytes = vocab_ * sizeof(float);
  const uint64_t num_rows =
      std::clamp<uint64_t>(kRoundBytes / row_bytes, 1, engine_.model().program().view().max_tokens);
  const Buffer rows(engine_.model().options().system, num_rows * row_bytes,
                    "logits of continuations");
  uint64_t num_computed = 0;
  while (!waiting_.empty()) {
    num_computed += compute_round({reinterpret_cast<float*>(rows.data()), num_rows * vocab_});
  }
  return num_computed;
}

}  // namespace tenon
