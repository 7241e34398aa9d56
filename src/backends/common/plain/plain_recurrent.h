// Recurrent operations. The state is rounded to f32 after each token, and so are the kept rows of
// token_shift and conv, so that step boundaries change no bit.
#pragma once

#include <cmath>
#include <vector>

#include "abi/recurrence.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

using backends::StateShape;

/// A sequence of the step and its state, in the block that it writes.
struct Recurrence {
  Eigen::Index first_token;
  Eigen::Index num_tokens;
  float* state;
};

template <typename Math>
StepVector<Recurrence> begin_recurrences(const StepRun<Math>& step, const tenon_state_params& state,
                                         uint64_t num_values) {
  StepVector<Recurrence> all(step.lists());
  const Strided<tenon_step_sequence> sequences = sequences_of(step.step());
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    if (sequence.num_tokens == 0) continue;
    all.push_back(
        {sequence.first_token, sequence.num_tokens, step.begin_state(sequence, state, num_values)});
  }
  return all;
}

/// Calls body(t, head, state of the head, scratch) for the tokens of each sequence, in order.
template <typename Math, typename Body>
void for_each_head(StepRun<Math>& step, const tenon_state_params& state, const StateShape& shape,
                   uint64_t num_scratch, const Body& body) {
  const StepVector<Recurrence> all = begin_recurrences(step, state, shape.values());
  step.for_each(all.size() * shape.heads, num_scratch, [&](uint64_t i, auto* scratch) noexcept {
    const Recurrence& sequence = all[i / shape.heads];
    const uint64_t head = i % shape.heads;
    float* values = sequence.state + head * shape.head_values();
    for (Eigen::Index t = 0; t < sequence.num_tokens; ++t) {
      body(sequence.first_token + t, head, values, scratch);
    }
  });
}

/// True if inputs [first, first + count) are activations [T, columns].
inline bool are_rows(const OpShape& shape, uint32_t first, uint32_t count,
                     uint64_t columns) noexcept {
  for (uint32_t i = first; i < first + count; ++i) {
    if (!is_activation(shape.inputs[i], TENON_ROWS_TOKENS) || shape.inputs[i]->columns != columns) {
      return false;
    }
  }
  return true;
}

inline bool has_state(const OpShape& shape, uint64_t num_values) noexcept {
  const uint64_t offset = shape.op->params.state.offset;
  return offset <= shape.group->state_values && num_values <= shape.group->state_values - offset;
}

/// True if input `number` is an activation [T, heads x any].
inline bool has_heads(const OpShape& shape, uint32_t number, uint32_t heads) noexcept {
  const tenon_slot* slot = shape.inputs[number];
  return is_activation(slot, TENON_ROWS_TOKENS) && heads > 0 && slot->columns % heads == 0;
}

inline bool fits_token_shift(const OpShape& shape) noexcept {
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         same_shape(shape.inputs[0], shape.outputs[0]) &&
         has_state(shape, shape.inputs[0]->columns);
}

inline bool fits_conv(const OpShape& shape) noexcept {
  const tenon_slot* x = shape.inputs[0];
  const tenon_slot* weight = shape.inputs[1];
  return is_activation(x, TENON_ROWS_TOKENS) && same_shape(x, shape.outputs[0]) &&
         weight != nullptr && is_weight(weight, x->columns, weight->columns) &&
         is_optional_vector(shape.inputs[2], x->columns) &&
         has_state(shape, (weight->columns - 1) * x->columns);
}

inline bool fits_ssm_scan(const OpShape& shape) noexcept {
  const tenon_ssm_scan_params& scan = shape.op->params.ssm_scan;
  const tenon_slot* a = shape.inputs[2];
  return has_heads(shape, 0, scan.heads) && same_shape(shape.inputs[0], shape.outputs[0]) &&
         scan.groups > 0 && scan.heads % scan.groups == 0 && scan.size > 0 &&
         are_rows(shape, 1, 1, scan.heads) && a != nullptr &&
         (a->columns == 1 || a->columns == scan.size) && is_weight(a, scan.heads, a->columns) &&
         are_rows(shape, 3, 2, uint64_t{scan.groups} * scan.size) &&
         is_optional_vector(shape.inputs[5], scan.heads) &&
         has_state(shape, backends::ssm_scan_shape(scan, *shape.inputs[0]).values());
}

inline bool fits_delta_rule(const OpShape& shape) noexcept {
  const tenon_delta_rule_params& rule = shape.op->params.delta_rule;
  if (!has_heads(shape, 0, rule.key_heads) || !has_heads(shape, 2, rule.value_heads)) return false;
  const StateShape state = backends::delta_rule_shape(rule, *shape.inputs[0], *shape.inputs[2]);
  return rule.value_heads % rule.key_heads == 0 &&
         are_rows(shape, 1, 1, shape.inputs[0]->columns) &&
         (are_rows(shape, 3, 1, rule.value_heads) ||
          are_rows(shape, 3, 1, rule.value_heads * state.rows)) &&
         are_rows(shape, 4, 1, rule.value_heads) && same_shape(shape.inputs[2], shape.outputs[0]) &&
         has_state(shape, state.values());
}

