// Engine: blocks for requests, from free memory, from the prefix index and from idle sequences.
#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/saturating.h"
#include "engine/engine.h"

namespace tenon {
namespace {

Request& request_of(Work& work) { return static_cast<Request&>(work); }
const Request& request_of(const Work& work) { return static_cast<const Request&>(work); }

}  // namespace

bool Engine::is_being_computed(Hash128 key) const {
  return std::ranges::any_of(steps_, [key](const auto& step) {
    return std::ranges::find(step->computing, key) != step->computing.end();
  });
}

bool Engine::refresh(Work& work) {
  Request& request = request_of(work);
  // Reuse applies only to requests that no step is computing.
  if (index_ == nullptr || request.num_left <= 1 || request.num_under_way > 0) return true;
  Sequence& sequence = *request.sequence;
  const uint64_t limit = request.reuse_limit() / index_->block_tokens();
  try {
    const std::span<const Hash128> keys = sequence.keys(*index_, limit);
    if (request.seen_version != index_->version()) reuse_blocks(request, keys);
    const uint64_t next = sequence.cached() / index_->block_tokens();
    return next >= keys.size() || !is_being_computed(keys[next]);
  } catch (const std::bad_alloc&) {
    return true;  // computed instead of reused
  }
}

void Engine::reuse_blocks(Request& request, std::span<const Hash128> keys) {
  Sequence& sequence = *request.sequence;
  const uint32_t block_tokens = index_->block_tokens();
  const uint64_t before = sequence.cached();
  const PrefixIndex::Match match =
      index_->match(sequence.root(), keys, sequence.tokens().first(keys.size() * block_tokens));
  const bool adopts = match.num_usable * block_tokens > before;
  if (adopts) {
    sequence.adopt(*index_, keys.first(match.num_usable));
    const uint64_t reused = sequence.cached() - before;
    request.num_reused += reused;
    metrics_.reused_tokens_total += reused;
    if (request.generation != nullptr) {
      // A preempted request finds its own blocks again.
      ReuseReport& reuse = request.generation->reuse;
      reuse.reused_tokens = std::min(reuse.prompt_tokens, reuse.reused_tokens + reused);
    }
  }
  index_->touch(keys.first(match.num_known));
  request.num_left = request.end - sequence.cached();
  request.seen_version = index_->version();
  explain_reuse(request, keys, match, adopts);
}

void Engine::explain_reuse(Request& request, std::span<const Hash128> keys,
                           const PrefixIndex::Match& match, bool adopted) {
  Generation* generation = request.generation;
  const Sequence& sequence = *request.sequence;
  const uint32_t block_tokens = index_->block_tokens();
  if (generation == nullptr || match.num_known < sequence.cached() / block_tokens) return;
  if (generation->explained && !adopted) return;
  generation->explained = true;
  generation->reuse.miss = {};
  if (match.num_usable < match.num_known) {
    // The prefix is known, but a window or a state it needs was evicted.
    generation->reuse.miss = {PrefixMiss::Cause::Evicted, sequence.cached()};
    return;
  }
  const uint64_t found = match.num_known;
  if (found == keys.size()) return;
  const Hash128 before = found == 0 ? sequence.root() : keys[found - 1];
  const auto tokens = sequence.tokens().subspan(found * block_tokens, block_tokens);
  generation->reuse.miss = index_->explain(before, keys[found], tokens, found);
}

void Engine::share_blocks(Request& request, uint64_t cached_before) {
  Sequence& sequence = *request.sequence;
  if (sequence.has_foreign()) return;
  const uint32_t block_tokens = index_->block_tokens();
  const uint64_t first = cached_before / block_tokens;
  const uint64_t full = sequence.cached() / block_tokens;
  if (first == full) return;
  const std::span<const Hash128> keys = sequence.keys(*index_, full);
  std::array<uint32_t, PrefixIndex::kMaxGroups> blocks{};
  const size_t num_groups = sequence.tables().size();
  for (uint64_t i = first; i < full; ++i) {
    for (size_t group = 0; group < num_groups; ++group) {
      blocks[group] = sequence.tables()[group]->shared_block(i);
    }
    const auto shared = index_->insert(i == 0 ? sequence.root() : keys[i - 1], keys[i], i == 0,
                                       sequence.tokens().subspan(i * block_tokens, block_tokens),
                                       {blocks.data(), num_groups});
    // Another request was first with the same text: bits are equal, its block serves both.
    if (!shared.empty()) sequence.adopt_same(i, shared);
  }
}

bool Engine::have_room_for(const Sequence& sequence, uint64_t num_tokens) {
  for (size_t group = 0; group < pools_.size(); ++group) {
    needed_[group] = sequence.tables()[group]->num_needed(sequence.begun(), num_tokens);
  }
  return have_room(pools_, needed_);
}

bool Engine::drop_spare_of_requests() {
  bool dropped = false;
  scheduler_.for_each(
      [&dropped](Work& work) { dropped = dropped || request_of(work).sequence->drop_spare(); });
  return dropped;
}

bool Engine::free_something() {
  // Evict unreferenced prefix blocks, then blocks of idle sessions, then spare checkpoints.
  if (index_ != nullptr && index_->evict()) return true;
  return idle_.take_block() || drop_spare_of_requests();
}

bool Engine::make_room(const Sequence& sequence, uint64_t num_tokens) {
  while (!have_room_for(sequence, num_tokens)) {
    if (!free_something()) return false;
  }
  return true;
}

/// Compacts a sequence that holds everything and still has no room: its blocks may lie in more
/// slabs than needed.
bool Engine::make_room_alone(Sequence& sequence, uint64_t num_tokens) {
  bool others_hold = false;
  scheduler_.for_each([&](Work& work) {
    const Sequence* other = request_of(work).sequence;
    others_hold = others_hold || (other != &sequence && other->holds_blocks());
  });
  if (others_hold || pools_.size() < 2 || num_steps_ > 0) return false;
  if (index_ != nullptr) index_->clear();
  sequence.compact();
  return have_room_for(sequence, num_tokens);
}

/// Checked before a long prompt has pushed all other requests out.
bool Engine::fits_ever(const Request& request, uint32_t num_tokens) {
  for (PoolRange device{0, 0}; device.end < pools_.size();) {
    device = pools_of_device(pools_, device.end);
    uint64_t slabs = 0;
    for (size_t group = device.first; group < device.end; ++group) {
      const BlockPool& pool = *pools_[group];
      const uint64_t blocks =
          request.sequence->tables()[group]->most_blocks(request.end, num_tokens);
      if (blocks > pool.max_blocks()) return false;
      slabs += (blocks + pool.blocks_per_slab() - 1) / pool.blocks_per_slab();
    }
    if (slabs > pools_[device.first]->slab_pool()->max_slabs()) return false;
  }
  return true;
}

uint32_t Engine::most_tokens(const Work& work, uint32_t num_tokens) {
  return request_of(work).sequence->slice_limit(num_tokens);
}

WorkMemory::Room Engine::reserve(Work& work, uint32_t num_tokens) {
  Request& request = request_of(work);
  Sequence& sequence = *request.sequence;
  if (!fits_ever(request, num_tokens)) return Room::Never;
  sequence.trim();
  try {
    if (!make_room(sequence, num_tokens) && !make_room_alone(sequence, num_tokens)) {
      return Room::None;
    }
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
  const uint64_t first = sequence.begun() / block_tokens;
  const uint64_t last = (sequence.begun() + num_tokens - 1) / block_tokens;
  const uint64_t limit = std::min(request.reuse_limit() / block_tokens, last + 1);
  if (limit <= first) return;
  const std::span<const Hash128> keys = sequence.keys(*index_, limit);
  std::vector<Hash128>& computing = step_at(num_steps_).computing;
  computing.insert(computing.end(), keys.begin() + static_cast<ptrdiff_t>(first), keys.end());
}

bool Engine::fits_without(const Work& work, std::span<Work* const> others) {
  const Request& request = request_of(work);
  for (PoolRange device{0, 0}; device.end < pools_.size();) {
    device = pools_of_device(pools_, device.end);
    if (!fits_on(device, request, others)) return false;
  }
  return true;
}

/// Counts bytes, because slabs move between the groups of a device.
bool Engine::fits_on(PoolRange device, const Request& request,
                     std::span<Work* const> others) const {
  const Sequence& sequence = *request.sequence;
  const SlabPool& slabs = *pools_[device.first]->slab_pool();
  uint64_t needed_bytes = 0;
  uint64_t given_bytes = saturating_mul(slabs.num_available(), slabs.slab_bytes());
  for (size_t group = device.first; group < device.end; ++group) {
    const BlockPool& pool = *pools_[group];
    const uint64_t needed = sequence.tables()[group]->num_needed_in_all(
        sequence.cached(), request.num_left, step_limit_);
    const uint64_t free = pool.num_free();
    needed_bytes = saturating_add(
        needed_bytes, saturating_mul(needed - std::min(needed, free), pool.block_bytes()));
    uint64_t given = pool.num_idle() + idle_.num_blocks(group);
    for (const Work* other : others)
      given += request_of(*other).sequence->tables()[group]->num_held();
    given_bytes = saturating_add(given_bytes, saturating_mul(given, pool.block_bytes()));
  }
  return needed_bytes <= given_bytes;
}

bool Engine::is_under_way(const Work& work) { return request_of(work).num_under_way > 0; }

bool Engine::holds(const Work& work) { return request_of(work).sequence->holds_blocks(); }

void Engine::drop(Work& work) noexcept {
  Request& request = request_of(work);
  let_go_of_steps(request);
  request.sequence->lose(0);
  request.restart();
  request.seen_version = UINT64_MAX;
}

void Engine::refuse(Work& work) noexcept {
  Request& request = request_of(work);
  request.sequence->roll_back();
  std::exception_ptr failure = std::exchange(request.failure, nullptr);
  if (!failure) {
    try {
      const Sequence& sequence = *request.sequence;
      uint64_t needed_bytes = 0;
      for (const auto& table : sequence.tables()) {
        needed_bytes += table->num_needed_in_all(sequence.cached(), request.num_left, step_limit_) *
                        table->pool().block_bytes();
      }
      fail(Code::NoMemory, "KV cache: needs {} more bytes, the budget of {} bytes is used up",
           needed_bytes, options_.cache_bytes);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  end(request, std::move(failure));
}

// ---- Pieces of snapshots ------------------------------------------------------------------------

uint32_t Engine::block_tokens() const {
  if (pools_.empty()) return 1;
  const uint32_t block_tokens = pools_.front()->block_tokens();
  for (const auto& pool : pools_) {
    if (pool->block_tokens() == block_tokens) continue;
    fail(Code::Unsupported, "cache groups with blocks of {} and of {} positions", block_tokens,
         pool->block_tokens());
  }
  return block_tokens;
}

bool Engine::piece_has(size_t group, const SnapshotPiece& piece) const {
  const BlockPoolOptions& options = pools_[group]->options();
  const uint64_t num_blocks = piece.position / options.block_tokens;
  if (options.kind == TENON_CACHE_STATE) return piece.index == num_blocks && piece.position > 0;
  if (options.kind == TENON_CACHE_CROSS) return false;  // the source is saved instead
  if (piece.index >= num_blocks) return false;
  const uint64_t unseen = options.window == 0 || piece.position < options.window
                              ? 0
                              : (piece.position - options.window + 1) / options.block_tokens;
  return piece.index >= std::min(unseen, num_blocks - 1);  // as CacheTable::first_needed
}

uint64_t Engine::piece_bytes(const SnapshotPiece& piece) const {
  uint64_t size = 0;
  for (size_t group = 0; group < pools_.size(); ++group) {
    if (piece_has(group, piece)) size += pools_[group]->block_bytes();
  }
  return size;
}

uint64_t Engine::snapshot_position(CallControl& session) {
  return with_sequence(session, [&session] { return session.idle.sequence->snapshot_position(); });
}

bool Engine::read_piece(const Sequence& sequence, const SnapshotPiece& piece,
                        std::span<std::byte> out) {
  // The thread that holds the turn may take blocks of idle sequences.
  const std::scoped_lock turn(model_->turn());
  const uint64_t end = std::min<uint64_t>(piece.position, (piece.index + 1) * block_tokens());
  if (sequence.cached() < end) return false;
  for (size_t group = 0; group < pools_.size(); ++group) {
    if (!piece_has(group, piece)) continue;
    const CacheTable& table = *sequence.tables()[group];
    const bool is_state = pools_[group]->options().kind == TENON_CACHE_STATE;
    const uint32_t block =
        is_state ? table.state_after(piece.position) : table.shared_block(piece.index);
    if (block == BlockPool::kNoBlock) return false;
    pools_[group]->read(block, out.data());
    out = out.subspan(pools_[group]->block_bytes());
  }
  return true;
}

bool Engine::write_piece(CallControl& session, const SnapshotPiece& piece,
                         std::span<const std::byte> values) {
  const std::scoped_lock turn(model_->turn());
  const std::scoped_lock lock(mutex_);
  const IdleSequences::Away away(idle_, session.idle);
  Sequence& sequence = *session.idle.sequence;
  if (sequence.cached() != piece.index * block_tokens()) return false;
  for (size_t group = 0; group < pools_.size(); ++group) {
    needed_[group] = piece_has(group, piece) ? 1 : 0;
    sequence.tables()[group]->reserve(piece.index + 1);
  }
  while (!have_room(pools_, needed_)) {
    if (!free_something()) return false;
  }
  for (size_t group = 0; group < pools_.size(); ++group) {
    if (!piece_has(group, piece)) continue;
    BlockPool& pool = *pools_[group];
    const uint32_t block = pool.allocate();
    try {
      pool.write(block, values.data());
    } catch (...) {
      pool.release(block);
      sequence.roll_back();
      throw;
    }
    CacheTable& table = *sequence.tables()[group];
    if (pool.options().kind == TENON_CACHE_STATE) {
      table.adopt_state(piece.position, block);
    } else {
      table.adopt(piece.index, block);
    }
    pool.release(block);
    values = values.subspan(pool.block_bytes());
  }
  sequence.set_restored(std::min<uint64_t>(piece.position, (piece.index + 1) * block_tokens()));
  return true;
}

void Engine::end_restore(CallControl& session) {
  with_sequence(session, [&session] {
    Sequence& sequence = *session.idle.sequence;
    sequence.forget_cached(sequence.cached());
  });
}

// ---- Memory returned to the device --------------------------------------------------------------

void Engine::trim_slabs() noexcept {
  for (PoolRange device{0, 0}; device.end < pools_.size();) {
    device = pools_of_device(pools_, device.end);
    pools_[device.first]->slab_pool()->trim();
  }
}

void Engine::release_unused() noexcept {
  const std::unique_lock turn(model_->turn(), std::try_to_lock);
  if (turn.owns_lock()) trim_slabs();
}

const SnapshotIdentity& Engine::snapshot_identity() {
  const std::scoped_lock lock(identity_mutex_);
  if (!identity_) identity_ = tenon::snapshot_identity(*model_);
  return *identity_;
}

}  // namespace tenon
