#include "text/grammar/token_masks.h"

#include <algorithm>
#include <map>

namespace tenon::grammar {
namespace {

// Beyond so many texts left to try a state is not worth a table.
constexpr size_t kMaxRest = 400'000;

void set_bit(MaskWords mask, Token token) {
  const auto t = static_cast<size_t>(token);
  mask[t / 64] |= uint64_t{1} << (t % 64);
}

/// Walks a tree of tokens from a configuration. visit(node, configuration) for each node that is
/// alive; what is below a dead one is left out.
template <typename Visit>
void walk(Machine& machine, const TokenTrie& trie, Config from, std::vector<Config>& path,
          Visit visit) {
  path.resize(trie.longest() + 1);
  path[0] = from;
  const auto nodes = trie.nodes();
  for (size_t n = 0; n < nodes.size();) {
    const TokenTrie::Node& node = nodes[n];
    const Config next = machine.step(path[node.depth], node.byte);
    path[node.depth + 1] = next;
    if (next == kNowhere) {
      n = node.end;
      continue;
    }
    visit(n, next);
    ++n;
  }
}

}  // namespace

size_t TokenMasks::StateMask::size_bytes() const {
  size_t sum = sizeof(StateMask) + bits.capacity() * 8 + list.capacity() * 4 +
               conditional.size_bytes();
  for (const Exit& exit : exits) sum += sizeof(Exit) + exit.rest.size_bytes();
  return sum;
}

TokenMasks::TokenMasks(const std::shared_ptr<const Grammar>& grammar,
                       std::shared_ptr<const TokenSet> tokens)
    : tokens_(std::move(tokens)), automaton_(grammar->automaton()) {
  // A byte without a token of its own could leave a text that cannot be spelled to its end.
  if (!tokens_->bytes().all()) {
    automaton_ =
        std::make_shared<const Automaton>(automaton_->restricted_to(tokens_->bytes()));
  }
}

size_t TokenMasks::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return cached_bytes_;
}

void TokenMasks::add_reaching(Machine& machine, Config config, uint32_t reach,
                              MaskWords mask) const {
  std::vector<Config> path;
  walk(machine, trie(), config, path, [&](size_t n, Config at) {
    const auto own = trie().tokens(n);
    if (own.empty() || machine.distance(at) > reach) return;
    for (const Token token : own) set_bit(mask, token);
  });
}

void TokenMasks::add_allowed(Machine& machine, Config config, MaskWords mask) const {
  std::vector<Config> path;
  const auto add_walk = [&](const TokenTrie& trie, Config from) {
    walk(machine, trie, from, path, [&](size_t n, Config) {
      for (const Token token : trie.tokens(n)) set_bit(mask, token);
    });
  };
  const size_t count = machine.num_items(config);
  for (size_t i = 0; i < count; ++i) {
    const Machine::Item item = machine.item(config, i);
    if (add_counted(machine, item, mask)) continue;
    const auto known = mask_of(machine, item.state);
    if (known->unbounded) {
      add_walk(trie(), machine.only(item));
      continue;
    }
    for (size_t w = 0; w < known->bits.size(); ++w) mask[w] |= known->bits[w];
    for (const Token token : known->list) set_bit(mask, token);
    for (const StateMask::Exit& exit : known->exits) {
      const Config out = machine.leave(item, exit.exit);
      if (out == kNowhere) continue;
      for (const Token token : exit.rest.at_root()) set_bit(mask, token);
      add_walk(exit.rest, out);
    }
    if (!known->conditional.nodes().empty()) add_walk(known->conditional, machine.only(item));
  }
}

std::shared_ptr<const TokenMasks::StateMask> TokenMasks::mask_of(Machine& machine,
                                                                 uint32_t state) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = cache_.find(state);
    if (found != cache_.end()) return found->second;
  }
  auto mask = std::make_shared<const StateMask>(compute(machine, state));
  const std::lock_guard lock(mutex_);
  if (cached_bytes_ + mask->size_bytes() > kCacheBytes) {
    cache_.clear();
    cached_bytes_ = trie_.size_bytes();
  }
  if (cache_.emplace(state, mask).second) cached_bytes_ += mask->size_bytes();
  return mask;
}

