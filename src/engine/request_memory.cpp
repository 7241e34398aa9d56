#include "engine/request_memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/saturating.h"

namespace tenon {
namespace {

Request& request_of(Work& work) { return static_cast<Request&>(work); }
const Request& request_of(const Work& work) { return static_cast<const Request&>(work); }

/// Time to compute a token until it was measured, and the least time that a read may take.
constexpr double kAssumedTokenNs = 1e6;
constexpr double kLeastReadNs = 1e8;

}  // namespace

RequestMemory::RequestMemory(const Model& model, const EngineOptions& options,
                             const CachePools& pools)
    : pools_(pools), cache_bytes_(options.cache_bytes), idle_(pools.size()), needed_(pools.size()) {
  // A decoder's cache depends on its source, which the index does not know.
  const bool has_source = model.find(ProgramRole::Encoder) != nullptr;
  if (options.prefix_cache && !has_source && pools.size() <= PrefixIndex::kMaxGroups) {
    index_ = std::make_unique<PrefixIndex>(pools.all(), random_number(*model.options().system));
  }
}

Hash128 RequestMemory::root_of(std::string_view salt) const {
  return index_ != nullptr ? index_->root(salt) : Hash128{};
}

void RequestMemory::count(EngineMetrics& metrics) const {
  metrics.reused_tokens_total = num_reused_;
  if (index_ != nullptr) metrics.prefix_evicted_total = index_->num_evicted();
  metrics.idle_blocks_taken_total = idle_.num_taken();
  if (tier_ == nullptr) return;
  const StoreCounts counts = tier_->counts();
  metrics.store_hits_total = counts.hits;
  metrics.store_read_bytes_total = counts.read_bytes;
  metrics.store_written_bytes_total = counts.written_bytes;
  metrics.store_dropped_total = counts.dropped;
}

void RequestMemory::clear(const Turn&) noexcept { index_.reset(); }

// ---- The store ----------------------------------------------------------------------------------

void RequestMemory::set_tier(const Turn&, BlockTier* tier, uint64_t seed) {
  if (tier != nullptr) index_ = std::make_unique<PrefixIndex>(pools_.all(), seed);
  tier_ = tier;
}

/// Asks the store for blocks of a prompt. Returns false if there is no store to ask.
bool RequestMemory::read_store(Request& request, std::span<const Hash128> keys, uint64_t until_ns) {
  if (tier_ == nullptr || request.asked_store) return false;
  const Sequence& sequence = *request.sequence;
  if (sequence.has_foreign()) return false;  // the index lacks its beginning
  const auto tokens = sequence.tokens().first(keys.size() * index_->block_tokens());
  const auto read = std::make_shared<StoreRead>();
  read->root = sequence.root();
  read->keys.assign(keys.begin(), keys.end());
  read->tokens.assign(tokens.begin(), tokens.end());
  read->until_ns = until_ns;
  read->request = &request;
  request.asked_store = true;
  if (!tier_->read(read)) return false;
  request.store_read = read;
  ++num_reading_;
  return true;
}

void RequestMemory::stop_reading(Request& request) noexcept {
  if (request.store_read == nullptr) return;
  request.store_read->request = nullptr;
  request.store_read = nullptr;
  --num_reading_;
}

// ---- Prefixes -----------------------------------------------------------------------------------

void RequestMemory::reuse_blocks(Request& request, std::span<const Hash128> keys) {
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
    num_reused_ += reused;
    if (request.generation != nullptr) {
      // A preempted request finds its own blocks again.
      ReuseReport& reuse = request.generation->reuse;
      reuse.reused_tokens = std::min(reuse.prompt_tokens, reuse.reused_tokens + reused);
    }
    if (tier_ != nullptr) tier_->offer(keys[match.num_usable - 1]);
  }
  index_->touch(keys.first(match.num_known));
  request.num_left = request.end - sequence.cached();
  request.seen_version = index_->version();
  explain_reuse(request, keys, match, adopts);
}

void RequestMemory::explain_reuse(Request& request, std::span<const Hash128> keys,
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

void RequestMemory::share_blocks(Request& request) {
  Sequence& sequence = *request.sequence;
  if (index_ == nullptr || sequence.has_foreign()) return;
  const uint32_t block_tokens = index_->block_tokens();
  // A session claims guesses without a step: its blocks since then come with the next one's.
  const uint64_t first = sequence.offered() / block_tokens;
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
    if (!shared.empty() && tier_ != nullptr) tier_->offer(keys[i]);
    sequence.set_offered((i + 1) * block_tokens);
  }
}

// ---- Room ---------------------------------------------------------------------------------------

