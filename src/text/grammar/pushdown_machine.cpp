#include "text/grammar/pushdown_machine.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tenon::grammar {
namespace {

// In units of WalkBudget.
constexpr uint64_t kVisitWork = 12;
constexpr uint64_t kConfigWork = 16;
constexpr uint64_t kStepWork = 4;

}  // namespace

PushdownMachine::PushdownMachine(std::shared_ptr<const Automaton> automaton, Purpose purpose)
    : automaton_(std::move(automaton)), purpose_(purpose), num_classes_(automaton_->num_classes()) {
  for (uint32_t b = 0; b < 256; ++b) {
    const auto byte = static_cast<uint8_t>(b);
    class_of_[b] = automaton_->class_of(byte);
    kinds_of_class_[class_of_[b]] |= byte_kind(byte);
  }
  reset();
  begin_closure();
  const Automaton::RuleInfo& rule = automaton_->rule(0);
  visit(rule.start, initial_register(rule), kRoot);
  run_closure();
  start_ = intern();
}

void PushdownMachine::reset() {
  configs_ = Interner();
  frames_ = Interner();
  sets_ = Interner();
  owed_ = {};
  kinds_ = {};
  loops_ = {};
  distances_ = {};
  frame_distances_ = {};
  frame_indirect_.assign(2, false);
  steps_ = {};
  const uint32_t root[] = {0, 0, 0}, escape[] = {0, 0, 1};
  (void)frames_.intern(root);
  (void)frames_.intern(escape);
  frame_distances_ = {0, 0};
  begin_closure();
  (void)intern();  // the number of kNowhere
  steps_.assign(num_classes_, kNowhere);
}

PushdownMachine::Item PushdownMachine::item(Config config, size_t index) const {
  const auto words = configs_.words(config).subspan(1 + index * 3, 3);
  return {words[0], words[1], words[2]};
}

void PushdownMachine::begin_closure() {
  if (visited_.size() > 0) visited_.clear();
  todo_.clear();
  found_.clear();
  header_ = 0;
}

void PushdownMachine::visit(uint32_t state, uint32_t reg, uint32_t frame) {
  const uint32_t words[] = {state, reg, frame};
  bool is_new = false;
  (void)visited_.intern(words, &is_new);
  if (!is_new) return;
  budget_.spend(kVisitWork);
  if (visited_.size() > kMaxItems) {
    fail(Code::Limit,
         "grammar: more than {} ways to read the text are open; make it less ambiguous", kMaxItems);
  }
  todo_.push_back({state, reg, frame});
}

void PushdownMachine::run_closure() {
  while (!todo_.empty()) {
    const Item item = todo_.back();
    todo_.pop_back();
    expand(item);
  }
}

void PushdownMachine::expand(const Item& item) {
  const auto [state, reg, frame] = item;
  if (automaton_->is_guarded(state)) {
    if (reg == kUnknownRegister) {
      add_guard(state);
    } else {
      uint32_t ignored = 0;
      const auto ahead = automaton_->ahead(state);
      const bool alive = std::any_of(ahead.begin(), ahead.end(), [&](const auto& next) {
        return apply(automaton_->action(next.action), item.reg, ignored);
      });
      if (!alive) return;
    }
  }
  if (automaton_->has_bytes(state)) found_.push_back(item);
  for (const Special& special : automaton_->specials(state)) {
    if (special.kind == EdgeKind::Call) {
      const Automaton::RuleInfo& rule = automaton_->rule(special.data);
      const uint32_t below =
          automaton_->only_returns(special.to) ? frame : frame_of(special.to, reg, frame);
      visit(rule.start, initial_register(rule), below);
    } else if (reg == kUnknownRegister) {
      found_.push_back({kExit | automaton_->index_of(special), 0, 0});
      header_ |= kHasExits;
    } else {
      uint32_t next = 0;
      if (apply(automaton_->action(special.data), reg, next)) visit(special.to, next, frame);
    }
  }
  if (!automaton_->is_final(state)) return;
  if (frame == kRoot) {
    header_ |= kAccepts;
  } else if (frame == kEscape) {
    found_.push_back({kPop, 0, 0});
    header_ |= kHasExits;
  } else {
    const auto words = frames_.words(frame);
    visit(words[0], words[1], words[2]);
  }
}

void PushdownMachine::add_guard(uint32_t state) {
  const uint32_t guard = automaton_->guard(state);
  if (guard == 0) return;
  const uint32_t known = header_ / kGuard;
  header_ = known == 0 || known == guard ? header_ | kConditional | guard * kGuard
                                         : header_ | kSeveral * kGuard;
}

