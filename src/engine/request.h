// A request: a sequence, its target length and the wanted outputs. The scheduler orders requests,
// the engine computes them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "abi/cancel_flag.h"
#include "base/wake.h"
#include "engine/answer_loop.h"
#include "engine/drawn_logprobs.h"
#include "engine/idle_sequences.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "engine/speculator.h"
#include "sampler/sampler.h"

namespace tenon {

class Generation;
struct StoreRead;

/// Logits that a request wants.
enum class Outputs : uint32_t { None, Last, All };

/// Lets any thread reach a running call on a session. Shared by the session and its generation.
struct CallControl {
  CancelFlag cancel;                 ///< ends the running or the next call
  std::atomic<uint32_t> in_step{0};  ///< its requests with tokens in steps under way
  std::atomic<bool> in_use{false};   ///< a call is under way
  Wake wake;                         ///< wakes the thread waiting for the call
  IdleSequences::Entry idle;         ///< the session's sequence, while it is idle
};

/// Owned by the engine until it has ended. Guarded by the engine's lock, except for fields that the
/// driving thread reads during a step.
struct Request : Work {
  Sequence* sequence = nullptr;
  uint64_t end = 0;           ///< tokens to compute
  uint64_t outputs_from = 0;  ///< All: first token whose logits are wanted
  Outputs outputs = Outputs::None;
  float* logits = nullptr;  ///< [1 or end - outputs_from, vocab]; null for None and generations
  const uint32_t* cancel = nullptr;
  CallControl* control = nullptr;
  IdleSequences::Entry* idle = nullptr;  ///< list entry of the sequence, used after the end
  uint64_t deadline_ns = UINT64_MAX;
  /// With Outputs::Last: draws from the logits in the step. Null: no draw.
  AnswerLoop* loop = nullptr;
  Generation* generation = nullptr;
  /// With Outputs::Last and a single token: guesses of the tokens after the text, the speculator
  /// that made them, and the logits of their rows [guesses, vocab]. For calls; a generation has its
  /// own guesses.
  std::span<const Token> guesses{};
  const Speculator* guessed_by = nullptr;
  float* guess_logits = nullptr;
  uint32_t num_guessed = 0;  ///< guesses whose rows were computed

  bool ended = false;
  uint32_t num_under_way = 0;  ///< steps under way with a slice of it
  /// Output row of the latest step that draws the next token; kNoRow if the sequence has the token.
  uint32_t drawn_row = kNoRow;
  static constexpr uint32_t kNoRow = UINT32_MAX;
  /// True if the latest device-drawn token was taken. After a grammar refused a token, no step is
  /// built ahead until the next success.
  bool is_drawn_by_device = true;
  /// Next draws that get the whole row, because the largest logits did not determine the latest
  /// token.
  uint32_t num_row_draws = 0;
  static constexpr uint32_t kRowDraws = 8;
  std::exception_ptr failure;
  Request* next_refused = nullptr;        ///< link of PickMemory's list
  uint64_t num_reused = 0;                ///< tokens computed by others
  uint64_t seen_version = UINT64_MAX;     ///< version of the prefix index at the last lookup
  std::shared_ptr<StoreRead> store_read;  ///< for which it waits; null if it does not
  bool asked_store = false;               ///< once, until it is preempted

