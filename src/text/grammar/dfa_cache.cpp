#include "text/grammar/dfa_cache.h"

#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace tenon::grammar {
namespace {

struct Entry {
  std::string key;
  std::shared_ptr<const Dfa> dfa;
  BudgetUse use;
  size_t bytes;
};

struct Cache {
  std::mutex mutex;
  std::list<Entry> entries;  // most recently used first
  std::map<std::string, std::list<Entry>::iterator, std::less<>> by_key;
  size_t bytes = 0;
};

/// Never destroyed: nothing of the library runs when the process ends.
Cache& cache() {
  static Cache& kept = *new Cache;
  return kept;
}

size_t size_of(const Dfa& dfa) {
  return dfa.begin.capacity() * sizeof(uint32_t) + dfa.ranges.capacity() * sizeof(ByteRange) +
         dfa.label.capacity() * sizeof(uint32_t);
}

BudgetUse difference(const BudgetUse& after, const BudgetUse& before) {
  return {.work = after.work - before.work,
          .parts = after.parts - before.parts,
          .nodes = after.nodes - before.nodes,
          .states = after.states - before.states};
}

}  // namespace

std::shared_ptr<const Dfa> cached_dfa(const std::string& key, Budget& budget,
                                      const std::function<Dfa()>& make) {
  Cache& of = cache();
  std::shared_ptr<const Dfa> known;
  BudgetUse use;
  {
    const std::lock_guard lock(of.mutex);
    const auto found = of.by_key.find(key);
    if (found != of.by_key.end()) {
      of.entries.splice(of.entries.begin(), of.entries, found->second);
      known = found->second->dfa;
      use = found->second->use;
    }
  }
  if (known) {
    budget.charge(use);
    budget.pay_once(key, use);
    return known;
  }
  // Compile without the lock, so that others continue.
  const BudgetUse before = budget.used();
  const auto made = std::make_shared<const Dfa>(make());
  use = difference(budget.used(), before);
  budget.pay_once(key, use);
  Entry entry{key, made, use, size_of(*made) + 2 * key.size() + sizeof(Entry)};
  const std::lock_guard lock(of.mutex);
  const auto found = of.by_key.find(key);
  if (found != of.by_key.end()) return found->second->dfa;
  if (entry.bytes > kMostDfaBytes / 4) return made;
  std::list<Entry> one;
  one.push_front(std::move(entry));
  of.by_key.emplace(key, one.begin());
  of.bytes += one.front().bytes;
  of.entries.splice(of.entries.begin(), one);
  while (of.bytes > kMostDfaBytes) {
    of.bytes -= of.entries.back().bytes;
    of.by_key.erase(of.entries.back().key);
    of.entries.pop_back();
  }
  return made;
}

}  // namespace tenon::grammar
