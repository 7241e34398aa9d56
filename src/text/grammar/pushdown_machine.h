// Runs a grammar as a nondeterministic pushdown automaton over bytes. A configuration is the set of
// all (state, register, stack) reachable after some input. Configurations are interned and the
// steps between them memoised. Stacks share their lower frames, as in a graph-structured stack
// (Tomita 1985), but callers are not merged; XGrammar (arXiv 2411.15100) decodes in the same way.
// Knows no tokens.
//
//   value = digit | "[" value "]"          as the NFA of nfa.h
//     after "[[": state 0 on frame 2, where frame 2 = (return to 3, frame 1)
//                                           frame 1 = (return to 3, root)
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/byte_kinds.h"
#include "text/grammar/interner.h"
#include "text/grammar/walk_budget.h"

namespace tenon::grammar {

/// Number of a configuration of one machine; kNowhere if the text is rejected.
using Config = uint32_t;
inline constexpr Config kNowhere = 0;

/// Not thread-safe. Memoises every step, so that repeating a step is a table look-up.
///
/// A configuration is a set of items (state, register, stack). A stack is a chain of interned
/// frames, so a configuration takes memory for its items only. A *local* configuration knows one
/// state of a rule but neither its register nor its stack; it has an *exit* wherever these matter.
class PushdownMachine {
 public:
  /// Purpose of reading a text.
  enum class Purpose : uint8_t {
    Generate,       ///< names in order, bounded runs of digits
    Check,          ///< accepts every valid text
    CheckDistinct,  ///< like Check, for texts without duplicate names, so that each name counts
  };
  explicit PushdownMachine(std::shared_ptr<const Automaton> automaton,
                           Purpose purpose = Purpose::Generate);

  /// Configuration before the first byte.
  [[nodiscard]] Config start() const { return start_; }
  /// Throws Error(Limit) if more than kMaxItems ways are open at once, if the question's budget is
  /// used up, and if the caches exceed kMaxBytes.
  Config step(Config from, uint8_t byte) { return step_class(from, class_of_[byte]); }
  Config step_class(Config from, uint32_t byte_class) {
    const Config known = steps_[size_t{from} * num_classes_ + byte_class];
    return known != kUnknown ? known : compute_step(from, byte_class);
  }
  /// True if the bytes so far are a complete text.
  [[nodiscard]] bool accepts(Config config) const { return (kinds_[config] & kAccepts) != 0; }
  /// Bytes to the nearest complete text.
  [[nodiscard]] uint32_t distance(Config config) const { return distances_[config]; }

  struct Item {
    uint32_t state;  ///< state; or kExit | number of a special edge; or kPop
    uint32_t reg;
    uint32_t frame;
  };
  static constexpr uint32_t kExit = uint32_t{1} << 31;
  static constexpr uint32_t kPop = UINT32_MAX;
  static constexpr uint32_t kUnknownRegister = UINT32_MAX;
  [[nodiscard]] size_t num_items(Config config) const {
    return (configs_.words(config).size() - 1) / 3;
  }
  [[nodiscard]] Item item(Config config, size_t index) const;

  /// Local configuration of a state.
  Config local(uint32_t state);
  /// True if a local configuration is alive only if the register allows it.
  [[nodiscard]] bool is_conditional(Config config) const {
    return (kinds_[config] & kConditional) != 0;
  }
  /// True if a conditional configuration has the condition of `other`, whatever the register is.
  [[nodiscard]] bool has_condition_of(Config config, Config other) const {
    const uint32_t guard = header(config) / kGuard;
    return guard == header(other) / kGuard && guard != kSeveral;
  }
  /// True if the register changes a local configuration's distance by more than what it still
  /// requires.
  [[nodiscard]] bool is_indirect(Config config) const { return (kinds_[config] & kIndirect) != 0; }
  /// Kinds of bytes (byte_kinds.h) whose every byte leads back to the configuration.
  uint8_t loops(Config config) {
    return static_cast<uint8_t>(loops_[config] != kUnknownLoops ? loops_[config]
                                                                : compute_loops(config));
  }
  /// True if some items are exits; true if some are not.
  [[nodiscard]] bool has_exits(Config config) const { return (kinds_[config] & kHasExits) != 0; }
  [[nodiscard]] bool has_states(Config config) const { return (kinds_[config] & kHasStates) != 0; }
  /// Configuration after `item` of a real configuration takes an exit of its state's local
  /// configuration.
  Config leave(const Item& item, uint32_t exit);
  /// Configuration of a single item.
  Config only(const Item& item);
  /// Union of the items of several configurations.
  Config joined(std::span<const Config> configs);