Config PushdownMachine::intern() {
  std::sort(found_.begin(), found_.end(), [](const Item& a, const Item& b) {
    return std::tie(a.state, a.reg, a.frame) < std::tie(b.state, b.reg, b.frame);
  });
  if (std::any_of(found_.begin(), found_.end(),
                  [](const Item& item) { return (item.state & kExit) == 0; })) {
    header_ |= kHasStates;
  }
  words_.assign(1, header_);
  for (size_t i = 0; i < found_.size(); ++i) {
    const Item& item = found_[i];
    const bool twice = i > 0 && item.state == found_[i - 1].state &&
                       item.reg == found_[i - 1].reg && item.frame == found_[i - 1].frame;
    if (!twice) words_.insert(words_.end(), {item.state, item.reg, item.frame});
  }
  if (const Config known = configs_.find(words_); known != Interner::kAbsent) return known;
  // Do everything that may throw before the configuration gets its number.
  uint32_t least = (header_ & kAccepts) != 0 ? 0 : kFar, kinds = header_;
  for (const Item& item : found_) {
    if ((item.state & kExit) != 0) continue;
    least = std::min(least, add_far(cost(item.state, item.reg), frame_distances_[item.frame]));
    if (is_indirect(item.state, item.frame)) kinds |= kIndirect;
  }
  const Config id = configs_.intern(words_);
  kinds_.push_back(static_cast<uint8_t>(kinds));
  loops_.push_back(kUnknownLoops);
  distances_.push_back(least);
  steps_.resize(configs_.size() * num_classes_, kUnknown);
  budget_.spend(kConfigWork + num_classes_ / 8);
  if (used_bytes() > most_bytes_) {
    fail(Code::Limit, "grammar: more than {} MiB to remember: too many ways to read the text",
         most_bytes_ >> 20);
  }
  return id;
}

Config PushdownMachine::compute_step(Config from, uint32_t byte_class) {
  begin_closure();
  const size_t count = num_items(from);
  budget_.spend(kStepWork + count / 4);
  for (size_t i = 0; i < count; ++i) {
    const Item at = item(from, i);
    if ((at.state & kExit) != 0) continue;
    const uint32_t next = automaton_->next(at.state, byte_class);
    if (next != 0) visit(next, at.reg, at.frame);
  }
  run_closure();
  // Most steps lead nowhere, which needs no look-up.
  const Config to = found_.empty() && header_ == 0 ? kNowhere : intern();
  steps_[size_t{from} * num_classes_ + byte_class] = to;
  return to;
}

uint16_t PushdownMachine::compute_loops(Config config) {
  uint8_t leaving = kBeyondAscii;  // a byte inside a character never leads back
  for (uint32_t c = 0; c < num_classes_; ++c) {
    if (step_class(config, c) != config) leaving |= kinds_of_class_[c];
  }
  return loops_[config] = static_cast<uint8_t>(~leaving);
}

Config PushdownMachine::local(uint32_t state) {
  // Skip the closure: the state's own calls and exits stay separate items.
  begin_closure();
  add_guard(state);
  found_.push_back({state, kUnknownRegister, kEscape});
  return intern();
}

Config PushdownMachine::only(const Item& item) {
  begin_closure();
  found_.push_back(item);
  return intern();
}

Config PushdownMachine::joined(std::span<const Config> configs) {
  begin_closure();
  for (const Config config : configs) {
    for (size_t i = 0; i < num_items(config); ++i) found_.push_back(item(config, i));
  }
  return intern();
}

Config PushdownMachine::leave(const Item& item, uint32_t exit) {
  begin_closure();
  if (exit == kPop) {
    if (item.frame == kRoot) {
      header_ |= kAccepts;
    } else {
      const auto words = frames_.words(item.frame);
      visit(words[0], words[1], words[2]);
    }
  } else {
    const Special& special = automaton_->special(exit & ~kExit);
    uint32_t next = 0;
    if (apply(automaton_->action(special.data), item.reg, next)) {
      visit(special.to, next, item.frame);
    }
  }
  run_closure();
  return intern();
}

