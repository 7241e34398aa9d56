// pack_rows: a group per row of x, converted to f16 in core matrices of 8 rows by 8 columns, 16
// bytes per row (PTX ISA, ldmatrix; wgmma without swizzle). A thread packs 32 columns at a time and
// stores their sum.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_mma.h"
#include "backends/cuda/kernels/gpu_dialect.h"

namespace tenon::cuda {

struct PackRows {
  gpu::PackRowsStage stage;
  Constants constants;
#include "backends/gpu/kernels/reduce.inl"

  static constexpr uint kColumns = 32;
  static constexpr uint kUnitColumns = 256, kQuarterColumns = 64;

  // 2^n that brings the largest value to [2^14, 2^15); 1 for a row of zeros or with a non-finite
  // value. n is at most 126, so 2^-n is not denormal.
  TENON_DEVICE static float scale_of(float largest) {
    const uint exponent = float_to_bits(largest) >> 23;
    if (largest == 0 || exponent == 255) return 1;
    const uint wanted = 127 + 14;
    const uint n_biased = smaller(wanted + 127 - exponent, 253u);
    return bits_to_float(n_biased << 23);
  }

  TENON_DEVICE uint half_of(uint row, uint column, float scale) const {
    const bool is_there = column < stage.columns;
    const Address at = Address(row) * stage.columns + column;
    return is_there ? float_to_half(Floats(stage.x).at[at] * scale) : 0;
  }

  // Packs columns [32 group, 32 group + 32) of the row: a row of each of four core matrices.
  TENON_DEVICE void pack_group(uint row, uint group, float scale) {
    const uint units = (stage.columns + kUnitColumns - 1) / kUnitColumns;
    const uint quarters = units * (kUnitColumns / kQuarterColumns);
    const uint quarter = group * kColumns / kQuarterColumns;
    const uint load = group % 2;
    const uint of_tile = row % gpu::kRowUnitRows;
    const Address to = stage.units + (Address(row / gpu::kRowUnitRows) * quarters + quarter) *
                                         gpu::kRowQuarterBytes;
    Array<Words4> rows(to + load * (gpu::kRowFragmentBytes / 2));
    float sum = 0;
    for (uint matrix = 0; matrix < 4; ++matrix) {
      Words4 words;
      TENON_UNROLL
      for (uint i = 0; i < 4; ++i) {
        const uint column = group * kColumns + 8 * matrix + 2 * i;
        const uint low = half_of(row, column, scale);
        const uint high = half_of(row, column + 1, scale);
        words.at[i] = low | high << 16;
        sum += half_to_float(low) + half_to_float(high);
      }
      rows.at[matrix * gpu::kRowUnitRows + of_tile] = words;
    }
    Floats(to + gpu::kRowFragmentBytes).at[load * gpu::kRowUnitRows + of_tile] = sum;
  }

  TENON_DEVICE void run() {
    const uint row = group_y();
    float largest = 0;
    for (uint i = thread_number(); i < stage.columns; i += num_threads()) {
      const float x = absolute(Floats(stage.x).at[Address(row) * stage.columns + i]);
      largest = larger(largest, is_nan(x) ? infinity() : x);
    }
    largest = group_max(largest);
    const float scale = scale_of(largest);
    if (thread_number() == 0) Floats(stage.factors).at[row] = 1 / scale;
    const uint units = (stage.columns + kUnitColumns - 1) / kUnitColumns;
    for (uint group = thread_number(); group < units * kUnitColumns / kColumns;
         group += num_threads()) {
      pack_group(row, group, scale);
    }
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(pack_rows, true, tenon::cuda::PackRows)
