#include "text/grammar/token_masks.h"

#include <algorithm>
#include <tuple>

namespace tenon::grammar {
namespace {

// Number of nodes to continue from above which all tokens are tried instead.
constexpr size_t kMaxEntries = 20'000;

// Work of a mask beyond which the remaining items of a huge configuration are walked together. The
// masks of the others stay cached, so that the next mask gets further.
constexpr uint64_t kApartWork = WalkBudget::kMaxWork / 2;

/// True if all tokens below a node lead back to `at`, judged by the kinds of their bytes. False for
/// few nodes, where the check does not pay.
bool loops_below(PushdownMachine& machine, const TokenTrie& tree, size_t node, Config at) {
  constexpr size_t kWorthIt = 16;
  const TokenTrie::Node& top = tree.nodes()[node];
  return top.end - node >= kWorthIt && (top.below & ~machine.loops(at)) == 0;
}

// Words of a mask, and tokens added to a mask, per unit of work.
constexpr size_t kWordsPerUnit = 16;
constexpr size_t kTokensPerUnit = 4;

Config after_text(PushdownMachine& machine, Config at, std::string_view text) {
  machine.spend(text.size());
  for (size_t i = 0; at != kNowhere && i < text.size(); ++i) {
    at = machine.step(at, static_cast<uint8_t>(text[i]));
  }
  return at;
}

/// Calls visit(node, config) for each node at which `item` takes its exit.
template <typename Visit>
void for_each_exit(PushdownMachine& machine, const PushdownMachine::Item& item,
                   std::span<const StateMask::Entry> nodes, Visit visit) {
  Config out = kNowhere;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i == 0 || nodes[i].exit != nodes[i - 1].exit) out = machine.leave(item, nodes[i].exit);
    if (out != kNowhere) visit(nodes[i].node, out);
  }
}

/// True if a token continues below a node with one of these bytes.
bool goes_on_with(PushdownMachine& machine, const TokenTrie& tree, size_t node,
                  const FollowBytes::Bytes& bytes) {
  const auto nodes = tree.nodes();
  if ((nodes[node].below & bytes.kinds) == 0) return false;
  for (size_t n = node + 1; n < nodes[node].end; n = nodes[n].end) {
    machine.spend(1);
    if (bytes.set[nodes[n].byte]) return true;
  }
  return false;
}

/// [rules] Whether the rule returns to a place with an estimated distance that includes counts: the
/// actual distance may be shorter.
std::vector<bool> estimates_after_rules(const Automaton& automaton, WorkWatch* watch) {
  std::vector<bool> estimates(automaton.num_rules(), false);
  for (bool grew = true; grew;) {
    grew = false;
    if (watch != nullptr) watch->look();
    for (uint32_t s = 1; s < automaton.num_states(); ++s) {
      for (const Special& special : automaton.specials(s)) {
        if (special.kind != EdgeKind::Call || estimates[special.data]) continue;
        const bool returns = automaton.is_final(special.to);
        if (automaton.base(special.to) != kFar &&
            !(returns && estimates[automaton.rule_of(special.to)])) {
          continue;
        }
        estimates[special.data] = grew = true;
      }
    }
  }
  return estimates;
}

std::shared_ptr<const Automaton> spelled_with(const std::shared_ptr<const Automaton>& automaton,
                                              const TokenSet& tokens, WorkWatch* watch) {
  // A byte without a token of its own could make a text unspellable.
  if (tokens.bytes().all()) return automaton;
  return std::make_shared<const Automaton>(automaton->restricted_to(tokens.bytes(), watch));
}

}  // namespace

/// Tries the tokens of a tree in order and adds those that fit to a mask.
class TokenMasks::Walker {
 public:
  Walker(PushdownMachine& of, uint32_t reach, MaskWords mask)
      : machine(of), reach_(reach), mask_(mask) {}