bool RequestMemory::have_room_for(const Sequence& sequence, uint64_t num_tokens) {
  for (size_t group = 0; group < pools_.size(); ++group) {
    needed_[group] = sequence.tables()[group]->num_needed(sequence.begun(), num_tokens);
  }
  return have_room(pools_.all(), needed_);
}

bool RequestMemory::free_something(Scheduler& scheduler) {
  // Evict unreferenced prefix blocks, then blocks of idle sessions, then spare checkpoints.
  if (index_ != nullptr && index_->evict()) return true;
  if (idle_.take_block()) return true;
  bool dropped = false;
  scheduler.for_each(
      [&dropped](Work& work) { dropped = dropped || request_of(work).sequence->drop_spare(); });
  return dropped;
}

bool RequestMemory::make_room(const Turn&, Scheduler& scheduler, std::span<const uint64_t> needed) {
  while (!have_room(pools_.all(), needed)) {
    if (!free_something(scheduler)) return false;
  }
  return true;
}

/// Checked before a long prompt has pushed all other requests out.
bool RequestMemory::fits_ever(const Request& request, uint32_t num_tokens) const {
  return pools_.for_each_device([&](PoolRange device) {
    uint64_t slabs = 0;
    for (size_t group = device.first; group < device.end; ++group) {
      const BlockPool& pool = *pools_.all()[group];
      const uint64_t blocks =
          request.sequence->tables()[group]->most_blocks(request.end, num_tokens);
      if (blocks > pool.max_blocks()) return false;
      slabs += (blocks + pool.blocks_per_slab() - 1) / pool.blocks_per_slab();
    }
    return slabs <= pools_.all()[device.first]->slab_pool()->max_slabs();
  });
}

// ---- During a pick ------------------------------------------------------------------------------

bool PickMemory::refresh(Work& work) {
  Request& request = request_of(work);
  const PrefixIndex* index = memory_.index_.get();
  if (request.store_read != nullptr) return false;
  // Reuse applies only to requests that no step is computing.
  if (index == nullptr || request.num_left <= 1 || request.num_under_way > 0) return true;
  Sequence& sequence = *request.sequence;
  const uint64_t limit = request.reuse_limit() / index->block_tokens();
  try {
    const std::span<const Hash128> keys = sequence.keys(*index, limit);
    if (request.seen_version != index->version()) memory_.reuse_blocks(request, keys);
    const uint64_t next = sequence.cached() / index->block_tokens();
    if (next >= keys.size()) return true;
    if (steps_.are_computing(turn_, keys[next])) return false;
    const auto num_left = static_cast<double>(limit * index->block_tokens() - sequence.cached());
    const double token_ns = token_ns_ > 0 ? token_ns_ : kAssumedTokenNs;
    const double most_ns = std::max(num_left * token_ns, kLeastReadNs);
    return !memory_.read_store(request, keys, now_ns_ + static_cast<uint64_t>(most_ns));
  } catch (const std::bad_alloc&) {
    return true;  // computed instead of reused
  }
}

bool PickMemory::make_room(const Sequence& sequence, uint64_t num_tokens) {
  while (!memory_.have_room_for(sequence, num_tokens)) {
    if (!memory_.free_something(scheduler_)) return false;
  }
  return true;
}

/// Compacts a sequence that holds everything and still has no room: its blocks may lie in more
/// slabs than needed.
bool PickMemory::make_room_alone(Sequence& sequence, uint64_t num_tokens) {
  bool others_hold = false;
  scheduler_.for_each([&](Work& work) {
    const Sequence* other = request_of(work).sequence;
    others_hold = others_hold || (other != &sequence && other->holds_blocks());
  });
  if (others_hold || memory_.pools_.size() < 2 || !steps_.is_empty(turn_)) return false;
  if (memory_.index_ != nullptr) memory_.index_->clear();
  sequence.compact();
  return memory_.have_room_for(sequence, num_tokens);
}

uint32_t PickMemory::most_tokens(const Work& work, uint32_t num_tokens) {
  return request_of(work).sequence->slice_limit(num_tokens);
}

WorkMemory::Room PickMemory::reserve(Work& work, uint32_t num_tokens) {
  Request& request = request_of(work);
  Sequence& sequence = *request.sequence;
  if (!memory_.fits_ever(request, num_tokens)) return Room::Never;
  sequence.trim();
  try {
    if (!make_room(sequence, num_tokens) && !make_room_alone(sequence, num_tokens)) {
      return Room::None;
    }
    sequence.prepare(num_tokens);
    if (memory_.index_ != nullptr && request.num_left > 1) note_being_computed(request, num_tokens);
    return Room::Reserved;
  } catch (...) {
    // A request with a step under way waits for it and asks again.
    if (request.num_under_way == 0) request.failure = std::current_exception();
    return Room::Never;
  }
}

