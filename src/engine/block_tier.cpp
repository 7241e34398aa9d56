#include "engine/block_tier.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/system_error.h"
#include "engine/stored_block.h"

namespace tenon {
namespace {

constexpr uint64_t kTierStackBytes = uint64_t{1} << 20;
/// Blocks are put into the cache by so many bytes at a time, so that no step waits long.
constexpr uint64_t kBatchBytes = uint64_t{8} << 20;
/// A call of the store that takes longer hangs, as far as prompts are concerned.
constexpr uint64_t kHangNs = 1'000'000'000;

/// Thrown behind a call of the store that let the engine's last handle go.
struct EngineGone {};

}  // namespace

struct BlockTier::Shared {
  Shared(TierCache& of_engine, std::shared_ptr<BlockStore> of_host, Hash128 id,
         std::shared_ptr<System> of_model)
      : cache(of_engine),
        store(std::move(of_host)),
        bits(id),
        system(std::move(of_model)),
        offers(kMostOffers) {}

  TierCache& cache;
  std::shared_ptr<BlockStore> store;
  Hash128 bits;
  std::shared_ptr<System> system;
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> read_bytes{0};
  std::atomic<uint64_t> written_bytes{0};
  std::atomic<uint64_t> dropped{0};
  Wake wake;             // of the tier's thread
  bool is_gone = false;  // the engine ended on the tier's thread, which alone reads it
  /// Behind each call of the store.
  void check_engine() {
    if (is_gone) throw EngineGone();
    call_since_ns = system->now_ns();
  }
  std::atomic<uint64_t> call_since_ns{0};  // a call under way began then, or later

  std::mutex mutex;  // guards all below; no call of the store or the cache is made while it is held
  std::vector<Hash128> offers;
  size_t first_offer = 0;
  size_t num_offers = 0;
  std::deque<std::shared_ptr<StoreRead>> reads;
  bool is_working = false;
  bool has_ended = false;
  uint64_t stop_ns = UINT64_MAX;  // set by the destructor: no work after it
  std::thread::id thread;
  std::vector<Wake*> settled;  // of threads in settle()
};

BlockTier::BlockTier(TierCache& cache, std::shared_ptr<BlockStore> store, Hash128 bits,
                     std::shared_ptr<System> system)
    : shared_(std::make_shared<Shared>(cache, std::move(store), bits, std::move(system))) {
  auto arg = std::make_unique<std::shared_ptr<Shared>>(shared_);
  const int error =
      shared_->system->start_thread(thread_, kTierStackBytes, &BlockTier::enter, arg.get());
  if (error != 0) {
    fail_system(-error, "store: cannot start a thread: {}", errno_text(-error));
  }
  (void)arg.release();  // the thread's
}

BlockTier::~BlockTier() {
  bool is_own_thread = false;
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->stop_ns = shared_->system->now_ns() + kDrainNs;
    is_own_thread = shared_->thread == std::this_thread::get_id();
    if (is_own_thread) {
      shared_->stop_ns = 0;
      shared_->is_gone = true;
    }
  }
  shared_->wake.post();
  // The thread may let the engine's last request go: it cannot wait for itself, and ends next.
  if (!is_own_thread) shared_->system->join_thread(thread_);
}

void BlockTier::offer(Hash128 key) noexcept {
  Shared& shared = *shared_;
  {
    const std::scoped_lock lock(shared.mutex);
    if (shared.num_offers == kMostOffers) {
      ++shared.dropped;
      return;
    }
    shared.offers[(shared.first_offer + shared.num_offers++) % kMostOffers] = key;
  }
  shared.wake.post();
}

bool BlockTier::read(std::shared_ptr<StoreRead> wanted) {
  {
    const std::scoped_lock lock(shared_->mutex);
    const bool hangs =
        shared_->is_working && shared_->system->now_ns() - shared_->call_since_ns > kHangNs;
    if (hangs || shared_->reads.size() >= kMostReads) return false;
    shared_->reads.push_back(std::move(wanted));
  }
  shared_->wake.post();
  return true;
}

StoreCounts BlockTier::counts() const noexcept {
  return {shared_->hits, shared_->read_bytes, shared_->written_bytes, shared_->dropped};
}

void BlockTier::settle() {
  Wake wake;
  std::unique_lock lock(shared_->mutex);
  shared_->settled.push_back(&wake);
  while (shared_->is_working || shared_->num_offers > 0 || !shared_->reads.empty()) {
    lock.unlock();
    wake.wait();
    lock.lock();
  }
  std::erase(shared_->settled, &wake);
}

// ---- The thread ---------------------------------------------------------------------------------

void* BlockTier::enter(void* arg) {
  const std::unique_ptr<std::shared_ptr<Shared>> owned(static_cast<std::shared_ptr<Shared>*>(arg));
  const std::shared_ptr<Shared> shared = std::move(*owned);
  {
    const std::scoped_lock lock(shared->mutex);
    shared->thread = std::this_thread::get_id();
    shared->is_working = true;
    shared->call_since_ns = shared->system->now_ns();
  }
  shared->store->begin();
  run(*shared);
  return nullptr;
}

