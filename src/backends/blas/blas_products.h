// Products of rows with weights by the library, in f32: linear, linear_heads, moe_linear. Weights of other
// formats are decoded a panel of rows at a time.
#pragma once

#include <cstdint>

#include "backends/blas/blas_library.h"
#include "backends/common/plain/plain_table.h"

namespace tenon::blas {

/// What this backend computes with.
struct Single {
  using Real = float;
  BlasLibrary library;

  /// out [rows, columns] = x [rows, depth] times the transpose of w [columns, depth], each with its
  /// distance from one row to the next. depth, columns and distances below 2^31.
  void multiply_transposed(uint64_t rows, uint64_t columns, uint64_t depth, const float* x,
                           uint64_t x_distance, const float* w, float* out,
                           uint64_t out_distance) const noexcept;
  /// out [rows, columns] += x [rows, depth] times w [depth, columns], as above; out and w without gaps.
  void add_product(uint64_t rows, uint64_t columns, uint64_t depth, const float* x,
                   uint64_t x_distance, const float* w, float* out) const noexcept;
};

/// The most columns that a product may have: cblas counts with 32 bits.
inline constexpr uint64_t kMaxColumns = INT32_MAX;

using plain::Operation;
using plain::OpShape;
using plain::StepRun;

bool fits_linear(const OpShape& shape) noexcept;
bool fits_linear_heads(const OpShape& shape) noexcept;
bool fits_moe_linear(const OpShape& shape) noexcept;
bool fits_attention(const OpShape& shape) noexcept;

void run_linear(StepRun<Single>& step, const tenon_op& op);
void run_linear_heads(StepRun<Single>& step, const tenon_op& op);
void run_moe_linear(StepRun<Single>& step, const tenon_op& op);
void run_attention(StepRun<Single>& step, const tenon_op& op);

}  // namespace tenon::blas
