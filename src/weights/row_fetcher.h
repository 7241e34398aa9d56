// Fetches what the tables of a model that stay in the file have for the tokens of a step. What goes
// into a step, and who runs it, is known above.
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

/// Bytes of some tables in the file.
uint64_t table_bytes(std::span<const DemandTable> tables);

/// Bytes of their row caches.
///   cache_bytes  never exceeded; 0: a quarter of the tables, 256 MiB at most
uint64_t row_cache_bytes(std::span<const DemandTable> tables, uint64_t cache_bytes);

/// Bytes of the rows that a step of `num_tokens` tokens binds.
uint64_t fetched_row_bytes(std::span<const DemandTable> tables, uint64_t num_tokens);

/// The rows that one step binds, until it has ended.
class FetchedRows {
 public:
  /// One of each table.
  [[nodiscard]] std::span<const tenon_binding> bindings() const { return bindings_; }

 private:
  friend class RowFetcher;
  Buffer values_;  // of each table [tokens, columns] f32, one after another; grown on demand
  std::vector<tenon_binding> bindings_;
};

/// Of one model. One thread at a time. Allocates nothing while rows are fetched, but for FetchedRows
/// that grow.
class RowFetcher {
 public:
  struct Options {
    uint64_t cache_bytes = 0;    ///< as of row_cache_bytes()
    uint32_t max_tokens = 0;     ///< of a step
    uint32_t token_history = 0;  ///< as of tenon_program
    ThreadTeam* team = nullptr;  ///< who reads and decodes
    std::shared_ptr<System> system{};
  };

  /// File, tables and team must outlive it. Throws NoMemory.
  RowFetcher(const ModelFile& file, std::span<const DemandTable> tables, const Options& options);
  RowFetcher(const RowFetcher&) = delete;
  RowFetcher& operator=(const RowFetcher&) = delete;

  /// Fills `rows` for the tokens of a step. The bits are those of TENON_OP_EMBED and TENON_OP_NGRAM_ROWS
  /// over the tables.
  ///   step    its tokens, sequences and earlier tokens are read: at most max_tokens of the vocabulary
  ///   cancel  null, or a flag that any thread may set; it is read before each row of the file
  /// Throws Io as ModelFile::read, Cancelled, NoMemory, and what keeps the team from running; the next
  /// call then reads again what was missing.
  void fetch(const tenon_step& step, FetchedRows& rows, const uint32_t* cancel);

  /// Rows read from the file so far.
  [[nodiscard]] uint64_t rows_read() const { return rows_read_; }

 private:
  struct Table {
    const DemandTable* table;
    DecodeRow decode_row;
    RowCache cache;
    std::vector<uint64_t> numbers;        // [T, rows per token], of the rows
    std::vector<RowCache::Claim> claims;  // likewise
    float* out = nullptr;                 // [T, rows per token, columns]

    [[nodiscard]] const RowSource& source() const { return table->source; }
    /// Of a step of so many tokens.
    [[nodiscard]] size_t num_rows(size_t num_tokens) const {
      return num_tokens * table->rows_per_token();
    }
    [[nodiscard]] uint64_t columns_per_token() const {
      return table->rows_per_token() * source().num_columns();
    }
  };
  struct Job;

  [[nodiscard]] uint64_t num_columns() const;  ///< of a token, in all tables
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
  Buffer scratch_;            // [threads, longest_row_]: rows that have no place in a cache
  std::atomic<uint64_t> rows_read_{0};
};

}  // namespace tenon
