// One generation under a grammar, token by token: what may come next, and the shortest way to the
// end when the tokens run out.
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

/// One thread at a time; copies are independent.
///
/// No call takes longer than WalkBudget::kMaxWork, nor more memory than PushdownMachine::kMaxBytes:
/// beyond it throws Error(Limit), and the matcher is as before.
class GrammarMatcher {
 public:
  explicit GrammarMatcher(std::shared_ptr<const grammar::TokenMasks> masks);
  GrammarMatcher(const GrammarMatcher& other) : GrammarMatcher(other.masks_) { copy(other); }
  GrammarMatcher& operator=(const GrammarMatcher&) = delete;

  /// Back to the beginning, without a token limit.
  void restart();
  /// At most `tokens` tokens may still come. The text is then complete whatever happens before, if
  /// it can be completed with as many bytes; else the longest steps of a shortest way are taken,
  /// until it can.
  void set_token_limit(uint64_t tokens) { tokens_left_ = tokens; }
  [[nodiscard]] uint64_t token_limit() const { return tokens_left_; }
  /// Looks at the calls to come while they work; null: none does. Copies have none.
  void set_watch(WorkWatch* watch) { watch_ = watch; }
  /// The most memory that what it remembers took so far.
  [[nodiscard]] size_t most_bytes() const { return std::max(most_bytes_, machine_.size_bytes()); }
  static constexpr uint64_t kUnlimitedTokens = UINT64_MAX;

  /// Whether `token` may come next: it fits the grammar and leaves a way to the end within the
  /// token limit. Not for ids outside the vocabulary, nor for control tokens that end nothing.
  [[nodiscard]] bool allows(Token token);
  /// Takes a token. Throws Error(State) for one that is not allowed by the grammar.
  void accept(Token token);
  /// Takes text as if it were one token. False when the grammar does not go on so: nothing is
  /// taken.
  bool accept_text(std::string_view text);
  /// Takes back the last `tokens` tokens; at most kHistory. Throws Error(Argument) beyond.
  void roll_back(size_t tokens);
  static constexpr size_t kHistory = 256;

  /// All tokens that may come next, a bit each: [(vocab + 63) / 64] words, valid until the next
  /// call. `exact` keeps to the token limit in every case; without it tokens may be among them that
  /// allows() refuses.
  std::span<const uint64_t> mask(bool exact);
  [[nodiscard]] size_t mask_words() const { return mask_.size(); }

  /// Bytes of the shortest text that completes the one so far; at most a little more.
  [[nodiscard]] uint64_t shortest_bytes() const { return machine_.distance(config_); }
  /// Whether the text so far is complete.
  [[nodiscard]] bool is_complete() const { return machine_.accepts(config_); }
  /// Whether nothing but an end token can follow.
  [[nodiscard]] bool is_ended() const { return ended_ || is_closed(config_); }
  /// The bytes that must come next, as far as there is no choice.
  [[nodiscard]] std::string forced_text();
  /// The next token of a stretch without a choice, as the tokenizer spells it; nothing when the
  /// next token is to be drawn. The end of a stretch is drawn, for a token may go on beyond it.
  [[nodiscard]] std::optional<Token> forced_token();
  /// Has the rest of the stretch drawn.
  void drop_forced() { forced_.clear(); }
  [[nodiscard]] const grammar::TokenSet& tokens() const { return masks_->tokens(); }

 private:
  [[nodiscard]] bool is_closed(grammar::Config config) const {
    return machine_.num_items(config) == 0;
  }
  grammar::Config after(std::string_view text);
  void take(grammar::Config next, bool end);
  /// Whether the end comes nearer with every byte of a text that may follow.
  bool gets_nearer(std::string_view text);
  /// Whether there are fewer tokens left than the shortest text has bytes.
  [[nodiscard]] bool is_short_of_tokens() const {
    return tokens_left_ < machine_.distance(config_);
  }
  /// The same from `at` on, which becomes the place after that text.
  std::string forced_text(grammar::Config& at);
  void copy(const GrammarMatcher& other);
  /// Collects if the machine has grown large; `also` is kept and gets new numbers.
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
  std::vector<Token> forced_;                      // of the stretch under way, the next one last
  grammar::Config looked_at_ = grammar::kNowhere;  // where no stretch was found
  grammar::Config step_from_ = grammar::kNowhere;  // where longest_step_ was looked for
  size_t longest_step_ = 0;
  static constexpr size_t kMachineBytes = grammar::PushdownMachine::kMaxBytes / 2;
  size_t collect_at_ = kMachineBytes;  // bytes in use of the machine
  WorkWatch* watch_ = nullptr;
  size_t most_bytes_ = 0;
};

}  // namespace tenon
