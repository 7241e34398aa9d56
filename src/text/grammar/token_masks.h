// A grammar bound to a vocabulary, with the tokens that each of its states lets through, worked out
// once and kept up to a number of bytes.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/grammar/grammar.h"
#include "text/grammar/machine.h"
#include "text/grammar/token_trie.h"

namespace tenon::grammar {

/// One bit per token.
using MaskWords = std::span<uint64_t>;

class TokenMasks {
 public:
  /// Throws Error(Grammar) "no token can follow" when the vocabulary cannot spell any text.
  TokenMasks(const std::shared_ptr<const Grammar>& grammar, std::shared_ptr<const TokenSet> tokens);

  [[nodiscard]] const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  [[nodiscard]] const TokenSet& tokens() const { return *tokens_; }
  /// Of what was worked out so far.
  [[nodiscard]] size_t size_bytes() const;

  /// Sets the bits of all tokens that may follow a configuration. mask [(vocab + 63) / 64] zero.
  void add_allowed(Machine& machine, Config config, MaskWords mask) const;
  /// The same, but only tokens behind which the text can be completed with `reach` bytes.
  void add_reaching(Machine& machine, Config config, uint32_t reach, MaskWords mask) const;

  static constexpr size_t kCacheBytes = size_t{64} << 20;

 private:
  /// What one state lets through, whatever its register and stack are; and the texts left to try
  /// where they matter.
  struct StateMask {
    std::vector<uint64_t> bits;  // empty: `list`
    std::vector<Token> list;
    struct Exit {
      uint32_t exit;
      TokenTrie rest;
    };
    std::vector<Exit> exits;
    TokenTrie conditional;
    bool unbounded = false;  // nothing could be worked out: all tokens are to be tried
    [[nodiscard]] size_t size_bytes() const;
  };
  std::shared_ptr<const StateMask> mask_of(Machine& machine, uint32_t state) const;
  StateMask compute(Machine& machine, uint32_t state) const;
  static bool takes_plain_text(Machine& machine, Config config);
  /// The state behind any one plain character; 0 when that depends on the character.
  uint32_t behind_character(uint32_t state) const;
  /// Adds what may follow `item` when that is a matter of counting; else false.
  bool add_counted(Machine& machine, const Machine::Item& item, MaskWords mask) const;
  const TokenTrie& trie() const;

  std::shared_ptr<const TokenSet> tokens_;
  std::shared_ptr<const Automaton> automaton_;
  mutable std::once_flag trie_made_;
  mutable TokenTrie trie_;  // of all tokens, their bytes taken for those of the automaton's classes
  mutable std::mutex mutex_;
  mutable size_t cached_bytes_ = 0;
  mutable std::unordered_map<uint32_t, uint32_t> behind_character_;
  mutable std::unordered_map<uint32_t, std::shared_ptr<const StateMask>> cache_;
};

}  // namespace tenon::grammar