void BlockTier::run(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.is_working = false;
    const bool is_stopping = shared.stop_ns != UINT64_MAX;
    const bool is_idle = shared.num_offers == 0 && shared.reads.empty();
    if (is_idle) {
      for (Wake* const wake : shared.settled) wake->post();
    }
    if (is_stopping && (is_idle || shared.system->now_ns() >= shared.stop_ns)) return;
    if (is_idle) {
      lock.unlock();
      shared.wake.wait();
      lock.lock();
      continue;
    }
    shared.is_working = true;
    shared.call_since_ns = shared.system->now_ns();
    // Somebody waits for a read.
    if (!shared.reads.empty()) {
      const std::shared_ptr<StoreRead> read = std::move(shared.reads.front());
      shared.reads.pop_front();
      lock.unlock();
      try {
        read_blocks(shared, *read);
      } catch (...) {
        // Without memory for a copy, the rest is computed.
      }
      if (shared.is_gone) return;
      shared.cache.end(*read);
    } else {
      const Hash128 key = shared.offers[shared.first_offer];
      shared.first_offer = (shared.first_offer + 1) % kMostOffers;
      --shared.num_offers;
      lock.unlock();
      try {
        write_blocks(shared, key);
      } catch (...) {
        ++shared.dropped;
      }
    }
    lock.lock();
  }
}

// ---- Writing ------------------------------------------------------------------------------------

void BlockTier::write_blocks(Shared& shared, Hash128 key) {
  const std::span<const TierCache::Group> groups = shared.cache.groups();
  for (uint32_t group = 0; group < groups.size(); ++group) {
    const Hash128 name = record_key(key, group, shared.bits);
    const auto size = shared.store->find(name);
    shared.check_engine();
    // A record of another size was cut short, and is written again.
    const bool has_own_tokens = groups[group].num_needed == UINT64_MAX;
    const uint64_t whole = StoredBlock::size_of(groups[group].block_bytes,
                                                has_own_tokens ? shared.cache.block_tokens() : 0);
    if (size && (has_own_tokens ? *size == whole : *size >= whole)) {
      shared.store->note_use(name);
      shared.check_engine();
      continue;
    }
    const TierCache::Found found = shared.cache.find(key, group);
    if (!found.has_block) continue;  // a window or a state that the sequence had left
    if (size) {
      shared.store->remove(name);
      shared.check_engine();
    }
    const std::span<const Token> text = found.text;
    StoredBlock block{shared.bits, key, group, text.size(), groups[group].block_bytes, text};
    if (has_own_tokens) block.tokens = text.last(shared.cache.block_tokens());
    const Buffer record(shared.system, block.size_bytes(), "record of a block");
    if (!shared.cache.copy(key, group, found, block.block_in(record.span()))) {
      ++shared.dropped;
      continue;
    }
    block.seal(record.span());
    // A state is useful by itself, other blocks with those before them.
    const bool is_alone =
        groups[group].num_needed == 1 || text.size() == shared.cache.block_tokens();
    const Hash128 before = is_alone ? Hash128{} : record_key(found.before, group, shared.bits);
    if (shared.store->write(name, before, record.span())) {
      shared.written_bytes += record.size();
    } else {
      ++shared.dropped;
    }
    shared.check_engine();
  }
}

// ---- Reading ------------------------------------------------------------------------------------

/// Which blocks of a prompt there are, in the index or in the store.
class BlockTier::Plan {
 public:
  Plan(Shared& shared, const StoreRead& read)
      : shared_(shared),
        groups_(shared.cache.groups()),
        read_(read),
        held_(read.keys.size() * groups_.size()),
        stored_(held_.size(), Stored::Unknown) {
    num_usable_ = shared.cache.look_up(read, held_).value_or(read.keys.size());
  }

  /// Blocks after which the prompt can continue, with those of the store.
  [[nodiscard]] uint64_t find_end() {
    if (num_usable_ == read_.keys.size()) return num_usable_;
    uint64_t end = 0;
    const auto has_all = [this](uint64_t index) {
      for (uint32_t group = 0; group < groups_.size(); ++group) {
        if (groups_[group].num_needed == UINT64_MAX && !has(index, group)) return false;
      }
      return true;
    };
    while (end < read_.keys.size() && has_all(end)) ++end;
    for (; end > num_usable_; --end) {
      bool is_end = true;
      for (uint32_t group = 0; group < groups_.size() && is_end; ++group) {
        for (uint64_t index = first_needed(group, end); index < end && is_end; ++index) {
          is_end = has(index, group);
        }
      }
      if (is_end) return end;
    }
    return num_usable_;
  }
  [[nodiscard]] uint64_t num_usable() const { return num_usable_; }
  [[nodiscard]] bool is_wanted(uint64_t index, uint32_t group, uint64_t end) const {
    return held_[at(index, group)] == 0 && index >= first_needed(group, end);
  }
  void note_held(uint64_t index, uint32_t group) { held_[at(index, group)] = 1; }
  void note_missing(uint64_t index, uint32_t group) { stored_[at(index, group)] = Stored::No; }
  /// The record that holds a block.
  [[nodiscard]] StoredBlock record(uint64_t index, uint32_t group) const {
    const uint32_t block_tokens = shared_.cache.block_tokens();
    const uint64_t end = (index + 1) * block_tokens;
    const bool needs_all = groups_[group].num_needed == UINT64_MAX;
    const auto text = std::span(read_.tokens).first(end);
    return {shared_.bits, read_.keys[index],          group,
            end,          groups_[group].block_bytes, needs_all ? text.last(block_tokens) : text};
  }

