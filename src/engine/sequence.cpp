// Sequence: keeps tokens and block tables consistent.
#include "engine/sequence.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "engine/drafter.h"

namespace tenon {
namespace {

/// Tokens reserved at once: within them no token allocates, and a context of two billion does not
/// cost gigabytes up front.
constexpr uint32_t kSequenceTokensReserved = 1u << 17;

}  // namespace

Sequence::Sequence(std::span<const std::shared_ptr<BlockPool>> pools, uint32_t context,
                   Hash128 root)
    : context_(context), root_(root) {
  tokens_.reserve(std::min(context, kSequenceTokensReserved));
  ahead_.reserve(Drafter::kMostGuesses);
  tables_.reserve(pools.size());
  for (const auto& pool : pools) tables_.push_back(CacheTable::create(pool, context));
  find_cross_table();
}

/// A program has at most one cross table.
void Sequence::find_cross_table() noexcept {
  for (const auto& table : tables_) {
    if (table->pool().options().kind != TENON_CACHE_CROSS) continue;
    cross_ = static_cast<CrossTable*>(table.get());
  }
}

void Sequence::set_source(std::span<const Token> tokens) {
  auto source = std::make_shared<const std::vector<Token>>(tokens.begin(), tokens.end());
  cross_->set_source_size(tokens.size());
  source_ = std::move(source);
}

Sequence Sequence::fork() const {
  Sequence copy(context_, root_);
  copy.keys_ = keys_;
  copy.tokens_.reserve(std::min(context_, kSequenceTokensReserved));
  copy.tokens_.assign(tokens_.begin(), tokens_.end());
  copy.rows_ = rows_;
  copy.pictures_ = pictures_;
  copy.cached_ = cached_;
  copy.begun_ = cached_;
  copy.lost_ = lost_;
  copy.foreign_ = foreign_;
  copy.offered_ = offered_;
  copy.tables_.reserve(tables_.size());
  for (const auto& table : tables_) copy.tables_.push_back(table->fork());
  copy.find_cross_table();
  copy.source_ = source_;
  copy.adapter_ = adapter_;
  if (!ahead_.empty()) copy.roll_back();
  return copy;
}

void Sequence::append(std::span<const Token> tokens) {
  if (tokens.size() > context_ - tokens_.size()) {
    fail(Code::Limit, "tokens {} > context {}", tokens_.size() + tokens.size(), context_);
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

void Sequence::append(const PictureText& text,
                      const std::shared_ptr<const EncodedPicture>& picture) {
  rows_.reserve(rows_.size() + text.runs.size());
  pictures_.reserve(pictures_.size() + text.runs.size());
  const uint64_t begin = tokens_.size();
  append(text.tokens);
  for (const PictureText::Run& run : text.runs) {
    rows_.push_back({begin + run.first, picture->rows(run.first_row, run.count), run.count});
    pictures_.push_back(picture);
  }
}

void Sequence::truncate(uint64_t size) noexcept {
  tokens_.resize(size);
  while (!rows_.empty() && rows_.back().first >= size) {
    rows_.pop_back();
    pictures_.pop_back();
  }
  if (!rows_.empty()) rows_.back().count = std::min(rows_.back().count, size - rows_.back().first);
  if (!keys_.empty()) keys_.resize(std::min<uint64_t>(keys_.size(), size / block_tokens()));
  lost_.positions = std::min(lost_.positions, size);
  if (size < cached_) forget_cached(size);
}

uint64_t Sequence::resumable(uint64_t size, uint32_t multiple) const {
  // A gap in one table moves the others back, which may have gaps there.
  for (bool agreed = false; !agreed;) {
    const uint64_t before = size;
    for (const auto& table : tables_) {
      size = table->resumable(size - size % multiple);
    }
    agreed = size == before;
  }
  return size;
}

uint64_t Sequence::snapshot_position() const {
  const bool in_blocks = std::ranges::any_of(
      tables_, [](const auto& table) { return table->pool().options().kind != TENON_CACHE_STATE; });
  return resumable(cached_, in_blocks ? block_tokens() : 1);
}

void Sequence::forget_cached(uint64_t size) noexcept {
  cached_ = resumable(size, 1);
  foreign_ = std::min(foreign_, cached_);
  offered_ = std::min(offered_, cached_);
  roll_back();
}

void Sequence::lose(uint64_t size) noexcept {
  lost_ = {std::max(lost_.positions, cached_), PrefixMiss::Cause::Evicted};
  forget_cached(size);
  if (size > 0) return;
  for (const auto& table : tables_) table->lose_rest();
}

bool Sequence::drop_spare() noexcept {
  return std::ranges::any_of(tables_, [](const auto& table) { return table->drop_spare(); });
}

void Sequence::lose_block() noexcept {
  if (drop_spare()) return;
  lose(cached_ == 0 ? 0 : (cached_ - 1) / block_tokens() * block_tokens());
}

bool Sequence::holds_blocks() const {
  return std::ranges::any_of(tables_, [](const auto& table) { return table->num_held() > 0; });
}

uint32_t Sequence::block_tokens() const {
  return tables_.empty() ? 1 : tables_.front()->pool().block_tokens();
}

void Sequence::swap(Sequence& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(root_, other.root_);
  keys_.swap(other.keys_);
  tokens_.swap(other.tokens_);
  rows_.swap(other.rows_);
  pictures_.swap(other.pictures_);
  std::swap(cached_, other.cached_);
  std::swap(begun_, other.begun_);
  ahead_.swap(other.ahead_);
  std::swap(lost_, other.lost_);
  std::swap(foreign_, other.foreign_);
  std::swap(offered_, other.offered_);
  tables_.swap(other.tables_);
  std::swap(cross_, other.cross_);
  source_.swap(other.source_);
  adapter_.swap(other.adapter_);
}

uint32_t Sequence::slice_limit(uint32_t count) const {
  uint64_t limit = count;
  for (const auto& table : tables_) {
    limit = std::min(limit, table->next_stop(begun_, tokens_.size()) - begun_);
  }
  return static_cast<uint32_t>(limit);
}

void Sequence::trim() noexcept {
  for (const auto& table : tables_) table->trim(cached_);
}

void Sequence::prepare(uint32_t count) {
  ahead_.clear();
  trim();
  try {
    for (const auto& table : tables_) table->prepare(begun_, count);
  } catch (...) {
    for (const auto& table : tables_) table->truncate(begun_);
    throw;
  }
}

StepSlice Sequence::next_slice(uint32_t num_tokens, uint32_t num_outputs,
                               std::vector<const uint32_t*>& tables,
                               std::span<const Token> guesses) const {
  tables.clear();
  for (const auto& table : tables_) tables.push_back(table->entries().data());
  return {.text = tokens_,
          .past = begun_,
          .num_tokens = num_tokens,
          .guesses = guesses,
          .num_outputs = num_outputs,
          .source_size = static_cast<uint32_t>(source().size()),
          .tables = tables,
          .adapter = adapter_ != nullptr ? adapter_->slot : 0,
          .media = rows_};
}

uint32_t Sequence::guess_limit(uint32_t count) const {
  const uint32_t limit = slice_limit(count);
  if (can_go_back()) return limit;
  const auto in_block = static_cast<uint32_t>(block_tokens() - begun_ % block_tokens());
  return std::min(limit, in_block);
}

void Sequence::commit(uint32_t count, uint64_t size) noexcept {
  const uint64_t end = cached_ + count;
  for (const auto& table : tables_) {
    table->commit(end, table->next_stop(cached_, size) == end);
  }
  set_cached(end);
}

void Sequence::commit_guessed(uint32_t count, uint32_t num_right, uint64_t size) noexcept {
  if (num_right == count || can_go_back()) commit(num_right, size);
  roll_back();
}

bool Sequence::can_go_back() const {
  return std::ranges::none_of(
      tables_, [](const auto& table) { return table->pool().options().kind == TENON_CACHE_STATE; });
}

void Sequence::commit_ahead(std::span<const Token> guesses) noexcept {
  commit(1, size());
  if (guesses.size() > ahead_.capacity()) return roll_back();
  ahead_.assign(guesses.begin(), guesses.end());
  begun_ = cached_;
}

void Sequence::claim_ahead() noexcept {
  if (ahead_.empty() || cached_ == size()) return;
  size_t count = 0;
  while (count < ahead_.size() && cached_ + count < size() &&
         ahead_[count] == tokens_[cached_ + count]) {
    ++count;
  }
  set_cached(cached_ + count);
  ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<ptrdiff_t>(count));
  if (cached_ < size()) roll_back();
}

void Sequence::set_cached(uint64_t size) noexcept {
  cached_ = size;
  begun_ = std::max(begun_, size);
  if (cached_ >= lost_.positions) lost_ = {};
}

void Sequence::roll_back() noexcept {
  begun_ = cached_;
  ahead_.clear();
  for (const auto& table : tables_) table->truncate(cached_);
}

void Sequence::compact() {
  for (const auto& table : tables_) table->compact();
}

std::span<const Hash128> Sequence::keys(const PrefixIndex& index, uint64_t count) {
  const uint32_t block_tokens = index.block_tokens();
  if (keys_.capacity() < count) {
    keys_.reserve(
        std::max<uint64_t>(count, std::min(context_, kSequenceTokensReserved) / block_tokens));
  }
  while (keys_.size() < count) {
    const Hash128 before = keys_.empty() ? root_ : keys_.back();
    const uint64_t begin = keys_.size() * block_tokens;
    const Hash128 key = index.key(before, tokens().subspan(begin, block_tokens));
    keys_.push_back(rows_.empty() ? key : with_pictures(key, begin, begin + block_tokens));
  }
  return std::span(keys_).first(count);
}

/// Tokens do not tell pictures apart: the key of a block with their rows depends on the pictures'
/// digests, too, which nobody can make equal. The key before it is secret (PrefixIndex).
Hash128 Sequence::with_pictures(const Hash128& key, uint64_t begin, uint64_t end) const {
  Hash128 all = key;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const RowsInText& one = rows_[i];
    const EncodedPicture& picture = *pictures_[i];
    const uint64_t from = std::max(begin, one.first);
    const uint64_t to = std::min(end, one.first + one.count);
    if (from >= to) continue;
    const auto first_row =
        static_cast<uint64_t>(one.rows.data() - picture.rows(0, 1).data()) / picture.width;
    const uint64_t place[] = {all.low, all.high, from - begin, to - from,
                              first_row + (from - one.first)};
    std::array<std::byte, sizeof(place) + sizeof(Digest256)> bytes;
    std::memcpy(bytes.data(), place, sizeof(place));
    std::memcpy(bytes.data() + sizeof(place), picture.digest.data(), sizeof(Digest256));
    all = hash_bytes(bytes);
  }
  return all;
}

void Sequence::adopt(const PrefixIndex& index, std::span<const Hash128> keys) {
  for (const auto& table : tables_) table->reserve(keys.size());
  for (size_t group = 0; group < tables_.size(); ++group) {
    CacheTable& table = *tables_[group];
    const uint64_t has = cached_ / block_tokens();
    for (uint64_t i = std::max(has, table.first_needed(keys.size())); i < keys.size(); ++i) {
      table.adopt(i, index.block(keys[i], group));
    }
  }
  set_cached(keys.size() * block_tokens());
  offered_ = cached_;
}

void Sequence::adopt_same(uint64_t index, std::span<const uint32_t> blocks) noexcept {
  for (size_t group = 0; group < tables_.size(); ++group) {
    CacheTable& table = *tables_[group];
    if (blocks[group] == BlockPool::kNoBlock || table.shared_block(index) == BlockPool::kNoBlock) {
      continue;
    }
    table.adopt(index, blocks[group]);
  }
}

}  // namespace tenon
