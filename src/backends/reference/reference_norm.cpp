// rms_norm, layer_norm and l2_norm, over segments of a row.
#include <algorithm>
#include <cmath>

#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"

namespace tenon::reference {
namespace {

using Segment = Eigen::Map<Eigen::ArrayXd>;
using ConstSegment = Eigen::Map<const Eigen::ArrayXd>;

/// Calls body(x, y) for every segment x of the input and its place y in the output.
template <typename Body>
void for_each_segment(StepRun& step, const tenon_op& op, const Body& body) {
  const Matrix in = step.activation(op.inputs[0]);
  Matrix out = step.activation(op.outputs[0]);
  const Eigen::Index size = op.params.norm.segment;
  for (Eigen::Index first = 0; first < in.size(); first += size) {
    Segment y(out.data() + first, size);
    body(ConstSegment(in.data() + first, size), y);
  }
}

}  // namespace

bool fits_norm(const OpShape& shape) noexcept {
  const uint32_t segment = shape.op->params.norm.segment;
  return same_shape(shape.inputs[0], shape.outputs[0]) && segment > 0 &&
         shape.outputs[0]->columns % segment == 0 && is_optional_vector(shape.inputs[1], segment) &&
         is_optional_vector(shape.inputs[2], segment);
}

void run_rms_norm(StepRun& step, const tenon_op& op) {
  const std::vector<double> weight = step.weight_vector(op.inputs[1]);
  const ConstSegment w(weight.data(), static_cast<Eigen::Index>(weight.size()));
  const double epsilon = op.params.norm.epsilon;
  for_each_segment(step, op, [&](const ConstSegment& x, Segment& y) {
    y = x / std::sqrt(x.square().mean() + epsilon);
    if (w.size() > 0) y *= w;
  });
}

void run_layer_norm(StepRun& step, const tenon_op& op) {
  const std::vector<double> weight = step.weight_vector(op.inputs[1]);
  const std::vector<double> bias = step.weight_vector(op.inputs[2]);
  const ConstSegment w(weight.data(), static_cast<Eigen::Index>(weight.size()));
  const ConstSegment b(bias.data(), static_cast<Eigen::Index>(bias.size()));
  const double epsilon = op.params.norm.epsilon;
  for_each_segment(step, op, [&](const ConstSegment& x, Segment& y) {
    const double mean = x.mean();
    const double variance = (x - mean).square().mean();
    y = (x - mean) / std::sqrt(variance + epsilon);
    if (w.size() > 0) y *= w;
    if (b.size() > 0) y += b;
  });
}

void run_l2_norm(StepRun& step, const tenon_op& op) {
  const double epsilon = op.params.norm.epsilon;
  for_each_segment(step, op, [&](const ConstSegment& x, Segment& y) {
    y = x / std::max(std::sqrt(x.square().sum()), epsilon);
  });
}

}  // namespace tenon::reference
