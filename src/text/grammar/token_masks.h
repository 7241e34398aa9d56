// Grammar bound to a vocabulary. Computes token masks from the masks of single states, each
// computed once and cached up to a number of bytes (the adaptive token mask cache of XGrammar,
// arXiv 2411.15100).
//
//   the mask of a configuration is the union of
//     the masks of its states, and
//     the tokens found by walking the trie on from where these depend on the register or the stack
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/grammar/equivalent_states.h"
#include "text/grammar/follow.h"
#include "text/grammar/grammar.h"
#include "text/grammar/pushdown_machine.h"
#include "text/grammar/state_mask.h"
#include "text/grammar/token_trie.h"

namespace tenon::grammar {

class TokenMasks {
 public:
  /// Throws Error(Grammar) "no token can follow" if the vocabulary cannot spell any text.
  ///   watch  may be null; watches the constructor's work
  TokenMasks(const std::shared_ptr<const Grammar>& grammar, std::shared_ptr<const TokenSet> tokens,
             WorkWatch* watch = nullptr);

  [[nodiscard]] const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  [[nodiscard]] const TokenSet& tokens() const { return *tokens_; }
  /// Bytes of the cached masks.
  [[nodiscard]] size_t size_bytes() const;

  /// Lets the machine collect if it has grown large. Keeps these configurations, which get new
  /// numbers, and the caller's others.
  using MakeRoom = std::function<void(std::span<Config>)>;
  /// Sets the bits of all tokens that may follow a configuration and after which `reach` bytes can
  /// complete the text; kFar means any number. Calls make_room between the items.
  ///   mask  [(vocab + 63) / 64], initially zero
  void add_allowed(PushdownMachine& machine, Config config, uint32_t reach, MaskWords mask,
                   const MakeRoom& make_room) const;

  /// Sets the bits of the longest tokens that approach the end with every byte, and returns their
  /// length in bytes.
  ///   mask  as above, or empty
  size_t add_longest_steps(PushdownMachine& machine, Config config, MaskWords mask) const;

  static constexpr size_t kCacheBytes = size_t{64} << 20;

 private:
  class Walker;
  /// Tokens that a mask covers. Many states accept the same short tokens: near the end of a counted
  /// text they differ only in longer ones, which are few.
  enum class Part : uint8_t { All, Short, Middle };
  static uint64_t key_of(uint32_t state, Part part) {
    return uint64_t{state} << 2 | static_cast<uint64_t>(part);
  }
  [[nodiscard]] bool is_known(uint32_t state) const;
  std::shared_ptr<const StateMask> mask_of(PushdownMachine& machine, uint32_t state,
                                           Part part) const;
  [[nodiscard]] bool may_be_nearer(const PushdownMachine& machine, Config at, uint32_t exit,
                                   uint32_t rule) const;
  StateMask compute(PushdownMachine& machine, uint32_t state, Part part) const;
  /// Bytes that can follow an exit of a state of `rule`.
  [[nodiscard]] const FollowBytes::Bytes& following(uint32_t exit, uint32_t rule) const;
  static bool takes_plain_text(PushdownMachine& machine, Config config);
  /// State after any plain character; 0 if none is accepted; kDepends if it differs between
  /// characters.
  static constexpr uint32_t kDepends = UINT32_MAX;
  uint32_t after_character(PushdownMachine& machine, uint32_t state) const;
  bool add_plain(Walker& walker, const PushdownMachine::Item& item) const;
  void add_state(Walker& walker, const PushdownMachine::Item& item) const;
  void add_mask(Walker& walker, const PushdownMachine::Item& item, const StateMask& known) const;

  std::shared_ptr<const TokenSet> tokens_;
  std::shared_ptr<const Automaton> automaton_;
  FollowBytes follow_;
  std::vector<bool> estimates_after_;  // [rules]
  EquivalentStates equivalent_;        // equivalence for texts of up to kLong bytes
  EquivalentStates short_equivalent_;  // equivalence for texts of up to kMiddle bytes
  mutable std::mutex mutex_;
  mutable size_t cached_bytes_ = 0;
  mutable std::unordered_map<uint32_t, uint32_t> after_character_;
  // Keyed by state and part.
  mutable std::unordered_map<uint64_t, std::shared_ptr<const StateMask>> cache_;
};

}  // namespace tenon::grammar
