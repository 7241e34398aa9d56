// A grammar bound to a vocabulary, with the tokens that each of its states lets through, worked out
// once and kept up to a number of bytes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/grammar/alike_states.h"
#include "text/grammar/follow.h"
#include "text/grammar/grammar.h"
#include "text/grammar/machine.h"
#include "text/grammar/state_mask.h"
#include "text/grammar/token_trie.h"

namespace tenon::grammar {

class TokenMasks {
 public:
  /// Throws Error(Grammar) "no token can follow" when the vocabulary cannot spell any text.
  TokenMasks(const std::shared_ptr<const Grammar>& grammar, std::shared_ptr<const TokenSet> tokens);

  [[nodiscard]] const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  [[nodiscard]] const TokenSet& tokens() const { return *tokens_; }
  /// Of what was worked out so far.
  [[nodiscard]] size_t size_bytes() const;

  /// Has the machine collect, if it has grown large: keeps these configurations, which get new
  /// numbers, and what else the caller has.
  using MakeRoom = std::function<void(std::span<Config>)>;
  /// Sets the bits of all tokens that may follow a configuration and behind which the text can be
  /// completed with `reach` bytes; kFar: any. mask [(vocab + 63) / 64] zero. make_room is called
  /// between the items.
  void add_allowed(Machine& machine, Config config, uint32_t reach, MaskWords mask,
                   const MakeRoom& make_room) const;

  /// Of the tokens that come nearer to the end with every byte: sets the bits of the longest and
  /// returns how many bytes they have. mask: as above, or empty.
  size_t add_longest_steps(Machine& machine, Config config, MaskWords mask) const;

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
  std::shared_ptr<const StateMask> mask_of(Machine& machine, uint32_t state, Part part) const;
  [[nodiscard]] bool may_be_nearer(const Machine& machine, Config at, uint32_t exit) const;
  StateMask compute(Machine& machine, uint32_t state, Part part) const;
  /// What can follow an exit of a state of `rule`.
  [[nodiscard]] const FollowBytes::Bytes& behind(uint32_t exit, uint32_t rule) const;
  static bool takes_plain_text(Machine& machine, Config config);
  /// The state behind any one plain character, 0 when none is taken; kDepends: not the same for
  /// all.
  static constexpr uint32_t kDepends = UINT32_MAX;
  uint32_t behind_character(Machine& machine, uint32_t state) const;
  bool add_plain(Walker& walker, const Machine::Item& item) const;
  void add_state(Walker& walker, const Machine::Item& item) const;
  void add_mask(Walker& walker, const Machine::Item& item, const StateMask& known) const;

  std::shared_ptr<const TokenSet> tokens_;
  std::shared_ptr<const Automaton> automaton_;
  FollowBytes follow_;
  AlikeStates alike_;        // by texts of up to kLong bytes
  AlikeStates short_alike_;  // by texts of up to kMiddle bytes
  mutable std::mutex mutex_;
  mutable size_t cached_bytes_ = 0;
  mutable std::unordered_map<uint32_t, uint32_t> behind_character_;
  mutable std::unordered_map<uint64_t, std::shared_ptr<const StateMask>> cache_;  // state, part
};

}  // namespace tenon::grammar
