// Operations on single rows that take more than a kernel: the cases of PhaseRunner::run_op.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/common/ngram_hash.h"
#include "backends/cpu/phases/phase_runner.h"

namespace tenon::cpu {
namespace {

float one_sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

/// y += factor x
void add_scaled(const float* x, float factor, float* y, uint64_t n) {
  for (uint64_t c = 0; c < n; ++c) y[c] += factor * x[c];
}

/// Divides each of `size` lines, `stride` apart, by its sum and epsilon; `step` from value to value.
void divide_lines(float* matrix, uint32_t size, uint32_t stride, uint32_t step, float epsilon) {
  for (uint32_t line = 0; line < size; ++line) {
    float* values = matrix + line * stride;
    float sum = epsilon;
    for (uint32_t k = 0; k < size; ++k) sum += values[k * step];
    for (uint32_t k = 0; k < size; ++k) values[k * step] /= sum;
  }
}

}  // namespace

/// The segments of n columns.
void PhaseRunner::norm(const tenon_op& op, const float* x, float* y, uint64_t n) noexcept {
  const tenon_norm_params& p = op.params.norm;
  for (uint64_t c = 0; c < n; c += p.segment) {
    switch (op.kind) {
      case TENON_OP_RMS_NORM:
        k_.rms_norm(x + c, vector(op.inputs[1]), p.epsilon, y + c, p.segment);
        break;
      case TENON_OP_LAYER_NORM:
        k_.layer_norm(x + c, vector(op.inputs[1]), vector(op.inputs[2]), p.epsilon, y + c,
                      p.segment);
        break;
      default:
        k_.l2_norm(x + c, p.epsilon, y + c, p.segment);
        break;
    }
  }
}

void PhaseRunner::angles(const tenon_op& op, uint64_t row, float* out) noexcept {
  const std::span<const double> frequencies = x_.program_.constant(op.inputs[0]);
  const bool by_parts = op.inputs[1] != TENON_NO_SLOT;
  const double magnitude = op.params.rope_angles.magnitude;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double part = by_parts ? x_.program_.constant(op.inputs[1])[i] : 0;
    const double at = position(row, static_cast<uint32_t>(part));
    const double angle = (at + op.params.rope_angles.offset) * frequencies[i];
    out[i] = static_cast<float>(std::cos(angle) * magnitude);
    out[frequencies.size() + i] = static_cast<float>(std::sin(angle) * magnitude);
  }
}

/// The heads of n columns of row `row`; x may be y.
void PhaseRunner::rope_heads(const tenon_op& op, const float* x, uint64_t row, float* y,
                             uint64_t n) noexcept {
  const tenon_rope_params& p = op.params.rope;
  const auto pairs = static_cast<uint32_t>(columns(op.inputs[1]) / 2);
  for (uint64_t c = 0; c < n; c += p.head_dim) {
    if (x != y) std::copy_n(x + c, p.offset, y + c);
    k_.rope(p.style, x + c + p.offset, f32_row(op.inputs[1], row), pairs, y + c + p.offset,
            p.head_dim - p.offset);
  }
}

void PhaseRunner::multiply_row(const tenon_op& op, uint64_t row, float* out, uint64_t n) noexcept {
  const float* x = f32_row(op.inputs[0], row);
  const float* y = operand(op.inputs[1], row);
  const uint64_t segments = columns(op.inputs[1]);
  if (segments == n) return k_.mul(x, y, out, n);
  const uint64_t width = n / segments;
  for (uint64_t j = 0; j < segments; ++j) k_.scale(x + j * width, y[j], out + j * width, width);
}

void PhaseRunner::gate_row(const tenon_op& op, uint64_t row, float* out, uint64_t n) noexcept {
  const float* x = f32_row(op.inputs[0], row);
  const float* gate = f32_row(op.inputs[1], row);
  const uint64_t segments = columns(op.inputs[1]);
  if (segments == n && n > 1) return k_.gate(x, gate, out, n);
  const uint64_t width = n / segments;
  for (uint64_t j = 0; j < segments; ++j) {
    k_.scale(x + j * width, one_sigmoid(gate[j]), out + j * width, width);
  }
}

void PhaseRunner::sum_segments(const tenon_op& op, uint64_t row, float* out, uint64_t n) noexcept {
  const uint64_t size = op.params.segments.size;
  const float* x = f32_row(op.inputs[0], row);
  for (uint64_t j = 0; j < n; ++j) out[j] = k_.sum(x + j * size, size);
}

void PhaseRunner::softmax(const tenon_segments_params& p, const float* x, float* out,
                          uint64_t n) noexcept {
  for (uint64_t first = 0; first < n; first += p.size) {
    const float largest = *std::max_element(x + first, x + first + p.size);
    float sum = 0.0f;
    for (uint64_t i = first; i < first + p.size; ++i) sum += out[i] = std::exp(x[i] - largest);
    for (uint64_t i = first; i < first + p.size; ++i) out[i] /= sum;
  }
}

void PhaseRunner::ngram_rows(const tenon_op& op, uint64_t row, float* out) noexcept {
  const tenon_step& step = *x_.state_.step;
  const uint32_t sequence = x_.state_.token_sequence[row];
  const auto place = static_cast<uint32_t>(row - sequences_of(step)[sequence].first_token);
  const auto hashes = backends::ngram_hashes(step, x_.program_.view().token_history, sequence,
                                             place, backends::ngram_numbers(x_.program_, op));
  const std::span<const int64_t> heads = x_.program_.integers(op.inputs[2]);
  const PackedWeight& table = x_.weights_[op.inputs[0]].matrix;
  for (uint64_t head = 0; head < heads.size() / backends::kNgramHeadNumbers; ++head) {
    const auto number = backends::ngram_row(backends::ngram_head(heads, head), hashes);
    unpack_row(table, number, out + head * table.depth);
  }
}

