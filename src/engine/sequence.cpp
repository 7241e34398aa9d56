// Sequence: tokens and block tables kept in step.
#include "engine/sequence.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

/// Room that is made at once: within it no token costs an allocation, and a context of two billion
/// does not cost gigabytes before the first one.
constexpr uint32_t kReservedTokens = 1u << 17;

}  // namespace

Sequence::Sequence(std::span<const std::shared_ptr<BlockPool>> pools, uint32_t context,
                   Hash128 root)
    : context_(context), root_(root) {
  tokens_.reserve(std::min(context, kReservedTokens));
  tables_.reserve(pools.size());
  for (const auto& pool : pools) tables_.emplace_back(pool, context);
}

Sequence Sequence::fork() const {
  Sequence copy(context_, root_);
  copy.keys_ = keys_;
  copy.tokens_.reserve(std::min(context_, kReservedTokens));
  copy.tokens_.assign(tokens_.begin(), tokens_.end());
  copy.cached_ = cached_;
  copy.lost_ = lost_;
  copy.foreign_ = foreign_;
  copy.tables_.reserve(tables_.size());
  for (const BlockTable& table : tables_) copy.tables_.push_back(table.fork());
  return copy;
}

void Sequence::append(std::span<const Token> tokens) {
  if (tokens.size() > context_ - tokens_.size()) {
    fail(Code::Limit, "tokens {} > context {}", tokens_.size() + tokens.size(), context_);
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

void Sequence::truncate(uint64_t size) noexcept {
  tokens_.resize(size);
  if (!tables_.empty()) {
    const uint64_t full = size / tables_.front().pool().block_tokens();
    if (full < keys_.size()) keys_.resize(full);
  }
  lost_.positions = std::min(lost_.positions, size);
  if (size < cached_) forget_cached(size);
}

void Sequence::forget_cached(uint64_t size) noexcept {
  cached_ = size;
  foreign_ = std::min(foreign_, size);
  roll_back();
}

void Sequence::lose(uint64_t size) noexcept {
  lost_ = {std::max(lost_.positions, cached_), PrefixMiss::Cause::Evicted};
  forget_cached(size);
}

void Sequence::lose_block() noexcept {
  const uint32_t block_tokens = tables_.front().pool().block_tokens();
  const uint64_t num_blocks = tables_.front().blocks().size();
  lose(num_blocks == 0 ? 0 : std::min(cached_, (num_blocks - 1) * block_tokens));
}

void Sequence::swap(Sequence& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(root_, other.root_);
  keys_.swap(other.keys_);
  tokens_.swap(other.tokens_);
  std::swap(cached_, other.cached_);
  std::swap(lost_, other.lost_);
  std::swap(foreign_, other.foreign_);
  tables_.swap(other.tables_);
}

void Sequence::prepare(uint32_t count) {
  try {
    for (BlockTable& table : tables_) table.prepare(cached_, count);
  } catch (...) {
    roll_back();
    throw;
  }
}

void Sequence::roll_back() noexcept {
  for (BlockTable& table : tables_) table.truncate(cached_);
}

std::span<const Hash128> Sequence::keys(const PrefixIndex& index, uint64_t count) {
  const uint32_t block_tokens = index.block_tokens();
  if (keys_.capacity() < count) {
    keys_.reserve(std::max<uint64_t>(count, std::min(context_, kReservedTokens) / block_tokens));
  }
  while (keys_.size() < count) {
    const Hash128 before = keys_.empty() ? root_ : keys_.back();
    keys_.push_back(
        index.key(before, tokens().subspan(keys_.size() * block_tokens, block_tokens)));
  }
  return std::span(keys_).first(count);
}

void Sequence::adopt(uint64_t index, std::span<const uint32_t> blocks) {
  for (size_t group = 0; group < tables_.size(); ++group) {
    tables_[group].adopt(index, blocks[group]);
  }
}

}  // namespace tenon
