// Turns operations into stages: kernel, parameters, number of workgroups, and barriers. Knows
// addresses but no driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "abi/program_copy.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/gpu/hazards.h"
#include "backends/gpu/kernel_families.h"
#include "backends/gpu/kernel_key.h"
#include "backends/gpu/stage_parameters.h"
#include "backends/gpu/step_data.h"
#include "backends/gpu/work_memory.h"

namespace tenon::gpu {

/// A dispatch of [groups, rows of the class / rows_of_group] workgroups.
struct Stage {
  KernelKey kernel;
  Address parameters;
  uint32_t groups;
  uint32_t row_class;
  uint32_t rows_of_group;
  bool barrier;  ///< waits for all earlier stages
  /// Row counts outside this range skip the stage.
  uint32_t least_rows;
  uint32_t most_rows;
  /// Groups for the rows of a step; 0 skips the stage.
  [[nodiscard]] uint32_t row_groups(uint32_t rows) const {
    if (rows < least_rows || rows > most_rows) return 0;
    return (rows + rows_of_group - 1) / rows_of_group;
  }
};

/// Properties of the device that stages depend on.
struct StageLimits {
  uint32_t group_threads;
  uint32_t subgroup_size;
  uint32_t multiprocessors = 0;  ///< shares products with weights in units
  /// Rows of a weight and rows of x that a subgroup multiplies if x has many rows; 1: as with few.
  uint32_t linear_rows = 1;
  uint32_t linear_tokens = 1;
  Families families{};  ///< of kernels that may be used
};

/// Device memory written before the first step: parameters and constants. Assembled in host memory.
class ConstantImage {
 public:
  ConstantImage(Address address, uint64_t capacity) : address_(address), capacity_(capacity) {}

  /// Appends the bytes; returns their address, a multiple of 8.
  Address put(const void* bytes, uint64_t size);
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// Most bytes that the operations of a program need.
  static uint64_t most_bytes(const backends::ProgramCopy& program);

 private:
  Address address_;
  uint64_t capacity_;
  std::vector<std::byte> bytes_;
};

class StageBuilder {
 public:
  struct Addresses {
    Address step;      ///< header of the step
    Address grids;     ///< codebooks
    Address scratch;   ///< scratch_bytes()
    Address work = 0;  ///< WorkMemory::bytes
  };
  StageBuilder(const backends::ProgramCopy& copy, const StepData& data, const SlotPlaces& places,
               const StageLimits& device, const Addresses& memory, ConstantImage& image)
      : program(copy),
        step_data(data),
        limits(device),
        addresses(memory),
        work(copy, places, device.multiprocessors, device.families),
        places_(places),
        image_(image) {}

  /// Builds the stages of all operations, which must fit (stage_operations.h).
  std::vector<Stage> build();

  /// Scratch memory of the most demanding operation.
  static uint64_t scratch_bytes(const backends::ProgramCopy& copy);

  // Accessors for operations.

  const backends::ProgramCopy& program;
  const StepData& step_data;
  const StageLimits limits;
  const Addresses addresses;
  const WorkMemory work;
  uint32_t op_number = 0;

  [[nodiscard]] const tenon_slot& slot(uint32_t number) const { return program.slots()[number]; }
  [[nodiscard]] uint32_t columns(uint32_t number) const {
    return static_cast<uint32_t>(slot(number).columns);
  }
  /// Address of a slot; 0 if absent.
  [[nodiscard]] Address address(uint32_t number) const {
    return number == TENON_NO_SLOT ? 0 : places_.addresses[number];
  }
  [[nodiscard]] uint64_t row_bytes(uint32_t weight) const { return places_.row_bytes[weight]; }
  [[nodiscard]] bool is_in_units(uint32_t weight) const { return places_.in_units[weight] != 0; }
  /// Row factors of a weight in units.
  [[nodiscard]] Address row_factors(uint32_t weight) const { return places_.row_factors[weight]; }
  /// Notes that an activation's rows are packed for products; returns true if they were already.
  /// Slots are written once.
  [[nodiscard]] bool is_packed(uint32_t x) { return std::exchange(packed_, x) == x; }
  [[nodiscard]] const tenon_cache_group& group(uint32_t number) const {
    return program.groups()[number];
  }
  [[nodiscard]] CacheLayer cache(uint32_t number, uint32_t layer) const;
  [[nodiscard]] StateLayer state(const tenon_state_params& params) const;
  Address constant(const void* bytes, uint64_t size) { return image_.put(bytes, size); }

  /// Constants 1 .. 3 of kernels that read a matrix.
  struct Decoder {
    uint32_t format, block_values, block_words;
    /// Variant of a matrix kernel.
    [[nodiscard]] Kernel kernel(Kernel floats) const {
      return for_format(floats, static_cast<Format>(format));
    }
  };
  [[nodiscard]] Decoder decoder(uint32_t weight) const;

  /// Number of workgroups for `items`, with a thread, a subgroup, or a workgroup per item. If they
  /// are too many, kernels loop over several items.
  [[nodiscard]] uint32_t by_threads(uint64_t items) const;
  [[nodiscard]] uint32_t by_subgroups(uint64_t items) const;
  [[nodiscard]] static uint32_t by_groups(uint64_t items);

  struct Grid {
    uint32_t groups = 1;
    uint32_t row_class = TENON_ROWS_TOKENS;
    uint32_t rows_of_group = 1;
    uint32_t threads = 0;  ///< per group; 0: the device's preference
    uint32_t least_rows = 0;
    uint32_t most_rows = UINT32_MAX;
  };
  /// Adds a stage of the operation.
  ///   constants  of the kernel, from 1 on
  template <typename Parameters>
  void add(Kernel kernel, std::initializer_list<uint32_t> constants, const Parameters& parameters,
           const Grid& grid) {
    add_stage(kernel, constants, image_.put(&parameters, sizeof(parameters)), grid);
  }

 private:
  void add_stage(Kernel kernel, std::initializer_list<uint32_t> constants, Address parameters,
                 const Grid& grid);

  const SlotPlaces& places_;
  ConstantImage& image_;
  /// True if steps run this stage instead of the one before.
  [[nodiscard]] bool is_alternative(const Grid& grid) const;

  Hazards hazards_;
  std::vector<Stage> stages_;
  uint32_t op_of_last_ = UINT32_MAX;  ///< of the last stage
  uint32_t packed_ = TENON_NO_SLOT;   ///< activation whose rows are packed
};

}  // namespace tenon::gpu
