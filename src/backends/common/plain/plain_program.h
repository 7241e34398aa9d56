// A program with its weights and activation memory, kept across steps. Weights stay in the blocks
// of their formats.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "abi/cache_rows.h"
#include "abi/failure.h"
#include "abi/host_memory.h"
#include "abi/program_copy.h"
#include "abi/sizes.h"
#include "abi/step_rules.h"
#include "backends/common/plain/plain_cache.h"
#include "backends/common/plain/plain_table.h"
#include "quant/formats.h"
#include "tenon/backend.h"

namespace tenon::plain {

using backends::HostMemory;

/// Bytes of a cache block: [layers, rows_of_block, heads x (key_dim + value_dim)] elements; of a
/// state, [layers, state_values] f32.
inline uint64_t cache_block_bytes(const tenon_cache_group& group) {
  using backends::multiply;
  if (group.kind == TENON_CACHE_STATE) {
    const uint64_t values = multiply(group.layers, group.state_values, "cache block");
    return multiply(values, sizeof(float), "cache block");
  }
  const uint64_t key = cache_head_bytes(group.type, group.key_dim);
  const uint64_t value =
      group.kind == TENON_CACHE_LATENT ? 0 : cache_head_bytes(group.type, group.value_dim);
  const uint64_t head = key + value;
  const uint64_t rows = multiply(group.layers, backends::rows_of_block(group), "cache block");
  return multiply(multiply(group.kv_heads, head, "cache block"), rows, "cache block");
}

template <typename Math>
class LoadedProgram {
 public:
  using Real = typename Math::Real;

  /// Copies the program. Throws UNSUPPORTED that names an operation that the table lacks. The
  /// table's lists must outlive the object.
  LoadedProgram(const tenon_host* host, const tenon_program& program,
                const OperationTable<Math>& operations)
      : host_(host), program_(program), operations_(operations) {
    check_operations();
    for (uint32_t i = 0; i < program.num_groups; ++i)
      block_bytes_.push_back(cache_block_bytes(group(i)));
    weights_.resize(num_slots());
    row_bytes_.assign(num_slots(), 0);
    offsets_.assign(num_slots(), 0);
    rows_loaded_ = std::make_unique<std::atomic<uint64_t>[]>(num_slots());
    for (uint32_t i = 0; i < num_slots(); ++i) {
      if (slot(i).kind == TENON_SLOT_WEIGHT) allocate_weight(i);
    }
    place_activations();
  }

  [[nodiscard]] const tenon_host* host() const { return host_; }
  [[nodiscard]] const OperationTable<Math>& operations() const { return operations_; }
  [[nodiscard]] const backends::ProgramCopy& copy() const { return program_; }
  [[nodiscard]] const tenon_program& view() const { return program_.view(); }
  [[nodiscard]] const tenon_slot& slot(uint32_t slot) const { return program_.slots()[slot]; }
  [[nodiscard]] uint32_t num_slots() const { return view().num_slots; }
  [[nodiscard]] const tenon_cache_group& group(uint32_t group) const {
    return program_.groups()[group];
  }

  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  [[nodiscard]] std::span<const uint64_t> block_bytes() const { return block_bytes_; }

  /// Copies blocks of weight rows; disjoint rows may be loaded in parallel.
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes) {
    if (slot >= num_slots() || this->slot(slot).kind != TENON_SLOT_WEIGHT) {
      backends::refuse(TENON_BACKEND_ARGUMENT, "slot {} is no weight", slot);
    }
    const tenon_slot& info = this->slot(slot);
    if (first_row > info.rows || num_rows > info.rows - first_row) {
      backends::refuse(TENON_BACKEND_ARGUMENT, "weight \"{}\": {} rows from {} of {}", info.name,
                       num_rows, first_row, info.rows);
    }
    if (size_bytes != num_rows * row_bytes_[slot] || (size_bytes > 0 && blocks == nullptr)) {
      backends::refuse(TENON_BACKEND_ARGUMENT, "weight \"{}\": {} bytes for {} rows of {}",
                       info.name, size_bytes, num_rows, row_bytes_[slot]);
    }
    if (size_bytes == 0) return;
    std::memcpy(weights_[slot].data() + first_row * row_bytes_[slot], blocks, size_bytes);
    rows_loaded_[slot].fetch_add(num_rows, std::memory_order_relaxed);
  }

  /// Throws STATE that names the first weight with missing rows.
  void check_loaded() const {
    for (uint32_t slot = 0; slot < num_slots(); ++slot) {
      const tenon_slot& info = this->slot(slot);
      if (info.kind != TENON_SLOT_WEIGHT) continue;
      const uint64_t loaded = rows_loaded_[slot].load(std::memory_order_relaxed);
      if (loaded >= info.rows) continue;
      backends::refuse(TENON_BACKEND_STATE, "weight \"{}\": {} of {} rows are loaded", info.name,
                       loaded, info.rows);
    }
  }

  /// Blocks of a weight from row `row` on.
  [[nodiscard]] const std::byte* weight_blocks(uint32_t slot, uint64_t row) const {
    return weights_[slot].data() + row * row_bytes_[slot];
  }