  [[nodiscard]] const Automaton& automaton() const { return *automaton_; }
  [[nodiscard]] size_t size_bytes() const;
  /// Bytes in use, without the spare capacity of vectors.
  [[nodiscard]] size_t used_bytes() const;
  /// Forgets all configurations except those in `keep`, which get new numbers, and frees memory.
  void collect(std::span<Config> keep);

  /// Starts counting and limiting; before the first question only kMaxItems limits.
  void begin_question(WorkWatch* watch) {
    budget_.begin(watch);
    most_bytes_ = kMaxBytes;
  }
  void spend(uint64_t work) { budget_.spend(work); }
  /// Work since the question began.
  [[nodiscard]] uint64_t work() const { return budget_.work(); }

  /// Most items at a time. A schema with 64 alternatives of objects with additional names has 320.
  static constexpr size_t kMaxItems = 1024;
  static constexpr size_t kMaxBytes = size_t{20} << 20;

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr uint32_t kRoot = 0;    // frame below the first rule
  static constexpr uint32_t kEscape = 1;  // frame below a local configuration
  static constexpr uint32_t kAccepts = 1, kConditional = 2, kHasExits = 4, kHasStates = 8;
  static constexpr uint32_t kIndirect = 16;  // only in kinds_
  static constexpr uint32_t kGuard = 256;    // header / kGuard: guard of a local configuration
  static constexpr uint32_t kSeveral = UINT32_MAX / kGuard;

  [[nodiscard]] uint32_t header(Config config) const { return configs_.words(config)[0]; }
  void reset();
  void begin_closure();
  void visit(uint32_t state, uint32_t reg, uint32_t frame);
  void run_closure();
  void expand(const Item& item);
  void add_guard(uint32_t state);
  Config intern();
  Config compute_step(Config from, uint32_t byte_class);
  uint16_t compute_loops(Config config);
  uint32_t frame_of(uint32_t state, uint32_t reg, uint32_t parent);
  uint32_t initial_register(const Automaton::RuleInfo& rule);
  bool apply(const Action& action, uint32_t reg, uint32_t& result);
  bool take(const Action& action, uint32_t reg, uint32_t& result);
  bool is_complete(const ObjectSpec& object, uint32_t reg);
  template <typename Visit>
  void for_each_missing(const ObjectSpec& object, std::span<const uint32_t> set, Visit visit);
  [[nodiscard]] uint32_t num_different(const ObjectSpec& object,
                                       std::span<const uint32_t> set) const;
  [[nodiscard]] bool keeps_order(const ObjectSpec& object) const {
    return purpose_ == Purpose::Generate && !object.any_order;
  }
  bool can_be_completed(const ObjectSpec& object, std::span<const uint32_t> set);
  void find_takeable(const ObjectSpec& object, std::span<const uint32_t> set);
  [[nodiscard]] uint32_t owed(const Automaton::RuleInfo& rule, uint32_t reg);
  [[nodiscard]] uint32_t owed_by_object(uint32_t object, uint32_t reg);
  uint32_t cost(uint32_t state, uint32_t reg);
  [[nodiscard]] bool is_indirect(uint32_t state, uint32_t frame) const;

  std::shared_ptr<const Automaton> automaton_;
  Purpose purpose_;
  WalkBudget budget_;
  size_t most_bytes_ = SIZE_MAX;
  uint32_t num_classes_;
  std::array<uint8_t, 256> class_of_, kinds_of_class_{};
  Config start_ = kNowhere;
  Interner configs_;  // [header, items of three words, sorted]
  Interner frames_;   // [state, register, parent]
  Interner sets_;     // [count, bits...]: registers of objects
  /// Requirements of a set, for the object of the latest query.
  struct Owed {
    uint32_t object = kNoObject;
    uint32_t bytes = 0;
  };
  std::vector<Owed> owed_;      // [sets]; filled on demand
  std::vector<uint8_t> kinds_;  // [configs] header
  static constexpr uint16_t kUnknownLoops = UINT16_MAX;
  std::vector<uint16_t> loops_;            // [configs]
  std::vector<uint32_t> distances_;        // [configs]
  std::vector<uint32_t> frame_distances_;  // [frames]
  std::vector<bool> frame_indirect_;       // [frames] above a local configuration; as is_indirect()
  std::vector<Config> steps_;              // [configs, classes]

  // Closure being computed.
  Interner visited_;
  std::vector<Item> todo_, found_;
  std::vector<uint32_t> words_, set_words_, wanted_, takeable_;
  uint32_t header_ = 0;
};

}  // namespace tenon::grammar
