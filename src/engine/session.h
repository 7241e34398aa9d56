// A session: one text of tokens that grows by appending and generating. It owns a sequence in an
// engine; the sampler draws and the tokenizer makes text.
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

/// A host's picture.
struct SessionPicture {
  media::PixelView pixels;
  uint32_t orientation = 1;  ///< 1..8 as in EXIF
  media::Colour background = media::kWhite;
};

/// Work of a session since it was created.
struct SessionStats {
  uint64_t prefill_tokens = 0;  ///< prompt tokens, without reused tokens
  uint64_t decode_tokens = 0;   ///< tokens computed as decodes, while generating
  uint64_t prefill_ns = 0;
  uint64_t decode_ns = 0;
  uint64_t drafted_tokens = 0;   ///< guesses computed in calls
  uint64_t accepted_tokens = 0;  ///< guesses that became tokens
};

/// Use from one thread at a time: a concurrent call, or a call from a callback of this session,
/// throws State. cancel() may be called from any thread and from a signal handler.
///
/// A session stays usable after a failure: computed tokens stay, the rest is pending as before, so
/// the call may be repeated.
class Session {
 public:
  /// Makes an empty session. Throws Argument for a context beyond int32 positions, and NoMemory.
  Session(std::shared_ptr<Engine> engine, const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Encoder-decoders only: replaces the source text and queues the decoder's start token, if the
  /// file names it. The source is encoded on first use; forks share it and rewind() keeps it.
  /// Throws State if there are tokens or no encoder, Argument for an empty source or a token
  /// outside the vocabulary, Limit for more tokens than the encoder reads; nothing changes then.
  void set_source(std::span<const Token> tokens);

  /// Sets the adapters whose sum changes the model for this session, and for its forks. Throws State
  /// with tokens in the text, and without the model's option adapter_slots; otherwise as
  /// AdapterBank::take. Nothing changes then.
  void set_adapters(std::span<const ScaledAdapter> adapters);
  /// Adds these to those that are set.
  void add_adapters(std::span<const ScaledAdapter> adapters);

  /// Queues tokens. Throws Argument for a token outside the vocabulary, Limit "tokens N > context
  /// M"; nothing is queued then.
  void append(std::span<const Token> tokens);
  /// Queues the tokens of a text.
  void append(std::string_view text, EncodeOptions options = {});

  /// Queues a picture: its tokens, with the rows of the model's tower (option projector), encoded
  /// here unless an equal picture was lately. Throws State without a tower, Argument and Limit for
  /// pixels (to_upright_rgb), Limit "tokens N > context M" before anything is computed, Cancelled,
  /// NoMemory; nothing is queued then.
  void append_picture(const SessionPicture& picture);
  /// Computes the queued tokens. Throws Cancelled, NoMemory, State "non-finite logits", and the
  /// backend's errors.
  ///   progress  called with the computed fraction after each slice; returning false cancels
  void prefill(const std::function<bool(double fraction)>& progress = {});

  /// Computes the queued tokens, then draws and appends the next token. The tokenizer tells end
  /// tokens (Tokenizer::is_end), which are appended like any token. Throws Limit if the context is
  /// full, and as prefill() and Sampler::sample.
  Token next(Sampler& sampler);
  /// Like next(), for an answer that ends by rules. The piece's text is valid until the next call.
  /// With banned texts, tokens are drawn ahead of those handed out; the session's text and the
  /// sampler stand after the last token handed out when the call returns.
  ///   rules  tokens_left is counted down; the answer ends at 0
  using Piece = AnswerPiece;
  Piece next_piece(Sampler& sampler, EndRules& rules);
  /// Returns and releases the text held back for a stop, for loops that end before the model does.
  std::string_view take_held();

  /// Logits that the last token was drawn from, [vocab] f32; valid until the next call. Throws
  /// State if next() did not draw the last token.
  std::span<const float> drawn_logits();
  [[nodiscard]] bool has_drawn_logits() const {
    return last_is_drawn_ || (last_is_generated_ && has_logits_of(position()));
  }

  /// Logits after the last token, [vocab] f32; valid until the next call. Throws State without
  /// tokens, and as prefill().
  std::span<const float> logits();

  /// Appends tokens, computes them and passes the logits [vocab] after each token to the callback,
  /// in order; returning false cancels. Tokens not computed at a failure are removed.
  void evaluate(std::span<const Token> tokens,
                const std::function<bool(uint64_t row, std::span<const float> logits)>& on_logits);

  /// Log-probability of each continuation of the text, token by token. Leaves the text unchanged
  /// and computes shared prefixes of continuations once. Throws Argument for an empty continuation
  /// or a token outside the vocabulary, Limit for a continuation that the context does not hold,
  /// State without tokens, Deadline, and as prefill(). The logprobs are undefined after a failure.
  void score(std::span<const Continuation> continuations, uint64_t deadline_ns = UINT64_MAX);

  /// Queues a generation that computes the queued tokens and continues the text. The session is in
  /// use until the generation ends; cancel() ends it. Throws Busy if the engine's queue is full,
  /// Limit if the context is full, State without tokens.
  std::shared_ptr<Generation> submit(const Sampler& sampler, const GenerationOptions& options);

  /// Makes a session with the same text that shares the computed blocks. Its statistics start at
  /// zero.
  [[nodiscard]] std::unique_ptr<Session> fork();
  /// Writes the text and its computed blocks to a sink, piece by piece; without text held back for
  /// a stop and without the sampler. Throws Io, NoMemory, and the sink's errors.
  void save(const SnapshotSink& sink);
  /// Most bytes that save() writes, until the text changes.
  uint64_t snapshot_bytes();
  /// Replaces the text by a saved session; a failure leaves the text unchanged. Blocks that find no
  /// room are computed again when needed. Throws Format for damaged bytes or another model or
  /// cache, Limit for more tokens than the context, Io, NoMemory.
  ///   text_only_if_cache_differs  takes the text from another cache and computes all of it again
  void restore(const ByteSource& source, bool text_only_if_cache_differs = false);

  /// Forgets everything from `position` on. Throws Argument if the text is shorter.
  void rewind(uint64_t position);

  /// Seed of the latest answer, drawn here or in the session that this was forked or restored from;
  /// empty before the first answer. An answer lasts until the text changes otherwise. Later draws
  /// with a random seed continue with this seed.
  [[nodiscard]] std::optional<uint64_t> seed() const { return latest_seed_; }
  void set_latest_seed(uint64_t seed) { latest_seed_ = seed; }

  /// Ends the running call or generation, or else the next one that computes, with Cancelled.
  void cancel() noexcept;

  /// Tokens in the text, including queued tokens.
  [[nodiscard]] uint64_t position() const { return sequence_.size() - loop_.num_held(); }
  [[nodiscard]] uint32_t context() const { return sequence_.context(); }
  /// Valid until the next call that appends or rewinds.
  [[nodiscard]] std::span<const Token> tokens() const {
    return sequence_.tokens().first(position());
  }
  /// Rows of pictures in the text, in order; valid as tokens().
  [[nodiscard]] std::span<const RowsInText> picture_rows() const {
    return sequence_.picture_rows();
  }
  /// True while a call or a generation runs: only cancel() may be called.
  [[nodiscard]] bool in_use() const { return control_->in_use.load(std::memory_order_acquire); }
  [[nodiscard]] const SessionOptions& options() const { return options_; }
  [[nodiscard]] const SessionStats& stats() const { return stats_; }
  [[nodiscard]] const Model& model() const { return engine_->model(); }
  [[nodiscard]] const std::shared_ptr<Engine>& engine() const { return engine_; }

 private:
  class Use;
  static constexpr uint64_t kNoLogits = UINT64_MAX;

  [[nodiscard]] std::unique_ptr<Session> empty_like() const;
  void put_adapters(std::vector<ScaledAdapter> adapters);
  [[nodiscard]] Hash128 root_with(const AdapterLease* adapter) const;
  [[nodiscard]] Hash128 adapted_model(const Hash128& model) const;
  SnapshotHeader snapshot_header();
  void draw();
  void cut(uint64_t size);
  void drop_held();
  void settle_seed(Sampler& sampler);
  void check_room() const;
  /// True if the logits are those from which the last of `position` tokens was drawn.
  [[nodiscard]] bool has_logits_of(uint64_t position) const {
    return logits_position_ != kNoLogits && logits_position_ + 1 == position;
  }
  void check_tokens(std::span<const Token> tokens) const;
  void check_continuation(const Continuation& continuation, size_t index) const;
  void check_source(const SnapshotHeader& header, const std::string& name) const;
  void append_checked(std::span<const Token> tokens);
  [[nodiscard]] std::shared_ptr<const EncodedPicture> encode_picture(
      const SessionPicture& picture, const media::PicturePlan& plan);
  void refuse_pictures(std::string_view what) const;
  void check_cancelled();
  void compute_pending(const std::function<bool(double)>& progress, AnswerLoop* loop = nullptr);
  void compute(uint64_t begin, uint64_t end, Outputs outputs, float* logits,
               AnswerLoop* loop = nullptr);
  [[nodiscard]] uint64_t num_pending();
  [[nodiscard]] bool has_logits() const { return logits_position_ == sequence_.size(); }
  void require_logits(AnswerLoop* loop = nullptr);
  std::span<const Token> propose(const AnswerLoop& loop);
  void take_ahead();
  void forget_ahead() noexcept { ahead_.clear(); }
  [[nodiscard]] uint64_t vocab() const { return model().spec().vocab; }
  [[nodiscard]] float* logits_row() const { return reinterpret_cast<float*>(logits_.data()); }

  std::shared_ptr<Engine> engine_;
  Sequence sequence_;
  Buffer logits_;                           // [vocab] f32
  uint64_t logits_position_ = kNoLogits;    // tokens before the logits
  std::unique_ptr<Speculator> speculator_;  // of calls; null before the first decode
  bool has_given_up_guesses_ = false;       // there is no speculator, or no memory for guesses
  std::vector<ScaledAdapter> adapters_;     // of the sequence
  std::vector<Token> ahead_;                // guesses whose rows are in ahead_logits_
  uint64_t ahead_from_ = 0;                 // tokens before ahead_
  Buffer ahead_logits_;                     // [guesses, vocab] f32; empty before the first guess
  SessionStats stats_;
  AnswerText answer_;
  std::optional<uint64_t> latest_seed_;
  AnswerLoop loop_;                 // for calls; pauses after each piece
  bool last_is_generated_ = false;  // next() appended the last token
  bool last_is_drawn_ = false;      // next() drew the last token handed out
  SessionOptions options_;
  uint64_t deadline_ns_ = UINT64_MAX;  // deadline of the running call
  std::shared_ptr<CallControl> control_;
  std::shared_ptr<Generation> generation_;  // the latest
};

}  // namespace tenon
