// attention: over the paged cache, one token at a time and the query heads that share a KV head
// (Vaswani et al., arXiv:1706.03762, section 3.2.1; sinks as in arXiv:2309.17453 with a value of
// zero; ALiBi: arXiv:2108.12409; relative bias: arXiv:1910.10683; latent rows: arXiv:2405.04434).
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backends/common/relative_bucket.h"
#include "backends/common/step_rules.h"
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
  const std::vector<double>& bias;   ///< ALIBI: [heads]; RELATIVE: [buckets, heads]; or empty
  Matrix query;                      ///< [T, heads x key_dim]
  Matrix out;                        ///< [T, heads x value_dim]

  /// The positions [first, end) that a token attends to.
  struct Range {
    uint32_t first, end;
  };
  [[nodiscard]] Range seen(const TokenPlace& place) const {
    const uint64_t own = place.position;
    const uint64_t all = backends::num_positions(*place.sequence, group);
    const uint64_t window = params.window;
    uint64_t first = 0;
    uint64_t end = all;
    switch (params.mask) {
      case TENON_MASK_CAUSAL:
        if (window > 0 && own >= window) first = own - window + 1;
        end = own + 1;
        break;
      case TENON_MASK_CHUNKED:
        first = own - own % window;
        end = own + 1;
        break;
      case TENON_MASK_SYMMETRIC:
        if (window > 0 && own > window / 2) first = own - window / 2;
        if (window > 0) end = std::min(all, own + window / 2 + 1);
        break;
      default:
        break;
    }
    return {static_cast<uint32_t>(first), static_cast<uint32_t>(end)};
  }

  /// What is added to the score of position `i` for a token at position `own`.
  [[nodiscard]] double bias_of(uint64_t head, int64_t own, int64_t i) const {
    if (params.bias == TENON_BIAS_NONE) return 0;
    if (params.bias == TENON_BIAS_ALIBI)
      return -bias[head] * static_cast<double>(std::abs(own - i));
    const auto buckets = static_cast<uint32_t>(bias.size() / params.heads);
    return bias[backends::relative_bucket(i - own, buckets, params) * params.heads + head];
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
    const Range range = seen(place);
    const uint32_t first = range.first;
    const uint32_t count = range.end - range.first;
    const uint64_t key_bytes = cache_head_bytes(group.type, group.key_dim);
    const uint64_t value_bytes = cache_head_bytes(group.type, group.value_dim);
    const auto row_at = [&](uint32_t i) {
      return step.cache_row(*place.sequence, params.group, params.layer, first + i);
    };
    for (uint32_t i = 0; i < count; ++i) {
      load_head(row_at(i) + kv_head * key_bytes, group.type, group.key_dim, row);
      for (uint64_t h = 0; h < heads; ++h) {
        scores[h * count + i] = score(queries + h * group.key_dim, row) +
                                bias_of(first_head + h, place.position, int64_t{first} + i);
      }
    }
    for (uint64_t h = 0; h < heads; ++h) softmax(first_head + h, scores + h * count, count);
    std::fill_n(results, heads * group.value_dim, 0.0);
    const bool latent = group.kind == TENON_CACHE_LATENT;
    const uint64_t values = group.kv_heads * key_bytes;  // after the keys of all heads
    for (uint32_t i = 0; i < count; ++i) {
      if (latent) {
        load_head(row_at(i), group.type, group.key_dim, row);
      } else {
        load_head(row_at(i) + values + kv_head * value_bytes, group.type, group.value_dim, row);
      }
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

bool fits_mask(const OpShape& shape) noexcept {
  const tenon_attention_params& params = shape.op->params.attention;
  const uint32_t kind = shape.group->kind;
  return params.mask <= TENON_MASK_CROSS &&
         (params.mask != TENON_MASK_CHUNKED || params.window > 0) &&
         (params.mask == TENON_MASK_CROSS) == (kind == TENON_CACHE_CROSS) &&
         (kind != TENON_CACHE_LATENT || shape.group->kv_heads == 1);
}

bool fits_bias(const OpShape& shape) noexcept {
  const tenon_attention_params& params = shape.op->params.attention;
  const tenon_slot* bias = shape.inputs[2];
  if (params.bias == TENON_BIAS_NONE) return bias == nullptr;
  if (params.bias == TENON_BIAS_ALIBI) {
    return bias != nullptr && bias->kind == TENON_SLOT_CONSTANT && bias->type == TENON_TYPE_F64 &&
           bias->columns == params.heads;
  }
  return params.bias == TENON_BIAS_RELATIVE && is_weight(bias, 0, params.heads) &&
         bias->rows >= (params.two_sided != 0 ? 4 : 2) &&
         params.max_distance > bias->rows / (params.two_sided != 0 ? 4 : 2);
}

/// The values of a bias, as Attention::bias has them.
std::vector<double> bias_values(const StepRun& step, const tenon_op& op) {
  const tenon_attention_params& params = op.params.attention;
  if (params.bias == TENON_BIAS_NONE) return {};
  if (params.bias == TENON_BIAS_ALIBI) {
    const std::span<const double> slopes = step.constant(op.inputs[2]);
    return {slopes.begin(), slopes.end()};
  }
  const tenon_slot& table = step.slot(op.inputs[2]);
  std::vector<double> values(table.rows * table.columns);
  for (uint64_t r = 0; r < table.rows; ++r) {
    step.weight_row(op.inputs[2], r, values.data() + r * table.columns);
  }
  return values;
}

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
         is_optional_vector(shape.inputs[1], heads) && fits_mask(shape) && fits_bias(shape);
}

void run_attention(StepRun& step, const tenon_op& op) {
  const tenon_attention_params& params = op.params.attention;
  const std::vector<double> sinks = step.weight_vector(op.inputs[1]);
  const std::vector<double> bias = bias_values(step, op);
  Attention attention{step,
                      params,
                      step.group(params.group),
                      sinks,
                      bias,
                      step.activation(op.inputs[0]),
                      step.activation(op.outputs[0])};
  const uint32_t num_tokens = step.num_rows(op.inputs[0]);
  uint64_t longest = 0;
  for (uint32_t t = 0; t < num_tokens; ++t) {
    const Attention::Range range = attention.seen(step.place(t));
    longest = std::max<uint64_t>(longest, range.end - range.first);
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