/// Whether every whole character that JSON strings take as it is leads back to `config`.
bool TokenMasks::takes_plain_text(Machine& machine, Config config) {
  const auto loops = [&](auto self, Config at, uint32_t left) -> bool {
    if (left == 0) return at == config;
    for (uint32_t b = 0x80; b <= 0xBF; b += left == 1 ? 0x3F : 1) {
      const Config next = machine.step(at, static_cast<uint8_t>(b));
      // Overlong forms, surrogates and what lies beyond U+10FFFF may be refused.
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

uint32_t TokenMasks::behind_character(uint32_t state) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = behind_character_.find(state);
    if (known != behind_character_.end()) return known->second;
  }
  const Automaton& automaton = *automaton_;
  const auto step = [&](uint32_t from, uint32_t byte) {
    return automaton.next(from, automaton.class_of(static_cast<uint8_t>(byte)));
  };
  uint32_t behind = step(state, 'a');
  // Whether all characters with these bytes to come lead there; some of them may be no characters.
  const auto leads = [&](auto self, uint32_t at, uint32_t left) -> bool {
    if (left == 0) return at == behind;
    if (!automaton.specials(at).empty()) return false;
    for (uint32_t b = 0x80, last = 0; b <= 0xBF; ++b) {
      const uint32_t next = step(at, b);
      if (next == 0 && left == 1) return false;
      if (next == 0 || next == last) continue;
      last = next;
      if (!self(self, next, left - 1)) return false;
    }
    return true;
  };
  for (uint32_t b = 0x20; b < 0x7F && behind != 0; ++b) {
    if (b != '"' && b != '\\' && step(state, b) != behind) behind = 0;
  }
  for (uint32_t b = 0xC2; b <= 0xF4 && behind != 0; ++b) {
    const uint32_t next = step(state, b);
    if (next == 0 || !leads(leads, next, b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3)) behind = 0;
  }
  const std::lock_guard lock(mutex_);
  behind_character_.emplace(state, behind);
  return behind;
}

/// Strings that count their characters: what a token of plain ones does depends on their number only.
bool TokenMasks::add_counted(Machine& machine, const Machine::Item& item, MaskWords mask) const {
  const uint32_t first = behind_character(item.state);
  if (first == 0 || first == item.state) return false;
  const Config start = machine.only(item);
  size_t most = 0;
  for (Config at = start; most < TokenSet::kMaxPlain; ++most) {
    const Config next = machine.step(at, 'a');
    if (next == kNowhere) break;
    // A count that matters no more.
    if (next == at) most = TokenSet::kMaxPlain - 1;
    for (size_t i = 0; i < machine.num_items(next); ++i) {
      if (behind_character(machine.item(next, i).state) == 0) return false;
    }
    at = next;
  }
  const auto plain = tokens_->plain(most);
  for (size_t w = 0; w < plain.size(); ++w) mask[w] |= plain[w];
  std::vector<Config> path;
  walk(machine, tokens_->special(), start, path, [&](size_t n, Config) {
    for (const Token token : tokens_->special().tokens(n)) set_bit(mask, token);
  });
  return true;
}

const TokenTrie& TokenMasks::trie() const {
  // With many classes few texts become alike.
  constexpr uint32_t kMaxClasses = 64;
  if (automaton_->num_classes() > kMaxClasses) return tokens_->all();
  std::call_once(trie_made_, [this] {
    std::array<uint8_t, 256> to{};
    for (uint32_t b = 0; b < 256; ++b) {
      to[b] = automaton_->byte_of(automaton_->class_of(static_cast<uint8_t>(b)));
    }
    trie_ = tokens_->all().mapped(to);
    const std::lock_guard lock(mutex_);
    cached_bytes_ += trie_.size_bytes();
  });
  return trie_;
}

TokenMasks::StateMask TokenMasks::compute(Machine& machine, uint32_t state) const {
  StateMask result;
  const Config start = machine.local(state);
  std::vector<Token> accepted;
  std::vector<uint64_t> bits((tokens_->size() + 63) / 64, 0);
  const bool plain = !machine.is_conditional(start) && takes_plain_text(machine, start);
  if (plain) bits.assign(tokens_->plain().begin(), tokens_->plain().end());
  const TokenTrie& tokens = plain ? tokens_->special() : trie();
  std::map<uint32_t, std::vector<TokenTrie::Entry>> rests;
  std::vector<TokenTrie::Entry> conditional;
  size_t num_rests = 0;
  // Exits on the way to the node at hand: bytes before it, and which.
  std::vector<std::pair<uint32_t, uint32_t>> open;
  std::vector<Config> path(tokens.longest() + 1);
  std::vector<uint8_t> doubtful(tokens.longest() + 1);
  path[0] = start;
  doubtful[0] = machine.is_conditional(start) ? 1 : 0;
  const auto add_rests = [&](Token token) {
    const std::string_view text = tokens_->text(token);
    for (const auto& [depth, exit] : open) rests[exit].push_back({text.substr(depth), token});
    num_rests += open.size();
  };
  const auto nodes = tokens.nodes();
  for (size_t n = 0; n < nodes.size() && num_rests < kMaxRest;) {
    const TokenTrie::Node& node = nodes[n];
    while (!open.empty() && open.back().first > node.depth) open.pop_back();
    const Config next = machine.step(path[node.depth], node.byte);
    if (next == kNowhere) {
      if (!open.empty()) {
        const uint32_t last = tokens.first_token(node.end);
        for (uint32_t t = node.tokens; t < last; ++t) add_rests(tokens.token(t));
      }
      n = node.end;
      continue;
    }
    path[node.depth + 1] = next;
    doubtful[node.depth + 1] =
        doubtful[node.depth] != 0 || machine.is_conditional(next) ? 1 : 0;
    bool inside = false;
    const size_t count = machine.num_items(next);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t at = machine.item(next, i).state;
      const bool leaves = at == Machine::kPop || (at & Machine::kExit) != 0;
      if (leaves) {
        open.emplace_back(node.depth + 1, at);
      } else {
        inside = true;
      }
    }
    for (const Token token : tokens.tokens(n)) {
      if (inside && doubtful[node.depth + 1] == 0) {
        accepted.push_back(token);
        continue;
      }
      if (inside) conditional.push_back({tokens_->text(token), token});
      if (!inside || !open.empty()) add_rests(token);
    }
    ++n;
  }
  if (num_rests >= kMaxRest) {
    result.unbounded = true;
    return result;
  }
  for (auto& [exit, entries] : rests) {
    result.exits.push_back({exit, TokenTrie(std::move(entries))});
  }
  result.conditional = TokenTrie(std::move(conditional));
  if (plain || accepted.size() > tokens_->size() / 64) {
    for (const Token token : accepted) set_bit(bits, token);
    result.bits = std::move(bits);
  } else {
    result.list = std::move(accepted);
  }
  return result;
}

}  // namespace tenon::grammar
