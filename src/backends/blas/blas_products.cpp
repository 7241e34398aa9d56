#include "backends/blas/blas_products.h"

#include <algorithm>
#include <vector>

#include "backends/common/plain/plain_linear.h"
#include "backends/common/plain/plain_moe.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::blas {
namespace {

/// Most rows of x per call: cblas counts with 32 bits.
constexpr uint64_t kMaxRows = uint64_t{1} << 30;

int count(uint64_t value) { return static_cast<int>(value); }

bool are_narrow(const OpShape& shape) noexcept {
  const auto narrow = [](const tenon_slot* slot) {
    return slot == nullptr || slot->columns <= kMaxColumns;
  };
  return std::ranges::all_of(shape.inputs, narrow) && std::ranges::all_of(shape.outputs, narrow);
}

/// Splits a weight's rows into panels, which a thread decodes and multiplies at once. Panels do not
/// depend on the number of threads, which thus changes no bit.
struct Panels {
  /// Panels per matrix: the library copies x per panel, so smaller panels cost time and larger ones
  /// leave threads idle.
  static constexpr uint64_t kShares = 8;
  static constexpr uint64_t kMostRows = 512;
  static constexpr uint64_t kMostBytes = uint64_t{8} << 20;  // decoded
  /// With one row of x, the panel should fit in a core's own cache.
  static constexpr uint64_t kMostBytesForOneRow = uint64_t{128} << 10;
  static constexpr uint64_t kLeastRows = 16;  // libraries compute no fewer at once

  ///   x_rows    most rows of x to multiply with
  ///   matrices  number of matrices, of `matrix_rows` rows each
  Panels(const StepRun<Single>& step, uint32_t weight_slot, uint64_t matrix_rows, uint64_t matrices,
         uint64_t x_rows)
      : slot(weight_slot),
        info(step.slot(weight_slot)),
        is_decoded(info.type != TENON_TYPE_F32),
        num_rows(matrix_rows) {
    const uint64_t bytes = x_rows == 1 ? kMostBytesForOneRow : kMostBytes;
    const uint64_t fitting = is_decoded ? bytes / (info.columns * sizeof(float)) : kMostRows;
    const uint64_t share = (num_rows * matrices + kShares - 1) / kShares;
    size = std::clamp<uint64_t>(std::min(fitting, share), kLeastRows, kMostRows);
    per_matrix = (num_rows + size - 1) / size;
  }

  [[nodiscard]] uint64_t first(uint64_t panel) const { return panel * size; }
  [[nodiscard]] uint64_t rows(uint64_t panel) const {
    return std::min(size, num_rows - first(panel));
  }
  /// Values in a decoded panel.
  [[nodiscard]] uint64_t room() const { return is_decoded ? size * info.columns : 0; }

  /// Rows [row, row + count) of the weight as f32; decodes to `values` if necessary.
  const float* decode(const StepRun<Single>& step, uint64_t row, uint64_t count,
                      float* values) const noexcept {
    const std::byte* blocks = step.weight_blocks(slot, row);
    if (!is_decoded) return reinterpret_cast<const float*>(blocks);
    find_format(info.type)->decode_row(blocks, values, count * info.columns);
    return values;
  }

  uint32_t slot;
  const tenon_slot& info;
  bool is_decoded;
  uint64_t num_rows;  ///< per matrix
  uint64_t size = 0;  ///< per panel
  uint64_t per_matrix = 0;
};

}  // namespace

void Single::multiply_transposed(uint64_t rows, uint64_t columns, uint64_t depth, const float* x,
                                 uint64_t x_distance, const float* w, float* out,
                                 uint64_t out_distance) const noexcept {
  if (rows == 1) {
    library.sgemv(CblasRowMajor, CblasNoTrans, count(columns), count(depth), 1, w, count(depth), x,
                  1, 0, out, 1);
    return;
  }
  for (uint64_t first = 0; first < rows; first += kMaxRows) {
    library.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count(std::min(kMaxRows, rows - first)),
                  count(columns), count(depth), 1, x + first * x_distance, count(x_distance), w,
                  count(depth), 0, out + first * out_distance, count(out_distance));
  }
}

void Single::add_product(uint64_t rows, uint64_t columns, uint64_t depth, const float* x,
                         uint64_t x_distance, const float* w, float* out) const noexcept {
  for (uint64_t first = 0; first < rows; first += kMaxRows) {
    library.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans,
                  count(std::min(kMaxRows, rows - first)), count(columns), count(depth), 1,
                  x + first * x_distance, count(x_distance), w, count(columns), 1,
                  out + first * columns, count(columns));
  }
}

