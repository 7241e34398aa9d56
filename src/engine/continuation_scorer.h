// Scores several continuations of one text: chooses the rows of logits and computes them together
// in forks of the text. The session checks the arguments.
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

/// A continuation and the log-probability of each of its tokens, given the text and the tokens
/// before.
struct Continuation {
  std::span<const Token> tokens{};
  float* logprobs = nullptr;  ///< [tokens] f32, natural logarithms
};

/// Teacher forcing of many short texts over one prefix. Continuations form a trie (Fredkin 1960).
/// Each inner node is computed once, in a fork of the text per branch:
///
///     text -> "yes"                  "yes" and the shared "n" take no step: their rows are the
///          -> "n" -> "o"             text's. One fork computes "n"; its row scores "o" and "e".
///                 -> "ever"          A second fork continues with "e", "v", "e".
///
/// Forks that are ready share steps, as far as a bounded buffer of logits allows. The last token of
/// a continuation is never computed. Bits equal those of teacher forcing alone, because a row
/// depends on its own sequence only.
class ContinuationScorer {
 public:
  /// text: listed in the engine, computed as far as memory allows. All arguments except `text` must
  /// outlive the scorer. call: cancel flag, control, rank and deadline of the items. Throws
  /// Cancelled, Deadline.
  ContinuationScorer(Engine& engine, IdleSequences::Entry& text, const BatchItem& call,
                     std::span<const Continuation> continuations);

  /// Fills all logprobs and returns the number of computed tokens. Throws as Engine::run, and State
  /// for non-finite logits.
  ///   next  logits after the text, [vocab] f32
  uint64_t run(std::span<const float> next);

 private:
  /// A fork of the text extended by the shared beginning of some continuations.
  struct Branch;
  /// Continuations order_[first, last) that share at least one token after those in `from`.
  struct Group {
    std::shared_ptr<Branch> from;  ///< null: the text
    size_t first = 0;
    size_t last = 0;
    uint64_t begin = 0;  ///< tokens already in `from`
    uint64_t end = 0;    ///< end of the tokens computed in this round
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
  std::vector<size_t> order_;   // sorted by tokens
  std::vector<Group> waiting_;  // a stack (depth first), which keeps few branches alive
  std::vector<Token> wanted_;   // tokens scored by a row
  std::vector<float> found_;
};

}  // namespace tenon
