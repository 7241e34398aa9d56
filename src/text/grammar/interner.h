// Interning (hash consing): numbers sequences of words. Equal sequences have equal numbers; a new
// sequence gets the next number.
//
//   intern({3, 4}) = 0, intern({7}) = 1, intern({3, 4}) = 0; words(1) = {7}
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::grammar {

/// Hash table with open addressing; one vector holds all sequences end to end.
class Interner {
 public:
  Interner() : slots_(64, 0) {}

  /// Returned for an unknown sequence.
  static constexpr uint32_t kAbsent = UINT32_MAX;
  [[nodiscard]] uint32_t find(std::span<const uint32_t> words) const {
    if (slots_.empty()) return kAbsent;
    const uint32_t taken = slots_[place_of(words)];
    return taken == 0 ? kAbsent : taken - 1;
  }
  /// Number of a sequence. is_new: receives whether the sequence was added.
  uint32_t intern(std::span<const uint32_t> words, bool* is_new = nullptr) {
    if ((size() + 1) * 2 > slots_.size()) grow();
    const size_t at = place_of(words);
    if (is_new != nullptr) *is_new = slots_[at] == 0;
    if (slots_[at] != 0) return slots_[at] - 1;
    slots_[at] = static_cast<uint32_t>(size()) + 1;
    words_.insert(words_.end(), words.begin(), words.end());
    ends_.push_back(words_.size());
    return slots_[at] - 1;
  }
  /// Valid until the next intern().
  [[nodiscard]] std::span<const uint32_t> words(uint32_t id) const {
    const size_t begin = id == 0 ? 0 : ends_[id - 1];
    return std::span(words_).subspan(begin, ends_[id] - begin);
  }
  [[nodiscard]] size_t size() const { return ends_.size(); }
  [[nodiscard]] size_t size_bytes() const {
    return slots_.capacity() * 4 + words_.capacity() * 4 + ends_.capacity() * 8;
  }
  /// Bytes of the content; the allocated memory may be twice as large.
  [[nodiscard]] size_t used_bytes() const {
    return slots_.size() * 4 + words_.size() * 4 + ends_.size() * 8;
  }
  /// Keeps the memory except the slots, which would have to be cleared each time.
  void clear() {
    slots_.assign(64, 0);
    words_.clear();
    ends_.clear();
  }

 private:
  /// Slot of a sequence, or the free slot for it.
  [[nodiscard]] size_t place_of(std::span<const uint32_t> words) const {
    size_t at = hash(words) & (slots_.size() - 1);
    while (slots_[at] != 0 && !equal(this->words(slots_[at] - 1), words)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }
  static bool equal(std::span<const uint32_t> a, std::span<const uint32_t> b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  static uint64_t hash(std::span<const uint32_t> words) {
    uint64_t h = words.size() + 0x9E3779B97F4A7C15u;
    for (const uint32_t word : words) {
      h = (h ^ word) * 0xFF51AFD7ED558CCDu;
      h ^= h >> 32;
    }
    return h;
  }
  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (uint32_t id = 0; id < size(); ++id) {
      size_t at = hash(words(id)) & (slots_.size() - 1);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = id + 1;
    }
  }

  std::vector<uint32_t> slots_;  // number + 1; 0 is free
  std::vector<uint32_t> words_;
  std::vector<size_t> ends_;
};

}  // namespace tenon::grammar
