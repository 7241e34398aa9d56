#include "tests/conformance/program_runner.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "abi/step_rules.h"
#include "quant/formats.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kBlocksPerSlab = 3;  // sequences soon cross slabs
constexpr uint32_t kStateBlocks = 9;    // per STATE group

/// A sequence from a later version of the host, with additional members.
struct LaterSequence {
  tenon_step_sequence known;
  uint64_t later[2];
};

struct LaterBinding {
  tenon_binding known;
  uint64_t later[2];
};

/// Memory for a step's results, filled with an impossible result.
class Results {
 public:
  std::vector<LaterBinding> bind(const tenon_program& program, const tenon_step& step) {
    std::vector<LaterBinding> bindings;
    values_.reserve(program.num_results);
    for (uint32_t i = 0; i < program.num_results; ++i) {
      const tenon_slot& slot = slots_of(program)[program.results[i]];
      const uint64_t count = backends::num_rows(step, slot.row_class) * slot.columns;
      integers_.push_back(slot.type == TENON_TYPE_I32);
      values_.emplace_back(count, -12345.0f);
      bindings.push_back(
          {{program.results[i], 0, values_.back().data()}, {~uint64_t{0}, ~uint64_t{0}}});
    }
    return bindings;
  }
  /// All results, concatenated.
  [[nodiscard]] std::vector<float> floats() const {
    std::vector<float> all;
    for (size_t i = 0; i < values_.size(); ++i) {
      for (const float value : values_[i]) {
        all.push_back(integers_[i] ? static_cast<float>(std::bit_cast<int32_t>(value)) : value);
      }
    }
    return all;
  }

 private:
  std::vector<std::vector<float>> values_;
  std::vector<bool> integers_;
};

uint32_t seed_of(std::string_view name) {
  uint32_t seed = 2166136261u;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 16777619u;
  return seed;
}

}  // namespace

std::vector<int32_t> tokens(uint32_t count, uint32_t vocab, uint32_t first) {
  std::vector<int32_t> list(count);
  for (uint32_t i = 0; i < count; ++i) list[i] = static_cast<int32_t>((first + i) % vocab);
  return list;
}

std::vector<int32_t> mixed_tokens(uint32_t count, uint32_t seed) {
  std::vector<int32_t> list(count);
  for (uint32_t i = 0; i < count; ++i) {
    list[i] = static_cast<int32_t>((i * i + 3 * i + seed) % kVocab);
  }
  return list;
}

StepPlan one_sequence(uint32_t count, uint32_t vocab) { return {{{0, tokens(count, vocab)}}}; }