  /// Adds tokens of a state, beginning at `start`.
  void add(const TokensByDistance& tokens, Config start) {
    machine.spend(mask_.size() / kWordsPerUnit);
    if (reaches_all()) return tokens.add_all(mask_);
    tokens.add(int64_t{reach_} - machine.distance(start), mask_);
  }
  /// True if every distance is allowed.
  [[nodiscard]] bool reaches_all() const { return reach_ >= kFar; }
  [[nodiscard]] bool reaches(Config config) const {
    return reaches_all() || machine.distance(config) <= reach_;
  }
  void add(std::span<const Token> tokens) {
    machine.spend(tokens.size() / kTokensPerUnit);
    for (const Token token : tokens) set_bit(mask_, token);
  }
  /// Adds the bits of `words` that are not in `but`.
  void add(std::span<const uint64_t> words, std::span<const uint64_t> but = {}) {
    machine.spend(words.size() / kWordsPerUnit);
    for (size_t w = 0; w < words.size(); ++w) {
      mask_[w] |= but.empty() ? words[w] : words[w] & ~but[w];
    }
  }
  /// Tries all tokens of a tree.
  void walk(const TokenTrie& tree, Config from) { walk(tree, 0, tree.nodes().size(), from); }
  /// Tries the tokens that end at a node or continue below it.
  ///   at  configuration at the node
  void walk_on(const TokenTrie& tree, size_t node, Config at) {
    if (reaches(at)) add(tree.tokens(node));
    walk(tree, node + 1, tree.nodes()[node].end, at);
  }

  PushdownMachine& machine;

 private:
  void walk(const TokenTrie& tree, size_t first, size_t last, Config from) {
    if (first == last) return;
    path_.resize(std::max<size_t>(path_.size(), tree.longest() + 1));
    const auto nodes = tree.nodes();
    path_[nodes[first].depth] = from;
    for (size_t n = first; n < last;) {
      const TokenTrie::Node& node = nodes[n];
      machine.spend(1);
      const Config next = machine.step(path_[node.depth], node.byte);
      if (next == kNowhere) {
        n = node.end;
        continue;
      }
      if (next == path_[node.depth] && loops_below(machine, tree, n, next)) {
        if (reaches(next)) add(tree.tokens(n, node.end));
        n = node.end;
        continue;
      }
      path_[node.depth + 1] = next;
      const auto own = tree.tokens(n);
      if (!own.empty() && reaches(next)) add(own);
      ++n;
    }
  }

  uint32_t reach_;
  MaskWords mask_;
  std::vector<Config> path_;  // indexed by depth
};

TokenMasks::TokenMasks(const std::shared_ptr<const Grammar>& grammar,
                       std::shared_ptr<const TokenSet> tokens, WorkWatch* watch)
    : tokens_(std::move(tokens)),
      automaton_(spelled_with(grammar->automaton(), *tokens_, watch)),
      follow_(*automaton_),
      estimates_after_(estimates_after_rules(*automaton_, watch)),
      equivalent_(*automaton_, TokenSet::kLong),
      short_equivalent_(*automaton_, TokenSet::kMiddle) {}

size_t TokenMasks::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return cached_bytes_;
}

void TokenMasks::add_allowed(PushdownMachine& machine, Config config, uint32_t reach,
                             MaskWords mask, const MakeRoom& make_room) const {
  Walker walker(machine, reach, mask);
  std::vector<Config> items;  // configurations of a single item
  for (size_t i = 0; i < machine.num_items(config); ++i) {
    items.push_back(machine.only(machine.item(config, i)));
  }
  // Process from the back, cached states first.
  std::partition(items.begin(), items.end(),
                 [&](Config one) { return !is_known(machine.item(one, 0).state); });
  for (const uint64_t begin = machine.work(); !items.empty(); items.pop_back()) {
    make_room(items);
    if (machine.work() - begin > kApartWork && items.size() > 1) {
      return walker.walk(tokens_->all(), machine.joined(items));
    }
    const PushdownMachine::Item item = machine.item(items.back(), 0);
    if (!add_plain(walker, item)) add_state(walker, item);
  }
}

size_t TokenMasks::add_longest_steps(PushdownMachine& machine, Config config,
                                     MaskWords mask) const {
  const TokenTrie& tree = tokens_->all();
  const auto nodes = tree.nodes();
  std::vector<Config> path(tree.longest() + 1);
  path[0] = config;
  size_t longest = 0;
  std::vector<size_t> ends;  // nodes at which tokens of that length end
  for (size_t n = 0; n < nodes.size();) {
    const TokenTrie::Node& node = nodes[n];
    machine.spend(1);
    const Config from = path[node.depth], next = machine.step(from, node.byte);
    if (next == kNowhere || machine.distance(next) >= machine.distance(from)) {
      n = node.end;
      continue;
    }
    path[node.depth + 1] = next;
    if (!tree.tokens(n).empty() && node.depth + 1 >= longest) {
      if (node.depth + 1 > longest) ends.clear();
      longest = node.depth + 1;
      ends.push_back(n);
    }
    ++n;
  }
  for (const size_t n : ends) {
    for (const Token token : tree.tokens(n)) {
      if (!mask.empty()) set_bit(mask, token);
    }
  }
  return longest;
}

