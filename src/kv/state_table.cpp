// StateTable: two alternating states, and checkpoints that thin out with distance.
#include "kv/state_table.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

/// Initial capacity for queued steps.
constexpr size_t kReservedSteps = 4;

}  // namespace

StateTable::StateTable(std::shared_ptr<BlockPool> pool) : CacheTable(std::move(pool)) {
  checkpoints_.reserve(pool_->options().state_checkpoints + size_t{1});
  under_way_.reserve(kReservedSteps);
}

StateTable::~StateTable() { truncate(0); }

void StateTable::drop(State& state) noexcept {
  if (state.block != kNoBlock) pool_->release(state.block);
  state = {};
}

std::unique_ptr<CacheTable> StateTable::fork() const {
  auto copy = std::make_unique<StateTable>(pool_);
  const auto share = [this](const State& state) {
    if (state.block != kNoBlock) pool_->retain(state.block);
    return state;
  };
  copy->latest_ = share(latest_);
  copy->previous_ = share(previous_);
  for (const State& checkpoint : checkpoints_) copy->checkpoints_.push_back(share(checkpoint));
  return copy;
}

bool StateTable::can_overwrite_previous() const {
  return previous_.block != kNoBlock && pool_->references(previous_.block) == 1;
}

void StateTable::prepare(uint64_t past, uint64_t count) {
  truncate_under_way(past);
  const State& before = under_way_.empty() ? latest_ : under_way_.back();
  if (past != before.position) {
    fail(Code::Internal, "state table: goes on at {}, the state is that after {} tokens", past,
         before.position);
  }
  if (count == 0) return;
  under_way_.reserve(under_way_.size() + 1);
  uint32_t next = kNoBlock;
  if (can_overwrite_previous()) {
    next = std::exchange(previous_, {}).block;
  } else {
    next = pool_->allocate();
    drop(previous_);
  }
  entries_ = {before.block, next};
  under_way_.push_back({past + count, next});
}

/// Releases states that queued steps were to write after `position` tokens.
void StateTable::truncate_under_way(uint64_t position) noexcept {
  while (!under_way_.empty() && under_way_.back().position > position) {
    drop(under_way_.back());
    under_way_.pop_back();
  }
}

uint64_t StateTable::num_needed(uint64_t past, uint64_t count) const {
  const bool prepared = !under_way_.empty() && under_way_.back().position > past;
  return count == 0 || prepared || can_overwrite_previous() ? 0 : 1;
}

uint64_t StateTable::most_blocks(uint64_t end, uint64_t) const {
  return std::min<uint64_t>(end, 2);  // checkpoints are spare
}

uint64_t StateTable::most_held(const BlockPoolOptions& group, uint64_t end) {
  if (end == 0) return 0;
  // Checkpoints lie at ends of blocks, before the end of the text.
  const uint64_t ends = (end - 1) / group.block_tokens;
  return std::min<uint64_t>(end, 2) + std::min<uint64_t>(group.state_checkpoints, ends);
}

uint64_t StateTable::num_needed_in_all(uint64_t past, uint64_t count, uint64_t slice) const {
  const uint64_t most = most_blocks(past + count, slice);
  return most - std::min(most, num_held());
}

void StateTable::commit(uint64_t positions, bool is_stop) noexcept {
  if (under_way_.empty()) return;
  drop(previous_);
  previous_ = std::exchange(latest_, {positions, under_way_.front().block});
  under_way_.erase(under_way_.begin());
  if (is_stop) keep(latest_);
}

void StateTable::keep(const State& state) noexcept {
  const uint32_t most = pool_->options().state_checkpoints;
  if (most == 0) return;
  const auto at = std::ranges::lower_bound(checkpoints_, state.position, {}, &State::position);
  pool_->retain(state.block);
  if (at != checkpoints_.end() && at->position == state.position) {
    pool_->release(std::exchange(at->block, state.block));
    return;
  }
  checkpoints_.insert(at, state);
  if (checkpoints_.size() <= most) return;
  // Distances from the end should grow by a factor per checkpoint. Drop the checkpoint whose
  // neighbours have the smallest ratio of distances; the last one stays.
  const auto distance = [this](size_t i) {
    return static_cast<double>(checkpoints_.back().position + pool_->block_tokens() -
                               (i < checkpoints_.size() ? checkpoints_[i].position : 0));
  };
  size_t least = 0;
  for (size_t i = 1; i + 1 < checkpoints_.size(); ++i) {
    const auto ratio = [&](size_t j) { return distance(j - 1) / distance(j + 1); };
    if (ratio(i) < ratio(least)) least = i;  // the neighbour before the first is the beginning
  }
  pool_->release(checkpoints_[least].block);
  checkpoints_.erase(checkpoints_.begin() + static_cast<ptrdiff_t>(least));
}

