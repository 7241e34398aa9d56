// The data block of a step, read back like a shader.
#include "backends/gpu/step_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tenon::gpu {
namespace {

using testing::ElementsAre;

constexpr Address kBase = 0x10000;

/// A program of cache groups and no operation.
class CacheProgram {
 public:
  explicit CacheProgram(std::vector<tenon_cache_group> groups) : groups_(std::move(groups)) {
    program_.struct_size = sizeof(program_);
    program_.slots = &slot_;
    program_.num_slots = 1;
    program_.slot_size = sizeof(slot_);
    program_.groups = groups_.data();
    program_.num_groups = static_cast<uint32_t>(groups_.size());
    program_.group_size = sizeof(tenon_cache_group);
    program_.results = &result_;
    program_.num_results = 1;
    program_.max_tokens = program_.max_outputs = 16;
    program_.position_parts = 1;
    slot_.kind = TENON_SLOT_ACTIVATION;
    slot_.columns = 1;
    slot_.name = "result";
  }
  [[nodiscard]] const tenon_program& program() const { return program_; }

 private:
  std::vector<tenon_cache_group> groups_;
  tenon_slot slot_{};
  uint32_t result_ = 0;
  tenon_program program_{};
};

tenon_cache_group blocks_of(uint32_t tokens, uint32_t kind = TENON_CACHE_FULL,
                            uint32_t window = 0) {
  return {1, 1, 4, 4, TENON_TYPE_F32, tokens, kind, window, 0, 0, 0};
}

/// A step in device memory.
struct Written {
  StepHeader header;
  std::vector<Address> memory;  // 8-byte words, like the block's alignment

  template <typename T>
  std::vector<T> array(Address address, size_t count) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(memory.data());
    const auto* first = reinterpret_cast<const T*>(bytes + (address - kBase));
    return {first, first + count};
  }
};

Written write(const tenon_program& program, const tenon_step& step) {
  const backends::ProgramCopy copy(program);
  StepData data(copy);
  const uint64_t bytes = data.bytes(step);
  EXPECT_LE(bytes, data.most_bytes(64));
  Written written{{}, std::vector<Address>(bytes / sizeof(Address), 0xEE)};
  const auto address = [](uint32_t group, uint32_t block) {
    return Address{1000} * (group + 1) + block;
  };
  written.header =
      data.write(step, address, reinterpret_cast<std::byte*>(written.memory.data()), kBase);
  return written;
}

TEST(StepData, HasThePlaceOfEachTokenAndTheBlocksOfEachSequence) {
  const CacheProgram setup({blocks_of(4), blocks_of(2)});
  const int32_t tokens[] = {7, 8, 9};
  const int32_t positions[] = {5, 0, 1};
  const uint32_t rows[] = {2, 0};
  const uint32_t first_tables[][3] = {{3, 1, 0}, {6, 5, 4}};
  const uint32_t second_tables[][1] = {{2}, {7}};
  const uint32_t* first[] = {first_tables[0], first_tables[1]};
  const uint32_t* second[] = {second_tables[0], second_tables[1]};
  const tenon_step_sequence sequences[] = {{0, 1, 5, 0, first}, {1, 2, 0, 0, second}};
  tenon_step step{};
  step.num_tokens = 3;
  step.num_outputs = 2;
  step.num_sequences = 2;
  step.sequence_size = sizeof(tenon_step_sequence);
  step.tokens = tokens;
  step.positions = positions;
  step.output_rows = rows;
  step.sequences = sequences;
  const Written w = write(setup.program(), step);
  EXPECT_EQ(w.header.tokens, 3u);
  EXPECT_EQ(w.header.outputs, 2u);
  EXPECT_EQ(w.header.sequences, 2u);
  EXPECT_THAT(w.array<int32_t>(w.header.token_ids, 3), ElementsAre(7, 8, 9));
  EXPECT_THAT(w.array<int32_t>(w.header.positions, 3), ElementsAre(5, 0, 1));
  EXPECT_THAT(w.array<uint32_t>(w.header.output_rows, 2), ElementsAre(2, 0));
  std::vector<std::pair<uint32_t, uint32_t>> places;
  for (const TokenPlace& p : w.array<TokenPlace>(w.header.places, 3)) {
    places.emplace_back(p.sequence, p.position);
  }
  EXPECT_THAT(places, ElementsAre(std::pair(0, 5), std::pair(1, 0), std::pair(1, 1)));
  // Six positions take two blocks of four and three of two; two positions take one of each.
  EXPECT_THAT(w.array<uint32_t>(w.header.table_starts, 4), ElementsAre(0, 2, 5, 6));
  EXPECT_THAT(w.array<Address>(w.header.tables, 7),
              ElementsAre(1003, 1001, 2006, 2005, 2004, 1002, 2007));
}

TEST(StepData, LeavesOutBlocksBeforeTheWindow) {
  const CacheProgram setup({blocks_of(2, TENON_CACHE_WINDOW, 3)});
  const int32_t zero = 0;
  const uint32_t table[] = {TENON_NO_BLOCK, TENON_NO_BLOCK, 5, 6};
  const uint32_t* tables[] = {table};
  const tenon_step_sequence sequence{0, 1, 7, 0, tables};  // attends to 5, 6 and 7
  tenon_step step{};
  step.num_tokens = step.num_sequences = 1;
  step.sequence_size = sizeof(sequence);
  step.tokens = step.positions = &zero;
  step.sequences = &sequence;
  const Written w = write(setup.program(), step);
  EXPECT_THAT(w.array<Address>(w.header.tables, 4), ElementsAre(0, 0, 1005, 1006));
}

TEST(StepData, HasTheStateThatIsReadAndTheOneThatIsWritten) {
  const CacheProgram setup({{1, 0, 0, 0, TENON_TYPE_F32, 0, TENON_CACHE_STATE, 0, 8, 0, 0}});
  const uint32_t fresh[] = {TENON_NO_BLOCK, 4};
  const uint32_t later[] = {3, 9};
  const uint32_t* fresh_tables[] = {fresh};
  const uint32_t* later_tables[] = {later};
  const tenon_step_sequence sequences[] = {
      {0, 1, 0, 0, fresh_tables}, {1, 0, 9, 0, nullptr}, {1, 1, 9, 0, later_tables}};
  const int32_t zeros[] = {0, 0};
  tenon_step step{};
  step.num_tokens = 2;
  step.num_sequences = 3;
  step.sequence_size = sizeof(tenon_step_sequence);
  step.tokens = step.positions = zeros;
  step.sequences = sequences;
  const Written w = write(setup.program(), step);
  EXPECT_THAT(w.array<uint32_t>(w.header.table_starts, 3), ElementsAre(0, 2, 2));
  EXPECT_THAT(w.array<Address>(w.header.tables, 4), ElementsAre(0, 1004, 1003, 1009));
}

}  // namespace
}  // namespace tenon::gpu
