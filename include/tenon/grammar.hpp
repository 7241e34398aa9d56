// Texts that may be generated: JSON schemas, GBNF, Lark, regular expressions, lists of choices. A
// matcher follows such a text in loops that draw by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tenon/error.hpp>
#include <tenon/tokenizer.hpp>
#include <vector>

namespace tenon {
inline namespace v1 {

/// Options of a compilation.
struct CompileOptions {
  bool lenient = false;  ///< JSON schemas: leaves out unsupported parts (Grammar::notes)
  const Tokenizer* tokenizer = nullptr;  ///< prepares the grammar for this vocabulary; may be null
  /// Polled every few milliseconds, on the calling thread; true ends the work with
  /// Error(Cancelled). Its exceptions leave compile().
  std::function<bool()> should_stop{};
};

namespace detail {

/// Carries a program's stop function, and its exceptions, through the C interface.
class StopCarrier {
 public:
  explicit StopCarrier(const CompileOptions& options) : function_(options.should_stop) {}

  [[nodiscard]] tenon_stop_callback callback() const noexcept {
    return function_ ? &StopCarrier::call : nullptr;
  }
  void check(tenon_status status) const {
    if (thrown_) std::rethrow_exception(thrown_);
    v1::check(status);
  }

 private:
  static int32_t call(void* user) noexcept {
    auto& carrier = *static_cast<StopCarrier*>(user);
    try {
      return carrier.function_() ? 1 : 0;
    } catch (...) {
      carrier.thrown_ = std::current_exception();
      return 1;
    }
  }

  const std::function<bool()>& function_;
  std::exception_ptr thrown_;
};

}  // namespace detail

/// A compiled grammar. Immutable, move-only; any thread. tenon.h, section 12.
class Grammar {
 public:
  /// kind: TENON_GRAMMAR_*. Throws Grammar if the text is refused, Limit, Cancelled.
  [[nodiscard]] static Grammar compile(int32_t kind, std::string_view text,
                                       const CompileOptions& options) {
    detail::StopCarrier carrier(options);
    tenon_grammar* raw = nullptr;
    carrier.check(tenon_grammar_compile(
        kind, text.data(), text.size(), options.lenient ? TENON_GRAMMAR_LENIENT : 0u,
        options.tokenizer != nullptr ? options.tokenizer->get() : nullptr, carrier.callback(),
        &carrier, &raw));
    return Grammar(raw);
  }
  [[nodiscard]] static Grammar json_schema(std::string_view text) {
    return Grammar(TENON_GRAMMAR_JSON_SCHEMA, text);
  }
  [[nodiscard]] static Grammar gbnf(std::string_view text) {
    return Grammar(TENON_GRAMMAR_GBNF, text);
  }
  [[nodiscard]] static Grammar lark(std::string_view text) {
    return Grammar(TENON_GRAMMAR_LARK, text);
  }
  [[nodiscard]] static Grammar regular_expression(std::string_view text) {
    return Grammar(TENON_GRAMMAR_REGEX, text);
  }
  /// A JSON array of strings.
  [[nodiscard]] static Grammar choices(std::string_view text) {
    return Grammar(TENON_GRAMMAR_CHOICES, text);
  }

  /// Takes ownership of a handle of the C interface.
  [[nodiscard]] static Grammar adopt(tenon_grammar* raw) noexcept { return Grammar(raw); }

  /// True if `text` is a complete text of the grammar.
  [[nodiscard]] bool accepts(std::string_view text) const {
    int32_t accepted = 0;
    check(tenon_grammar_accepts(get(), text.data(), text.size(), &accepted));
    return accepted != 0;
  }

  /// Parts of a schema that were left out, as JSON (tenon_grammar_notes). Lives as long as the
  /// grammar.
  [[nodiscard]] std::string_view notes() const {
    const char* json = nullptr;
    size_t length = 0;
    check(tenon_grammar_notes(get(), &json, &length));
    return {json, length};
  }

  [[nodiscard]] tenon_grammar* get() const noexcept { return handle_.get(); }

 private:
  explicit Grammar(tenon_grammar* raw) noexcept : handle_(raw) {}
  Grammar(int32_t kind, std::string_view text) {
    tenon_grammar* raw = nullptr;
    check(tenon_grammar_create(kind, text.data(), text.size(), &raw));
    handle_.reset(raw);
  }
  struct Destroy {
    void operator()(tenon_grammar* raw) const noexcept { tenon_grammar_destroy(raw); }
  };
  std::unique_ptr<tenon_grammar, Destroy> handle_;
};

/// A cache of the most recently used grammars, up to a number of bytes. Move-only; any thread.
class GrammarCache {
 public:
  explicit GrammarCache(uint64_t limit_bytes) {
    tenon_grammar_cache* raw = nullptr;
    check(tenon_grammar_cache_create(limit_bytes, &raw));
    handle_.reset(raw);
  }

  [[nodiscard]] Grammar json_schema(std::string_view text) {
    return get(TENON_GRAMMAR_JSON_SCHEMA, text);
  }
  [[nodiscard]] Grammar gbnf(std::string_view text) { return get(TENON_GRAMMAR_GBNF, text); }
  [[nodiscard]] Grammar lark(std::string_view text) { return get(TENON_GRAMMAR_LARK, text); }
  [[nodiscard]] Grammar regular_expression(std::string_view text) {
    return get(TENON_GRAMMAR_REGEX, text);
  }
  [[nodiscard]] Grammar choices(std::string_view text) { return get(TENON_GRAMMAR_CHOICES, text); }

 private:
  Grammar get(int32_t kind, std::string_view text) {
    tenon_grammar* raw = nullptr;
    check(tenon_grammar_cache_get(handle_.get(), kind, text.data(), text.size(), &raw));
    return Grammar::adopt(raw);
  }
  struct Destroy {
    void operator()(tenon_grammar_cache* raw) const noexcept { tenon_grammar_cache_destroy(raw); }
  };
  std::unique_ptr<tenon_grammar_cache, Destroy> handle_;
};

/// A position in a text of a grammar, for loops that draw by themselves. Move-only; one thread at a
/// time.
class Matcher {
 public:
  Matcher(const Grammar& grammar, const Tokenizer& tokenizer) {
    tenon_matcher* raw = nullptr;
    check(tenon_matcher_create(grammar.get(), tokenizer.get(), &raw));
    handle_.reset(raw);
  }

  /// A second matcher at the same position.
  [[nodiscard]] Matcher fork() const {
    tenon_matcher* raw = nullptr;
    check(tenon_matcher_fork(get(), &raw));
    return Matcher(raw);
  }
  void reset() { check(tenon_matcher_reset(get())); }
  /// Limits the text to `tokens` more tokens; it is complete before that.
  void set_token_limit(uint64_t tokens) { check(tenon_matcher_set_token_limit(get(), tokens)); }

  [[nodiscard]] bool allows(Token token) {
    int32_t allowed = 0;
    check(tenon_matcher_allows(get(), token, &allowed));
    return allowed != 0;
  }
  /// Mask of all tokens that may come next: token t is bit t % 64 of element t / 64.
  [[nodiscard]] std::vector<uint64_t> mask() {
    size_t needed = 0;
    check(tenon_matcher_mask(get(), nullptr, 0, &needed));
    std::vector<uint64_t> words(needed);
    mask(words);
    return words;
  }
  /// Writes the mask into a buffer of (vocabulary + 63) / 64 words. Throws Argument if it is
  /// smaller.
  void mask(std::span<uint64_t> words) {
    size_t needed = 0;
    check(tenon_matcher_mask(get(), words.data(), words.size(), &needed));
    if (needed > words.size()) throw Error(Code::Argument, "the buffer of the mask is too small");
  }

  /// Accepts a token. Throws Error(State) if it cannot follow.
  void accept(Token token) { check(tenon_matcher_accept_token(get(), token)); }
  /// Accepts text. Returns false if the grammar does not allow it; nothing is then accepted.
  [[nodiscard]] bool accept(std::string_view text) {
    int32_t accepted = 0;
    check(tenon_matcher_accept_text(get(), text.data(), text.size(), &accepted));
    return accepted != 0;
  }
  /// Takes back the last tokens, at most 256.
  void roll_back(size_t num_tokens) { check(tenon_matcher_roll_back(get(), num_tokens)); }

  /// True if the text so far is a text of the grammar.
  [[nodiscard]] bool is_complete() const {
    int32_t complete = 0;
    check(tenon_matcher_state(get(), &complete, nullptr));
    return complete != 0;
  }
  /// True if only an end token can follow.
  [[nodiscard]] bool is_ended() const {
    int32_t ended = 0;
    check(tenon_matcher_state(get(), nullptr, &ended));
    return ended != 0;
  }
  /// The text that must come next, up to the first choice.
  [[nodiscard]] std::string forced_text() const {
    std::string text;
    for (;;) {
      size_t needed = 0;
      check(tenon_matcher_forced_text(get(), text.data(), text.size(), &needed));
      const bool fits = needed <= text.size();
      text.resize(needed);
      if (fits) return text;
    }
  }

  [[nodiscard]] tenon_matcher* get() const noexcept { return handle_.get(); }

 private:
  explicit Matcher(tenon_matcher* raw) noexcept : handle_(raw) {}
  struct Destroy {
    void operator()(tenon_matcher* raw) const noexcept { tenon_matcher_destroy(raw); }
  };
  std::unique_ptr<tenon_matcher, Destroy> handle_;
};

}  // namespace v1
}  // namespace tenon
