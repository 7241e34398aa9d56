#include "backends/gpu/self_test.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "abi/strided.h"
#include "backends/gpu/unit_products.h"
#include "quant/formats.h"
#include "quant/half.h"

namespace tenon::gpu {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

tenon_slot slot(uint32_t kind, uint64_t rows, uint64_t columns, Format type = Format::F32) {
  tenon_slot slot{};
  slot.kind = kind;
  slot.type = static_cast<uint32_t>(type);
  slot.row_class = kind == TENON_SLOT_WEIGHT ? 0 : TENON_ROWS_TOKENS;
  slot.rows = rows;
  slot.columns = columns;
  slot.name = "of a self-test";
  slot.plan_offset = TENON_NO_PLAN;
  return slot;
}

tenon_op operation(uint32_t kind, std::initializer_list<uint32_t> inputs, uint32_t output) {
  tenon_op op{};
  op.kind = kind;
  op.num_inputs = static_cast<uint32_t>(inputs.size());
  op.num_outputs = 1;
  std::ranges::fill(op.inputs, TENON_NO_SLOT);
  std::ranges::fill(op.outputs, TENON_NO_SLOT);
  std::ranges::copy(inputs, op.inputs);
  op.outputs[0] = output;
  return op;
}

// ---- Products -----------------------------------------------------------------------------------

/// Blocks of random codes.
///   set_scales(block, numbers)
template <typename Block, typename SetScales>
std::vector<std::byte> random_blocks(uint64_t values, const SetScales& set_scales) {
  SelfTestNumbers numbers(values);
  std::vector<Block> blocks(values / Block::kValues);
  for (Block& block : blocks) {
    uint8_t bytes[sizeof(Block)];
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(numbers.next());
    std::memcpy(&block, bytes, sizeof(Block));
    set_scales(block, numbers);
  }
  return bytes_of(blocks);
}

enum class Numbers {
  Whole,  ///< scales are powers of two
  Real,
};

template <Format format>
std::vector<std::byte> weight_rows(uint64_t values, Numbers kind) {
  const auto scale = [kind](SelfTestNumbers& numbers) {
    return f32_to_f16(kind == Numbers::Whole ? 0x1p-8F : 0x1p-8F * numbers.real());
  };
  if constexpr (format == Format::F16) {
    return random_blocks<BlockF16>(values, [kind](BlockF16& block, SelfTestNumbers& numbers) {
      const bool whole = kind == Numbers::Whole;
      block.bits = f32_to_f16(whole ? static_cast<float>(numbers.whole(1000)) : numbers.real());
    });
  } else if constexpr (format == Format::Q4_K) {
    return random_blocks<BlockQ4_K>(values, [&](BlockQ4_K& block, SelfTestNumbers& numbers) {
      block.d = scale(numbers);
      block.dmin = scale(numbers);
    });
  } else {
    using Block = std::conditional_t<format == Format::Q6_K, BlockQ6_K, BlockQ8_0>;
    return random_blocks<Block>(
        values, [&](Block& block, SelfTestNumbers& numbers) { block.d = scale(numbers); });
  }
}

constexpr uint64_t kProductColumns = 512;  // two units
constexpr uint64_t kProductRows = 40;      // two tiles, and half of one

template <Format format>
SelfTestCase product_case(Numbers kind, std::vector<uint32_t> step_tokens) {
  SelfTestCase test;
  test.step_tokens = std::move(step_tokens);
  test.slots = {slot(TENON_SLOT_INPUT, 0, kProductColumns),
                slot(TENON_SLOT_WEIGHT, kProductRows, kProductColumns, format),
                slot(TENON_SLOT_ACTIVATION, 0, kProductRows)};
  test.op = operation(TENON_OP_LINEAR, {0, 1}, 2);
  test.result = 2;
  SelfTestNumbers numbers(1);
  std::vector<float> x(test.max_tokens() * kProductColumns);
  for (float& value : x) {
    value = kind == Numbers::Whole ? static_cast<float>(numbers.whole(2)) : numbers.real();
  }
  test.values = {bytes_of(x), weight_rows<format>(kProductRows * kProductColumns, kind), {}};
  return test;
}

/// Products with few and with many rows of x (unit_products.h). Whole numbers, small enough that no
/// sum exceeds 2^24 in units of the scales (q6_K: 128 32 2 512 = 2^22): no order of addition
/// rounds, and plain kernels give the same bits.
template <Format format>
SelfTestCase units_case() {
  return product_case<format>(Numbers::Whole, {5, 21});
}

/// Sums of real numbers: a device's two matrix instructions may round differently.
template <Format format>
SelfTestCase warpgroups_case() {
  return product_case<format>(Numbers::Real, {kWarpgroupTokens + 9});
}

template <Family family>
bool multiplies_units(const tenon_program& program, const tenon_op& op) {
  if (op.kind != TENON_OP_LINEAR || op.inputs[1] >= program.num_slots) return false;
  const auto format = static_cast<Format>(slots_of(program)[op.inputs[1]].type);
  return units_family(format) == family || warpgroups_family(format) == family;
}

// ---- Attention ----------------------------------------------------------------------------------

SelfTestCase attention_case() {
  constexpr uint32_t kHeads = 2;
  constexpr uint32_t kColumns = 32;  // per head
  SelfTestCase test;
  test.step_tokens = {3};
  test.past = 1100;  // three parts: see AttentionStage
  test.slots = {slot(TENON_SLOT_INPUT, 0, kHeads * kColumns),
                slot(TENON_SLOT_ACTIVATION, 0, kHeads * kColumns)};
  test.op = operation(TENON_OP_ATTENTION, {0}, 1);
  test.op.params.attention.heads = kHeads;
  test.op.params.attention.scale = 1;
  test.result = 1;
  tenon_cache_group group{};
  group.layers = 1;
  group.kv_heads = 1;
  group.key_dim = group.value_dim = kColumns;
  group.type = TENON_TYPE_F32;
  group.block_tokens = 64;
  group.kind = TENON_CACHE_FULL;
  test.groups = {group};
  SelfTestNumbers numbers(2);
  std::vector<float> queries(test.max_tokens() * kHeads * kColumns);
  for (float& value : queries) value = numbers.real();
  test.values = {bytes_of(queries), {}};
  return test;
}

bool attends(const tenon_program&, const tenon_op& op) {
  return op.kind == TENON_OP_ATTENTION || op.kind == TENON_OP_ATTENTION_POOLS;
}

constexpr FamilyTest kFamilyTests[] = {
    {Family::UnitsF16, "products of f16 weights in units", multiplies_units<Family::UnitsF16>,
     units_case<Format::F16>},
    {Family::UnitsQ8_0, "products of q8_0 weights in units", multiplies_units<Family::UnitsQ8_0>,
     units_case<Format::Q8_0>},
    {Family::UnitsQ4_K, "products of q4_K weights in units", multiplies_units<Family::UnitsQ4_K>,
     units_case<Format::Q4_K>},
    {Family::UnitsQ6_K, "products of q6_K weights in units", multiplies_units<Family::UnitsQ6_K>,
     units_case<Format::Q6_K>},
    {Family::WarpgroupsF16, "products of f16 weights by warpgroups",
     multiplies_units<Family::WarpgroupsF16>, warpgroups_case<Format::F16>},
    {Family::WarpgroupsQ8_0, "products of q8_0 weights by warpgroups",
     multiplies_units<Family::WarpgroupsQ8_0>, warpgroups_case<Format::Q8_0>},
    {Family::WarpgroupsQ4_K, "products of q4_K weights by warpgroups",
     multiplies_units<Family::WarpgroupsQ4_K>, warpgroups_case<Format::Q4_K>},
    {Family::WarpgroupsQ6_K, "products of q6_K weights by warpgroups",
     multiplies_units<Family::WarpgroupsQ6_K>, warpgroups_case<Format::Q6_K>},
    {Family::SharedAttention, "attention that groups share", attends, attention_case},
};

}  // namespace