bool PickMemory::reserve_guesses(Request& request, uint32_t num_tokens,
                                 uint32_t num_guesses) noexcept {
  Sequence& sequence = *request.sequence;
  if (!memory_.have_room_for(sequence, uint64_t{num_tokens} + num_guesses)) return false;
  try {
    sequence.prepare(num_tokens + num_guesses);
    return true;
  } catch (...) {
  }
  try {
    sequence.prepare(num_tokens);
  } catch (...) {
    request.failure = std::current_exception();
  }
  return false;
}

void PickMemory::note_being_computed(Request& request, uint32_t num_tokens) {
  Sequence& sequence = *request.sequence;
  const PrefixIndex& index = *memory_.index_;
  const uint32_t block_tokens = index.block_tokens();
  const uint64_t first = sequence.begun() / block_tokens;
  const uint64_t last = (sequence.begun() + num_tokens - 1) / block_tokens;
  const uint64_t limit = std::min(request.reuse_limit() / block_tokens, last + 1);
  if (limit <= first) return;
  const std::span<const Hash128> keys = sequence.keys(index, limit);
  std::vector<Hash128>& computing = steps_.next(turn_).computing;
  computing.insert(computing.end(), keys.begin() + static_cast<ptrdiff_t>(first), keys.end());
}

bool PickMemory::fits_without(const Work& work, std::span<Work* const> others) {
  const Request& request = request_of(work);
  return memory_.pools_.for_each_device(
      [&](PoolRange device) { return fits_on(device, request, others); });
}

/// Counts bytes, because slabs move between the groups of a device.
bool PickMemory::fits_on(PoolRange device, const Request& request,
                         std::span<Work* const> others) const {
  const std::span<const std::shared_ptr<BlockPool>> pools = memory_.pools_.all();
  const Sequence& sequence = *request.sequence;
  const SlabPool& slabs = *pools[device.first]->slab_pool();
  uint64_t needed_bytes = 0;
  uint64_t given_bytes = saturating_mul(slabs.num_available(), slabs.slab_bytes());
  for (size_t group = device.first; group < device.end; ++group) {
    const BlockPool& pool = *pools[group];
    const uint64_t needed = sequence.tables()[group]->num_needed_in_all(
        sequence.cached(), request.num_left, slice_tokens_);
    const uint64_t free = pool.num_free();
    needed_bytes = saturating_add(
        needed_bytes, saturating_mul(needed - std::min(needed, free), pool.block_bytes()));
    uint64_t given = pool.num_idle() + memory_.idle_.num_blocks(group);
    for (const Work* other : others)
      given += request_of(*other).sequence->tables()[group]->num_held();
    given_bytes = saturating_add(given_bytes, saturating_mul(given, pool.block_bytes()));
  }
  return needed_bytes <= given_bytes;
}

bool PickMemory::is_under_way(const Work& work) { return request_of(work).num_under_way > 0; }

bool PickMemory::is_elsewhere(const Work& work) { return request_of(work).store_read != nullptr; }

bool PickMemory::holds(const Work& work) { return request_of(work).sequence->holds_blocks(); }

void PickMemory::drop(Work& work) noexcept {
  Request& request = request_of(work);
  steps_.let_go_of(turn_, request);
  request.sequence->lose(0);
  request.restart();
  request.seen_version = UINT64_MAX;
  request.asked_store = false;
}

void PickMemory::refuse(Work& work) noexcept {
  Request& request = request_of(work);
  request.sequence->roll_back();
  if (!request.failure) {
    try {
      const Sequence& sequence = *request.sequence;
      uint64_t needed_bytes = 0;
      for (const auto& table : sequence.tables()) {
        needed_bytes +=
            table->num_needed_in_all(sequence.cached(), request.num_left, slice_tokens_) *
            table->pool().block_bytes();
      }
      fail(Code::NoMemory, "KV cache: needs {} more bytes, the budget of {} bytes is used up",
           needed_bytes, memory_.cache_bytes_);
    } catch (...) {
      request.failure = std::current_exception();
    }
  }
  if (request.idle != nullptr) memory_.idle_.add(*request.idle);
  request.next_refused = std::exchange(first_refused_, &request);
}

Request* PickMemory::take_refused() noexcept {
  Request* const refused = first_refused_;
  if (refused != nullptr) first_refused_ = std::exchange(refused->next_refused, nullptr);
  return refused;
}

}  // namespace tenon
