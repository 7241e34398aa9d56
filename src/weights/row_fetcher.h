// Fetches rows of the tables that stay in the file, for the tokens of a step. Callers build and run
// steps.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/system.h"
#include "base/thread_team.h"
#include "file/model_file.h"
#include "tenon/backend.h"
#include "weights/demand_table.h"
#include "weights/row_cache.h"

namespace tenon {

/// Bytes of `tables` in the file.
uint64_t table_bytes(std::span<const DemandTable> tables);

/// Bytes of the row caches of `tables`.
///   cache_bytes  upper limit; 0 means a quarter of the tables, at most 256 MiB
uint64_t row_cache_bytes(std::span<const DemandTable> tables, uint64_t cache_bytes);

/// Bytes of the rows bound for a step of `num_tokens` tokens.
uint64_t fetched_row_bytes(std::span<const DemandTable> tables, uint64_t num_tokens);

/// The rows bound for one step; keep until the step has ended.
class FetchedRows {
 public:
  /// One binding per table.
  [[nodiscard]] std::span<const tenon_binding> bindings() const { return bindings_; }

 private:
  friend class RowFetcher;
  Buffer values_;  // [tokens, columns] f32 per table, concatenated; grown on demand
  std::vector<tenon_binding> bindings_;
};

/// Fetcher of one model. One thread at a time. Allocates nothing while fetching, except in growing
/// FetchedRows.
class RowFetcher {
 public:
  struct Options {
    uint64_t cache_bytes = 0;    ///< see row_cache_bytes()
    uint32_t max_tokens = 0;     ///< most tokens of a step
    uint32_t token_history = 0;  ///< see tenon_program
    ThreadTeam* team = nullptr;  ///< reads and decodes
    std::shared_ptr<System> system{};
  };

  /// The file, the tables and the team must outlive it. Throws NoMemory.
  RowFetcher(const ModelFile& file, std::span<const DemandTable> tables, const Options& options);
  RowFetcher(const RowFetcher&) = delete;
  RowFetcher& operator=(const RowFetcher&) = delete;

  /// Fills `rows` for the tokens of a step. Bits equal those of TENON_OP_EMBED and
  /// TENON_OP_NGRAM_ROWS over the tables.
  ///   step    tokens, sequences and earlier tokens are used: at most max_tokens of the vocabulary
  ///   cancel  may be null; a flag that any thread may set, checked before each row read
  /// Throws Io like ModelFile::read, Cancelled, NoMemory, and the team's errors. After an error,
  /// the next call reads the missing rows again.
  void fetch(const tenon_step& step, FetchedRows& rows, const uint32_t* cancel);

  /// Rows read from the file so far.
  [[nodiscard]] uint64_t rows_read() const { return rows_read_; }

 private:
  struct Table {
    const DemandTable* table;
    DecodeRow decode_row;
    RowCache cache;
    std::vector<uint64_t> numbers;        // [T, rows per token] numbers of the rows
    std::vector<RowCache::Claim> claims;  // [T, rows per token]
    float* out = nullptr;                 // [T, rows per token, columns]

    [[nodiscard]] const RowSource& source() const { return table->source; }
    /// Rows for a step of `num_tokens` tokens.
    [[nodiscard]] size_t num_rows(size_t num_tokens) const {
      return num_tokens * table->rows_per_token();
    }
    [[nodiscard]] uint64_t columns_per_token() const {
      return table->rows_per_token() * source().num_columns();
    }
  };
  struct Job;

  [[nodiscard]] uint64_t num_columns() const;  ///< columns per token, in all tables
  void lay_out(uint64_t num_tokens, FetchedRows& rows);
  void check(std::span<const int32_t> tokens) const;
  void find_rows(const tenon_step& step) noexcept;
  [[nodiscard]] bool claim(size_t num_tokens) noexcept;
  void forget_missing() noexcept;
  [[nodiscard]] bool is_small(const Job& job) const;
  void run_alone(Job& job);
  void run(Job& job);
  void read_missing(Job& job, uint32_t thread, uint32_t num_threads);
  void decode(Job& job, uint32_t thread, uint32_t num_threads);
  void read_row(const Job& job, const Table& table, uint64_t row, std::span<std::byte> out);

  const ModelFile& file_;
  ThreadTeam& team_;
  std::shared_ptr<System> system_;
  std::vector<Table> tables_;
  uint32_t token_history_;
  uint64_t longest_row_ = 0;  // bytes
  Buffer scratch_;            // [threads, longest_row_]: rows without a place in a cache
  std::atomic<uint64_t> rows_read_{0};
};

}  // namespace tenon
