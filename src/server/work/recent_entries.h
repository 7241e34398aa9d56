// Entries by their names, as many as a number of bytes holds: the one used longest ago goes.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tenon_http {

/// One thread at a time.
template <typename Value>
class RecentEntries {
 public:
  explicit RecentEntries(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// In place of one of that name. What alone is larger than the limit is not kept, and changes nothing.
  void add(std::string name, Value value, uint64_t bytes) {
    if (bytes > limit_bytes_) return;
    const auto old = by_name_.find(name);
    if (old != by_name_.end()) drop(old->second);
    while (held_bytes_ + bytes > limit_bytes_) drop(std::prev(entries_.end()));
    entries_.push_front({std::move(name), std::move(value), bytes});
    by_name_[entries_.front().name] = entries_.begin();
    held_bytes_ += bytes;
  }

  /// The entry of that name if accepts(value) says so, which is then the one used last; else null. Valid until the
  /// next call.
  template <typename Accepts>
  const Value* find(std::string_view name, Accepts accepts) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || !accepts(found->second->value)) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }

  /// Whether there was one that accepts(value) takes.
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
  Entries entries_;  // the one used last in front
  std::unordered_map<std::string_view, typename Entries::iterator> by_name_;
};

}  // namespace tenon_http
