// A text in progress: append to it, generate more of it, read its logits, fork it, rewind it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/adapter.hpp>
#include <tenon/error.hpp>
#include <tenon/model.hpp>
#include <tenon/options.hpp>
#include <tenon/sampler.hpp>
#include <tenon/tokenizer.hpp>
#include <utility>
#include <vector>

namespace tenon {
inline namespace v1 {

/// One generated token and the text it completes: whole UTF-8 characters, possibly none. The text
/// is valid until the next piece. A last piece may be without a token (TENON_FINISH_BANNED).
struct Piece {
  std::string_view text{};
  Token token = TENON_NO_TOKEN;
  int32_t finish = TENON_FINISH_NONE;

  operator std::string_view() const noexcept { return text; }
  template <typename Stream>
  friend auto operator<<(Stream& stream, const Piece& piece)
      -> decltype(stream << std::declval<std::string_view>()) {
    return stream << piece.text;
  }
};

struct GenerateOptions {
  uint64_t max_tokens = 0;  ///< 0: until the model ends or the context is full
  /// For the text given to generate(). Unset: true at the beginning of the session.
  std::optional<bool> add_special{};
  bool parse_special = false;
  SamplerOptions sampler{};
  /// Chats only: drops the oldest turns if the conversation leaves no room for the answer.
  bool drop_oldest = false;
};

/// Result of generate(): an input range of pieces. Each step of the iterator generates one.
class Generation {
 public:
  class Iterator {
   public:
    using value_type = Piece;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    Iterator() = default;
    explicit Iterator(Generation* owner) : owner_(owner) {}
    const Piece& operator*() const noexcept { return owner_->piece_; }
    const Piece* operator->() const noexcept { return &owner_->piece_; }
    Iterator& operator++() {
      owner_->advance();
      return *this;
    }
    void operator++(int) { owner_->advance(); }
    bool operator==(std::default_sentinel_t) const noexcept {
      return owner_ == nullptr || owner_->done_;
    }

   private:
    Generation* owner_ = nullptr;
  };

  /// sampler: of the caller, or null to use `own`.
  Generation(tenon_session* session, uint64_t max_tokens, Sampler* sampler,
             std::optional<Sampler> own = {})
      : session_(session), left_(max_tokens), sampler_(sampler), own_(std::move(own)) {}

  [[nodiscard]] Iterator begin() {
    Sampler* const sampler = own_ ? &*own_ : sampler_;
    if (sampler != nullptr) sampler->set_token_limit(left_);
    advance();
    return Iterator(this);
  }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  void advance() {
    if (left_ == 0 || piece_.finish != TENON_FINISH_NONE) {
      done_ = true;
      return;
    }
    --left_;
    tenon_piece raw{};
    raw.struct_size = sizeof raw;
    Sampler* sampler = own_ ? &*own_ : sampler_;
    check(tenon_session_next(session_, sampler != nullptr ? sampler->get() : nullptr, &raw));
    piece_ = {{raw.text, raw.length}, raw.token, raw.finish};
  }

  tenon_session* session_;
  uint64_t left_;
  Sampler* sampler_;
  std::optional<Sampler> own_;
  Piece piece_;
  bool done_ = false;
};

/// Pixels of the caller, interleaved, from the top left in rows.
struct Picture {
  std::span<const std::byte> pixels;  ///< read before a call returns
  uint64_t width = 0;
  uint64_t height = 0;
  uint32_t channels = 3;  ///< 1 grey, 2 grey and opacity, 3 RGB, 4 RGB and opacity
  uint64_t stride = 0;    ///< bytes from row to row; 0: rows without a gap
  uint32_t type = TENON_PIXELS_U8;
  uint32_t orientation = 0;                 ///< as in EXIF, 1..8; 0: upright
  std::optional<uint32_t> background = {};  ///< 0xRRGGBB that shows through; white

  [[nodiscard]] tenon_picture raw() const {
    tenon_picture raw{};
    raw.struct_size = sizeof raw;
    raw.channels = channels;
    raw.width = width;
    raw.height = height;
    raw.stride = stride;
    raw.pixel_type = type;
    raw.orientation = orientation;
    raw.background = background ? 0x01000000u | *background : 0;
    return raw;
  }
};

/// Move-only; one thread at a time, but cancel() from any. The model is kept alive.
class Session {
 public:
  explicit Session(const Model& model, const SessionOptions& options = {}) {
    tenon_session* raw = nullptr;
    check(tenon_session_create(model.get(), Options(options).get(), &raw));
    handle_.reset(raw);
  }

  /// Takes a handle of the C interface over.
  [[nodiscard]] static Session adopt(tenon_session* raw) noexcept { return Session(raw); }

  /// The sum of these adapters changes the model for this session: before its first token.
  void set_adapters(std::span<const ScaledAdapter> adapters) {
    if (adapters.empty()) return check(tenon_session_clear_adapters(get()));
    const Adapter sum = Adapter::sum(adapters);
    check(tenon_session_clear_adapters(get()));
    check(tenon_session_add_adapter(get(), sum.get(), 1));
  }
  void set_adapter(const Adapter& adapter, float scale = 1.0f) {
    const ScaledAdapter one{&adapter, scale};
    set_adapters({&one, 1});
  }

  void append(std::string_view text, EncodeOptions options = {}) {
    check(tenon_session_append_text(get(), text.data(), text.size(), flags_of(options)));
  }
  void append(std::span<const Token> tokens) {
    check(tenon_session_append_tokens(get(), tokens.data(), tokens.size()));
  }

  /// Appends a picture, for a model that was opened with its tower (ModelOptions, "projector").
  void append(const Picture& picture) {
    const tenon_picture raw = picture.raw();
    check(tenon_session_append_picture(get(), &raw, picture.pixels.data(), picture.pixels.size()));
  }
  /// Appends tokens in which each `place` (Model::picture_place) is that of the next picture. Throws
  /// ARGUMENT if there are more places than pictures or fewer. After an error the text is as before.
  void append(std::span<const Token> tokens, std::span<const Picture> pictures, Token place) {
    const auto places = static_cast<size_t>(std::ranges::count(tokens, place));
    if (places != pictures.size()) {
      throw Error(Code::Argument, "the text has " + std::to_string(places) +
                                      " places for pictures, and there are " +
                                      std::to_string(pictures.size()) + " pictures");
    }
    const uint64_t before = position();
    try {
      for (const Picture& picture : pictures) {
        const auto count = static_cast<size_t>(std::ranges::find(tokens, place) - tokens.begin());
        append(tokens.first(count));
        append(picture);
        tokens = tokens.subspan(count + 1);
      }
      append(tokens);
    } catch (...) {
      rewind(before);
      throw;
    }
  }

  /// Encoder-decoders only: sets the source, the text that the encoder reads, and queues the
  /// decoder start token, if the file has one.
  void set_source(std::string_view text, EncodeOptions options = {.add_special = true}) {
    check(tenon_session_set_source_text(get(), text.data(), text.size(), flags_of(options)));
  }
  void set_source(std::span<const Token> tokens) {
    check(tenon_session_set_source_tokens(get(), tokens.data(), tokens.size()));
  }

  /// Appends `text` and continues it:
  ///   for (auto piece : session.generate("Once upon a time")) std::cout << piece;
  [[nodiscard]] Generation generate(std::string_view text, const GenerateOptions& options = {}) {
    append(text, {options.add_special.value_or(position() == 0), options.parse_special});
    return generate(options);
  }
  /// Continues the session's text.
  [[nodiscard]] Generation generate(const GenerateOptions& options = {}) {
    return Generation(get(), room_for(options.max_tokens), nullptr, Sampler(options.sampler));
  }
  /// Continues with a sampler of the caller, which must outlive the range.
  [[nodiscard]] Generation generate(Sampler& sampler, uint64_t max_tokens = 0) {
    return Generation(get(), room_for(max_tokens), &sampler);
  }

  /// One of several answers to the same text.
  struct Candidate {
    std::string text;
    std::vector<Token> tokens;
    int32_t finish = TENON_FINISH_NONE;
    double logprob = 0;  ///< sum over its drawn tokens, natural logarithm
    int64_t seed = 0;    ///< seed of the answer
  };
  struct BestOf {
    std::vector<Candidate> candidates;
    uint32_t best = 0;  ///< index of the candidate that the session's text continues with
  };
  /// Continues the session's text `count` times, with consecutive seeds, and keeps the likeliest
  /// answer.
  BestOf best_of(Sampler& sampler, uint32_t count, uint64_t max_tokens = 0) {
    BestOf result;
    const std::function<bool(const tenon_candidate&)> keep = [&](const tenon_candidate& one) {
      result.candidates.push_back({std::string(one.text, static_cast<size_t>(one.length)),
                                   {one.tokens, one.tokens + one.num_tokens},
                                   one.finish,
                                   one.logprob,
                                   one.seed});
      return true;
    };
    Callback<bool(const tenon_candidate&)> callback{keep, nullptr};
    callback.check(tenon_session_best_of(
        get(), sampler.get(), count, max_tokens,
        [](void* user, const tenon_candidate* one) noexcept {
          return static_cast<Callback<bool(const tenon_candidate&)>*>(user)
              ->call<const tenon_candidate&>(*one);
        },
        &callback, &result.best));
    return result;
  }

  /// Appends tokens and returns each one's log-probability after those before it; the session's
  /// first token has 0. For prompts.
  std::vector<TokenLogprob> append_with_logprobs(std::span<const Token> tokens) {
    std::vector<TokenLogprob> result;
    if (tokens.empty()) return result;
    result.push_back({tokens[0], 0});
    if (position() > 0) result = logprobs(logits(), tokens.first(1));
    evaluate(tokens, [&](uint64_t row, std::span<const float> of_next) {
      if (row + 1 < tokens.size()) {
        result.push_back(
            logprobs(of_next, tokens.subspan(static_cast<size_t>(row) + 1, 1)).front());
      }
      return true;
    });
    return result;
  }

  /// Log-probability of a continuation: natural logarithms of the probabilities of its tokens, and
  /// their sum.
  struct Score {
    double logprob = 0;
    std::vector<float> token_logprobs;
  };
  /// Scores several continuations of the text, which does not change, in one batch. Texts are
  /// tokenized separately.
  ///   timeout_seconds  for the whole call; 0: none
  [[nodiscard]] std::vector<Score> score(std::span<const std::string> texts,
                                         EncodeOptions options = {}, double timeout_seconds = 0) {
    Continuations all(texts);
    all.given.texts = all.places<const char*>(texts, all.texts);
    all.given.lengths = all.sizes.data();
    all.given.flags = flags_of({.parse_special = options.parse_special});
    return score(all, timeout_seconds);
  }
  [[nodiscard]] std::vector<Score> score(std::span<const std::vector<Token>> continuations,
                                         double timeout_seconds = 0) {
    Continuations all(continuations);
    all.given.tokens = all.places<const Token*>(continuations, all.tokens);
    all.given.num_tokens = all.sizes.data();
    return score(all, timeout_seconds);
  }

  /// Computes queued tokens now. progress(fraction) returns false to cancel; it may throw.
  void prefill(const std::function<bool(double fraction)>& progress = {}) {
    if (!progress) return check(tenon_session_prefill(get(), nullptr, nullptr));
    Callback<bool(double)> callback{progress, nullptr};
    callback.check(tenon_session_prefill(
        get(),
        [](void* user, double fraction) noexcept {
          return static_cast<Callback<bool(double)>*>(user)->call(fraction);
        },
        &callback));
  }

  /// Logits of the next token, [vocabulary] f32; valid until the next call on this session.
  [[nodiscard]] std::span<const float> logits() {
    const float* data = nullptr;
    size_t count = 0;
    check(tenon_session_logits(get(), &data, &count));
    return {data, count};
  }

  /// Logits that the last token was drawn from, [vocabulary] f32; valid until the next call on this
  /// session. Throws Error(State) if the last token was not drawn.
  [[nodiscard]] std::span<const float> drawn_logits() {
    const float* data = nullptr;
    size_t count = 0;
    check(tenon_session_drawn_logits(get(), &data, &count));
    return {data, count};
  }

  /// Appends tokens and hands out the logits after each: on_logits(row, [vocabulary] f32) returns
  /// false to cancel; it may throw.
  using OnLogits = std::function<bool(uint64_t row, std::span<const float> logits)>;
  void evaluate(std::span<const Token> tokens, const OnLogits& on_logits) {
    using Logits = Callback<bool(uint64_t, std::span<const float>)>;
    Logits callback{on_logits, nullptr};
    callback.check(tenon_session_evaluate(
        get(), tokens.data(), tokens.size(),
        [](void* user, uint64_t row, const float* logits, uint64_t vocabulary) noexcept {
          return static_cast<Logits*>(user)->call(
              row, std::span<const float>(logits, static_cast<size_t>(vocabulary)));
        },
        &callback));
  }

  /// Makes a second session with this text, sharing what was computed.
  [[nodiscard]] Session fork() {
    tenon_session* raw = nullptr;
    check(tenon_session_fork(get(), &raw));
    return Session(raw);
  }
  void rewind(uint64_t position) { check(tenon_session_rewind(get(), position)); }

  /// Saves the session to a file, which appears complete or not at all, or to bytes.
  void save(const std::string& path) { check(tenon_session_save(get(), path.c_str())); }
  [[nodiscard]] std::vector<std::byte> save() {
    std::vector<std::byte> bytes;
    for (;;) {
      size_t needed = 0;
      check(tenon_session_save_buffer(get(), bytes.data(), bytes.size(), &needed));
      const bool fits = needed <= bytes.size();
      bytes.resize(needed);
      if (fits) return bytes;
    }
  }
  /// Replaces the text by a saved session. text_only_if_cache_differs: takes the text and
  /// recomputes it if the cache differs; otherwise that is refused.
  void restore(const std::string& path, bool text_only_if_cache_differs = false) {
    check(tenon_session_restore(get(), path.c_str(),
                                text_only_if_cache_differs ? TENON_RESTORE_TEXT : 0u));
  }
  void restore(std::span<const std::byte> saved, bool text_only_if_cache_differs = false) {
    check(tenon_session_restore_buffer(get(), saved.data(), saved.size(),
                                       text_only_if_cache_differs ? TENON_RESTORE_TEXT : 0u));
  }

  /// Number of tokens in the text; context(): the most it can hold.
  [[nodiscard]] uint64_t position() const {
    uint64_t position = 0;
    check(tenon_session_position(get(), &position));
    return position;
  }
  [[nodiscard]] uint64_t context() const {
    uint64_t context = 0;
    check(tenon_session_context(get(), &context));
    return context;
  }
  /// Valid until the next call on this session.
  [[nodiscard]] std::span<const Token> tokens() const {
    const Token* data = nullptr;
    size_t count = 0;
    check(tenon_session_tokens(get(), &data, &count));
    return {data, count};
  }
  /// Seed of the latest answer; as SamplerOptions::seed it gives that answer again. Throws
  /// Error(State) without an answer.
  [[nodiscard]] int64_t seed() const {
    int64_t seed = 0;
    check(tenon_session_seed(get(), &seed));
    return seed;
  }
  [[nodiscard]] tenon_session_stats stats() const {
    tenon_session_stats stats{};
    stats.struct_size = sizeof stats;
    check(tenon_session_get_stats(get(), &stats));
    return stats;
  }

  /// Ends the running call, or the next one, with Code::Cancelled. Any thread, any time.
  void cancel() noexcept { (void)tenon_session_cancel(get()); }

  [[nodiscard]] tenon_session* get() const noexcept { return handle_.get(); }

 private:
  explicit Session(tenon_session* raw) : handle_(raw) {}

  /// Number of tokens to generate for `max_tokens`; 0: as many as fit. With no room it is 1, whose
  /// failure names both numbers of the limit.
  [[nodiscard]] uint64_t room_for(uint64_t max_tokens) const {
    if (max_tokens != 0) return max_tokens;
    const uint64_t room = context() - position();
    return room != 0 ? room : 1;
  }

  /// The arguments of tenon_session_score.
  struct Continuations {
    template <typename Items>
    explicit Continuations(const Items& items) : counts(items.size()) {
      for (const auto& item : items) sizes.push_back(item.size());
      given.struct_size = sizeof given;
      given.count = items.size();
      given.num_logprobs = counts.data();
    }
    template <typename Place, typename Items>
    static const Place* places(const Items& items, std::vector<Place>& into) {
      for (const auto& item : items) into.push_back(item.data());
      return into.data();
    }
    tenon_continuations given{};
    std::vector<uint64_t> sizes;
    std::vector<uint64_t> counts;
    std::vector<const char*> texts;
    std::vector<const Token*> tokens;
  };
  std::vector<Score> score(Continuations& all, double timeout_seconds) {
    all.given.timeout_seconds = timeout_seconds;
    std::vector<float> logprobs;
    for (;;) {
      size_t needed = 0;
      check(tenon_session_score(get(), &all.given, logprobs.data(), logprobs.size(), &needed));
      const bool fits = needed <= logprobs.size();
      logprobs.resize(needed);
      if (fits) break;
    }
    std::vector<Score> scores;
    auto next = logprobs.begin();
    for (const uint64_t count : all.counts) {
      Score& score = scores.emplace_back();
      score.token_logprobs.assign(next, next + static_cast<std::ptrdiff_t>(count));
      next += static_cast<std::ptrdiff_t>(count);
      for (const float logprob : score.token_logprobs) score.logprob += double{logprob};
    }
    return scores;
  }

  /// Carries an exception of the host's function through the C interface.
  template <typename Signature>
  struct Callback {
    const std::function<Signature>& function;
    std::exception_ptr thrown;

    template <typename... Args>
    int32_t call(Args... args) noexcept {
      try {
        return function(args...) ? 0 : 1;
      } catch (...) {
        thrown = std::current_exception();
        return 1;
      }
    }
    void check(tenon_status status) const {
      if (thrown) std::rethrow_exception(thrown);
      tenon::check(status);
    }
  };
  struct Destroy {
    void operator()(tenon_session* raw) const noexcept { tenon_session_destroy(raw); }
  };
  std::unique_ptr<tenon_session, Destroy> handle_;
};

}  // namespace v1
}  // namespace tenon
