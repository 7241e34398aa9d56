// Engine: the tier below the prefix index.
#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/stored_block.h"

namespace tenon {
namespace {

/// Seed of the index's hashes, the same wherever the bits of blocks and the store's secret are.
uint64_t seed_of(Hash128 secret, Hash128 bits) {
  const std::array<uint64_t, 4> parts{secret.low, secret.high, bits.low, bits.high};
  return hash_bytes(std::as_bytes(std::span(parts))).low;
}

}  // namespace

void Engine::check_index(const State& state) {
  if (state.memory.has_index()) return;
  fail(Code::Unsupported,
       "store: the engine keeps no prefixes: its option prefix_cache is off, or the model reads a "
       "source");
}

void Engine::set_store(std::shared_ptr<BlockStore> store) {
  check_process();
  const Hash128 bits = bits_id(*model_);
  const uint64_t seed = seed_of(store->secret(), bits);
  const DeviceTurn::Access turn(model_->turn());
  const Lock lock(state_);
  if (tier_ != nullptr || lock->has_roots) {
    fail(Code::State, "store: the engine has {}",
         tier_ != nullptr ? "one already" : "sessions already; set it before the first");
  }
  check_index(*lock);
  store_cache_.begin(*lock);
  auto tier =
      std::make_unique<BlockTier>(store_cache_, std::move(store), bits, model_->options().system);
  lock->memory.set_tier(turn.held(), tier.get(), seed);
  tier_ = std::move(tier);
}

void Engine::settle_store() {
  if (tier_ != nullptr) tier_->settle();
}

// ---- The cache for the tier's thread ------------------------------------------------------------

void Engine::StoreCache::begin(State& state) {
  const PrefixIndex& index = state.memory.index();
  block_tokens_ = index.block_tokens();
  groups_.clear();
  for (size_t group = 0; group < engine_.pools().size(); ++group) {
    groups_.push_back({engine_.pools()[group]->block_bytes(), index.num_needed(group)});
  }
}

TierCache::Found Engine::StoreCache::find(Hash128 key, uint32_t group) {
  const Lock lock(engine_.state_);
  const PrefixIndex& index = lock->memory.index();
  const auto node = index.node(key);
  if (!node || node->blocks[group] == BlockPool::kNoBlock) return {};
  return {node->before, index.text(key), true};
}

bool Engine::StoreCache::copy(Hash128 key, uint32_t group, const Found& found,
                              std::span<std::byte> out) {
  // Blocks of the index are evicted by the holder of the turn only.
  const DeviceTurn::Access turn(engine_.model_->turn());
  uint32_t block = BlockPool::kNoBlock;
  {
    const Lock lock(engine_.state_);
    const auto tokens = std::span(found.text).last(block_tokens_);
    const auto blocks = lock->memory.index().find(found.before, key, tokens);
    if (!blocks.empty()) block = blocks[group];
  }
  if (block == BlockPool::kNoBlock) return false;
  engine_.pools()[group]->read(block, out.data());
  return true;
}

std::optional<uint64_t> Engine::StoreCache::look_up(const StoreRead& read,
                                                    std::span<uint8_t> held) {
  const Lock lock(engine_.state_);
  if (read.request == nullptr) return std::nullopt;
  const PrefixIndex& index = lock->memory.index();
  const PrefixIndex::Match match = index.match(read.root, read.keys, read.tokens);
  for (uint64_t i = 0; i < match.num_known; ++i) {
    for (size_t group = 0; group < groups_.size(); ++group) {
      const bool has = index.block(read.keys[i], group) != BlockPool::kNoBlock;
      held[i * groups_.size() + group] = has ? 1 : 0;
    }
  }
  return match.num_usable;
}

bool Engine::StoreCache::add(const StoreRead& read, std::span<const Block> blocks) {
  const DeviceTurn::Access turn(engine_.model_->turn());
  const Lock lock(engine_.state_);
  if (read.request == nullptr) return false;
  PrefixIndex& index = lock->memory.index();
  std::vector<uint64_t> needed(groups_.size());
  for (const Block& block : blocks) ++needed[block.group];
  if (!lock->memory.make_room(turn.held(), lock->scheduler, needed)) return false;
  // Nodes between them may be missing: those of groups that keep few blocks.
  uint64_t next = index.match(read.root, read.keys, read.tokens).num_known;
  next = std::min(next, blocks.front().index);
  while (!blocks.empty()) {
    const auto here =
        blocks.front().index == next
            ? blocks.first(static_cast<size_t>(
                  std::ranges::find_if(blocks,
                                       [next](const Block& block) { return block.index != next; }) -
                  blocks.begin()))
            : std::span<const Block>();
    if (!add_node(index, read, next, here)) return false;
    blocks = blocks.subspan(here.size());
    ++next;
  }
  return true;
}

/// Adds node `number` of a text, or its blocks if the index has it.
bool Engine::StoreCache::add_node(PrefixIndex& index, const StoreRead& read, uint64_t number,
                                  std::span<const Block> blocks) {
  std::array<uint32_t, PrefixIndex::kMaxGroups> own;
  own.fill(BlockPool::kNoBlock);
  const auto let_go = [&] {
    for (size_t group = 0; group < groups_.size(); ++group) {
      if (own[group] != BlockPool::kNoBlock) engine_.pools()[group]->release(own[group]);
    }
  };
  try {
    for (const Block& block : blocks) {
      BlockPool& pool = *engine_.pools()[block.group];
      own[block.group] = pool.allocate();
      pool.write(own[block.group], block.bytes.data());
    }
    const auto tokens =
        std::span<const Token>(read.tokens).subspan(number * block_tokens_, block_tokens_);
    const auto added =
        index.insert(number == 0 ? read.root : read.keys[number - 1], read.keys[number],
                     number == 0, tokens, std::span(own).first(groups_.size()));
    let_go();  // the index has its own references, or had equal blocks
    return !added.empty();
  } catch (...) {
    let_go();
    throw;
  }
}

void Engine::StoreCache::end(StoreRead& read) {
  // Keeps the engine while its requests are woken; its end would wait for this thread.
  const std::shared_ptr<Engine> engine = engine_.weak_from_this().lock();
  if (engine == nullptr) return;
  Lock lock(engine->state_);
  if (read.request == nullptr) return;
  lock->memory.stop_reading(*read.request);
  engine->hand_over(lock);
}

}  // namespace tenon
