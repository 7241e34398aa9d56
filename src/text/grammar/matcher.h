// Generation under a grammar, token by token: the tokens that may come next, and the shortest path
// to the end when tokens run out.
//
//   GrammarMatcher matcher(masks);
//   matcher.set_token_limit(100);
//   while (!matcher.is_ended()) {
//     Token token = draw(logits);                                  // most draws are allowed
//     if (!matcher.allows(token)) token = draw(logits, matcher.mask(true));
//     matcher.accept(token);
//   }
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/grammar/token_masks.h"

namespace tenon {

/// Not thread-safe; copies are independent.
///
/// Each call is bounded by WalkBudget::kMaxWork and PushdownMachine::kMaxBytes. Beyond these, it
/// throws Error(Limit) and leaves the matcher unchanged.
class GrammarMatcher {
 public:
  explicit GrammarMatcher(std::shared_ptr<const grammar::TokenMasks> masks);
  GrammarMatcher(const GrammarMatcher& other) : GrammarMatcher(other.masks_) { copy(other); }
  GrammarMatcher& operator=(const GrammarMatcher&) = delete;

  /// Returns to the beginning, without a token limit.
  void restart();
  /// Allows at most `tokens` more tokens. The text is then completed in time if that many bytes can
  /// complete it; else generation takes the longest steps of a shortest path until they can.
  void set_token_limit(uint64_t tokens) { tokens_left_ = tokens; }
  [[nodiscard]] uint64_t token_limit() const { return tokens_left_; }
  /// Sets the watch for the following calls; may be null. Copies have no watch.
  void set_watch(WorkWatch* watch) { watch_ = watch; }
  /// Peak memory of the matcher's caches.
  [[nodiscard]] size_t most_bytes() const { return std::max(most_bytes_, machine_.size_bytes()); }
  static constexpr uint64_t kUnlimitedTokens = UINT64_MAX;

  /// True if `token` may come next: it fits the grammar and leaves a path to the end within the
  /// token limit. False for ids outside the vocabulary, and for control tokens that end nothing.
  [[nodiscard]] bool allows(Token token);
  /// Takes a token. Throws Error(State) if the grammar does not allow it.
  void accept(Token token);
  /// Takes text like a single token. Returns false and takes nothing if the grammar does not allow
  /// it.
  bool accept_text(std::string_view text);
  /// Takes back the last `tokens` tokens, at most kHistory. Throws Error(Argument) beyond.
  void roll_back(size_t tokens);
  static constexpr size_t kHistory = 256;

  /// All tokens that may come next, one bit each: [(vocab + 63) / 64] words, valid until the next
  /// call. exact: respects the token limit in every case; otherwise the mask may include tokens
  /// that allows() refuses.
  std::span<const uint64_t> mask(bool exact);
  [[nodiscard]] size_t mask_words() const { return mask_.size(); }

  /// Bytes of the shortest text that completes the current one; an upper bound, at most slightly
  /// larger.
  [[nodiscard]] uint64_t shortest_bytes() const { return machine_.distance(config_); }
  /// True if the text so far is complete.
  [[nodiscard]] bool is_complete() const { return machine_.accepts(config_); }
  /// True if only an end token can follow.
  [[nodiscard]] bool is_ended() const { return ended_ || is_closed(config_); }
  /// Bytes that must come next, up to the first choice.
  [[nodiscard]] std::string forced_text();
  /// Next token of a stretch without a choice, as the tokenizer spells it; empty if the next token
  /// must be drawn. The end of a stretch is drawn, since a token may extend beyond it.
  [[nodiscard]] std::optional<Token> forced_token();
  /// The rest of that stretch, the next token last; empty if the next token must be drawn.
  [[nodiscard]] std::span<const Token> forced_ahead() {
    return forced_token() ? std::span<const Token>(forced_) : std::span<const Token>();
  }
  /// Drops the rest of the stretch, so that it is drawn.
  void drop_forced() { forced_.clear(); }
  [[nodiscard]] const grammar::TokenSet& tokens() const { return masks_->tokens(); }

 private:
  [[nodiscard]] bool is_closed(grammar::Config config) const {
    return machine_.num_items(config) == 0;
  }
  grammar::Config after(std::string_view text);
  void take(grammar::Config next, bool end);
  /// True if every byte of a possible next text approaches the end.
  bool gets_nearer(std::string_view text);
  /// True if fewer tokens are left than the shortest text has bytes.
  [[nodiscard]] bool is_short_of_tokens() const {
    return tokens_left_ < machine_.distance(config_);
  }
  /// Forced bytes from `at` on; moves `at` after them.
  std::string forced_text(grammar::Config& at);
  void copy(const GrammarMatcher& other);
  /// Collects if the machine has grown large. also: further configurations to keep; they get new
  /// numbers.
  void make_room(std::span<grammar::Config> also);
  void begin_question() {
    machine_.begin_question(watch_);
    make_room({});
  }

  std::shared_ptr<const grammar::TokenMasks> masks_;
  grammar::PushdownMachine machine_;
  grammar::Config config_;
  bool ended_ = false;  // an end token was taken
  uint64_t tokens_left_ = kUnlimitedTokens;
  struct Past {
    grammar::Config config;
    bool ended;
    uint64_t tokens_left;
  };
  std::vector<Past> past_;  // oldest first, at most kHistory
  std::vector<uint64_t> mask_;
  std::vector<Token> forced_;  // rest of the current stretch, the next token last
  grammar::Config looked_at_ = grammar::kNowhere;  // position without a stretch, found earlier
  // Position of the latest search for longest_step_.
  grammar::Config step_from_ = grammar::kNowhere;
  size_t longest_step_ = 0;
  static constexpr size_t kMachineBytes = grammar::PushdownMachine::kMaxBytes / 2;
  size_t collect_at_ = kMachineBytes;  // used bytes of the machine that trigger a collection
  WorkWatch* watch_ = nullptr;
  size_t most_bytes_ = 0;
};

}  // namespace tenon
