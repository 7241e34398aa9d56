// A session: one text of tokens that grows by appending and generating. It is a sequence in an
// engine; sampling rules are the sampler's, text pieces the tokenizer's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/byte_source.h"
#include "engine/answer_loop.h"
#include "engine/continuation_scorer.h"
#include "engine/engine.h"
#include "engine/sequence.h"
#include "engine/session_options.h"
#include "engine/snapshot.h"
#include "sampler/sampler.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// What a session has computed since it was made.
struct SessionStats {
  uint64_t prefill_tokens = 0;  ///< in prompts, but for what others had computed
  uint64_t decode_tokens = 0;   ///< one at a time, while generating
  uint64_t prefill_ns = 0;
  uint64_t decode_ns = 0;
};

/// One thread at a time: a second one meanwhile, or a call from inside a callback of this session,
/// throws State. `cancel` may be called from any thread, and from a signal handler.
///
/// After a failure the session is usable: what was computed stays, the rest is pending as before,
/// so that the same call may be tried again.
class Session {
 public:
  /// An empty session. Throws Argument for a context beyond what positions can count; NoMemory.
  Session(std::shared_ptr<Engine> engine, const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Of a model with an encoder: the text that it reads, in place of another one, and queues the
  /// token that answers to it begin with, where the file tells one. Computed when it is first needed;
  /// forks have the same source, and rewind() keeps it. Throws State when there are tokens or no
  /// encoder, Argument for no tokens or one outside the vocabulary, Limit for more than the encoder
  /// reads; nothing is then changed.
  void set_source(std::span<const Token> tokens);

  /// Queues tokens. Throws Argument for one outside the vocabulary, Limit "tokens N > context M";
  /// nothing is then queued.
  void append(std::span<const Token> tokens);
  /// Queues the tokens of a text.
  void append(std::string_view text, EncodeOptions options = {});

  /// Computes what is queued.
  ///   progress  with the computed fraction after each slice; false cancels
  /// Throws Cancelled, NoMemory, State "non-finite logits", and what the backend reports.
  void prefill(const std::function<bool(double fraction)>& progress = {});

  /// Draws the next token and appends it: computes what is queued, the last token drawn among it.
  /// Whether generation ends with it is the tokenizer's to say (Tokenizer::is_end); an end token is
  /// part of the text like any other. Throws Limit when the context is full; as prefill() and
  /// Sampler::sample.
  Token next(Sampler& sampler);
  /// next() as an answer that ends by rules. Its text is valid until the next call. With banned
  /// texts, tokens are drawn further ahead than they are handed out: the session's text has those
  /// that were handed out, and the sampler stands after them when the call returns.
  ///   rules  tokens_left is counted down; with the last one the answer ends
  using Piece = AnswerPiece;
  Piece next_piece(Sampler& sampler, EndRules& rules);
  /// What is held back for a stop, which is thereby handed out; for loops that end before the model.
  std::string_view take_held();

  /// The logits that the last token was drawn from, [vocab] f32; valid until the next call. Throws
  /// State when the last token was not drawn by next().
  std::span<const float> drawn_logits();
  [[nodiscard]] bool has_drawn_logits() const {
    return last_is_drawn_ || (last_is_generated_ && has_logits_of(position()));
  }

  /// The logits after the last token, [vocab] f32; valid until the next call. Throws State when
  /// there are no tokens; as prefill().
  std::span<const float> logits();

  /// Appends tokens, computes them and hands out the logits [vocab] after each one, in order;
  /// false cancels. Tokens that were not computed when it fails do not stay.
  void evaluate(std::span<const Token> tokens,
                const std::function<bool(uint64_t row, std::span<const float> logits)>& on_logits);

  /// How likely each continuation of the text is, token by token after those before it. The text
  /// stays as it is; continuations that begin alike are computed together. Throws Argument for one
  /// without tokens or with one outside the vocabulary, Limit for one that the context does not hold,
  /// State when there are no tokens yet, Deadline; as prefill(). What is in the logprobs after a
  /// failure is not defined.
  void score(std::span<const Continuation> continuations, uint64_t deadline_ns = UINT64_MAX);

  /// Queues a generation that continues the text, what is queued first, with the rules and limits
  /// given. The session is in use until it has ended; cancel() ends it. Throws Busy when the
  /// engine's queue is full, Limit when the context is, State without tokens.
  std::shared_ptr<Generation> submit(const Sampler& sampler, const GenerationOptions& options);

  /// A session with the same text; shares the computed blocks. Statistics start at zero.
  [[nodiscard]] std::unique_ptr<Session> fork();
  /// Hands the text and what was computed for it to a sink, piece by piece. What is held back for a
  /// stop, and the sampler, are not part of it. Throws Io, NoMemory, what the sink throws.
  void save(const SnapshotSink& sink);
  /// Bytes that save() writes at most, until the text changes.
  uint64_t snapshot_bytes();
  /// Puts what was saved in place of the text, which stays as it was when that fails. Throws Format
  /// for what is damaged or was made with another model or cache, Limit for more tokens than the
  /// context, Io, NoMemory. What finds no room in the cache is computed again when it is needed.
  ///   text_only_if_cache_differs  then the text is taken and all of it computed again
  void restore(const ByteSource& source, bool text_only_if_cache_differs = false);

  /// Forgets everything from `position` on. Throws Argument when the text is shorter.
  void rewind(uint64_t position);

  /// Seed of the latest answer, drawn in this session or the one it was forked or restored from;
  /// nothing before the first answer. An answer lasts until the text changes otherwise; later draws
  /// with a random seed continue with its seed.
  [[nodiscard]] std::optional<uint64_t> seed() const { return latest_seed_; }
  void set_latest_seed(uint64_t seed) { latest_seed_ = seed; }

  /// Ends the call or generation under way, or else the next one that computes, with Cancelled.
  void cancel() noexcept;

  /// Tokens in the text, queued ones included.
  [[nodiscard]] uint64_t position() const { return sequence_.size() - loop_.num_held(); }
  [[nodiscard]] uint32_t context() const { return sequence_.context(); }
  /// Valid until the next call that appends or rewinds.
  [[nodiscard]] std::span<const Token> tokens() const {
    return sequence_.tokens().first(position());
  }
  /// A call or a generation is under way: nothing but cancel() may be called.
  [[nodiscard]] bool in_use() const { return control_->in_use.load(std::memory_order_acquire); }
  [[nodiscard]] const SessionOptions& options() const { return options_; }
  [[nodiscard]] const SessionStats& stats() const { return stats_; }
  [[nodiscard]] const Model& model() const { return engine_->model(); }
  [[nodiscard]] const std::shared_ptr<Engine>& engine() const { return engine_; }

 private:
  class Use;
  static constexpr uint64_t kNoLogits = UINT64_MAX;

  [[nodiscard]] std::unique_ptr<Session> empty_like() const;
  SnapshotHeader snapshot_header();
  void draw();
  void cut(uint64_t size);
  void drop_held();
  void settle_seed(Sampler& sampler);
  void check_room() const;
  /// The logits are those that the last of `position` tokens was drawn from.
  [[nodiscard]] bool has_logits_of(uint64_t position) const {
    return logits_position_ != kNoLogits && logits_position_ + 1 == position;
  }
  void check_tokens(std::span<const Token> tokens) const;
  void check_continuation(const Continuation& continuation, size_t index) const;
  void check_source(const SnapshotHeader& header, const std::string& name) const;
  void append_checked(std::span<const Token> tokens);
  void check_cancelled();
  void compute_pending(const std::function<bool(double)>& progress, AnswerLoop* loop = nullptr);
  void compute(uint64_t begin, uint64_t end, Outputs outputs, float* logits,
               AnswerLoop* loop = nullptr);
  [[nodiscard]] uint64_t num_pending();
  [[nodiscard]] bool has_logits() const { return logits_position_ == sequence_.size(); }
  void require_logits(AnswerLoop* loop = nullptr);
  [[nodiscard]] uint64_t vocab() const { return model().spec().vocab; }
  [[nodiscard]] float* logits_row() const { return reinterpret_cast<float*>(logits_.data()); }

  std::shared_ptr<Engine> engine_;
  Sequence sequence_;
  Buffer logits_;                         // [vocab] f32
  uint64_t logits_position_ = kNoLogits;  // after how many tokens they are
  SessionStats stats_;
  AnswerText answer_;
  std::optional<uint64_t> latest_seed_;
  AnswerLoop loop_;                 // of the calls; pauses after each piece
  bool last_is_generated_ = false;  // the last token came from next()
  bool last_is_drawn_ = false;      // the last token handed out was, before those held
  SessionOptions options_;
  uint64_t deadline_ns_ = UINT64_MAX;  // of the call under way
  std::shared_ptr<CallControl> control_;
  std::shared_ptr<Generation> generation_;  // the latest
};

}  // namespace tenon