inline bool fits_wkv7(const OpShape& shape) noexcept {
  const tenon_wkv7_params& wkv = shape.op->params.wkv7;
  return has_heads(shape, 0, wkv.heads) && are_rows(shape, 1, 5, shape.inputs[0]->columns) &&
         same_shape(shape.inputs[0], shape.outputs[0]) &&
         has_state(shape, backends::wkv7_shape(wkv, *shape.inputs[0]).values());
}

inline bool fits_wkv6(const OpShape& shape) noexcept {
  const tenon_wkv6_params& wkv = shape.op->params.wkv6;
  return has_heads(shape, 0, wkv.heads) && are_rows(shape, 1, 3, shape.inputs[0]->columns) &&
         is_optional_vector(shape.inputs[4], shape.inputs[0]->columns) &&
         same_shape(shape.inputs[0], shape.outputs[0]) &&
         has_state(shape, backends::wkv6_shape(wkv, *shape.inputs[0]).values());
}

template <typename Math>
void run_token_shift(StepRun<Math>& step, const tenon_op& op) {
  const auto x = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const auto columns = static_cast<uint64_t>(x.cols());
  for (const Recurrence& sequence : begin_recurrences(step, op.params.state, columns)) {
    Eigen::Map<Eigen::RowVectorXf> last(sequence.state, x.cols());
    for (Eigen::Index t = 0; t < sequence.num_tokens; ++t) {
      out.row(sequence.first_token + t) = last.template cast<typename Math::Real>();
      last = x.row(sequence.first_token + t).template cast<float>();
    }
  }
}

template <typename Math>
void run_conv(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const auto x = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const auto bias = step.weight_vector(op.inputs[2]);
  const auto taps = static_cast<Eigen::Index>(step.slot(op.inputs[1]).columns);
  const auto kept = static_cast<uint64_t>(taps - 1) * static_cast<uint64_t>(x.cols());
  const StepVector<Recurrence> all = begin_recurrences(step, op.params.state, kept);
  step.for_each(static_cast<uint64_t>(x.cols()), static_cast<uint64_t>(taps),
                [&](uint64_t number, Real* weight) noexcept {
                  const auto c = static_cast<Eigen::Index>(number);
                  step.weight_row(op.inputs[1], number, weight);
                  for (const Recurrence& sequence : all) {
                    float* kept_rows = sequence.state + c;  // [taps - 1] rows, a row of x apart
                    for (Eigen::Index t = sequence.first_token;
                         t < sequence.first_token + sequence.num_tokens; ++t) {
                      Real y = bias.empty() ? 0 : bias[number];
                      for (Eigen::Index i = 0; i + 1 < taps; ++i)
                        y += weight[i] * kept_rows[i * x.cols()];
                      out(t, c) = y + weight[taps - 1] * x(t, c);
                      if (taps == 1) continue;
                      for (Eigen::Index i = 0; i + 2 < taps; ++i) {
                        kept_rows[i * x.cols()] = kept_rows[(i + 1) * x.cols()];
                      }
                      kept_rows[(taps - 2) * x.cols()] = static_cast<float>(x(t, c));
                    }
                  }
                });
}

// arXiv 2312.00752 and 2405.21060.
template <typename Math>
void run_ssm_scan(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_ssm_scan_params& scan = op.params.ssm_scan;
  const StateShape shape = backends::ssm_scan_shape(scan, step.slot(op.inputs[0]));
  const auto x = step.activation(op.inputs[0]);
  const auto dt = step.activation(op.inputs[1]);
  const auto b = step.activation(op.inputs[3]);
  const auto c = step.activation(op.inputs[4]);
  auto out = step.activation(op.outputs[0]);
  const auto skip = step.weight_vector(op.inputs[5]);
  const uint64_t decays = step.slot(op.inputs[2]).columns;
  for_each_head(step, scan.state, shape, decays,
                [&](Eigen::Index t, uint64_t head, float* state, Real* a) noexcept {
                  step.weight_row(op.inputs[2], head, a);
                  const uint64_t group = head / (scan.heads / scan.groups);
                  const Real* b_row = b.row(t).data() + group * shape.columns;
                  const Real* c_row = c.row(t).data() + group * shape.columns;
                  const Real delta = dt(t, static_cast<Eigen::Index>(head));
                  for (uint64_t p = 0; p < shape.rows; ++p) {
                    const auto column = static_cast<Eigen::Index>(head * shape.rows + p);
                    Real y = skip.empty() ? 0 : skip[head] * x(t, column);
                    for (uint64_t n = 0; n < shape.columns; ++n) {
                      float& value = state[p * shape.columns + n];
                      const Real decay = std::exp(delta * a[decays == 1 ? 0 : n]);
                      const Real next = decay * value + delta * x(t, column) * b_row[n];
                      y += next * c_row[n];
                      value = static_cast<float>(next);
                    }
                    out(t, column) = y;
                  }
                });
}

