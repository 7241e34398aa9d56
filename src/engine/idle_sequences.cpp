#include "engine/idle_sequences.h"

namespace tenon {
namespace {

bool holds_blocks(const Sequence& sequence) {
  for (const BlockTable& table : sequence.tables()) {
    if (!table.blocks().empty()) return true;
  }
  return false;
}

}  // namespace

void IdleSequences::add(Entry& entry) noexcept {
  remove(entry);
  if (entry.sequence == nullptr || !holds_blocks(*entry.sequence)) return;
  for (size_t group = 0; group < num_blocks_.size(); ++group) {
    num_blocks_[group] += entry.sequence->tables()[group].blocks().size();
  }
  entry.listed = true;
  entry.newer = nullptr;
  entry.older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = &entry;
  newest_ = &entry;
}

void IdleSequences::remove(Entry& entry) noexcept {
  if (!entry.listed) return;
  for (size_t group = 0; group < num_blocks_.size(); ++group) {
    num_blocks_[group] -= entry.sequence->tables()[group].blocks().size();
  }
  unlink(entry);
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
  for (size_t group = 0; group < num_blocks_.size(); ++group) {
    num_blocks_[group] -= sequence.tables()[group].blocks().size();
  }
  sequence.lose_block();
  for (size_t group = 0; group < num_blocks_.size(); ++group) {
    num_blocks_[group] += sequence.tables()[group].blocks().size();
  }
  if (!holds_blocks(sequence)) unlink(entry);
  ++num_taken_;
  return true;
}

}  // namespace tenon