 private:
  enum class Stored : uint8_t { Unknown, Yes, No };

  [[nodiscard]] size_t at(uint64_t index, uint32_t group) const {
    return index * groups_.size() + group;
  }
  [[nodiscard]] uint64_t first_needed(uint32_t group, uint64_t end) const {
    return end - std::min(end, groups_[group].num_needed);
  }
  bool has(uint64_t index, uint32_t group) {
    if (held_[at(index, group)] != 0) return true;
    Stored& stored = stored_[at(index, group)];
    if (stored == Stored::Unknown) {
      if (shared_.system->now_ns() >= read_.until_ns) return false;
      const Hash128 name = record_key(read_.keys[index], group, shared_.bits);
      const auto size = shared_.store->find(name);
      shared_.check_engine();
      stored = size == record(index, group).size_bytes() ? Stored::Yes : Stored::No;
      if (size && stored == Stored::No) {
        shared_.store->remove(name);
        shared_.check_engine();
      }
    }
    return stored == Stored::Yes;
  }

  Shared& shared_;
  std::span<const TierCache::Group> groups_;
  const StoreRead& read_;
  std::vector<uint8_t> held_;   // [blocks, groups]
  std::vector<Stored> stored_;  // [blocks, groups]
  uint64_t num_usable_ = 0;
};

/// Records that were read, in one piece of memory, on their way to the cache.
class BlockTier::Batch {
 public:
  Batch(Shared& shared, uint64_t largest_bytes)
      : room_(shared.system, kBatchBytes + largest_bytes, "records of blocks") {}
  /// Room for a record of at most the largest size; requires !is_full().
  [[nodiscard]] std::span<std::byte> next(uint64_t size_bytes) const {
    return room_.span().subspan(used_bytes_, size_bytes);
  }
  void keep(uint64_t size_bytes, const TierCache::Block& block) {
    blocks_.push_back(block);
    used_bytes_ += size_bytes;
  }
  [[nodiscard]] bool is_full() const { return used_bytes_ >= kBatchBytes; }
  [[nodiscard]] std::span<const TierCache::Block> blocks() const { return blocks_; }
  void clear() {
    blocks_.clear();
    used_bytes_ = 0;
  }

 private:
  Buffer room_;
  uint64_t used_bytes_ = 0;
  std::vector<TierCache::Block> blocks_;
};

void BlockTier::read_blocks(Shared& shared, StoreRead& read) {
  Plan plan(shared, read);
  if (plan.find_end() <= plan.num_usable()) return;
  const auto num_groups = static_cast<uint32_t>(shared.cache.groups().size());
  uint64_t largest_bytes = 0;
  for (uint32_t group = 0; group < num_groups; ++group) {
    largest_bytes = std::max(largest_bytes, plan.record(read.keys.size() - 1, group).size_bytes());
  }
  Batch batch(shared, largest_bytes);
  const auto add = [&] {
    if (batch.blocks().empty()) return true;
    if (!shared.cache.add(read, batch.blocks())) return false;
    for (const TierCache::Block& block : batch.blocks()) plan.note_held(block.index, block.group);
    shared.hits += batch.blocks().size();
    batch.clear();
    return true;
  };
  // Reads up to the first damaged record, then plans again without it.
  const auto read_until = [&](uint64_t end) {
    for (uint64_t index = 0; index < end; ++index) {
      for (uint32_t group = 0; group < num_groups; ++group) {
        if (!plan.is_wanted(index, group, end)) continue;
        if (shared.system->now_ns() >= read.until_ns) {
          add();
          return false;
        }
        const StoredBlock block = plan.record(index, group);
        const Hash128 name = record_key(block.key, group, shared.bits);
        const std::span<std::byte> record = batch.next(block.size_bytes());
        const bool was_read = shared.store->read(name, record);
        shared.check_engine();
        if (!was_read || !block.matches(record)) {
          // What could not be read may be whole.
          if (was_read) shared.store->remove(name);
          shared.check_engine();
          plan.note_missing(index, group);
          return add();
        }
        shared.read_bytes += record.size();
        batch.keep(record.size(), {index, group, block.block_in(record)});
        if (batch.is_full() && !add()) return false;
      }
    }
    add();
    return false;
  };
  uint64_t end = plan.find_end();
  while (end > plan.num_usable() && read_until(end)) end = plan.find_end();
}

}  // namespace tenon
