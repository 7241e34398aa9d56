#include "text/tokenizer/byte_trie.h"

#include <algorithm>
#include <span>

namespace tenon {

/// Free units, linked in a ring; finds room for children.
class ByteTrie::Places {
 public:
  explicit Places(std::vector<Unit>& units) : units_(units) {
    units_.clear();
    add_block();
    take(kRoot);
    units_[kRoot].parent = kNoParent;
  }

  /// A base at which all of `bytes` (not empty) are free. Most nodes have one child and fill the
  /// gaps between others, so a few tries at both ends of the ring suffice.
  uint32_t base_for(std::span<const uint8_t> bytes) {
    constexpr int kTries = 16;
    if (head_ == kNone) return add_block();
    uint32_t old = head_;
    uint32_t recent = links_[head_].previous;
    for (int i = 0; i < kTries; ++i) {
      for (const uint32_t unit : {old, recent}) {
        const uint32_t base = unit ^ bytes[0];
        const bool fits = std::all_of(bytes.begin(), bytes.end(), [&](uint8_t byte) {
          return units_[base ^ byte].parent == kFree;
        });
        if (fits) return base;
      }
      old = links_[old].next;
      recent = links_[recent].previous;
    }
    return add_block();
  }

  void take(uint32_t unit) {
    const Link link = links_[unit];
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    if (head_ == unit) head_ = link.next == unit ? kNone : link.next;
  }

 private:
  struct Link {
    uint32_t previous;
    uint32_t next;
  };

  /// Appends a block of free units; returns its start.
  uint32_t add_block() {
    const auto begin = static_cast<uint32_t>(units_.size());
    units_.resize(units_.size() + kBlock);
    const auto end = static_cast<uint32_t>(units_.size());
    for (uint32_t unit = begin; unit < end; ++unit) links_.push_back({unit - 1, unit + 1});
    const uint32_t first = head_ == kNone ? begin : head_;
    const uint32_t last = head_ == kNone ? end - 1 : links_[head_].previous;
    links_[begin].previous = last;
    links_[end - 1].next = first;
    if (head_ != kNone) {
      links_[last].next = begin;
      links_[first].previous = end - 1;
    }
    head_ = first;
    return begin;
  }

  std::vector<Unit>& units_;
  std::vector<Link> links_;  // [units]
  uint32_t head_ = kNone;
};

void ByteTrie::Builder::insert(std::string_view text, int32_t value) {
  entries_.push_back({bytes_.size(), text.size(), value});
  bytes_ += text;
}

ByteTrie ByteTrie::Builder::build() const {
  const auto text = [this](const Entry& entry) {
    return std::string_view(bytes_).substr(entry.begin, entry.size);
  };
  std::vector<Entry> sorted = entries_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Entry& a, const Entry& b) { return text(a) < text(b); });
  ByteTrie out;
  Places places(out.units_);
  /// A node whose children must be placed, and its strings.
  struct Open {
    uint32_t node;
    size_t first;
    size_t last;
    size_t depth;
  };
  std::vector<Open> open{{kRoot, 0, sorted.size(), 0}};
  std::vector<uint8_t> bytes;
  std::vector<size_t> firsts;
  while (!open.empty()) {
    const Open at = open.back();
    open.pop_back();
    size_t i = at.first;
    // Strings that end here come first; the last of equal strings wins.
    for (; i < at.last && sorted[i].size == at.depth; ++i) {
      out.units_[at.node].value = sorted[i].value;
    }
    if (i == at.last) continue;
    bytes.clear();
    firsts.clear();
    for (; i < at.last; ++i) {
      const auto byte = static_cast<uint8_t>(text(sorted[i])[at.depth]);
      if (!bytes.empty() && bytes.back() == byte) continue;
      bytes.push_back(byte);
      firsts.push_back(i);
    }
    firsts.push_back(at.last);
    const uint32_t base = places.base_for(bytes);
    out.units_[at.node].base = base;
    for (size_t c = bytes.size(); c-- > 0;) {
      const uint32_t child = base ^ bytes[c];
      places.take(child);
      out.units_[child].parent = at.node;
      open.push_back({child, firsts[c], firsts[c + 1], at.depth + 1});
    }
  }
  return out;
}

}  // namespace tenon
