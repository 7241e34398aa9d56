// attention: causal, over the paged cache, one token at a time and the query heads that share a KV
// head (Vaswani et al., arXiv:1706.03762, section 3.2.1; sinks as in arXiv:2309.17453 with a value
// of zero).
#include <algorithm>
#include <cmath>

#include "backends/reference/reference_cache.h"
#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"

namespace tenon::reference {
namespace {

/// What is the same for all heads and tokens of one attention operation.
struct Attention {
  const StepRun& step;
  const tenon_attention_params& params;
  const tenon_cache_group& group;
  const std::vector<double>& sinks;  ///< [heads] or empty
  Matrix query;                      ///< [T, heads x key_dim]
  Matrix out;                        ///< [T, heads x value_dim]

  /// The first position that a token at `position` attends to.
  [[nodiscard]] uint32_t first_position(uint32_t position) const {
    const bool all = params.window == 0 || position < params.window;
    return all ? 0 : position - params.window + 1;
  }

  [[nodiscard]] double score(const double* q, const double* k) const {
    double dot = 0;
    for (uint64_t i = 0; i < group.key_dim; ++i) dot += q[i] * k[i];
    const double scaled = dot * params.scale;
    const double cap = params.soft_cap;
    return cap > 0 ? cap * std::tanh(scaled / cap) : scaled;
  }

  /// Outputs of the query heads of KV head `kv_head` for token t.
  ///   scores  room for every position of the sequence and query head of the KV head
  ///   row     room for a key and for a value
  void run(uint32_t t, uint64_t kv_head, double* scores, double* row) noexcept {
    const TokenPlace& place = step.place(t);
    const uint64_t heads = params.heads / group.kv_heads;
    const uint64_t first_head = kv_head * heads;
    const double* queries = query.row(t).data() + first_head * group.key_dim;
    double* results = out.row(t).data() + first_head * group.value_dim;
    const uint32_t first = first_position(place.position);
    const uint32_t count = place.position - first + 1;
    const uint64_t key_bytes = cache_head_bytes(group.type, group.key_dim);
    const uint64_t value_bytes = cache_head_bytes(group.type, group.value_dim);
    const auto row_at = [&](uint32_t i) {
      return step.cache_row(*place.sequence, params.group, params.layer, first + i);
    };
    for (uint32_t i = 0; i < count; ++i) {
      load_head(row_at(i) + kv_head * key_bytes, group.type, group.key_dim, row);
      for (uint64_t h = 0; h < heads; ++h) {
        scores[h * count + i] = score(queries + h * group.key_dim, row);
      }
    }
    for (uint64_t h = 0; h < heads; ++h) softmax(first_head + h, scores + h * count, count);
    std::fill_n(results, heads * group.value_dim, 0.0);
    const uint64_t values = group.kv_heads * key_bytes;  // behind the keys of all heads
    for (uint32_t i = 0; i < count; ++i) {
      load_head(row_at(i) + values + kv_head * value_bytes, group.type, group.value_dim, row);
      for (uint64_t h = 0; h < heads; ++h) {
        const double weight = scores[h * count + i];
        double* result = results + h * group.value_dim;
        for (uint64_t d = 0; d < group.value_dim; ++d) result[d] += weight * row[d];
      }
    }
  }

  /// Scores of a query head to weights, in place.
  void softmax(uint64_t head, double* scores, uint32_t count) const noexcept {
    double highest = sinks.empty() ? -INFINITY : sinks[head];
    for (uint32_t i = 0; i < count; ++i) highest = std::max(highest, scores[i]);
    double sum = sinks.empty() ? 0.0 : std::exp(sinks[head] - highest);
    for (uint32_t i = 0; i < count; ++i) sum += scores[i] = std::exp(scores[i] - highest);
    for (uint32_t i = 0; i < count; ++i) scores[i] /= sum;
  }
};

}  // namespace

bool fits_attention(const OpShape& shape) noexcept {
  const tenon_cache_group& group = *shape.group;
  const uint32_t heads = shape.op->params.attention.heads;
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.outputs[0], TENON_ROWS_TOKENS) &&
         fits_cache(group.type, std::max(group.key_dim, group.value_dim)) &&
         group.block_tokens > 0 && group.kv_heads > 0 && heads > 0 && heads % group.kv_heads == 0 &&
         shape.inputs[0]->columns == uint64_t{heads} * group.key_dim &&
         shape.outputs[0]->columns == uint64_t{heads} * group.value_dim &&
         is_optional_vector(shape.inputs[1], heads);
}

void run_attention(StepRun& step, const tenon_op& op) {
  const tenon_attention_params& params = op.params.attention;
  const std::vector<double> sinks = step.weight_vector(op.inputs[1]);
  Attention attention{step,
                      params,
                      step.group(params.group),
                      sinks,
                      step.activation(op.inputs[0]),
                      step.activation(op.outputs[0])};
  const uint32_t num_tokens = step.num_rows(op.inputs[0]);
  uint64_t longest = 0;
  for (uint32_t t = 0; t < num_tokens; ++t) {
    longest = std::max<uint64_t>(longest, uint64_t{step.place(t).position} + 1);
  }
  const tenon_cache_group& group = attention.group;
  const uint64_t scores = longest * (params.heads / group.kv_heads);
  step.for_each(uint64_t{num_tokens} * group.kv_heads,
                scores + std::max(group.key_dim, group.value_dim),
                [&](uint64_t i, double* scratch) noexcept {
                  attention.run(static_cast<uint32_t>(i / group.kv_heads), i % group.kv_heads,
                                scratch, scratch + scores);
                });
}

}  // namespace tenon::reference
