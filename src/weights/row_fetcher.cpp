// RowFetcher: each row of a token claims a place in its table's cache. Missing rows are read, then
// all rows are decoded; all threads take part if that pays.
#include "weights/row_fetcher.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "abi/cancel_flag.h"
#include "abi/ngram_hash.h"
#include "abi/strided.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "quant/formats.h"

namespace tenon {
namespace {

/// Default cache size: a small part of a table serves most of a text.
constexpr uint64_t kUsualPart = 4;
constexpr uint64_t kMostUsualBytes = uint64_t{256} << 20;

/// Values decoded in about 30 us. Waking the team costs more than that, and far more on a busy
/// machine.
constexpr uint64_t kAloneValues = 1u << 15;

/// Tokens whose rows fit the caches. A token has rows in each table, so all caches hold the same
/// number of tokens.
uint64_t cached_tokens(std::span<const DemandTable> tables, uint64_t cache_bytes) {
  uint64_t token_bytes = 0;
  for (const DemandTable& table : tables) {
    token_bytes += table.rows_per_token() * RowCache::bytes_of_row(table.source.row_bytes());
  }
  if (cache_bytes == 0) cache_bytes = std::min(table_bytes(tables) / kUsualPart, kMostUsualBytes);
  return token_bytes == 0 ? 0 : cache_bytes / token_bytes;
}

uint64_t most_rows(const DemandTable& table, uint64_t tokens) {
  return std::min(tokens * table.rows_per_token(), table.source.num_rows());
}

/// Numbers of the rows found by the heads for each token of a step, [T, heads].
void find_ngrams(const NgramLookup& ngrams, const tenon_step& step, uint32_t history,
                 std::span<uint64_t> numbers) noexcept {
  const size_t heads = ngrams.heads.size();
  for (uint32_t s = 0; s < step.num_sequences; ++s) {
    const tenon_step_sequence& sequence = sequences_of(step)[s];
    for (uint32_t i = 0; i < sequence.num_tokens; ++i) {
      const auto hashes = backends::ngram_hashes(step, history, s, i, ngrams.numbers());
      uint64_t* own = numbers.data() + uint64_t{sequence.first_token + i} * heads;
      for (size_t head = 0; head < heads; ++head) {
        own[head] = backends::ngram_row(ngrams.heads[head], hashes);
      }
    }
  }
}

}  // namespace

uint64_t table_bytes(std::span<const DemandTable> tables) {
  uint64_t bytes = 0;
  for (const DemandTable& table : tables) {
    bytes += table.source.num_rows() * table.source.row_bytes();
  }
  return bytes;
}

uint64_t row_cache_bytes(std::span<const DemandTable> tables, uint64_t cache_bytes) {
  const uint64_t tokens = cached_tokens(tables, cache_bytes);
  uint64_t bytes = 0;
  for (const DemandTable& table : tables) {
    bytes += RowCache::memory_bytes(most_rows(table, tokens), table.source.row_bytes());
  }
  return bytes;
}

uint64_t fetched_row_bytes(std::span<const DemandTable> tables, uint64_t num_tokens) {
  uint64_t columns = 0;
  for (const DemandTable& table : tables) {
    columns += table.rows_per_token() * table.source.num_columns();
  }
  return num_tokens * columns * sizeof(float);
}

/// A call of fetch() as run by the team.
struct RowFetcher::Job {
  RowFetcher& fetcher;
  size_t num_tokens;
  const uint32_t* cancel;
  bool reads;  ///< reads rows before decoding
  std::mutex mutex{};
  std::exception_ptr failure{};  ///< the first one
  std::atomic<bool> failed{false};