  /// Rows of logits produced by a slice of the next tokens.
  [[nodiscard]] uint32_t num_outputs(uint32_t num_tokens) const;
  /// Destination of the logits of a slice after `past` positions.
  [[nodiscard]] float* logits_at(uint64_t past, uint64_t vocab) const;
  /// True if the whole row of logits is needed, even if a device draws.
  [[nodiscard]] bool wants_row() const;
  /// Notes that a token was drawn.
  ///   by_device  true if a device drew it and it was taken
  void note_drawn(bool by_device) noexcept;
  /// Restarts from cached(). No step under way has a slice of it.
  void restart() noexcept;
  /// End of the prefix that may come from the prefix index; later tokens are computed for their
  /// logits.
  [[nodiscard]] uint64_t reuse_limit() const;
};

/// Limits and rank of a generation.
struct GenerationOptions {
  uint64_t max_tokens = 0;  ///< 0 means as many as the context holds
  uint64_t timeout_ns = 0;  ///< submit to end; 0 means none
  int32_t priority = 0;     ///< higher runs first
  std::string client;
  double weight = 1;  ///< share of the client
  EndRules ends;      ///< except min_tokens, which the sampler has
  DrawnLogprobs::Wanted logprobs;
  /// The likely answer: a source of guesses, without effect on it. Read by submit() only.
  std::span<const Token> prediction{};
  Guessing speculate = Guessing::Engine;       ///< in place of the session's
  uint32_t draft_max = Drafter::kMostGuesses;  ///< most guesses at once
  /// Called by a thread inside the engine for a token or the end; must not call the engine.
  void (*notify)(void* user) noexcept = nullptr;
  void* user = nullptr;
};

/// Reuse of a request's prompt.
struct ReuseReport {
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;  ///< computed before, by the session or by others
  PrefixMiss miss;             ///< why reuse ended there
};

/// A request that continues after each token. Made by Session::submit. Any thread may query it, one
/// at a time may fetch.
class Generation : public Request {
 public:
  /// Throws Argument if more likeliest tokens are wanted than exist.
  ///   of_session, end_of_text  must outlive the running generation
  Generation(Sequence& of_session, AnswerText& end_of_text, std::shared_ptr<CallControl> shared,
             const Sampler& draws, const GenerationOptions& limits, uint64_t vocab);

  GenerationOptions options;
  std::shared_ptr<CallControl> call;
  Sampler sampler;
  uint64_t seed = 0;  ///< the sampler's seed, fixed since submit
  AnswerLoop decoding;
  std::vector<Token> tokens;        ///< tokens drawn for good
  std::string text;                 ///< text of `tokens`, as released
  std::vector<uint64_t> text_ends;  ///< [tokens] end in `text` of each token's piece
  DrawnLogprobs logprobs;
  /// Makes guesses; null if there are none.
  std::unique_ptr<Speculator> speculator;
  uint64_t num_drafted = 0;                           ///< guesses computed
  uint64_t num_accepted = 0;                          ///< guesses that became tokens
  std::array<uint64_t, kDraftSources> accepted_by{};  ///< num_accepted by DraftSource
  /// Tokens settled while the step draws, which the engine hands out after it.
  struct Settled {
    Token token = 0;
    Finish finish = Finish::None;
    uint64_t text_end = 0;  ///< in settled_text
  };
  std::vector<Settled> settled;
  std::string settled_text;
  /// Lets the answer be guessed, unless there is no speculator; call before it is submitted.
  void speculate(std::unique_ptr<Speculator> by);
  /// Settles the round that the loop has drawn, on the drawing thread. Returns false if the answer
  /// ends with it.
  bool settle_drawn();
  /// Guesses the tokens after the text.
  void propose(WorkWatch* watch) noexcept;
  std::string piece;         ///< the text fetched last
  bool has_tail = false;     ///< text after the last token is not fetched yet
  uint64_t num_fetched = 0;  ///< tokens fetched
  Finish finish = Finish::None;
  ReuseReport reuse;
  Sequence::Lost lost;  ///< state of the sequence at submit
  bool explained = false;
  uint64_t submitted_ns = 0;
  uint64_t first_token_ns = 0;
  uint64_t latest_token_ns = 0;
  /// A thread blocked in a destructor until the generation ends.
  struct Withdrawal {
    Wake wake{};
    Withdrawal* next = nullptr;
  };
  Withdrawal* withdrawals = nullptr;  ///< list of all; owned by the waiting threads
  /// Keeps the generation alive while the engine has it.
  std::shared_ptr<Generation> self;

  // Links of the engine's list of hosts to notify.
  std::shared_ptr<Generation> next_to_tell;
  bool is_to_be_told = false;
  uint32_t num_telling = 0;  ///< running calls of notify
  Wake* silenced = nullptr;  ///< wakes a thread that waits for them
};

}  // namespace tenon
