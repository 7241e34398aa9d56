// PrefixIndex: a tree in flat arrays, a hash table of its nodes and a list in order of use.
#include "kv/prefix_index.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

/// Entries of the tables that explain misses.
constexpr size_t kRemembered = 4096;

/// Most nodes without a block, 200 bytes each, before leaves among them are removed.
constexpr uint64_t kPiecesWithoutBlocks = 1 << 16;

constexpr uint64_t kAllBefore = UINT64_MAX;

/// Blocks of a group needed before a position to continue there.
uint64_t blocks_needed(const BlockPool& pool) {
  const BlockPoolOptions& group = pool.options();
  if (group.kind == TENON_CACHE_STATE) return 1;
  // At the end of a block, the first token sees window - 1 positions. At least one block, so that a
  // table knows its position.
  if (group.window > 0) {
    return std::max<uint64_t>(
        (uint64_t{group.window} - 1 + group.block_tokens - 1) / group.block_tokens, 1);
  }
  return kAllBefore;
}

}  // namespace

PrefixIndex::PrefixIndex(std::span<const std::shared_ptr<BlockPool>> pools, uint64_t seed)
    : pools_(pools.begin(), pools.end()),
      seed_(seed),
      block_tokens_(pools_.empty() ? 1 : pools_.front()->block_tokens()),
      evicted_(kRemembered),
      seen_(kRemembered) {
  if (pools_.size() > kMaxGroups) fail(Code::Internal, "prefix index: {} groups", pools_.size());
  for (const auto& pool : pools_) {
    needed_.push_back(blocks_needed(*pool));
    if (pool->block_tokens() == block_tokens_) continue;
    fail(Code::Internal, "prefix index: blocks of {} and of {} positions", block_tokens_,
         pool->block_tokens());
  }
}

PrefixIndex::~PrefixIndex() { clear(); }

void PrefixIndex::clear() noexcept {
  while (oldest_ != kNone) {
    // Leaves are older than their ancestors.
    remove(oldest_);
  }
}

Hash128 PrefixIndex::root(std::string_view salt) const {
  return hash_bytes(std::as_bytes(std::span(salt)), seed_);
}

Hash128 PrefixIndex::key(Hash128 before, std::span<const Token> tokens) const {
  // Hash in two rounds instead of copying to a buffer: the parent's key enters as seed and as data.
  const Hash128 text = hash_bytes(std::as_bytes(tokens), seed_ ^ before.low);
  const std::array<uint64_t, 4> joined{before.low, before.high, text.low, text.high};
  return hash_bytes(std::as_bytes(std::span(joined)), seed_);
}

Hash128 PrefixIndex::first_text(std::span<const Token> tokens) const {
  return hash_bytes(std::as_bytes(tokens), ~seed_);
}

std::span<const PrefixIndex::Token> PrefixIndex::tokens_of(uint32_t entry) const {
  return std::span(tokens_).subspan(size_t{entry} * block_tokens_, block_tokens_);
}

std::span<const uint32_t> PrefixIndex::blocks_of(uint32_t entry) const {
  return std::span(blocks_).subspan(size_t{entry} * pools_.size(), pools_.size());
}

std::span<const uint32_t> PrefixIndex::find(Hash128 before, Hash128 key,
                                            std::span<const Token> tokens) const {
  const auto at = by_key_.find(key);
  if (at == by_key_.end() || entries_[at->second].before != before) return {};
  if (!std::ranges::equal(tokens_of(at->second), tokens)) return {};
  return blocks_of(at->second);
}

uint32_t PrefixIndex::block(Hash128 key, size_t group) const {
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? kNoBlock : blocks_of(at->second)[group];
}

std::optional<PrefixIndex::Node> PrefixIndex::node(Hash128 key) const {
  const auto at = by_key_.find(key);
  if (at == by_key_.end()) return std::nullopt;
  return Node{entries_[at->second].before, tokens_of(at->second), blocks_of(at->second)};
}

std::vector<PrefixIndex::Token> PrefixIndex::text(Hash128 key) const {
  std::vector<uint32_t> path;
  const auto at = by_key_.find(key);
  if (at != by_key_.end()) path.push_back(at->second);
  while (!path.empty() && entries_[path.back()].parent != kNone) {
    path.push_back(entries_[path.back()].parent);
  }
  std::vector<Token> text;
  text.reserve(path.size() * block_tokens_);
  for (size_t i = path.size(); i > 0; --i) {
    const auto tokens = tokens_of(path[i - 1]);
    text.insert(text.end(), tokens.begin(), tokens.end());
  }
  return text;
}