bool fits_linear(const OpShape& shape) noexcept {
  return plain::fits_linear(shape) && are_narrow(shape);
}

bool fits_linear_heads(const OpShape& shape) noexcept {
  return plain::fits_linear_heads(shape) && are_narrow(shape);
}

bool fits_moe_linear(const OpShape& shape) noexcept {
  return plain::fits_moe_linear(shape) && are_narrow(shape);
}

void run_linear(StepRun<Single>& step, const tenon_op& op) {
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const auto t = static_cast<uint64_t>(in.rows());
  const auto columns = static_cast<uint64_t>(out.cols());
  if (t == 0) return;
  const auto bias = step.weight_vector(op.inputs[2]);
  const Panels panels(step, op.inputs[1], columns, 1, t);
  step.for_each(panels.per_matrix, panels.room(), [&](uint64_t p, float* values) noexcept {
    const uint64_t first = panels.first(p);
    const uint64_t n = panels.rows(p);
    const float* weight = panels.decode(step, first, n, values);
    step.math().multiply_transposed(t, n, panels.info.columns, in.data(), panels.info.columns,
                                    weight, out.data() + first, columns);
    if (bias.empty()) return;
    for (uint64_t row = 0; row < t; ++row) {
      float* y = out.data() + row * columns;
      for (uint64_t i = first; i < first + n; ++i) y[i] += bias[i];
    }
  });
}

void run_linear_heads(StepRun<Single>& step, const tenon_op& op) {
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const auto t = static_cast<uint64_t>(in.rows());
  if (t == 0) return;
  const uint64_t heads = op.params.linear_heads.heads;
  const auto columns = static_cast<uint64_t>(out.cols());
  const Panels panels(step, op.inputs[1], columns / heads, heads, t);
  const uint64_t depth = panels.info.columns;
  step.for_each(heads * panels.per_matrix, panels.room(), [&](uint64_t i, float* values) noexcept {
    const uint64_t head = i / panels.per_matrix;
    const uint64_t panel = i % panels.per_matrix;
    const uint64_t first = head * panels.num_rows + panels.first(panel);
    const uint64_t n = panels.rows(panel);
    const float* weight = panels.decode(step, first, n, values);
    step.math().multiply_transposed(t, n, depth, in.data() + head * depth, heads * depth, weight,
                                    out.data() + first, columns);
  });
}

void run_moe_linear(StepRun<Single>& step, const tenon_op& op) {
  plain::ExpertProducts<Single> products(step, op);
  const uint64_t depth = products.depth();
  // Gathers the rows of each expert: x [choices of all experts, depth].
  std::vector<uint64_t> first_row;
  uint64_t num_rows = 0;
  uint64_t most = 0;
  for (uint64_t expert = 0; expert < products.num_experts(); ++expert) {
    first_row.push_back(num_rows);
    num_rows += products.choices(expert).size();
    most = std::max<uint64_t>(most, products.choices(expert).size());
  }
  if (num_rows == 0) return;
  float* x = step.shared_values(backends::multiply(num_rows, depth, "rows of experts"));
  step.for_each(products.num_experts(), 0, [&](uint64_t expert, float*) noexcept {
    float* to = x + first_row[expert] * depth;
    for (const plain::Choice& choice : products.choices(expert)) {
      to = std::copy_n(products.input(choice), depth, to);
    }
  });
  // Assigns threads the same columns of all experts, because their results may be added up.
  const Panels panels(step, op.inputs[2], products.rows(), 1, most);
  const uint64_t room = backends::multiply(most, panels.size, "products of experts");
  step.for_each(panels.per_matrix, panels.room() + room, [&](uint64_t p, float* values) noexcept {
    float* results = values + panels.room();
    const uint64_t first = panels.first(p);
    const uint64_t n = panels.rows(p);
    for (uint64_t expert = 0; expert < products.num_experts(); ++expert) {
      const auto choices = products.choices(expert);
      if (choices.empty()) continue;
      const float* weight = panels.decode(step, expert * products.rows() + first, n, values);
      step.math().multiply_transposed(choices.size(), n, depth, x + first_row[expert] * depth,
                                      depth, weight, results, n);
      for (size_t c = 0; c < choices.size(); ++c) {
        for (uint64_t i = 0; i < n; ++i) {
          products.put(choices[c], expert, first + i, results[c * n + i]);
        }
      }
    }
  });
}

}  // namespace tenon::blas
