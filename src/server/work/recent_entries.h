// LRU cache of named entries, bounded by their bytes.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tenon_http {

/// Not thread-safe.
template <typename Value>
class RecentEntries {
 public:
  explicit RecentEntries(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Replaces an entry of equal name and evicts the least recently used. An entry larger than the
  /// limit is ignored.
  void add(std::string name, Value value, uint64_t bytes) {
    if (bytes > limit_bytes_) return;
    const auto old = by_name_.find(name);
    if (old != by_name_.end()) drop(old->second);
    while (held_bytes_ + bytes > limit_bytes_) drop(std::prev(entries_.end()));
    entries_.push_front({std::move(name), std::move(value), bytes});
    by_name_[entries_.front().name] = entries_.begin();
    held_bytes_ += bytes;
  }

  /// Entry of that name if accepts(value), marked as most recently used; else null. Valid until the
  /// next call.
  template <typename Accepts>
  const Value* find(std::string_view name, Accepts accepts) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || !accepts(found->second->value)) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }

  /// Removes the entry of that name if accepts(value); true if removed.
  template <typename Accepts>
  bool remove(std::string_view name, Accepts accepts) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || !accepts(found->second->value)) return false;
    drop(found->second);
    return true;
  }

 private:
  struct Entry {
    std::string name;
    Value value;
    uint64_t bytes;
  };
  using Entries = std::list<Entry>;

  void drop(typename Entries::iterator entry) {
    held_bytes_ -= entry->bytes;
    by_name_.erase(entry->name);
    entries_.erase(entry);
  }

  uint64_t limit_bytes_;
  uint64_t held_bytes_ = 0;
  Entries entries_;  // most recently used first
  std::unordered_map<std::string_view, typename Entries::iterator> by_name_;
};

}  // namespace tenon_http