PrefixIndex::Match PrefixIndex::match(Hash128 root, std::span<const Hash128> keys,
                                      std::span<const Token> tokens) const {
  Match match;
  std::array<uint64_t, kMaxGroups> run{};  // nodes in a row, up to here, with a block of the group
  for (uint64_t i = 0; i < keys.size(); ++i) {
    const auto blocks = find(i == 0 ? root : keys[i - 1], keys[i],
                             tokens.subspan(i * block_tokens_, block_tokens_));
    if (blocks.empty()) break;
    match.num_known = i + 1;
    bool usable = true;
    for (size_t group = 0; group < pools_.size(); ++group) {
      run[group] = blocks[group] == kNoBlock ? 0 : run[group] + 1;
      usable = usable && run[group] >= std::min(needed_[group], i + 1);
    }
    if (usable) match.num_usable = i + 1;
  }
  return match;
}

uint32_t PrefixIndex::take_entry() {
  if (unused_.empty()) {
    const size_t count = std::max<size_t>(64, 2 * entries_.size());
    unused_.reserve(count);
    tokens_.resize(count * block_tokens_);
    blocks_.resize(count * pools_.size());
    const size_t first = entries_.size();
    entries_.resize(count);
    for (size_t i = count; i > first; --i) unused_.push_back(static_cast<uint32_t>(i - 1));
  }
  return unused_.back();
}

uint32_t& PrefixIndex::first_child_of(uint32_t parent, Hash128 before) {
  return parent != kNone ? entries_[parent].first_child : roots_.at(before);
}

std::span<const uint32_t> PrefixIndex::insert(Hash128 before, Hash128 key, bool is_first,
                                              std::span<const Token> tokens,
                                              std::span<const uint32_t> blocks) {
  if (const auto at = by_key_.find(key); at != by_key_.end()) {
    const auto known = find(before, key, tokens);
    if (known.empty()) return {};
    // Fill in missing blocks of the node.
    bool more = false;
    for (size_t group = 0; group < pools_.size(); ++group) {
      if (known[group] != kNoBlock || blocks[group] == kNoBlock) continue;
      put(at->second, group, blocks[group]);
      more = true;
    }
    if (more) ++num_inserted_;
    return known;
  }
  if (num_without_ > kPiecesWithoutBlocks) sweep();
  uint32_t parent = kNone;
  if (!is_first) {
    const auto at = by_key_.find(before);
    if (at == by_key_.end()) return {};
    parent = at->second;
  }
  const uint32_t entry = take_entry();
  if (is_first) roots_.try_emplace(before, kNone);
  try {
    by_key_.emplace(key, entry);
  } catch (...) {
    if (is_first && roots_.at(before) == kNone) roots_.erase(before);
    throw;
  }
  unused_.pop_back();
  Entry& added = entries_[entry] = Entry{};
  added.key = key;
  added.before = before;
  added.parent = parent;
  uint32_t& first_child = first_child_of(parent, before);
  added.next_sibling = first_child;
  if (first_child != kNone) entries_[first_child].previous_sibling = entry;
  first_child = entry;
  std::ranges::copy(tokens,
                    tokens_.begin() + static_cast<ptrdiff_t>(size_t{entry} * block_tokens_));
  ++num_without_;
  for (size_t group = 0; group < pools_.size(); ++group) {
    blocks_[entry * pools_.size() + group] = kNoBlock;
    if (blocks[group] != kNoBlock) put(entry, group, blocks[group]);
  }
  // Make the node the newest, then its ancestors newer still: leaves are evicted first.
  make_newest(entry);
  for (uint32_t up = parent; up != kNone; up = entries_[up].parent) make_newest(up);
  ++num_inserted_;
  if (is_first) {
    const Hash128 text = first_text(tokens);
    seen_[text.low % kRemembered] = {text, before};
  }
  return blocks_of(entry);
}

void PrefixIndex::put(uint32_t entry, size_t group, uint32_t block) noexcept {
  blocks_[entry * pools_.size() + group] = block;
  pools_[group]->retain(block);
  pools_[group]->set_indexed(block, true);
  if (entries_[entry].num_held++ == 0) --num_without_;
}

void PrefixIndex::take_out(uint32_t entry, size_t group) noexcept {
  uint32_t& block = blocks_[entry * pools_.size() + group];
  if (block == kNoBlock) return;
  pools_[group]->set_indexed(block, false);
  pools_[group]->release(std::exchange(block, kNoBlock));
  if (--entries_[entry].num_held == 0) ++num_without_;
}

void PrefixIndex::touch(std::span<const Hash128> keys) noexcept {
  for (size_t i = keys.size(); i > 0; --i) {
    if (const auto at = by_key_.find(keys[i - 1]); at != by_key_.end()) make_newest(at->second);
  }
}