void TokenMasks::add_state(Walker& walker, const PushdownMachine::Item& item) const {
  const uint32_t state = equivalent_.first[item.state];
  const uint32_t near = short_equivalent_.first[state];
  if (short_equivalent_.shared[near] && !short_equivalent_.exact) {
    add_mask(walker, item, *mask_of(walker.machine, near, Part::Short));
    add_mask(walker, item, *mask_of(walker.machine, state, Part::Middle));
  } else {
    add_mask(walker, item, *mask_of(walker.machine, state, Part::All));
    if (!equivalent_.shared[state] || equivalent_.exact) return;
  }
  walker.walk(tokens_->long_ones(), walker.machine.only(item));
}

void TokenMasks::add_mask(Walker& walker, const PushdownMachine::Item& item,
                          const StateMask& known) const {
  const Config start = walker.machine.only(item);
  if (known.unbounded) return walker.walk(tokens_->all(), start);
  walker.add(known.tokens, start);
  for_each_exit(walker.machine, item, known.entries,
                [&](uint32_t node, Config out) { walker.walk_on(*known.tree, node, out); });
  for (const StateMask::Undecided& one : known.undecided) {
    const Config at = after_text(walker.machine, start, one.text);
    if (at != kNowhere) walker.walk_on(*known.tree, one.node, at);
  }
  if (walker.reaches_all()) return;
  for_each_exit(walker.machine, item, known.exits, [&](uint32_t node, Config out) {
    if (walker.reaches(out)) walker.add(known.tree->tokens(node));
  });
  for (const Token& token : known.tokens.unknown()) {
    const Config at = after_text(walker.machine, start, tokens_->text(token));
    if (at != kNowhere && walker.reaches(at)) walker.add(std::span(&token, 1));
  }
}

/// True if everything that add_state needs of a state is cached.
bool TokenMasks::is_known(uint32_t state) const {
  const uint32_t first = equivalent_.first[state], near = short_equivalent_.first[first];
  const bool apart = short_equivalent_.shared[near] && !short_equivalent_.exact;
  const std::lock_guard lock(mutex_);
  if (!apart) return cache_.contains(key_of(first, Part::All));
  return cache_.contains(key_of(near, Part::Short)) && cache_.contains(key_of(first, Part::Middle));
}

std::shared_ptr<const StateMask> TokenMasks::mask_of(PushdownMachine& machine, uint32_t state,
                                                     Part part) const {
  const uint64_t key = key_of(state, part);
  {
    const std::lock_guard lock(mutex_);
    const auto found = cache_.find(key);
    if (found != cache_.end()) return found->second;
  }
  auto mask = std::make_shared<const StateMask>(compute(machine, state, part));
  const std::lock_guard lock(mutex_);
  if (cached_bytes_ + mask->size_bytes() > kCacheBytes) {
    cache_.clear();
    cached_bytes_ = 0;
  }
  if (cache_.emplace(key, mask).second) cached_bytes_ += mask->size_bytes();
  return mask;
}

/// True if every unescaped character of JSON strings leads back to `config`.
bool TokenMasks::takes_plain_text(PushdownMachine& machine, Config config) {
  const auto loops = [&](auto self, Config at, uint32_t left) -> bool {
    if (left == 0) return at == config;
    machine.spend(left == 1 ? 2 : 64);
    for (uint32_t b = 0x80; b <= 0xBF; b += left == 1 ? 0x3F : 1) {
      const Config next = machine.step(at, static_cast<uint8_t>(b));
      // Overlong forms, surrogates and values beyond U+10FFFF may be refused.
      if (next != kNowhere && !self(self, next, left - 1)) return false;
      if (next == kNowhere && left == 1) return false;
    }
    return true;
  };
  for (uint32_t b = 0x20; b < 0x7F; ++b) {
    if (b == '"' || b == '\\') continue;
    if (machine.step(config, static_cast<uint8_t>(b)) != config) return false;
  }
  for (uint32_t b = 0xC2; b <= 0xF4; ++b) {
    const Config next = machine.step(config, static_cast<uint8_t>(b));
    if (next == kNowhere || !loops(loops, next, b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3)) return false;
  }
  return true;
}

