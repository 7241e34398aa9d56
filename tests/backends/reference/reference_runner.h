// Runs a program with named weights on a backend (by default the reference) through its function
// table, with one KV slab and several sequences.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/reference/reference_entry.h"
#include "program/operations.h"
#include "quant/formats.h"
#include "tests/backends/reference/fake_host.h"

namespace tenon::testing_reference {

/// Expects each value within four units in the last place.
inline void expect_values(const std::vector<float>& actual, const std::vector<double>& expected) {
  std::vector<testing::Matcher<float>> matchers;
  for (const double value : expected) {
    matchers.push_back(testing::FloatEq(static_cast<float>(value)));
  }
  EXPECT_THAT(actual, testing::ElementsAreArray(matchers));
}

using Weights = std::map<std::string, std::vector<float>>;

/// A sequence of a step: its tokens and its blocks.
struct Part {
  std::vector<int32_t> tokens;
  uint32_t past = 0;
  std::vector<uint32_t> blocks = {0, 1, 2, 3, 4, 5, 6, 7};
};

/// All arrays of a step. All rows are wanted.
struct OwnedStep {
  OwnedStep(const tenon_program& program, const std::vector<Part>& parts, tenon_buffer* slab,
            uint32_t blocks_per_slab)
      : slabs{slab} {
    tables.reserve(parts.size());
    for (const Part& part : parts) {
      blocks.push_back(part.blocks);
      tables.push_back({blocks.back().data()});
      sequences.push_back({static_cast<uint32_t>(tokens.size()),
                           static_cast<uint32_t>(part.tokens.size()), part.past, 0,
                           tables.back().data()});
      for (uint32_t i = 0; i < part.tokens.size(); ++i) {
        positions.insert(positions.end(), program.position_parts,
                         static_cast<int32_t>(part.past + i));
        rows.push_back(static_cast<uint32_t>(tokens.size()));
        tokens.push_back(part.tokens[i]);
      }
    }
    pool = {slabs, 1, blocks_per_slab};
    step.struct_size = sizeof(step);
    step.num_tokens = static_cast<uint32_t>(tokens.size());
    step.num_outputs = static_cast<uint32_t>(rows.size());
    step.num_sequences = static_cast<uint32_t>(sequences.size());
    step.sequence_size = sizeof(tenon_step_sequence);
    step.num_pools = program.num_groups;
    step.tokens = tokens.data();
    step.positions = positions.data();
    step.sequences = sequences.data();
    step.pools = &pool;
    step.output_rows = rows.data();
    for (uint32_t i = 0; i < program.num_results; ++i) {
      const tenon_slot& slot = program.slots[program.results[i]];
      results.emplace_back(rows.size() * slot.columns, -77.0f);
      bindings.push_back({program.results[i], 0, results.back().data()});
    }
    step.bindings = bindings.data();
    step.num_bindings = program.num_results;
    step.binding_size = sizeof(tenon_binding);
  }
  OwnedStep(const OwnedStep&) = delete;
  OwnedStep& operator=(const OwnedStep&) = delete;

  tenon_buffer* slabs[1];
  tenon_cache_pool pool{};
  std::vector<std::vector<uint32_t>> blocks;
  std::vector<std::vector<const uint32_t*>> tables;
  std::vector<tenon_step_sequence> sequences;
  std::vector<int32_t> tokens;
  std::vector<int32_t> positions;  // [T, position_parts]
  std::vector<uint32_t> rows;
  std::vector<std::vector<float>> results;
  std::vector<tenon_binding> bindings;
  tenon_step step{};
};

template <auto kEntry>
class BackendRunner {
 public:
  static constexpr uint32_t kBlocks = 8;

  BackendRunner(Program program, const Weights& weights, uint32_t threads = 1)
      : program_(std::move(program)) {
    host_.threads = threads;
    EXPECT_EQ(api().create_device(host_.table(), 0, nullptr, 0, &device_), TENON_BACKEND_OK)
        << host_.error;
    EXPECT_EQ(api().compile(device_, &view(), &executable_), TENON_BACKEND_OK) << host_.error;
    for (uint32_t slot = 0; slot < view().num_slots; ++slot) load(slot, weights);
    EXPECT_EQ(api().seal(executable_), TENON_BACKEND_OK) << host_.error;
    const uint64_t bytes = view().num_groups == 0 ? 64 : api().block_bytes(executable_, 0);
    EXPECT_EQ(api().buffer_create(device_, bytes * kBlocks, TENON_MEMORY_CACHE, &slab_),
              TENON_BACKEND_OK);
  }
  ~BackendRunner() {
    api().buffer_destroy(slab_);
    api().destroy_executable(executable_);
    api().destroy_device(device_);
    EXPECT_EQ(host_.live_bytes, 0u);
    EXPECT_EQ(host_.wrong_releases, 0u);
  }
  BackendRunner(const BackendRunner&) = delete;
  BackendRunner& operator=(const BackendRunner&) = delete;

  static const tenon_backend_api& api() {
    return *kEntry(TENON_BACKEND_MAJOR, TENON_BACKEND_MINOR);
  }
  [[nodiscard]] const tenon_program& view() const { return program_.view(); }
  [[nodiscard]] tenon_executable* executable() { return executable_; }
  [[nodiscard]] tenon_device* device() { return device_; }
  [[nodiscard]] tenon_buffer* slab() { return slab_; }
  [[nodiscard]] FakeHost& host() { return host_; }

  /// The first result, [tokens of all parts, columns].
  std::vector<float> run(const std::vector<Part>& parts) { return run_all(parts).front(); }
  std::vector<std::vector<float>> run_all(const std::vector<Part>& parts) {
    OwnedStep owned(view(), parts, slab_, kBlocks);
    uint64_t ticket = 0;
    EXPECT_EQ(run(owned.step, &ticket), TENON_BACKEND_OK) << host_.error;
    EXPECT_EQ(api().wait(executable_, ticket), TENON_BACKEND_OK);
    return owned.results;
  }
  tenon_status run(const tenon_step& step, uint64_t* ticket) {
    return api().run(executable_, &step, ticket);
  }

 private:
  void load(uint32_t slot, const Weights& weights) {
    const tenon_slot& info = view().slots[slot];
    if (info.kind != TENON_SLOT_WEIGHT) return;
    const std::vector<float>& values = weights.at(info.name);
    ASSERT_EQ(values.size(), info.rows * info.columns) << info.name;
    const FormatInfo& format = *find_format(info.type);
    std::vector<std::byte> blocks(info.rows * *row_bytes(format, info.columns));
    format.encode_row(values.data(), blocks.data(), values.size());
    EXPECT_EQ(api().load_rows(executable_, slot, 0, info.rows, blocks.data(), blocks.size()),
              TENON_BACKEND_OK)
        << host_.error;
  }

  FakeHost host_;
  Program program_;
  tenon_device* device_ = nullptr;
  tenon_executable* executable_ = nullptr;
  tenon_buffer* slab_ = nullptr;
};

using ReferenceRunner = BackendRunner<tenon_reference_backend_entry>;

}  // namespace tenon::testing_reference
