// Runs programs with random weights on the CPU with a given table of operations, without the
// library's services. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "abi/host_buffer.h"
#include "abi/strided.h"
#include "backends/cpu/device.h"
#include "backends/cpu/executable.h"
#include "program/operations.h"
#include "tests/backends/reference/reference_runner.h"

namespace tenon::cpu {

/// True if a device with this table supports all operations.
inline bool supports_all(const Program& program, const OperationTable& table) {
  for (uint32_t i = 0; i < program.view().num_ops; ++i) {
    if (!supports_op(program.view(), i, table)) return false;
  }
  return true;
}

/// An executable of a program with f32 weights and at most one cache group. The program and the
/// table outlive it.
class TableRunner {
 public:
  static constexpr uint32_t kBlocks = 8;

  TableRunner(const Program& program, const OperationTable& table)
      : program_(program),
        executable_(*host_.table(), *choose_kernels("portable"), program.view(), table) {
    EXPECT_TRUE(supports_all(program, table));
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.3f);
    for (uint32_t slot = 0; slot < view().num_slots; ++slot) {
      const tenon_slot& info = slots_of(view())[slot];
      if (info.kind != TENON_SLOT_WEIGHT) continue;
      std::vector<float> values(info.rows * info.columns);
      std::ranges::generate(values, [&] { return normal(random); });
      executable_.load_rows(slot, 0, info.rows, values.data(), values.size() * sizeof(float));
    }
    executable_.seal();
    const uint64_t bytes = view().num_groups == 0 ? 64 : kBlocks * executable_.block_bytes(0);
    slab_ = backends::make_host_buffer(host_.table(), "cpu", bytes, TENON_MEMORY_CACHE);
  }
  ~TableRunner() { backends::host_buffer_destroy(slab_); }
  TableRunner(const TableRunner&) = delete;
  TableRunner& operator=(const TableRunner&) = delete;

  /// Runs a step that was made for slab().
  void run(const tenon_step& step) { executable_.wait(executable_.run(step)); }
  /// Computes `count` tokens after `past` positions of one sequence: [count, columns] of the first
  /// result.
  std::vector<float> run(uint32_t past, uint32_t count) {
    std::vector<int32_t> tokens(count);
    std::iota(tokens.begin(), tokens.end(), static_cast<int32_t>(past));
    testing_reference::OwnedStep owned(view(), {{.tokens = tokens, .past = past}}, slab_, kBlocks);
    run(owned.step);
    return owned.results[0];
  }

  [[nodiscard]] const tenon_program& view() const { return program_.view(); }
  [[nodiscard]] tenon_buffer* slab() { return slab_; }
  [[nodiscard]] testing_reference::FakeHost& host() { return host_; }

 private:
  testing_reference::FakeHost host_;
  const Program& program_;
  Executable executable_;
  tenon_buffer* slab_ = nullptr;
};

}  // namespace tenon::cpu