StateTable::State StateTable::find(uint64_t position) const {
  State found;
  const auto look = [&](const State& state) {
    if (state.block == kNoBlock || state.position > position) return;
    if (state.position > found.position) found = state;
  };
  look(latest_);
  look(previous_);
  for (const State& checkpoint : checkpoints_) look(checkpoint);
  return found;
}

uint64_t StateTable::resumable(uint64_t position) const { return find(position).position; }

void StateTable::truncate(uint64_t position) noexcept {
  truncate_under_way(position);
  if (position > latest_.position) return;
  if (position != latest_.position) {
    State back = find(position);
    if (back.block != kNoBlock) pool_->retain(back.block);
    drop(latest_);
    latest_ = back;
  }
  if (previous_.position >= latest_.position) drop(previous_);
  while (!checkpoints_.empty() && checkpoints_.back().position > position) {
    pool_->release(checkpoints_.back().block);
    checkpoints_.pop_back();
  }
}

bool StateTable::drop_spare() noexcept {
  if (previous_.block != kNoBlock) {
    drop(previous_);
    return true;
  }
  // Drop the last checkpoint, too, unless it is the latest state: that would free nothing.
  if (checkpoints_.empty() || checkpoints_.front().block == latest_.block) return false;
  pool_->release(checkpoints_.front().block);
  checkpoints_.erase(checkpoints_.begin());
  return true;
}

uint64_t StateTable::next_stop(uint64_t past, uint64_t size) const {
  if (pool_->options().state_checkpoints == 0) return UINT64_MAX;
  const uint64_t block_tokens = pool_->block_tokens();
  // Stop at ends of blocks, where the prefix index can use the states.
  const uint64_t blocks_between =
      std::max<uint64_t>(pool_->options().state_checkpoint_tokens / block_tokens, 1);
  const uint64_t between = blocks_between * block_tokens;
  uint64_t stop = (past / between + 1) * between;
  const uint64_t last_whole = size == 0 ? 0 : (size - 1) / block_tokens * block_tokens;
  if (last_whole > past) stop = std::min(stop, last_whole);
  return stop;
}

uint32_t StateTable::state_after(uint64_t position) const {
  const State found = find(position);
  return found.position == position ? found.block : kNoBlock;
}

uint32_t StateTable::shared_block(uint64_t index) const {
  return state_after((index + 1) * pool_->block_tokens());
}

uint64_t StateTable::first_needed(uint64_t num_blocks) const {
  return num_blocks - std::min<uint64_t>(num_blocks, 1);
}

void StateTable::adopt(uint64_t index, uint32_t block) noexcept {
  adopt_state((index + 1) * pool_->block_tokens(), block);
}

void StateTable::adopt_state(uint64_t position, uint32_t block) noexcept {
  if (position < latest_.position || block == latest_.block) return;
  pool_->retain(block);
  drop(latest_);
  drop(previous_);
  latest_ = {position, block};
  keep(latest_);
}

void StateTable::compact() {
  const auto move = [this](State& state) {
    if (state.block == kNoBlock || pool_->references(state.block) > 1) return;
    const uint32_t place = pool_->allocate_before(state.block);
    if (place == kNoBlock) return;
    try {
      pool_->copy(place, state.block);
    } catch (...) {
      pool_->release(place);
      throw;
    }
    pool_->release(std::exchange(state.block, place));
  };
  move(latest_);
  drop(previous_);
  for (State& checkpoint : checkpoints_) move(checkpoint);
}

uint64_t StateTable::num_held() const {
  uint64_t count = (latest_.block != kNoBlock ? 1 : 0) + (previous_.block != kNoBlock ? 1 : 0) +
                   under_way_.size();
  for (const State& checkpoint : checkpoints_) {
    if (checkpoint.block != latest_.block && checkpoint.block != previous_.block) ++count;
  }
  return count;
}

}  // namespace tenon