  void remember_failure() noexcept {
    const std::scoped_lock lock(mutex);
    if (!failure) failure = std::current_exception();
    failed.store(true, std::memory_order_relaxed);
  }
};

RowFetcher::RowFetcher(const ModelFile& file, std::span<const DemandTable> tables,
                       const Options& options)
    : file_(file),
      team_(*options.team),
      system_(options.system),
      token_history_(options.token_history) {
  const uint64_t tokens = cached_tokens(tables, options.cache_bytes);
  tables_.reserve(tables.size());
  for (const DemandTable& table : tables) {
    const RowSource& source = table.source;
    longest_row_ = std::max(longest_row_, source.row_bytes());
    const size_t most = size_t{options.max_tokens} * table.rows_per_token();
    tables_.push_back({&table, find_format(source.format())->decode_row,
                       RowCache(most_rows(table, tokens), source.row_bytes(), system_),
                       std::vector<uint64_t>(most), std::vector<RowCache::Claim>(most)});
  }
  scratch_ = Buffer(system_, team_.num_threads() * longest_row_, "rows of tables");
}

void RowFetcher::fetch(const tenon_step& step, FetchedRows& rows, const uint32_t* cancel) {
  check({step.tokens, step.num_tokens});
  lay_out(step.num_tokens, rows);
  if (tables_.empty()) return;
  find_rows(step);
  Job job{*this, step.num_tokens, cancel, claim(step.num_tokens)};
  try {
    is_small(job) ? run_alone(job) : run(job);
    if (job.failure) std::rethrow_exception(job.failure);
  } catch (...) {
    forget_missing();
    throw;
  }
}

void RowFetcher::check(std::span<const int32_t> tokens) const {
  for (const Table& table : tables_) {
    if (table.num_rows(tokens.size()) > table.claims.size()) {
      fail(Code::Internal, "rows of tables: {} tokens, at most {}", tokens.size(),
           table.claims.size() / table.table->rows_per_token());
    }
    if (!table.table->ngrams.heads.empty()) continue;  // hashes accept any token
    for (const int32_t token : tokens) {
      if (token >= 0 && static_cast<uint64_t>(token) < table.source().num_rows()) continue;
      fail(Code::Internal, "rows of tables: token {} of {}", token, table.source().num_rows());
    }
  }
}

uint64_t RowFetcher::num_columns() const {
  uint64_t columns = 0;
  for (const Table& table : tables_) columns += table.columns_per_token();
  return columns;
}

void RowFetcher::lay_out(uint64_t num_tokens, FetchedRows& rows) {
  const uint64_t bytes = num_tokens * num_columns() * sizeof(float);
  if (rows.values_.size() < bytes) rows.values_ = Buffer(system_, bytes, "rows of tables");
  rows.bindings_.clear();
  auto* next = reinterpret_cast<float*>(rows.values_.data());
  for (Table& table : tables_) {
    table.out = next;
    next += num_tokens * table.columns_per_token();
    rows.bindings_.push_back({static_cast<uint32_t>(table.table->slot), 0, table.out});
  }
}

void RowFetcher::find_rows(const tenon_step& step) noexcept {
  for (Table& table : tables_) {
    if (!table.table->ngrams.heads.empty()) {
      find_ngrams(table.table->ngrams, step, token_history_, table.numbers);
    } else {
      std::copy_n(step.tokens, step.num_tokens, table.numbers.begin());
    }
  }
}

/// Claims rows; true if rows with a place are missing.
bool RowFetcher::claim(size_t num_tokens) noexcept {
  bool any = false;
  for (Table& table : tables_) {
    table.cache.begin_step();
    std::ranges::fill(table.claims, RowCache::Claim{});
    for (size_t i = 0; i < table.num_rows(num_tokens); ++i) {
      table.claims[i] = table.cache.claim(table.numbers[i]);
      any |= table.claims[i].is_missing && table.claims[i].place != RowCache::kNoPlace;
    }
  }
  return any;
}

void RowFetcher::forget_missing() noexcept {
  for (Table& table : tables_) {
    for (const RowCache::Claim& claim : table.claims) {
      if (claim.is_missing && claim.place != RowCache::kNoPlace) table.cache.forget(claim.place);
    }
  }
}

/// True if the team is not worth waking. Missing rows are read in parallel whatever their size,
/// unless each table has only one.
bool RowFetcher::is_small(const Job& job) const {
  const auto has_one = [&](const Table& table) { return table.num_rows(job.num_tokens) == 1; };
  if (std::ranges::all_of(tables_, has_one)) return true;
  return !job.reads && job.num_tokens * num_columns() <= kAloneValues;
}

void RowFetcher::run_alone(Job& job) {
  const ScopedFpEnv fp_env;  // the team's environment
  if (job.reads) read_missing(job, 0, 1);
  decode(job, 0, 1);
}

void RowFetcher::run(Job& job) {
  Phases phases;
  phases.num_phases = job.reads ? 2 : 1;
  phases.arg = &job;
  phases.phase = [](void* arg, uint32_t phase, uint32_t thread, uint32_t num_threads) noexcept {
    Job& own = *static_cast<Job*>(arg);
    try {
      if (own.reads && phase == 0) {
        own.fetcher.read_missing(own, thread, num_threads);
      } else {
        own.fetcher.decode(own, thread, num_threads);
      }
    } catch (...) {
      own.remember_failure();
    }
  };
  phases.before_phase = [](void* arg, uint32_t) noexcept {
    return !static_cast<const Job*>(arg)->failed.load(std::memory_order_relaxed);
  };
  team_.run(phases);
}

void RowFetcher::read_row(const Job& job, const Table& table, uint64_t row,
                          std::span<std::byte> out) {
  if (is_set(job.cancel)) {
    fail(Code::Cancelled, "cancelled while rows of a table were read");
  }
  table.source().read(file_, row, 1, out);
  rows_read_.fetch_add(1, std::memory_order_relaxed);
}

void RowFetcher::read_missing(Job& job, uint32_t thread, uint32_t num_threads) {
  for (const Table& table : tables_) {
    for (size_t i = thread; i < table.num_rows(job.num_tokens); i += num_threads) {
      if (job.failed.load(std::memory_order_relaxed)) return;
      const RowCache::Claim& claim = table.claims[i];
      if (!claim.is_missing || claim.place == RowCache::kNoPlace) continue;
      read_row(job, table, table.numbers[i], table.cache.bytes(claim.place));
    }
  }
}

void RowFetcher::decode(Job& job, uint32_t thread, uint32_t num_threads) {
  for (const Table& table : tables_) {
    const uint64_t columns = table.source().num_columns();
    for (size_t i = thread; i < table.num_rows(job.num_tokens); i += num_threads) {
      if (job.failed.load(std::memory_order_relaxed)) return;
      const uint32_t place = table.claims[i].place;
      std::span<const std::byte> blocks;
      if (place != RowCache::kNoPlace) {
        blocks = table.cache.bytes(place);
      } else {
        const auto own = scratch_.span().subspan(thread * longest_row_, table.source().row_bytes());
        read_row(job, table, table.numbers[i], own);
        blocks = own;
      }
      table.decode_row(blocks.data(), table.out + i * columns, columns);
    }
  }
}

}  // namespace tenon
