#include "engine/idle_sequences.h"

namespace tenon {

void IdleSequences::add(Entry& entry) noexcept {
  remove(entry);
  if (entry.sequence == nullptr || !entry.sequence->holds_blocks()) return;
  entry.sequence->trim();
  count(*entry.sequence, true);
  entry.listed = true;
  entry.newer = nullptr;
  entry.older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = &entry;
  newest_ = &entry;
}

void IdleSequences::remove(Entry& entry) noexcept {
  if (!entry.listed) return;
  count(*entry.sequence, false);
  unlink(entry);
}

void IdleSequences::count(const Sequence& sequence, bool more) noexcept {
  for (size_t group = 0; group < num_blocks_.size(); ++group) {
    const uint64_t held = sequence.tables()[group]->num_held();
    num_blocks_[group] += more ? held : -held;
  }
}

void IdleSequences::unlink(Entry& entry) noexcept {
  (entry.newer != nullptr ? entry.newer->older : newest_) = entry.older;
  (entry.older != nullptr ? entry.older->newer : oldest_) = entry.newer;
  entry.newer = entry.older = nullptr;
  entry.listed = false;
}

bool IdleSequences::take_block() noexcept {
  if (oldest_ == nullptr) return false;
  Entry& entry = *oldest_;
  Sequence& sequence = *entry.sequence;
  count(sequence, false);
  sequence.lose_block();
  count(sequence, true);
  if (!sequence.holds_blocks()) unlink(entry);
  ++num_taken_;
  return true;
}

}  // namespace tenon
