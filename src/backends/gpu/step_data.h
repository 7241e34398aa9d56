// One block of memory with all that a step brings to the device: tokens, places, and the addresses of cache
// blocks. How it gets there is the backend's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backends/common/program_copy.h"
#include "backends/gpu/step_layout.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// The address of a block of a group.
using BlockAddress = std::function<Address(uint32_t group, uint32_t block)>;

class StepData {
 public:
  /// `program` outlives this.
  explicit StepData(const backends::ProgramCopy& program);

  /// Bytes of the block of a step that satisfies check_step().
  [[nodiscard]] uint64_t bytes(const tenon_step& step);
  /// The same of any step whose block tables have no more than `table_entries` blocks all together.
  [[nodiscard]] uint64_t most_bytes(uint64_t table_entries) const;

  /// Writes the block; the header says where its arrays are once it lies at `address`, a multiple of 8.
  /// The step is the one that bytes() was asked for last.
  StepHeader write(const tenon_step& step, const BlockAddress& block_address, std::byte* block,
                   Address address) const;

  /// Rows of tables that the ngram_rows operations before operation `op` look up for a token.
  [[nodiscard]] uint32_t ngram_rows_before(uint32_t op) const;

 private:
  struct Counts {
    uint64_t tokens, outputs, sequences, table_entries;
  };
  struct Layout {
    uint64_t tables, places, spans, token_ids, positions, output_rows, table_starts, ngram_rows,
        end;
  };
  [[nodiscard]] Layout layout_of(const Counts& counts) const;
  void write_tables(const tenon_step& step, const BlockAddress& block_address, uint32_t* starts,
                    Address* tables) const;
  void write_ngram_rows(const tenon_step& step, uint32_t* rows) const;

  const backends::ProgramCopy& program_;
  Layout layout_{};          ///< of the step that bytes() was asked for last
  uint32_t ngram_rows_ = 0;  ///< of a token
};

}  // namespace tenon::gpu