void PhaseRunner::slice(const tenon_op& op, uint64_t row, float* out) noexcept {
  const tenon_slice_params& p = op.params.slice;
  const float* x = f32_row(op.inputs[0], row);
  const uint64_t segments = columns(op.inputs[0]) / p.segment;
  for (uint64_t j = 0; j < segments; ++j) {
    std::memcpy(out + j * p.columns, x + j * p.segment + p.first, p.columns * sizeof(float));
  }
}

void PhaseRunner::concat(const tenon_op& op, uint64_t row, float* out) noexcept {
  const tenon_concat_params& p = op.params.concat;
  const float* x = f32_row(op.inputs[0], row);
  const float* y = f32_row(op.inputs[1], row);
  const uint64_t a = columns(op.inputs[0]) / p.segments;
  const uint64_t b = columns(op.inputs[1]) / (p.broadcast == 1 ? 1 : p.segments);
  for (uint64_t j = 0; j < p.segments; ++j) {
    float* segment = out + j * (a + b);
    std::memcpy(segment, x + j * a, a * sizeof(float));
    std::memcpy(segment + a, y + (p.broadcast == 1 ? 0 : j * b), b * sizeof(float));
  }
}

void PhaseRunner::scale_by_position(const tenon_op& op, uint64_t row, float* out,
                                    uint64_t n) noexcept {
  const tenon_position_scale_params& p = op.params.position_scale;
  const double lengths = std::floor((1.0 * p.offset + position(row)) / p.length);
  const double factor = 1 + double{p.scale} * std::log(lengths + 1);
  k_.scale(f32_row(op.inputs[0], row), static_cast<float>(factor), out, n);
}

/// x may be y.
void PhaseRunner::scale(const tenon_op& op, const float* x, float* y, uint64_t n) noexcept {
  const auto& p = op.params.scale;
  k_.scale(x, p.factor, y, n);
  if (p.offset == 0.0f) return;
  for (uint64_t c = 0; c < n; ++c) y[c] += p.offset;
}

void PhaseRunner::mix_streams(const tenon_op& op, uint64_t row, float* out) noexcept {
  const uint32_t streams = op.params.mix_streams.streams;
  const uint32_t results = op.params.mix_streams.results;
  const uint64_t width = columns(op.inputs[0]) / streams;
  const float* x = f32_row(op.inputs[0], row);
  const float* matrix = op.inputs[1] == TENON_NO_SLOT ? nullptr : f32_row(op.inputs[1], row);
  for (uint32_t i = 0; i < results; ++i) {
    float* y = out + i * width;
    if (matrix == nullptr && results == streams) {
      std::copy_n(x + i * width, width, y);
    } else {
      k_.scale(x, matrix == nullptr ? 1.0f : matrix[i], y, width);
      for (uint32_t j = 1; j < streams; ++j) {
        add_scaled(x + j * width, matrix == nullptr ? 1.0f : matrix[j * results + i], y, width);
      }
    }
    if (op.inputs[2] == TENON_NO_SLOT) continue;
    add_scaled(f32_row(op.inputs[2], row), f32_row(op.inputs[3], row)[i], y, width);
  }
}

void PhaseRunner::sinkhorn(const tenon_sinkhorn_params& p, const float* x, float* out) noexcept {
  const uint32_t size = p.size;
  for (uint32_t i = 0; i < size; ++i) {
    const float* logits = x + i * size;
    float* y = out + i * size;
    const float largest = *std::max_element(logits, logits + size);
    float sum = 0.0f;
    for (uint32_t j = 0; j < size; ++j) sum += y[j] = std::exp(logits[j] - largest);
    for (uint32_t j = 0; j < size; ++j) y[j] = y[j] / sum + p.epsilon;
  }
  divide_lines(out, size, 1, size, p.epsilon);
  for (uint32_t i = 1; i < p.iterations; ++i) {
    divide_lines(out, size, size, 1, p.epsilon);
    divide_lines(out, size, 1, size, p.epsilon);
  }
}

/// One sequence; zeros where the step has no token of it.
void PhaseRunner::pool(const tenon_op& op, uint64_t sequence, float* out, uint64_t n) noexcept {
  const tenon_step_sequence& from = sequences_of(*x_.state_.step)[static_cast<uint32_t>(sequence)];
  std::fill_n(out, n, 0.0f);
  if (from.num_tokens == 0) return;
  const uint64_t last = uint64_t{from.first_token} + from.num_tokens - 1;
  switch (op.params.pool.kind) {
    case TENON_POOL_MEAN:
      for (uint64_t t = from.first_token; t <= last; ++t) {
        k_.add(out, f32_row(op.inputs[0], t), out, n);
      }
      k_.scale(out, 1.0f / static_cast<float>(from.num_tokens), out, n);
      break;
    case TENON_POOL_FIRST:
      std::copy_n(f32_row(op.inputs[0], from.first_token), n, out);
      break;
    default:
      std::copy_n(f32_row(op.inputs[0], last), n, out);
      break;
  }
}

}  // namespace tenon::cpu