uint32_t PushdownMachine::frame_of(uint32_t state, uint32_t reg, uint32_t parent) {
  const uint32_t words[] = {state, reg, parent};
  if (const uint32_t known = frames_.find(words); known != Interner::kAbsent) return known;
  // Compute the cost first, since it may throw before the frame gets its number.
  const uint32_t distance = add_far(cost(state, reg), frame_distances_[parent]);
  const bool indirect = is_indirect(state, parent);
  const uint32_t id = frames_.intern(words);
  frame_distances_.push_back(distance);
  frame_indirect_.push_back(indirect);
  return id;
}

bool PushdownMachine::is_indirect(uint32_t state, uint32_t frame) const {
  return frame == kEscape ? automaton_->base(state) == kFar : frame_indirect_[frame];
}

uint32_t PushdownMachine::cost(uint32_t state, uint32_t reg) {
  const Automaton::RuleInfo& rule = automaton_->rule(automaton_->rule_of(state));
  const bool known = reg != kUnknownRegister;
  const uint32_t base = automaton_->base(state);
  if (base < kFar) return add_far(base, known ? owed(rule, reg) : 0);
  uint32_t least = kFar;
  for (const Automaton::Ahead& ahead : automaton_->ahead(state)) {
    uint32_t next = reg;
    if (known && !apply(automaton_->action(ahead.action), reg, next)) continue;
    const uint64_t way = uint64_t{ahead.distance} + ahead.rest;
    if (way >= least) continue;
    least = std::min(least, add_far(way, known ? owed(rule, next) : 0));
  }
  return least;
}

size_t PushdownMachine::size_bytes() const {
  return configs_.size_bytes() + frames_.size_bytes() + sets_.size_bytes() +
         (distances_.capacity() + frame_distances_.capacity() + steps_.capacity()) * 4 +
         kinds_.capacity() + loops_.capacity() * 2 + owed_.capacity() * sizeof(Owed);
}

size_t PushdownMachine::used_bytes() const {
  return configs_.used_bytes() + frames_.used_bytes() + sets_.used_bytes() +
         (distances_.size() + frame_distances_.size() + steps_.size()) * 4 + kinds_.size() +
         loops_.size() * 2 + owed_.size() * sizeof(Owed);
}

void PushdownMachine::collect(std::span<Config> keep) {
  struct Kept {
    uint32_t header;
    std::vector<Item> items;
  };
  std::vector<Kept> kept(keep.size() + 1);
  std::vector<bool> needed(frames_.size(), false);
  const auto save = [&](Config config, Kept& to) {
    to.header = header(config);
    for (size_t i = 0; i < num_items(config); ++i) {
      to.items.push_back(item(config, i));
      if ((to.items.back().state & kExit) == 0) needed[to.items.back().frame] = true;
    }
  };
  for (size_t i = 0; i < keep.size(); ++i) save(keep[i], kept[i]);
  save(start_, kept.back());
  // Suspend the budget: the kept configurations were allowed before, and half of them would be
  // useless.
  const WalkBudget budget = std::exchange(budget_, {});
  const size_t most_bytes = std::exchange(most_bytes_, SIZE_MAX);
  // A frame has a higher number than the frame below it.
  const Interner old_frames = frames_, old_sets = sets_;
  for (auto f = static_cast<uint32_t>(needed.size()); f-- > 2;) {
    if (needed[f]) needed[old_frames.words(f)[2]] = true;
  }
  reset();
  const auto new_register = [&](uint32_t state, uint32_t reg) {
    const Automaton::RuleInfo& rule = automaton_->rule(automaton_->rule_of(state));
    if (rule.object == kNoObject || reg == kUnknownRegister) return reg;
    return sets_.intern(old_sets.words(reg));
  };
  std::vector<uint32_t> new_frame(needed.size(), 0);
  new_frame[kEscape] = kEscape;
  for (uint32_t f = 2; f < needed.size(); ++f) {
    if (!needed[f]) continue;
    const auto words = old_frames.words(f);
    new_frame[f] = frame_of(words[0], new_register(words[0], words[1]), new_frame[words[2]]);
  }
  const auto restore = [&](const Kept& from) {
    begin_closure();
    header_ = from.header;
    for (Item item : from.items) {
      if ((item.state & kExit) == 0) {
        item.reg = new_register(item.state, item.reg);
        item.frame = new_frame[item.frame];
      }
      found_.push_back(item);
    }
    return intern();
  };
  for (size_t i = 0; i < keep.size(); ++i) keep[i] = restore(kept[i]);
  start_ = restore(kept.back());
  most_bytes_ = most_bytes;
  budget_ = budget;
}

}  // namespace tenon::grammar