void PrefixIndex::unlink_use(uint32_t entry) noexcept {
  Entry& unlinked = entries_[entry];
  if (unlinked.newer != kNone) entries_[unlinked.newer].older = unlinked.older;
  if (unlinked.older != kNone) entries_[unlinked.older].newer = unlinked.newer;
  if (newest_ == entry) newest_ = unlinked.older;
  if (oldest_ == entry) oldest_ = unlinked.newer;
  unlinked.newer = unlinked.older = kNone;
}

void PrefixIndex::make_newest(uint32_t entry) noexcept {
  if (newest_ == entry) return;
  unlink_use(entry);
  entries_[entry].older = newest_;
  if (newest_ != kNone) entries_[newest_].newer = entry;
  newest_ = entry;
  if (oldest_ == kNone) oldest_ = entry;
}

bool PrefixIndex::is_idle(uint32_t entry, size_t group) const {
  const uint32_t block = blocks_of(entry)[group];
  return block != kNoBlock && pools_[group]->references(block) == 1;
}

bool PrefixIndex::drop_side_block(uint32_t entry) noexcept {
  for (size_t group = 0; group < pools_.size(); ++group) {
    if (needed_[group] == kAllBefore || !is_idle(entry, group)) continue;
    take_out(entry, group);
    return true;
  }
  return false;
}

bool PrefixIndex::evict() noexcept {
  for (uint32_t entry = oldest_; entry != kNone; entry = entries_[entry].newer) {
    if (entries_[entry].num_held == 0) continue;
    bool whole = entries_[entry].first_child == kNone;
    for (size_t group = 0; group < pools_.size() && whole; ++group) {
      whole = blocks_of(entry)[group] == kNoBlock || is_idle(entry, group);
    }
    if (!whole) {
      if (!drop_side_block(entry)) continue;
      ++num_evicted_;
      return true;
    }
    const Hash128 key = entries_[entry].key;
    evicted_[key.low % kRemembered] = key;
    ++num_evicted_;
    remove(entry);
    return true;
  }
  return false;
}

void PrefixIndex::sweep() noexcept {
  // Visit the older half only: texts being computed extend the newest nodes. Leaves are older than
  // their ancestors, so one pass removes a whole branch without blocks.
  uint64_t left = kPiecesWithoutBlocks / 2;
  for (uint32_t entry = oldest_; entry != kNone && left > 0; --left) {
    const uint32_t next = entries_[entry].newer;
    const bool empty = entries_[entry].num_held == 0 && entries_[entry].first_child == kNone;
    if (empty) remove(entry);
    entry = next;
  }
}

void PrefixIndex::remove(uint32_t entry) noexcept {
  Entry& removed = entries_[entry];
  for (size_t group = 0; group < pools_.size(); ++group) take_out(entry, group);
  --num_without_;
  if (removed.previous_sibling != kNone) {
    entries_[removed.previous_sibling].next_sibling = removed.next_sibling;
  } else if (removed.parent != kNone) {
    entries_[removed.parent].first_child = removed.next_sibling;
  } else if (removed.next_sibling != kNone) {
    roots_.at(removed.before) = removed.next_sibling;
  } else {
    roots_.erase(removed.before);
  }
  if (removed.next_sibling != kNone) {
    entries_[removed.next_sibling].previous_sibling = removed.previous_sibling;
  }
  unlink_use(entry);
  by_key_.erase(removed.key);
  unused_.push_back(entry);  // has room for every entry
}

PrefixMiss PrefixIndex::explain(Hash128 before, Hash128 key, std::span<const Token> tokens,
                                uint64_t num_before) const {
  PrefixMiss miss;
  miss.position = num_before * block_tokens_;
  if (evicted_[key.low % kRemembered] == key) {
    miss.cause = PrefixMiss::Cause::Evicted;
    return miss;
  }
  uint32_t sibling = kNone;
  if (const auto at = by_key_.find(before); at != by_key_.end()) {
    sibling = entries_[at->second].first_child;
  } else if (const auto root = roots_.find(before); root != roots_.end()) {
    sibling = root->second;
  }
  uint64_t longest = 0;
  for (uint32_t seen = 0; sibling != kNone && seen < 64; ++seen) {
    miss.cause = PrefixMiss::Cause::DifferentText;
    const auto differs = std::ranges::mismatch(tokens_of(sibling), tokens);
    longest = std::max<uint64_t>(longest, static_cast<uint64_t>(differs.in2 - tokens.begin()));
    sibling = entries_[sibling].next_sibling;
  }
  if (num_before == 0) {
    // A common prefix of a token or two, as the first token of every text, explains nothing.
    const Hash128 text = first_text(tokens);
    const Seen& seen = seen_[text.low % kRemembered];
    if (seen.text == text && seen.root != before) {
      miss.cause = PrefixMiss::Cause::Salt;
      return miss;
    }
  }
  miss.position += longest;
  return miss;
}

}  // namespace tenon