uint32_t TokenMasks::after_character(PushdownMachine& machine, uint32_t state) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = after_character_.find(state);
    if (known != after_character_.end()) return known->second;
  }
  const Automaton& automaton = *automaton_;
  const auto step = [&](uint32_t from, uint32_t byte) {
    return automaton.next(from, automaton.class_of(static_cast<uint8_t>(byte)));
  };
  uint32_t after = step(state, 'a');
  // True if all continuations with `left` bytes lead there, valid characters or not.
  const auto leads = [&](auto self, uint32_t at, uint32_t left) -> bool {
    if (left == 0) return at == after;
    if (!automaton.specials(at).empty()) return false;
    machine.spend(64);
    for (uint32_t b = 0x80, last = 0; b <= 0xBF; ++b) {
      const uint32_t next = step(at, b);
      if (next == 0 && left == 1) return false;
      if (next == 0 || next == last) continue;
      last = next;
      if (!self(self, next, left - 1)) return false;
    }
    return true;
  };
  bool alike = true;
  for (uint32_t b = 0x20; b < 0x7F && alike; ++b) {
    if (b != '"' && b != '\\') alike = step(state, b) == after;
  }
  for (uint32_t b = 0xC2; b <= 0xF4 && alike; ++b) {
    const uint32_t next = step(state, b);
    alike = (next == 0) == (after == 0) && (next == 0 || leads(leads, next,
                                                               b < 0xE0   ? 1
                                                               : b < 0xF0 ? 2
                                                                          : 3));
  }
  if (!alike) after = kDepends;
  const std::lock_guard lock(mutex_);
  after_character_.emplace(state, after);
  return after;
}

/// If every plain character leads to the same state, with the item's register and stack, adds all
/// tokens by their number of leading plain characters. Else returns false.
bool TokenMasks::add_plain(Walker& walker, const PushdownMachine::Item& item) const {
  PushdownMachine& machine = walker.machine;
  const uint32_t first = after_character(machine, item.state);
  // A loop that does not depend on the register has a mask of its own.
  const bool loops = first == item.state && !automaton_->is_guarded(first);
  if (first == 0 || first == kDepends || (loops && walker.reaches_all())) return false;
  std::array<Config, TokenSet::kMaxPlain + 1> after;  // [n] configuration after n characters
  after[0] = machine.only(item);
  size_t most = 0;
  for (; most < TokenSet::kMaxPlain; ++most) {
    const Config next = machine.step(after[most], 'a');
    if (next == kNowhere) break;
    for (size_t i = 0; next != after[most] && i < machine.num_items(next); ++i) {
      if (after_character(machine, machine.item(next, i).state) == kDepends) return false;
    }
    after[most + 1] = next;
  }
  if (most == TokenSet::kMaxPlain && after[most] == after[0]) {
    if (walker.reaches(after[0])) walker.add(tokens_->plain());
    walker.walk(tokens_->after_any_plain(), after[0]);
    return true;
  }
  for (size_t n = 0; n <= most; ++n) {
    walker.walk(tokens_->after_plain(n), after[n]);
    // Add neighbours that are equally good at once.
    const bool good = walker.reaches(after[n]);
    if (good && (n == most || !walker.reaches(after[n + 1]))) {
      size_t from = n;
      while (from > 0 && walker.reaches(after[from - 1])) --from;
      walker.add(tokens_->plain(n), from > 0 ? tokens_->plain(from - 1) : tokens_->plain(0));
    }
  }
  return true;
}

const FollowBytes::Bytes& TokenMasks::following(uint32_t exit, uint32_t rule) const {
  return exit == PushdownMachine::kPop ? follow_.after_rule(rule)
                                       : follow_.after_action(exit & ~PushdownMachine::kExit);
}

/// True if an exit of a local configuration may bring the end nearer.
bool TokenMasks::may_be_nearer(const PushdownMachine& machine, Config at, uint32_t exit,
                               uint32_t rule) const {
  if (machine.is_indirect(at)) return false;  // the register decides, with all exits
  if (exit == PushdownMachine::kPop) return machine.distance(at) > 0 || estimates_after_[rule];
  const Special& special = automaton_->special(exit & ~PushdownMachine::kExit);
  const ActionKind kind = automaton_->action(special.data).kind;
  const bool only_asks = kind == ActionKind::AtLeast || kind == ActionKind::Close;
  return !only_asks || automaton_->base(special.to) < machine.distance(at);
}

