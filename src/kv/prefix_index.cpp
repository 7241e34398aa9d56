// PrefixIndex: a tree in flat arrays, a hash table over it and a list in order of use.
#include "kv/prefix_index.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace tenon {
namespace {

/// Entries of the tables that explain misses.
constexpr size_t kRemembered = 4096;

}  // namespace

PrefixIndex::PrefixIndex(std::span<const std::shared_ptr<BlockPool>> pools, uint64_t seed)
    : pools_(pools.begin(), pools.end()),
      seed_(seed),
      block_tokens_(pools_.empty() ? 1 : pools_.front()->block_tokens()),
      evicted_(kRemembered),
      seen_(kRemembered) {
  for (const auto& pool : pools_) {
    if (pool->block_tokens() == block_tokens_) continue;
    fail(Code::Internal, "prefix index: blocks of {} and of {} positions", block_tokens_,
         pool->block_tokens());
  }
}

PrefixIndex::~PrefixIndex() { clear(); }

void PrefixIndex::clear() noexcept {
  while (oldest_ != kNone) {
    // Ends of texts are older than what is before them.
    remove(oldest_);
  }
}

Hash128 PrefixIndex::root(std::string_view salt) const {
  return hash_bytes(std::as_bytes(std::span(salt)), seed_);
}

Hash128 PrefixIndex::key(Hash128 before, std::span<const Token> tokens) const {
  // Two rounds of one hash instead of a buffer: the key before goes in as the seed and its rest.
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
  if (const auto at = by_key_.find(key); at != by_key_.end()) return find(before, key, tokens);
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
  std::ranges::copy(tokens, tokens_.begin() + static_cast<ptrdiff_t>(size_t{entry} * block_tokens_));
  std::ranges::copy(blocks, blocks_.begin() + static_cast<ptrdiff_t>(size_t{entry} * pools_.size()));
  for (size_t group = 0; group < pools_.size(); ++group) {
    pools_[group]->retain(blocks[group]);
    pools_[group]->set_indexed(blocks[group], true);
  }
  // Linked as the newest and then put behind what is before it: ends go first.
  make_newest(entry);
  for (uint32_t up = parent; up != kNone; up = entries_[up].parent) make_newest(up);
  ++num_inserted_;
  if (is_first) {
    const Hash128 text = first_text(tokens);
    seen_[text.low % kRemembered] = {text, before};
  }
  return blocks_of(entry);
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

bool PrefixIndex::evict() noexcept {
  for (uint32_t entry = oldest_; entry != kNone; entry = entries_[entry].newer) {
    if (entries_[entry].first_child != kNone) continue;
    bool shared = false;
    const std::span<const uint32_t> blocks = blocks_of(entry);
    for (size_t group = 0; group < pools_.size(); ++group) {
      shared = shared || pools_[group]->references(blocks[group]) > 1;
    }
    if (shared) continue;
    const Hash128 key = entries_[entry].key;
    evicted_[key.low % kRemembered] = key;
    ++num_evicted_;
    remove(entry);
    return true;
  }
  return false;
}

void PrefixIndex::remove(uint32_t entry) noexcept {
  Entry& removed = entries_[entry];
  for (size_t group = 0; group < pools_.size(); ++group) {
    const uint32_t block = blocks_of(entry)[group];
    pools_[group]->set_indexed(block, false);
    pools_[group]->release(block);
  }
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
    // A token or two in common, as the one that begins every text, are no reason.
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
