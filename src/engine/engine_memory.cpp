// The engine's answers to the scheduler: blocks for requests, from what is free, from what others
// have computed, and from what nobody holds.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/engine.h"

namespace tenon {
namespace {

Request& request_of(Work& work) { return static_cast<Request&>(work); }
const Request& request_of(const Work& work) { return static_cast<const Request&>(work); }

}  // namespace

bool Engine::is_being_computed(Hash128 key) const {
  return std::ranges::find(computing_, key) != computing_.end();
}

bool Engine::refresh(Work& work) {
  Request& request = request_of(work);
  if (index_ == nullptr || request.num_left <= 1) return true;
  Sequence& sequence = *request.sequence;
  const uint64_t limit = request.reuse_limit() / index_->block_tokens();
  try {
    const std::span<const Hash128> keys = sequence.keys(*index_, limit);
    if (request.seen_version != index_->version()) reuse_blocks(request, keys);
    const uint64_t next = sequence.cached() / index_->block_tokens();
    return next >= keys.size() || !is_being_computed(keys[next]);
  } catch (const std::bad_alloc&) {
    return true;  // then it is computed
  }
}

void Engine::reuse_blocks(Request& request, std::span<const Hash128> keys) {
  Sequence& sequence = *request.sequence;
  const uint32_t block_tokens = index_->block_tokens();
  const uint64_t first = sequence.cached() / block_tokens;
  uint64_t found = 0;
  bool adopted = false;
  // From the very first block, so that all that is before a block has been compared.
  for (; found < keys.size(); ++found) {
    const Hash128 before = found == 0 ? sequence.root() : keys[found - 1];
    const auto tokens = sequence.tokens().subspan(found * block_tokens, block_tokens);
    const std::span<const uint32_t> blocks = index_->find(before, keys[found], tokens);
    if (blocks.empty()) break;
    if (found < first) continue;
    sequence.adopt(found, blocks);
    adopted = true;
    const uint64_t cached = (found + 1) * block_tokens;
    request.num_reused += cached - sequence.cached();
    metrics_.reused_tokens_total += cached - sequence.cached();
    if (request.generation != nullptr) {
      // A preempted request finds its own blocks again.
      ReuseReport& reuse = request.generation->reuse;
      reuse.reused_tokens =
          std::min(reuse.prompt_tokens, reuse.reused_tokens + cached - sequence.cached());
    }
    sequence.set_cached(cached);
  }
  index_->touch(keys.first(found));
  request.num_left = request.end - sequence.cached();
  request.seen_version = index_->version();
  Generation* generation = request.generation;
  if (generation == nullptr || found < first) return;
  if (generation->explained && !adopted) return;
  generation->explained = true;
  generation->reuse.miss = {};
  if (found == keys.size()) return;
  const Hash128 before = found == 0 ? sequence.root() : keys[found - 1];
  const auto tokens = sequence.tokens().subspan(found * block_tokens, block_tokens);
  generation->reuse.miss = index_->explain(before, keys[found], tokens, found);
}

bool Engine::make_room(const Sequence& sequence, uint64_t num_tokens) {
  for (const BlockTable& table : sequence.tables()) {
    while (table.pool().num_available() < table.num_needed(sequence.cached(), num_tokens)) {
      // First what no text has, then what no request has.
      if (index_ != nullptr && index_->evict()) continue;
      if (!idle_.take_block()) return false;
    }
  }
  return true;
}

WorkMemory::Room Engine::reserve(Work& work, uint32_t num_tokens) {
  Request& request = request_of(work);
  Sequence& sequence = *request.sequence;
  for (const BlockTable& table : sequence.tables()) {
    // Said before a long prompt has pushed everybody else out.
    const BlockPool& pool = table.pool();
    if (request.end > pool.max_blocks() * pool.block_tokens()) return Room::Never;
  }
  if (!make_room(sequence, num_tokens)) return Room::None;
  try {
    sequence.prepare(num_tokens);
    if (index_ != nullptr && request.num_left > 1) note_being_computed(request, num_tokens);
    return Room::Reserved;
  } catch (...) {
    request.failure = std::current_exception();
    return Room::Never;
  }
}

void Engine::note_being_computed(Request& request, uint32_t num_tokens) {
  Sequence& sequence = *request.sequence;
  const uint32_t block_tokens = index_->block_tokens();
  const uint64_t first = sequence.cached() / block_tokens;
  const uint64_t last = (sequence.cached() + num_tokens - 1) / block_tokens;
  const uint64_t limit = std::min(request.reuse_limit() / block_tokens, last + 1);
  if (limit <= first) return;
  const std::span<const Hash128> keys = sequence.keys(*index_, limit);
  computing_.insert(computing_.end(), keys.begin() + static_cast<ptrdiff_t>(first), keys.end());
}

bool Engine::fits(const Work& work) {
  const Request& request = request_of(work);
  const Sequence& sequence = *request.sequence;
  for (size_t group = 0; group < pools_.size(); ++group) {
    const BlockPool& pool = *pools_[group];
    const uint64_t needed =
        sequence.tables()[group].num_needed(sequence.cached(), request.num_left);
    if (needed > pool.num_available() + pool.num_idle() + idle_.num_blocks(group)) return false;
  }
  return true;
}

bool Engine::holds(const Work& work) {
  for (const BlockTable& table : request_of(work).sequence->tables()) {
    if (!table.blocks().empty()) return true;
  }
  return false;
}

void Engine::drop(Work& work) noexcept {
  Request& request = request_of(work);
  request.sequence->lose(0);
  request.num_left = request.end;
  request.seen_version = UINT64_MAX;
}

void Engine::refuse(Work& work) noexcept {
  Request& request = request_of(work);
  request.sequence->roll_back();
  std::exception_ptr failure = std::exchange(request.failure, nullptr);
  if (!failure) {
    try {
      const BlockTable& table = request.sequence->tables().front();
      const uint64_t needed = table.num_needed(request.sequence->cached(), request.num_left);
      fail(Code::NoMemory, "KV cache: needs {} more bytes, the budget of {} bytes is used up",
           needed * table.pool().block_bytes(), budget_->limit_bytes());
    } catch (...) {
      failure = std::current_exception();
    }
  }
  end(request, std::move(failure));
}

// ---- Rows of blocks, for snapshots --------------------------------------------------------------

uint32_t Engine::row_tokens() const {
  const uint32_t block_tokens = pools_.front()->block_tokens();
  for (const auto& pool : pools_) {
    if (pool->block_tokens() == block_tokens) continue;
    fail(Code::Unsupported, "KV groups with blocks of {} and of {} positions", block_tokens,
         pool->block_tokens());
  }
  return block_tokens;
}

uint64_t Engine::row_bytes() const {
  uint64_t size = 0;
  for (const auto& pool : pools_) size += pool->block_bytes();
  return size;
}

bool Engine::read_row(const Sequence& sequence, uint64_t index, std::span<std::byte> out) {
  // Blocks are taken from idle sequences by whoever has the turn.
  const std::scoped_lock turn(model_->turn());
  if (sequence.cached() / row_tokens() <= index) return false;
  for (const BlockTable& table : sequence.tables()) {
    table.pool().read(table.blocks()[index], out.data());
    out = out.subspan(table.pool().block_bytes());
  }
  return true;
}

bool Engine::write_row(CallControl& session, uint64_t index, std::span<const std::byte> values) {
  const std::scoped_lock turn(model_->turn());
  const std::scoped_lock lock(mutex_);
  const IdleSequences::Away away(idle_, session.idle);
  Sequence& sequence = *session.idle.sequence;
  const uint32_t count = row_tokens();
  if (sequence.cached() != index * count || !make_room(sequence, count)) return false;
  sequence.prepare(count);
  try {
    for (const BlockTable& table : sequence.tables()) {
      table.pool().write(table.blocks()[index], values.data());
      values = values.subspan(table.pool().block_bytes());
    }
  } catch (...) {
    sequence.roll_back();
    throw;
  }
  sequence.commit(count);
  sequence.set_foreign(sequence.cached());
  return true;
}

const SnapshotIdentity& Engine::snapshot_identity() {
  const std::scoped_lock lock(identity_mutex_);
  if (!identity_) identity_ = tenon::snapshot_identity(*model_);
  return *identity_;
}

}  // namespace tenon
