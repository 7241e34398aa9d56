// How likely several continuations of one text are: which rows of logits that takes, and computing them
// side by side in forks of the text. What may be asked is checked by the session.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "engine/call_watch.h"
#include "engine/engine.h"
#include "engine/idle_sequences.h"
#include "engine/sequence.h"

namespace tenon {

/// What may follow a text, and how likely each token of it is after the text and those before it.
struct Continuation {
  std::span<const Token> tokens{};
  float* logprobs = nullptr;  ///< [tokens] f32, natural logarithms
};

/// Teacher forcing of many short texts over one prefix. Continuations form a trie (Fredkin 1960), of
/// which each node with children is computed once; a fork of the text goes down each branch:
///
///     text -> "yes"                  "yes" and the beginning "n" of the others take no step at all:
///          -> "n" -> "o"             their rows are the text's. One fork computes "n", and its row
///                 -> "ever"          tells of "o" and "e"; another one goes on with "e", "v", "e".
///
/// All forks that are ready share steps, as far as a bounded buffer of logits allows. The last token
/// of a continuation is never computed. Bits are those of teacher forcing alone, as a row's arithmetic
/// knows its own sequence only.
class ContinuationScorer {
 public:
  /// text: listed in the engine, computed as far as memory allows. All arguments except `text` must
  /// outlive this. call: cancel flag, control, rank and deadline of the items. Throws Cancelled,
  /// Deadline.
  ContinuationScorer(Engine& engine, IdleSequences::Entry& text, const BatchItem& call,
                     std::span<const Continuation> continuations);

  /// next: logits after the text, [vocab] f32. Fills all logprobs; returns how many tokens were
  /// computed. Throws as Engine::run, and State for logits that are not finite.
  uint64_t run(std::span<const float> next);

 private:
  /// A fork of the text with the beginning of some continuations.
  struct Branch;
  /// order_[first, last): they begin alike, at least one token beyond what `from` holds of them.
  struct Group {
    std::shared_ptr<Branch> from;  ///< null: the text
    size_t first = 0;
    size_t last = 0;
    uint64_t begin = 0;  ///< tokens of them in `from`
    uint64_t end = 0;    ///< that are computed in this round
  };

  [[nodiscard]] std::span<const Token> tokens_at(size_t place) const {
    return continuations_[order_[place]].tokens;
  }
  [[nodiscard]] uint64_t shared_end(const Group& group, uint64_t most) const;
  void note_row(std::span<const float> row, const Group& group, uint64_t depth, bool goes_on);
  [[nodiscard]] std::shared_ptr<Branch> branch_of(const Group& group);
  uint64_t compute_round(std::span<float> rows);

  Engine& engine_;
  IdleSequences::Entry& text_;
  BatchItem call_;
  CallWatch watch_;
  std::span<const Continuation> continuations_;
  uint64_t text_size_;
  uint64_t vocab_;
  std::vector<size_t> order_;   // by their tokens
  std::vector<Group> waiting_;  // last in, first out, so that few branches live
  std::vector<Token> wanted_;   // of a row
  std::vector<float> found_;
};

}  // namespace tenon
