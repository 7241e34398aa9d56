// A request: a sequence, how far it is to be computed, and what is wanted of it. Who goes first is
// the scheduler's choice, the computing the engine's.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/wake.h"
#include "engine/answer_loop.h"
#include "engine/drawn_logprobs.h"
#include "engine/idle_sequences.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "sampler/sampler.h"

namespace tenon {

class Generation;

/// Whether a flag that another thread may set is set; null: never.
inline bool is_set(const uint32_t* flag) {
  return flag != nullptr && __atomic_load_n(flag, __ATOMIC_SEQ_CST) != 0;
}

/// Which logits a request wants.
enum class Outputs : uint32_t { None, Last, All };

/// What reaches into a call under way on a session, from any thread. Shared by the session and its
/// generation.
struct CallControl {
  /// Set to end the call under way or the next one. Read by steps as plain memory, so only touched
  /// by atomic operations.
  uint32_t cancel = 0;
  std::atomic<uint32_t> in_step{0};  ///< requests of it that steps under way have tokens of
  std::atomic<bool> in_use{false};   ///< a call is under way
  Wake wake;                         ///< of the thread that waits for it
  IdleSequences::Entry idle;  ///< of the session's sequence, while the engine does not have it
};

/// In the hands of the engine until it has ended; all of it under the engine's lock, but for what
/// the driving thread reads during a step.
struct Request : Work {
  Sequence* sequence = nullptr;
  uint64_t end = 0;           ///< tokens that are to be computed
  uint64_t outputs_from = 0;  ///< All: the first whose logits are wanted
  Outputs outputs = Outputs::None;
  float* logits = nullptr;  ///< [1 or end - outputs_from, vocab]; null for None and generations
  const uint32_t* cancel = nullptr;
  CallControl* control = nullptr;
  IdleSequences::Entry* idle = nullptr;  ///< of the sequence, for when the request has ended
  uint64_t deadline_ns = UINT64_MAX;
  /// With Outputs::Last: draws from the logits, in the step; null: they are only computed.
  AnswerLoop* loop = nullptr;
  Generation* generation = nullptr;

  bool ended = false;
  uint32_t num_under_way = 0;  ///< steps under way that it has a slice in
  /// The next token is the one that the latest step draws for this output row of it; kNoRow: it is in
  /// the sequence.
  uint32_t drawn_row = kNoRow;
  static constexpr uint32_t kNoRow = UINT32_MAX;
  /// It took the latest token that a device drew for it. One that a grammar refuses is not guessed
  /// from again before.
  bool is_drawn_by_device = true;
  /// As many of its next draws have the whole row: the largest logits did not tell the latest token.
  uint32_t num_row_draws = 0;
  static constexpr uint32_t kRowDraws = 8;
  std::exception_ptr failure;
  uint64_t num_reused = 0;             ///< tokens that others had computed
  uint64_t seen_version = UINT64_MAX;  ///< of the prefix index when it was looked at

  /// Logits that a slice of the next tokens brings.
  [[nodiscard]] uint32_t num_outputs(uint32_t num_tokens) const;
  /// Where those of a slice after `past` positions go.
  [[nodiscard]] float* logits_at(uint64_t past, uint64_t vocab) const;
  /// Whether all logits are needed, whoever draws the token.
  [[nodiscard]] bool wants_row() const;
  /// A token was drawn.
  ///   by_device  the device did, and it was taken
  void note_drawn(bool by_device) noexcept;
  /// Computes from cached() on: steps under way have let go of it.
  void restart() noexcept;
  /// Whole blocks up to here may come from others: what comes after must be computed for its logits.
  [[nodiscard]] uint64_t reuse_limit() const;
};

/// Limits and rank of a generation.
struct GenerationOptions {
  uint64_t max_tokens = 0;  ///< 0: as many as the context holds
  uint64_t timeout_ns = 0;  ///< from submit to the end; 0: none
  int32_t priority = 0;     ///< higher runs first
  std::string client;
  double weight = 1;  ///< of the client's share
  EndRules ends;      ///< but for min_tokens, which is the sampler's
  DrawnLogprobs::Wanted logprobs;
  /// Called by a thread inside the engine when there is a token or the end; must not call it.
  void (*notify)(void* user) noexcept = nullptr;
  void* user = nullptr;
};

/// What a request found of its prompt.
struct ReuseReport {
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;  ///< computed before: in the session, or by others
  PrefixMiss miss;             ///< why not more
};

/// A request that goes on after each token. Made by Session::submit; any thread may ask, one at a time
/// may fetch.
class Generation : public Request {
 public:
  /// Throws Argument for more likeliest tokens than there are.
  ///   of_session, end_of_text  outlive it as long as it has not ended
  Generation(Sequence& of_session, AnswerText& end_of_text, std::shared_ptr<CallControl> shared,
             const Sampler& draws, const GenerationOptions& limits, uint64_t vocab);

  GenerationOptions options;
  std::shared_ptr<CallControl> call;
  Sampler sampler;
  uint64_t seed = 0;  ///< the sampler's seed, fixed since submit
  AnswerLoop decoding;
  std::vector<Token> tokens;        ///< drawn so far, and not to be taken back
  std::string text;                 ///< of all of them, as it may be shown
  std::vector<uint64_t> text_ends;  ///< [tokens] where in it the piece of each ends
  DrawnLogprobs logprobs;
  std::string piece;         ///< the text fetched last
  bool has_tail = false;     ///< text after the last token is still to be fetched
  uint64_t num_fetched = 0;  ///< of these
  Finish finish = Finish::None;
  ReuseReport reuse;
  Sequence::Lost lost;  ///< when it was submitted
  bool explained = false;
  uint64_t submitted_ns = 0;
  uint64_t first_token_ns = 0;
  uint64_t latest_token_ns = 0;
  /// Of a thread that waits for its end, besides the one that fetches: of destroying its session, of
  /// destroying the host's handle.
  struct Withdrawal {
    Wake wake{};
    Withdrawal* next = nullptr;
  };
  Withdrawal* withdrawals = nullptr;  ///< all of them; those that wait own them
  /// Keeps it alive while the engine has it.
  std::shared_ptr<Generation> self;

  // Of the engine's list of those whose host is to be notified.
  std::shared_ptr<Generation> next_to_tell;
  bool is_to_be_told = false;
  uint32_t num_telling = 0;  ///< calls of notify under way
  Wake* silenced = nullptr;  ///< of a thread that waits for their end
};

}  // namespace tenon
