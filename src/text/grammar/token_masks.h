// A grammar bound to a vocabulary: computes token masks from the masks of single states, each
// worked out once and kept up to a number of bytes (the adaptive token mask cache of XGrammar,
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
  /// Throws Error(Grammar) "no token can follow" when the vocabulary cannot spell any text.
  ///   watch  may be null; looks at this constructor's work
  TokenMasks(const std::shared_ptr<const Grammar>& grammar, std::shared_ptr<const TokenSet> tokens,
             WorkWatch* watch = nullptr);

  [[nodiscard]] const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  [[nodiscard]] const TokenSet& tokens() const { return *tokens_; }
  /// Of what was worked out so far.
  [[nodiscard]] size_t size_bytes() const;

  /// Has the machine collect, if it has grown large: keeps these configurations, which get new
  /// numbers, and what else the caller has.
  using MakeRoom = std::function<void(std::span<Config>)>;
  /// Sets the bits of all tokens that may follow a configuration and after which the text can be
  /// completed with `reach` bytes; kFar: any. mask [(vocab + 63) / 64] zero. make_room is called
  /// between the items.
  void add_allowed(PushdownMachine& machine, Config config, uint32_t reach, MaskWords mask,
                   const MakeRoom& make_room) const;

  /// Of the tokens that come nearer to the end with every byte: sets the bits of the longest and
  /// returns how many bytes they have. mask: as above, or empty.
  size_t add_longest_steps(PushdownMachine& machine, Config config, MaskWords mask) const;

  static constexpr size_t kCacheBytes = size_t{64} << 20;

 private:
  class Walker;
  /// Which tokens a mask is about. Many states let the same short tokens through: near the end of a
  /// counted text they differ in longer ones alone, which are few.
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
  /// What can follow an exit of a state of `rule`.
  [[nodiscard]] const FollowBytes::Bytes& following(uint32_t exit, uint32_t rule) const;
  static bool takes_plain_text(PushdownMachine& machine, Config config);
  /// The state after any one plain character, 0 when none is taken; kDepends: not the same for
  /// all.
  static constexpr uint32_t kDepends = UINT32_MAX;
  uint32_t after_character(PushdownMachine& machine, uint32_t state) const;
  bool add_plain(Walker& walker, const PushdownMachine::Item& item) const;
  void add_state(Walker& walker, const PushdownMachine::Item& item) const;
  void add_mask(Walker& walker, const PushdownMachine::Item& item, const StateMask& known) const;

  std::shared_ptr<const TokenSet> tokens_;
  std::shared_ptr<const Automaton> automaton_;
  FollowBytes follow_;
  std::vector<bool> estimates_after_;  // [rules]
  EquivalentStates equivalent_;        // by texts of up to kLong bytes
  EquivalentStates short_equivalent_;  // by texts of up to kMiddle bytes
  mutable std::mutex mutex_;
  mutable size_t cached_bytes_ = 0;
  mutable std::unordered_map<uint32_t, uint32_t> after_character_;
  mutable std::unordered_map<uint64_t, std::shared_ptr<const StateMask>> cache_;  // state, part
};

}  // namespace tenon::grammar
