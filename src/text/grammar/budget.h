// What compiling one grammar may cost: work, nodes and bytes are counted, so that the same input is
// refused on every machine alike. Run-time limits live elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/stack_room.h"

namespace tenon::grammar {

/// One per compilation. The limits keep a compilation within 250 ms and 64 MB
/// (grammar_limits_test).
class Budget {
 public:
  static constexpr uint64_t kMaxWork = 6'000'000;
  static constexpr uint64_t kMaxParts = 150'000;
  static constexpr uint64_t kMaxNodes = 300'000;
  static constexpr uint64_t kMaxStates = 100'000;
  static constexpr uint64_t kMaxTableBytes = uint64_t{24} << 20;
  static constexpr uint32_t kMaxDepth = 200;

  /// What is being compiled, for messages: "line 3", "/properties/a".
  void set_place(std::string place) {
    place_ = std::move(place);
    find_place_ = nullptr;
  }
  /// The same for a place that is looked for only when a message needs it.
  void set_place(std::function<std::string()> find) { find_place_ = std::move(find); }

  /// For functions that call themselves: deeper than kMaxDepth, or than the thread's stack allows.
  [[nodiscard]] bool is_too_deep(size_t depth, size_t limit = kMaxDepth) const {
    return depth > limit || stack_.is_used_up();
  }

  /// Counts elementary steps.
  void spend(uint64_t work) {
    work_ += work;
    if (work_ > kMaxWork) refuse("too much work to compile");
  }
  /// Of the tree of a pattern: characters, sets, groups.
  void add_parts(uint64_t count) {
    parts_ += count;
    if (parts_ > kMaxParts) refuse("more than {} parts", kMaxParts);
  }
  void add_nodes(uint64_t count) {
    nodes_ += count;
    if (nodes_ > kMaxNodes) refuse("larger than {} nodes when written out", kMaxNodes);
  }
  void add_states(uint64_t count) {
    states_ += count;
    if (states_ > kMaxStates) refuse("more than {} states", kMaxStates);
  }
  /// Throws Error(Grammar) with the place in front.
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    const std::string what = fmt::format(text, std::forward<Args>(args)...);
    const std::string place = find_place_ ? find_place_() : place_;
    if (place.empty()) throw Error(Code::Grammar, "grammar: " + what);
    throw Error(Code::Grammar, "grammar: " + place + ": " + what);
  }

 private:
  uint64_t work_ = 0;
  uint64_t parts_ = 0;
  uint64_t nodes_ = 0;
  uint64_t states_ = 0;
  StackRoom stack_;
  std::string place_;
  std::function<std::string()> find_place_;
};

}  // namespace tenon::grammar