StateMask TokenMasks::compute(PushdownMachine& machine, uint32_t state, Part part) const {
  StateMask result;
  const Config start = machine.local(state);
  const bool plain = part == Part::All && takes_plain_text(machine, start);
  const TokenTrie& tree = part == Part::Middle ? tokens_->middle_ones()
                          : plain              ? tokens_->after_any_plain()
                                               : tokens_->all();
  const bool bounded = part == Part::Short || (equivalent_.shared[state] && !equivalent_.exact);
  const size_t longest = part == Part::Short ? TokenSet::kMiddle : TokenSet::kLong;
  const uint32_t rule = automaton_->rule_of(state);
  TokensByDistance::Groups accepted;
  std::vector<Token>* group = nullptr;  // group of the last token
  int32_t change_of_group = 0;
  const auto accept = [&](Config at, std::span<const Token> tokens) {
    const int32_t change = machine.is_indirect(at)
                               ? TokensByDistance::kUnknownChange
                               : static_cast<int32_t>(machine.distance(at)) -
                                     static_cast<int32_t>(machine.distance(start));
    if (group == nullptr || change != change_of_group) group = &accepted[change_of_group = change];
    machine.spend(tokens.size() / kTokensPerUnit);
    group->insert(group->end(), tokens.begin(), tokens.end());
  };
  std::vector<Config> path(tree.longest() + 1);
  std::string text(tree.longest(), '\0');
  path[0] = start;
  const auto nodes = tree.nodes();
  for (size_t n = 0; n < nodes.size();) {
    const TokenTrie::Node& node = nodes[n];
    machine.spend(1);
    const Config next = machine.step(path[node.depth], node.byte);
    if (next == kNowhere || (bounded && node.depth >= longest)) {
      n = node.end;
      continue;
    }
    path[node.depth + 1] = next;
    text[node.depth] = static_cast<char>(node.byte);
    // The start's condition holds, since the state is alive.
    if (machine.is_conditional(next) && !machine.has_condition_of(next, start)) {
      result.undecided.push_back({static_cast<uint32_t>(n), text.substr(0, node.depth + 1)});
      n = node.end;
      continue;
    }
    const auto own = tree.tokens(n);
    const bool inside = machine.has_states(next);
    uint8_t leaving = 0;  // kinds of bytes that can follow the exits
    bool nearer_outside = false;
    for (size_t i = 0; machine.has_exits(next) && i < machine.num_items(next); ++i) {
      machine.spend(1);
      const uint32_t exit = machine.item(next, i).state;
      if ((exit & PushdownMachine::kExit) == 0) continue;
      const FollowBytes::Bytes& follow = following(exit, rule);
      leaving |= follow.kinds;
      const bool nearer = inside && may_be_nearer(machine, next, exit, rule);
      nearer_outside |= nearer;
      const StateMask::Entry entry{exit, static_cast<uint32_t>(n)};
      if (goes_on_with(machine, tree, n, follow) || (!inside && !own.empty())) {
        result.entries.push_back(entry);
      } else if (nearer && !own.empty()) {
        result.exits.push_back(entry);
      }
    }
    const bool alike = inside && !bounded && next == path[node.depth] &&
                       (node.below & leaving) == 0 && !nearer_outside &&
                       loops_below(machine, tree, n, next);
    if (inside) accept(next, alike ? tree.tokens(n, node.end) : own);
    n = inside && !alike ? n + 1 : node.end;
    if (result.entries.size() + result.exits.size() + result.undecided.size() > kMaxEntries) {
      result = {};
      result.unbounded = true;
      return result;
    }
  }
  result.tree = &tree;
  for (auto* exits : {&result.entries, &result.exits}) {
    std::sort(exits->begin(), exits->end(), [](const auto& a, const auto& b) {
      return std::tie(a.exit, a.node) < std::tie(b.exit, b.node);
    });
  }
  const std::span<const uint64_t> all_plain =
      plain ? tokens_->plain() : std::span<const uint64_t>();
  result.tokens = TokensByDistance(std::move(accepted), all_plain, tokens_->size());
  return result;
}

}  // namespace tenon::grammar