  /// Decodes row `row` of a weight into out [columns].
  void weight_row(uint32_t slot_number, uint64_t row, Real* out) const noexcept {
    const tenon_slot& info = slot(slot_number);
    const FormatInfo& format = *find_format(info.type);
    const std::byte* blocks = weight_blocks(slot_number, row);
    if constexpr (std::is_same_v<Real, float>) {
      format.decode_row(blocks, out, info.columns);
    } else {
      constexpr uint64_t kPart = 256;  // whole blocks of every format
      float decoded[kPart];
      for (uint64_t first = 0; first < info.columns; first += kPart) {
        const uint64_t count = std::min(kPart, info.columns - first);
        const std::byte* part = blocks + first / format.block_values * format.block_bytes;
        format.decode_row(part, decoded, count);
        std::copy_n(decoded, count, out + first);
      }
    }
  }

  /// f32 values per layer of a state.
  [[nodiscard]] uint64_t state_layer_values(uint32_t group) const {
    return this->group(group).state_values;
  }

  /// True if the step binds the slot: an input or a result.
  [[nodiscard]] bool is_bound(uint32_t slot) const {
    return std::ranges::find(program_.bound(), slot) != program_.bound().end();
  }
  /// Start of an unbound activation.
  [[nodiscard]] Real* activation(uint32_t slot) const {
    return reinterpret_cast<Real*>(area_.data() + offsets_[slot]);
  }

  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const {
    uint64_t bytes = area_.purpose() == purpose ? area_.size() : 0;
    for (const HostMemory& weight : weights_) {
      if (weight.purpose() == purpose) bytes += weight.size();
    }
    return bytes;
  }

 private:
  static constexpr uint64_t kAlignment = 64;

  void check_operations() const {
    for (uint32_t i = 0; i < program_.ops().size(); ++i) {
      if (operations_.fits(view(), i)) continue;
      const Operation<Math>* operation = operations_.find(program_.ops()[i].kind);
      backends::refuse(TENON_BACKEND_UNSUPPORTED, "operation {} ({}) is not supported as given", i,
                       operation == nullptr ? "unknown" : operation->name);
    }
    for (const uint32_t result : program_.results()) {
      if (result < num_slots() && slot(result).kind == TENON_SLOT_ACTIVATION) continue;
      backends::refuse(TENON_BACKEND_ARGUMENT, "program: a result is no activation");
    }
  }

  void allocate_weight(uint32_t slot) {
    const tenon_slot& info = this->slot(slot);
    const FormatInfo* format = find_format(info.type);
    const auto bytes = format == nullptr ? std::nullopt : row_bytes(*format, info.columns);
    if (!bytes) {
      backends::refuse(TENON_BACKEND_UNSUPPORTED, "weight \"{}\" of type {} and {} columns",
                       info.name, info.type, info.columns);
    }
    row_bytes_[slot] = *bytes;
    weights_[slot] = HostMemory(host_, backends::multiply(*bytes, info.rows, info.name),
                                TENON_MEMORY_WEIGHTS, info.name);
  }

  // Scales the host's plan, made for f32, to the size of Real. Slots outside the plan follow it.
  void place_activations() {
    using backends::multiply;
    constexpr uint64_t kWider = sizeof(Real) / sizeof(float);
    uint64_t area = multiply(view().activation_bytes, kWider, "activations");
    const uint64_t planned = area;
    for (uint32_t i = 0; i < num_slots(); ++i) {
      const tenon_slot& info = slot(i);
      if (info.kind != TENON_SLOT_ACTIVATION || is_bound(i)) continue;
      const uint64_t values =
          multiply(backends::max_rows(view(), info.row_class), info.columns, info.name);
      const uint64_t bytes = multiply(values, sizeof(Real), info.name);
      const bool has_plan = info.plan_offset != TENON_NO_PLAN;
      offsets_[i] = has_plan ? multiply(info.plan_offset, kWider, info.name) : area;
      const uint64_t end = backends::add(offsets_[i], bytes, info.name);
      if (has_plan && (end > planned || offsets_[i] % alignof(Real) != 0)) {
        backends::refuse(TENON_BACKEND_ARGUMENT, "slot \"{}\" leaves the planned area", info.name);
      }
      if (!has_plan) {
        area = backends::add(end, kAlignment - 1, info.name) / kAlignment * kAlignment;
      }
    }
    area_ = HostMemory(host_, area, TENON_MEMORY_SCRATCH, "activations");
  }

  const tenon_host* host_;
  backends::ProgramCopy program_;
  OperationTable<Math> operations_;
  std::vector<uint64_t> block_bytes_;  ///< [groups]
  // By slot; empty or zero for slots of other kinds.
  std::vector<HostMemory> weights_;
  std::vector<uint64_t> row_bytes_;
  std::vector<uint64_t> offsets_;  ///< bytes from the start of area_
  std::unique_ptr<std::atomic<uint64_t>[]> rows_loaded_;
  HostMemory area_;
};

}  // namespace tenon::plain
