// Products of rows and weights by the library, in f32: linear, linear_heads, moe_linear. Weights of
// other formats are decoded panel by panel.
#pragma once

#include <cstdint>

#include "backends/blas/blas_library.h"
#include "backends/common/plain/plain_table.h"

namespace tenon::blas {

/// Arithmetic of this backend.
struct Single {
  using Real = float;
  BlasLibrary library;

  /// out [rows, columns] = x [rows, depth] w^T, w [columns, depth]; x and out with a distance
  /// between rows, in elements. depth, columns and distances are below 2^31.
  void multiply_transposed(uint64_t rows, uint64_t columns, uint64_t depth, const float* x,
                           uint64_t x_distance, const float* w, float* out,
                           uint64_t out_distance) const noexcept;
  /// out [rows, columns] += x [rows, depth] w [depth, columns]; out and w are contiguous.
  void add_product(uint64_t rows, uint64_t columns, uint64_t depth, const float* x,
                   uint64_t x_distance, const float* w, float* out) const noexcept;
};

/// Most columns of a product: cblas counts with 32 bits.
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