// Approximates a normal value by the sum of four uniform ones: the standard library's distribution
// takes long double logarithms, nine tenths of this suite's time under sanitizers.
std::vector<float> random_values(std::string_view name, uint64_t count) {
  constexpr float kMean = 4 * 65535.0f / 2;
  const float deviation = std::sqrt(4 * 65536.0f * 65536.0f / 12);
  std::mt19937_64 random(seed_of(name));
  std::vector<float> values(count);
  for (float& value : values) {
    const uint64_t bits = random();
    const uint64_t sum =
        (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    value = (static_cast<float>(sum) - kMean) / deviation;
  }
  return values;
}

std::vector<StepPlan> all_counts() {
  std::vector<StepPlan> steps;
  for (const uint32_t count : {0u, 1u, 2u, 7u, 65u}) steps.push_back(one_sequence(count, kVocab));
  return steps;
}

namespace {

/// Number of distinct blocks in a bank: prime, so that rows a panel apart differ. Encoders that
/// search a codebook take milliseconds per block, tens of them under sanitizers.
constexpr uint64_t kBankBlocks = 23;

/// Encoded normal values times 2^-halvings; made once.
const std::vector<std::byte>& bank_of(const FormatInfo& format, int halvings) {
  static std::map<std::pair<Format, int>, std::vector<std::byte>> banks;
  std::vector<std::byte>& bank = banks[{format.id, halvings}];
  if (bank.empty()) {
    std::vector<float> values = random_values(format.name, kBankBlocks * format.block_values);
    for (float& value : values) value = std::ldexp(value, -halvings);
    bank.resize(kBankBlocks * format.block_bytes);
    format.encode_row(values.data(), bank.data(), values.size());
  }
  return bank;
}

}  // namespace

std::vector<std::byte> random_blocks(const tenon_slot& slot) {
  const FormatInfo& format = *find_format(slot.type);
  const bool small = slot.rows > 1 && !std::string_view(slot.name).starts_with("table");
  std::vector<std::byte> blocks(slot.rows * *row_bytes(format, slot.columns));
  if (format.block_values == 1) {
    std::vector<float> values = random_values(slot.name, slot.rows * slot.columns);
    const float scale = small ? 1.0f / std::sqrt(static_cast<float>(slot.columns)) : 1.0f;
    for (float& value : values) value *= scale;
    format.encode_row(values.data(), blocks.data(), values.size());
    return blocks;
  }
  const int halvings = small ? static_cast<int>(std::bit_width(slot.columns)) / 2 : 0;
  const std::vector<std::byte>& bank = bank_of(format, halvings);
  // The name sets the order of the blocks.
  const uint64_t seed = seed_of(slot.name);
  const uint64_t step = 1 + seed % (kBankBlocks - 1);
  uint64_t place = seed / kBankBlocks % kBankBlocks;
  for (uint64_t at = 0; at < blocks.size(); at += format.block_bytes) {
    std::copy_n(bank.begin() + static_cast<ptrdiff_t>(place * format.block_bytes),
                format.block_bytes, blocks.begin() + static_cast<ptrdiff_t>(at));
    place = (place + step) % kBankBlocks;
  }
  return blocks;
}

Runner::Runner(const Target& target, const tenon_program& program, const RunnerOptions& options)
    : program_(program),
      slots_(program.slots, program.num_slots, program.slot_size),
      groups_(program.groups, program.num_groups, program.group_size),
      encoder_(options.encoder),
      verify_(options.verify),
      device_(encoder_ != nullptr ? encoder_->device_ : shared_device(target, options.host)),
      executable_(std::make_unique<Executable>(device_, program)),
      copy_states_(options.copy_states) {
  load_weights();
  executable_->seal();
  make_pools(options.max_positions);
}

void Runner::load_weights() {
  for (uint32_t i = 0; i < program_.num_slots; ++i) {
    const tenon_slot& slot = slots_[i];
    if (slot.kind != TENON_SLOT_WEIGHT) continue;
    const std::vector<std::byte> blocks = random_blocks(slot);
    const uint64_t row_bytes = blocks.size() / slot.rows;
    // Two calls if the granularity allows, second half first: order must not matter.
    const uint64_t granularity = executable_->row_granularity(i);
    const uint64_t middle = slot.rows / 2 / granularity * granularity;
    const auto part = std::span(blocks).subspan(middle * row_bytes);
    executable_->load_rows(i, middle, slot.rows - middle, part);
    if (middle == 0) continue;
    executable_->load_rows(i, 0, middle, std::span(blocks).first(middle * row_bytes));
  }
}

void Runner::make_pools(uint32_t max_positions) {
  pools_.resize(program_.num_groups);
  for (uint32_t g = 0; g < program_.num_groups; ++g) {
    if (is_of_encoder(g)) continue;
    // Sequences end inside a block: allocates a few more than needed.
    const bool state = groups_[g].kind == TENON_CACHE_STATE;
    const uint32_t num_blocks = state ? kStateBlocks : max_positions / groups_[g].block_tokens + 8;
    const uint32_t num_slabs = (num_blocks + kBlocksPerSlab - 1) / kBlocksPerSlab;
    const uint64_t slab_bytes = executable_->block_bytes(g) * kBlocksPerSlab;
    // Blocks of ended sequences may hold anything, even NaN, which no sequence may see.
    const std::vector<std::byte> garbage(slab_bytes, std::byte{0xFF});
    for (uint32_t s = 0; s < num_slabs; ++s) {
      DeviceBuffer slab(executable_->device(), slab_bytes, TENON_MEMORY_CACHE);
      slab.write(0, garbage.data(), slab_bytes);
      pools_[g].slabs.push_back(slab.get());
      pools_[g].buffers.push_back(std::move(slab));
    }
    // Adjacent blocks of a sequence are not adjacent in memory.
    pools_[g].free.resize(uint64_t{num_slabs} * kBlocksPerSlab);
    std::iota(pools_[g].free.begin(), pools_[g].free.end(), 0u);
    std::shuffle(pools_[g].free.begin(), pools_[g].free.end(), std::mt19937(7));
  }
}

void Runner::grow(Sequence& sequence, uint32_t positions) {
  sequence.blocks.resize(program_.num_groups);
  for (uint32_t g = 0; g < program_.num_groups; ++g) {
    if (is_of_encoder(g)) continue;
    if (groups_[g].kind == TENON_CACHE_STATE) {
      place_state(sequence, g);
      continue;
    }
    while (sequence.blocks[g].size() * groups_[g].block_tokens < positions) {
      sequence.blocks[g].push_back(take_block(g));
    }
  }
}

uint32_t Runner::take_block(uint32_t group) {
  const uint32_t block = pools_[group].free.back();
  pools_[group].free.pop_back();
  return block;
}

/// Prepares a step: its input state exists, or there is none.
void Runner::place_state(Sequence& sequence, uint32_t group) {
  std::vector<uint32_t>& blocks = sequence.blocks[group];
  if (blocks.empty()) blocks = {TENON_NO_BLOCK};
  if (blocks.size() == 2) return;  // the last step failed, or had no tokens
  const uint32_t read = blocks[0];
  blocks.push_back(copy_states_ || read == TENON_NO_BLOCK ? take_block(group) : read);
}

/// Completes a step with tokens of the sequence: the next step reads its output state.
void Runner::keep_state(Sequence& sequence, uint32_t group) {
  std::vector<uint32_t>& blocks = sequence.blocks[group];
  const uint32_t read = blocks[0];
  const uint32_t written = blocks[1];
  blocks = {written};
  const auto reads = [&](const auto& other) {
    return !other.second.blocks.empty() && other.second.blocks[group][0] == read;
  };
  if (read == TENON_NO_BLOCK || read == written) return;
  if (std::none_of(sequences_.begin(), sequences_.end(), reads)) {
    pools_[group].free.insert(pools_[group].free.begin(), read);
  }
}

void Runner::fork(uint32_t from, uint32_t to) {
  Sequence& made = sequences_[to];
  made = sequences_[from];
  for (uint32_t g = 0; g < program_.num_groups; ++g) {
    made.blocks[g].push_back(take_block(g));
  }
}

std::vector<float> Runner::run(const StepPlan& plan) {
  std::vector<int32_t> all_tokens;
  std::vector<int32_t> positions;
  std::vector<int32_t> earlier_tokens;
  std::vector<std::vector<const uint32_t*>> tables(plan.parts.size());
  std::vector<LaterSequence> list;
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    const Part& part = plan.parts[p];
    const auto count = static_cast<uint32_t>(part.tokens.size());
    Sequence& sequence = sequences_[part.sequence];
    grow(sequence, sequence.past + count);
    for (uint32_t back = program_.token_history; back > 0; --back) {
      earlier_tokens.push_back(back > sequence.past ? TENON_BEFORE_TEXT
                                                    : sequence.text[sequence.past - back]);
    }
    uint32_t cross_positions = 0;
    for (uint32_t g = 0; g < program_.num_groups; ++g) {
      const Sequence& from = is_of_encoder(g) ? encoder_->sequences_[part.sequence] : sequence;
      tables[p].push_back(from.blocks[is_of_encoder(g) ? 0 : g].data());
      if (is_of_encoder(g)) cross_positions = from.past;
    }
    list.push_back({{static_cast<uint32_t>(all_tokens.size()), count, sequence.past,
                     cross_positions, tables[p].data()},
                    {~uint64_t{0}, ~uint64_t{0}}});
    for (uint32_t i = 0; i < count; ++i) {
      all_tokens.push_back(part.tokens[i]);
      positions.insert(positions.end(), program_.position_parts,
                       static_cast<int32_t>(sequence.past + i));
    }
  }
  if (plan.positions) positions = *plan.positions;
  std::vector<uint32_t> rows(all_tokens.size());
  std::iota(rows.begin(), rows.end(), 0u);
  if (plan.rows) rows = *plan.rows;
  std::vector<tenon_cache_pool> pools;
  for (uint32_t g = 0; g < program_.num_groups; ++g) {
    const Pool& pool = is_of_encoder(g) ? encoder_->pools_[0] : pools_[g];
    pools.push_back({pool.slabs.data(), static_cast<uint32_t>(pool.slabs.size()), kBlocksPerSlab});
  }
  Results results;
  std::vector<std::vector<float>> inputs = plan.inputs;
  tenon_step step{};
  step.struct_size = sizeof(step);
  step.num_tokens = static_cast<uint32_t>(all_tokens.size());
  step.num_outputs = static_cast<uint32_t>(rows.size());
  step.num_sequences = static_cast<uint32_t>(list.size());
  step.sequence_size = sizeof(LaterSequence);
  step.num_pools = program_.num_groups;
  step.tokens = all_tokens.data();
  step.positions = positions.data();
  step.earlier_tokens = earlier_tokens.data();
  step.sequences = list.empty() ? nullptr : &list.front().known;
  step.pools = pools.data();
  step.output_rows = rows.data();
  std::vector<LaterBinding> bindings = results.bind(program_, step);
  for (uint32_t i = 0, next = 0; i < program_.num_slots && next < inputs.size(); ++i) {
    if (slots_[i].kind != TENON_SLOT_INPUT) continue;
    bindings.push_back({{i, 0, inputs[next++].data()}, {~uint64_t{0}, ~uint64_t{0}}});
  }
  step.bindings = &bindings.front().known;
  step.num_bindings = static_cast<uint32_t>(bindings.size());
  step.binding_size = sizeof(LaterBinding);
  step.cancel = plan.cancel;
  if (verify_) verify_step(program_, step);
  executable_->run(step);
  for (const Part& part : plan.parts) {
    Sequence& sequence = sequences_[part.sequence];
    sequence.text.resize(sequence.past);
    sequence.text.insert(sequence.text.end(), part.tokens.begin(), part.tokens.end());
    sequence.past += static_cast<uint32_t>(part.tokens.size());
    for (uint32_t g = 0; !part.tokens.empty() && g < program_.num_groups; ++g) {
      if (groups_[g].kind == TENON_CACHE_STATE) keep_state(sequence, g);
    }
  }
  return results.floats();
}

void Deviation::add(std::span<const float> result, std::span<const float> expected) {
  if (result.size() != expected.size()) difference_ = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(result.size(), expected.size()); ++i) {
    const double d = double{result[i]} - double{expected[i]};
    difference_ += d * d;
    size_ += double{expected[i]} * double{expected[i]};
  }
}

double Deviation::relative_rmse() const {
  if (difference_ == 0) return 0;
  const double error = std::sqrt(difference_ / size_);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

void expect_like_reference(const Program& program, std::span<const StepPlan> steps,
                           double tolerance, const RunnerOptions& options) {
  static std::map<std::string, double> worst_of;  // by test
  Runner tested(target(), program, options);
  Runner expected(reference(), program,
                  {.host = {.threads = 1}, .max_positions = options.max_positions});
  Deviation deviation;
  for (const StepPlan& step : steps) deviation.add(tested.run(step), expected.run(step));
  const double error = deviation.relative_rmse();
  EXPECT_LE(error, tolerance);
  const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
  double& worst = worst_of[std::string(info.test_suite_name()) + "." + info.name()];
  worst = std::max(worst, error);
  testing::Test::RecordProperty("relative_rmse", fmt::format("{:.2e}", worst));
}

}  // namespace tenon::conformance