// arXiv 2412.06464 and, with a decay for each key channel, 2510.26692.
template <typename Math>
void run_delta_rule(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_delta_rule_params& rule = op.params.delta_rule;
  const StateShape shape =
      backends::delta_rule_shape(rule, step.slot(op.inputs[0]), step.slot(op.inputs[2]));
  const auto q = step.activation(op.inputs[0]);
  const auto k = step.activation(op.inputs[1]);
  const auto v = step.activation(op.inputs[2]);
  const auto decay = step.activation(op.inputs[3]);
  const auto beta = step.activation(op.inputs[4]);
  auto out = step.activation(op.outputs[0]);
  const bool per_key = static_cast<uint64_t>(decay.cols()) != shape.heads;
  for_each_head(step, rule.state, shape, shape.rows,
                [&](Eigen::Index t, uint64_t head, float* state, Real* kept) noexcept {
                  const Real* query = q.row(t).data() + backends::key_head(rule, head) * shape.rows;
                  const Real* key = k.row(t).data() + backends::key_head(rule, head) * shape.rows;
                  for (uint64_t i = 0; i < shape.rows; ++i) {
                    kept[i] = std::exp(decay.row(t).data()[per_key ? head * shape.rows + i : head]);
                  }
                  for (uint64_t j = 0; j < shape.columns; ++j) {
                    const auto column = static_cast<Eigen::Index>(head * shape.columns + j);
                    Real read = 0;
                    for (uint64_t i = 0; i < shape.rows; ++i) {
                      read += kept[i] * state[i * shape.columns + j] * key[i];
                    }
                    const Real change =
                        beta(t, static_cast<Eigen::Index>(head)) * (v(t, column) - read);
                    Real y = 0;
                    for (uint64_t i = 0; i < shape.rows; ++i) {
                      float& value = state[i * shape.columns + j];
                      const Real next = kept[i] * value + key[i] * change;
                      y += next * query[i];
                      value = static_cast<float>(next);
                    }
                    out(t, column) = rule.scale * y;
                  }
                });
}

// arXiv 2503.14456.
template <typename Math>
void run_wkv7(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_wkv7_params& wkv = op.params.wkv7;
  const StateShape shape = backends::wkv7_shape(wkv, step.slot(op.inputs[0]));
  const auto input = [&](uint32_t i) { return step.activation(op.inputs[i]); };
  const auto r = input(0), w = input(1), k = input(2), v = input(3), a = input(4), b = input(5);
  auto out = step.activation(op.outputs[0]);
  for_each_head(
      step, wkv.state, shape, 0, [&](Eigen::Index t, uint64_t head, float* state, Real*) noexcept {
        const auto first = static_cast<Eigen::Index>(head * shape.columns);
        for (uint64_t i = 0; i < shape.rows; ++i) {
          float* row = state + i * shape.columns;
          const auto value = first + static_cast<Eigen::Index>(i);
          Real read = 0;
          for (uint64_t j = 0; j < shape.columns; ++j) {
            read += row[j] * a(t, first + static_cast<Eigen::Index>(j));
          }
          Real y = 0;
          for (uint64_t j = 0; j < shape.columns; ++j) {
            const auto key = first + static_cast<Eigen::Index>(j);
            const Real next = row[j] * w(t, key) + read * b(t, key) + v(t, value) * k(t, key);
            y += next * r(t, key);
            row[j] = static_cast<float>(next);
          }
          out(t, value) = y;
        }
      });
}

// arXiv 2404.05892 and, without a bonus for the token itself, 2312.06635.
template <typename Math>
void run_wkv6(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_wkv6_params& wkv = op.params.wkv6;
  const StateShape shape = backends::wkv6_shape(wkv, step.slot(op.inputs[0]));
  const auto input = [&](uint32_t i) { return step.activation(op.inputs[i]); };
  const auto r = input(0), w = input(1), k = input(2), v = input(3);
  auto out = step.activation(op.outputs[0]);
  const auto bonus = step.weight_vector(op.inputs[4]);
  for_each_head(step, wkv.state, shape, 0,
                [&](Eigen::Index t, uint64_t head, float* state, Real*) noexcept {
                  for (uint64_t j = 0; j < shape.columns; ++j) {
                    const auto value = static_cast<Eigen::Index>(head * shape.columns + j);
                    Real y = 0;
                    for (uint64_t i = 0; i < shape.rows; ++i) {
                      const auto key = static_cast<Eigen::Index>(head * shape.rows + i);
                      float& kept = state[i * shape.columns + j];
                      const Real added = k(t, key) * v(t, value);
                      const Real next = w(t, key) * kept + added;
                      const Real read =
                          bonus.empty() ? next : kept + bonus[static_cast<uint64_t>(key)] * added;
                      y += r(t, key) * read;
                      kept = static_cast<float>(next);
                    }
                    out(t, value) = y;
                  }
                });
}

}  // namespace tenon::plain