uint32_t SelfTestCase::max_tokens() const { return std::ranges::max(step_tokens); }

tenon_program SelfTestCase::program() const {
  tenon_program program{};
  program.struct_size = sizeof(program);
  program.num_slots = static_cast<uint32_t>(slots.size());
  program.slot_size = sizeof(tenon_slot);
  program.num_ops = 1;
  program.op_size = sizeof(tenon_op);
  program.num_groups = static_cast<uint32_t>(groups.size());
  program.group_size = sizeof(tenon_cache_group);
  program.num_results = 1;
  program.logits = TENON_NO_SLOT;
  program.max_tokens = max_tokens();
  program.max_outputs = 1;
  program.position_parts = 1;
  program.slots = slots.data();
  program.ops = &op;
  program.groups = groups.data();
  program.results = &result;
  return program;
}

std::span<const FamilyTest> family_tests() noexcept { return kFamilyTests; }

bool serves(const FamilyTest& test, const tenon_program& program) {
  const Strided<tenon_op> ops = ops_of(program);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (test.serves(program, ops[i])) return true;
  }
  return false;
}

uint32_t SelfTestNumbers::next() noexcept {
  const uint64_t old = state_;
  state_ = old * 6364136223846793005u + 1442695040888963407u;
  const auto shifted = static_cast<uint32_t>(((old >> 18) ^ old) >> 27);
  const auto turn = static_cast<uint32_t>(old >> 59);
  return shifted >> turn | shifted << (-turn & 31);
}

int32_t SelfTestNumbers::whole(int32_t most) noexcept {
  return static_cast<int32_t>(next() % (2 * static_cast<uint32_t>(most) + 1)) - most;
}

float SelfTestNumbers::real() noexcept { return static_cast<float>(next() >> 8) * 0x1p-23F - 1; }

}  // namespace tenon::gpu
