// An engine shared by many sessions, and requests that generate in it: for servers and programs
// with many texts. A program with one text needs only Session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/block_store.hpp>
#include <tenon/error.hpp>
#include <tenon/model.hpp>
#include <tenon/options.hpp>
#include <tenon/sampler.hpp>
#include <tenon/session.hpp>
#include <tenon/tokenizer.hpp>
#include <utility>

namespace tenon {
inline namespace v1 {

/// A request; tenon.h, section 11, explains each member.
struct Submission {
  std::string_view text{};
  std::span<const Token> tokens{};
  bool add_special = false;  ///< for the text
  bool parse_special = false;
  bool ignore_end = false;
  bool logprobs = false;                    ///< for Request::logprobs
  uint32_t num_top = 0;                     ///< like logprobs, plus this many likeliest tokens
  std::span<const Token> logprob_tokens{};  ///< like logprobs, plus these, for Request::logprobs_of
  const Sampler* sampler = nullptr;         ///< null: the defaults
  uint64_t max_tokens = 0;
  double timeout_seconds = 0;         ///< 0: none
  std::optional<int32_t> priority{};  ///< higher runs first
  std::optional<std::string_view> client{};
  double weight = 0;
  tenon_notify_callback notify = nullptr;
  void* user = nullptr;
  std::span<const Token> prediction{};  ///< the likely answer: changes the speed, nothing else
  int32_t speculation = TENON_SPECULATION_DEFAULT;  ///< whether tokens are guessed
  uint32_t draft_max = 0;  ///< most tokens guessed at once; 0: as the model says
};

/// A running generation. Move-only; one thread at a time, except cancel(), from any. The destructor
/// cancels it.
class Request {
 public:
  explicit Request(tenon_request* raw) : handle_(raw) {}

  /// Waits for the next piece, which is valid until the next call; nullopt at the end. Throws
  /// tenon::Error if the request ended early: Cancelled, Deadline, ...
  std::optional<Piece> next() {
    const Piece piece = wait(-1);
    // Text without a token may come at the end: TENON_FINISH_BANNED.
    if (piece.token == TENON_NO_TOKEN && piece.text.empty()) return std::nullopt;
    return piece;
  }
  /// Waits at most that long for the next piece. A piece without a token means not yet (finish 0),
  /// or the end. 0 neither waits nor computes; negative waits for ever.
  Piece wait(double timeout_seconds) {
    tenon_piece raw{};
    raw.struct_size = sizeof raw;
    check(tenon_request_wait(get(), timeout_seconds, &raw));
    return {{raw.text, static_cast<size_t>(raw.length)}, raw.token, raw.finish};
  }
  /// wait(0): neither waits nor computes.
  Piece poll() { return wait(0); }

  /// Log-probability of the latest token; the likeliest tokens go to `top_tokens` and
  /// `top_logprobs`, of equal size. Throws State before the first token or without
  /// Submission::logprobs.
  float logprobs(std::span<Token> top_tokens = {}, std::span<float> top_logprobs = {}) {
    if (top_tokens.size() != top_logprobs.size()) {
      throw Error(Code::Argument, "top_tokens and top_logprobs differ in size");
    }
    float logprob = 0;
    check(tenon_request_logprobs(get(), &logprob, top_tokens.data(), top_logprobs.data(),
                                 top_tokens.size()));
    return logprob;
  }

  /// Log-probabilities of the first tokens of the submission's logprob_tokens, from the logits of
  /// the latest token.
  void logprobs_of(std::span<float> logprobs) {
    check(tenon_request_logprobs_of(get(), logprobs.data(), logprobs.size()));
  }

  /// Seed of the answer; as SamplerOptions::seed it gives the same answer again.
  [[nodiscard]] int64_t seed() const {
    int64_t seed = 0;
    check(tenon_request_seed(get(), &seed));
    return seed;
  }

  void cancel() noexcept { (void)tenon_request_cancel(get()); }

  /// How much of the prompt was reused, and why no more; guessed tokens.
  [[nodiscard]] tenon_request_stats stats() const {
    tenon_request_stats stats{};
    stats.struct_size = sizeof stats;
    check(tenon_request_get_stats(get(), &stats));
    return stats;
  }

  [[nodiscard]] tenon_request* get() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(tenon_request* raw) const noexcept { tenon_request_destroy(raw); }
  };
  std::unique_ptr<tenon_request, Destroy> handle_;
};

/// Queues a continuation of the session's text plus what the submission appends. Throws Busy if the
/// queue is full, Limit if the context is.
inline Request submit(Session& session, const Submission& what) {
  tenon_submission raw{};
  raw.struct_size = sizeof raw;
  raw.flags = flags_of({what.add_special, what.parse_special}) |
              (what.ignore_end ? TENON_IGNORE_END : 0u) | (what.logprobs ? TENON_LOGPROBS : 0u);
  raw.num_top = what.num_top;
  raw.prediction = what.prediction.data();
  raw.num_prediction = what.prediction.size();
  raw.speculation = what.speculation;
  raw.draft_max = what.draft_max;
  raw.logprob_tokens = what.logprob_tokens.data();
  raw.num_logprob_tokens = what.logprob_tokens.size();
  raw.text = what.text.data();
  raw.text_length = what.text.size();
  raw.tokens = what.tokens.data();
  raw.num_tokens = what.tokens.size();
  raw.sampler = what.sampler != nullptr ? what.sampler->get() : nullptr;
  raw.max_tokens = what.max_tokens;
  raw.timeout_seconds = what.timeout_seconds;
  raw.priority = what.priority.value_or(0);
  raw.has_priority = what.priority ? 1 : 0;
  // An empty key is a key, so it must not be NULL.
  if (what.client) raw.client = what.client->empty() ? "" : what.client->data();
  raw.client_length = what.client ? what.client->size() : 0;
  raw.weight = what.weight;
  raw.notify = what.notify;
  raw.user = what.user;
  tenon_request* request = nullptr;
  check(tenon_session_submit(session.get(), &raw, &request));
  return Request(request);
}

/// Serves many sessions of a model within a memory budget. Move-only; any thread. Sessions keep
/// alive what they need of it.
class Engine {
 public:
  explicit Engine(const Model& model, const EngineOptions& options = {})
      : Engine(model.get(), options) {}
  /// For a model held as a handle of the C interface.
  explicit Engine(const tenon_model* model, const EngineOptions& options = {}) {
    tenon_engine* raw = nullptr;
    check(tenon_engine_create(model, Options(options).get(), &raw));
    handle_.reset(raw);
  }

