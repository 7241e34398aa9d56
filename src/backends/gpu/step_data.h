// A block of memory with a step's data for the device: tokens, positions, and addresses of cache
// blocks. The backend transfers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "abi/program_copy.h"
#include "backends/gpu/step_layout.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// Address of a block of a group.
using BlockAddress = std::function<Address(uint32_t group, uint32_t block)>;

class StepData {
 public:
  /// `program` must outlive the object.
  explicit StepData(const backends::ProgramCopy& program);

  /// Bytes of the block for a step that passes check_step().
  [[nodiscard]] uint64_t bytes(const tenon_step& step);
  /// Bytes for any step whose block tables have at most `table_entries` entries in total.
  [[nodiscard]] uint64_t most_bytes(uint64_t table_entries) const;

  /// Writes the block of the step last passed to bytes(); the header locates its arrays once it
  /// lies at `address`, a multiple of 8.
  StepHeader write(const tenon_step& step, const BlockAddress& block_address, std::byte* block,
                   Address address) const;

  /// Table rows per token that ngram_rows operations before operation `op` look up.
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
  Layout layout_{};          ///< of the step last passed to bytes()
  uint32_t ngram_rows_ = 0;  ///< per token
};

}  // namespace tenon::gpu