  [[nodiscard]] Session open_session(const SessionOptions& options = {}) {
    tenon_session* raw = nullptr;
    check(tenon_engine_open_session(get(), Options(options).get(), &raw));
    return Session::adopt(raw);
  }

  /// Computes one step if work is waiting and no other thread is computing; returns whether it did.
  bool step() {
    int32_t worked = 0;
    check(tenon_engine_step(get(), &worked));
    return worked != 0;
  }
  /// Computes until stop(): for a thread of the host.
  void run() { check(tenon_engine_run(get())); }
  void stop() noexcept { (void)tenon_engine_stop(get()); }
  void set_executor(tenon_post_callback post, void* user) {
    check(tenon_engine_set_executor(get(), post, user));
  }

  /// Keeps computed prefixes in a host's store; before the first session.
  ///   secret  enters every key; the same after a restart
  void set_store(std::shared_ptr<BlockStore> store, const BlockStore::Key& secret = {}) {
    if (store == nullptr) throw Error(Code::Argument, "the store is null");
    auto owned = std::make_unique<std::shared_ptr<BlockStore>>(std::move(store));
    const tenon_block_store functions = detail::StoreFunctions::of(owned.get(), secret);
    check(tenon_engine_set_store(get(), &functions));
    (void)owned.release();  // the functions' release() deletes it
  }

  [[nodiscard]] tenon_engine_stats stats() const {
    tenon_engine_stats stats{};
    stats.struct_size = sizeof stats;
    check(tenon_engine_get_stats(get(), &stats));
    return stats;
  }
  /// Statistics as Prometheus text.
  [[nodiscard]] std::string stats_text() const { return text_of(tenon_engine_stats_text); }
  /// How tokens are guessed, a line for each drafter, or why it is not used.
  [[nodiscard]] std::string drafters_text() const { return text_of(tenon_engine_drafters_text); }

  [[nodiscard]] tenon_engine* get() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(tenon_engine* raw) const noexcept { tenon_engine_destroy(raw); }
  };
  template <typename Write>
  [[nodiscard]] std::string text_of(Write write) const {
    std::string text(16384, '\0');
    for (;;) {
      size_t needed = 0;
      check(write(get(), text.data(), text.size(), &needed));
      const bool fits = needed <= text.size();
      text.resize(needed);
      if (fits) return text;
    }
  }
  std::unique_ptr<tenon_engine, Destroy> handle_;
};

}  // namespace v1
}  // namespace tenon
