// Operations whose rows depend on the same rows of their inputs alone.
#include <cmath>
#include <span>

#include "backends/common/ngram_hash.h"
#include "program/op_rules.h"

namespace tenon::op_rules {

uint64_t embed_columns(const OpView& view) {
  require(view.op.params.embed.source <= TENON_EMBED_POSITIONS, view, "unknown source");
  return columns_of(view, 0);
}

uint64_t same_columns(const OpView& view) { return columns_of(view, 0); }

uint64_t norm_columns(const OpView& view) {
  const tenon_norm_params& norm = view.op.params.norm;
  const uint64_t columns = columns_of(view, 0);
  require_segments(view, 0, norm.segment);
  require(std::isfinite(norm.epsilon) && norm.epsilon >= 0, view,
          "epsilon is negative or no number");
  require_vector(view, 1, norm.segment);
  require_vector(view, 2, norm.segment);
  return columns;
}

uint64_t linear_columns(const OpView& view) {
  const tenon_slot& weight = *view.inputs[1];
  require(columns_of(view, 0) == weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}", weight.name, weight.columns,
                      columns_of(view, 0)));
  require_vector(view, 2, weight.rows);
  return weight.rows;
}

/// Refuses unless each frequency takes a part that positions have.
static void require_position_parts(const OpView& view, uint64_t num_frequencies) {
  const tenon_slot* parts = view.inputs[1];
  if (parts == nullptr) return;
  require(parts->rows == 1 && parts->columns == num_frequencies && parts->type == TENON_TYPE_F64,
          view, fmt::format("the parts are not [1, {}] f64", num_frequencies));
  const auto* values = static_cast<const double*>(parts->data);
  for (uint64_t i = 0; i < num_frequencies; ++i) {
    const bool exists =
        values[i] >= 0 && values[i] < view.position_parts && values[i] == std::floor(values[i]);
    require(exists, view,
            fmt::format("part {} of positions of {}", values[i], view.position_parts));
  }
}

uint64_t rope_angles_columns(const OpView& view) {
  const tenon_slot& frequencies = *view.inputs[0];
  require(frequencies.rows == 1 && frequencies.type == TENON_TYPE_F64, view,
          "the frequencies are not [1, p] f64");
  require(std::isfinite(view.op.params.rope_angles.magnitude), view, "magnitude is no number");
  require_position_parts(view, frequencies.columns);
  return 2 * frequencies.columns;
}

uint64_t rope_columns(const OpView& view) {
  const tenon_rope_params& rope = view.op.params.rope;
  require(rope.style <= TENON_ROPE_HALVES, view, "unknown style");
  require(rope.head_dim > 0 && columns_of(view, 0) % rope.head_dim == 0, view,
          fmt::format("{} columns are not whole heads of {}", columns_of(view, 0), rope.head_dim));
  const uint64_t angles = columns_of(view, 1);
  require(
      angles % 2 == 0 && angles <= rope.head_dim && rope.offset <= rope.head_dim - angles, view,
      fmt::format("{} angles from {} do not fit a head of {}", angles, rope.offset, rope.head_dim));
  return columns_of(view, 0);
}

uint64_t glu_columns(const OpView& view) {
  const tenon_glu_params& glu = view.op.params.glu;
  require(glu.activation <= TENON_ACTIVATION_RELU, view, "unknown activation");
  require(columns_of(view, 0) == columns_of(view, 1), view, "gate and up differ in columns");
  require(std::isfinite(glu.alpha), view, "alpha is no number");
  require(glu.alpha == 0 || glu.alpha == 1 || glu.activation == TENON_ACTIVATION_SILU, view,
          "only SILU has an alpha");
  require(std::isfinite(glu.limit) && glu.limit >= 0, view, "limit is negative or no number");
  require(std::isfinite(glu.up_offset), view, "up_offset is no number");
  require(glu.limit_after <= 1, view, "limit_after is neither 0 nor 1");
  return columns_of(view, 0);
}

uint64_t add_columns(const OpView& view) {
  require(columns_of(view, 0) == columns_of(view, 1), view, "the two inputs differ in columns");
  require_one_row(view, 1);
  return columns_of(view, 0);
}

uint64_t scale_columns(const OpView& view) {
  require(std::isfinite(view.op.params.scale.factor), view, "factor is no number");
  require(std::isfinite(view.op.params.scale.offset), view, "offset is no number");
  return columns_of(view, 0);
}

uint64_t soft_cap_columns(const OpView& view) {
  const float cap = view.op.params.soft_cap.cap;
  require(std::isfinite(cap) && cap > 0, view, "cap is not a positive number");
  return columns_of(view, 0);
}

/// Of each run of experts, as many as are chosen among.
static void require_expert_groups(const OpView& view, uint64_t experts) {
  const tenon_moe_route_params& route = view.op.params.moe_route;
  if (route.groups <= 1) return;
  require(experts % route.groups == 0, view,
          fmt::format("{} experts are not {} equal groups", experts, route.groups));
  require(route.groups_used >= 1 && route.groups_used <= route.groups, view,
          fmt::format("{} of {} groups are used", route.groups_used, route.groups));
  require(route.used <= experts / route.groups * route.groups_used, view,
          fmt::format("{} groups of {} do not hold {} experts", route.groups_used,
                      experts / route.groups, route.used));
}

/// Logits alone choose, and each weight stands for itself.
static void require_sparse_mixer(const OpView& view) {
  const tenon_moe_route_params& route = view.op.params.moe_route;
  require(route.normalise == 0 && route.groups <= 1 && view.inputs[1] == nullptr, view,
          "SPARSE_MIXER with normalise, groups or a selection bias");
  require(std::isfinite(route.closeness) && route.closeness >= 0, view,
          "closeness is negative or no number");
}

/// A number and a weight for each chosen expert.
uint64_t moe_route_columns(const OpView& view) {
  const tenon_moe_route_params& route = view.op.params.moe_route;
  const uint64_t experts = columns_of(view, 0);
  require(experts <= kMaxExperts, view,
          fmt::format("{} experts, at most {}", experts, kMaxExperts));
  require(route.used >= 1 && route.used <= experts, view,
          fmt::format("{} of {} experts are used", route.used, experts));
  require(route.scoring <= TENON_MOE_SQRT_SOFTPLUS, view, "unknown scoring");
  if (route.scoring == TENON_MOE_SPARSE_MIXER) require_sparse_mixer(view);
  require(std::isfinite(route.scale), view, "scale is no number");
  require(route.normalise <= (route.scoring == TENON_MOE_SOFTMAX_CHOSEN ? 0u : 1u), view,
          "normalise is neither 0 nor 1, or SOFTMAX_CHOSEN has it");
  require(std::isfinite(route.min_sum) && route.min_sum >= 0, view,
          "min_sum is negative or no number");
  require_expert_groups(view, experts);
  require_vector(view, 1, experts);
  require_vector(view, 2, experts);
  require_columns(view, 3, route.used);
  require(view.inputs[3] == nullptr || (view.inputs[1] == nullptr && route.groups <= 1 &&
                                        route.scoring != TENON_MOE_SPARSE_MIXER),
          view, "numbers with SPARSE_MIXER, groups or a selection bias");
  return route.used;
}

uint64_t moe_linear_columns(const OpView& view) {
  const tenon_moe_linear_params& moe = view.op.params.moe_linear;
  const tenon_slot& weight = *view.inputs[2];
  const uint64_t used = columns_of(view, 1);
  require(moe.experts >= 1 && moe.experts <= kMaxExperts && weight.rows % moe.experts == 0, view,
          fmt::format("\"{}\" has {} rows, which {} experts do not share evenly", weight.name,
                      weight.rows, moe.experts));
  require(moe.sum <= 1, view, "sum is neither 0 nor 1");
  require(moe.weigh <= TENON_MOE_WEIGHT_INPUTS, view, "weigh is neither 0 nor 1");
  const bool weighted = view.inputs[3] != nullptr;
  require(weighted || moe.weigh == TENON_MOE_WEIGHT_OUTPUTS, view, "no weights for the inputs");
  require(used <= moe.experts, view,
          fmt::format("{} columns are no routes to {} experts", used, moe.experts));
  require(!weighted || columns_of(view, 3) == used, view,
          fmt::format("{} weights for {} experts", weighted ? columns_of(view, 3) : 0, used));
  const uint64_t columns = columns_of(view, 0);
  require(columns == weight.columns || columns == used * weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}, not 1 or {} times as many",
                      weight.name, weight.columns, columns, used));
  const uint64_t rows = weight.rows / moe.experts;
  const tenon_slot* bias = view.inputs[4];
  require(bias == nullptr || (bias->rows == moe.experts && bias->columns == rows), view,
          fmt::format("the bias is not [{}, {}]", moe.experts, rows));
  return moe.sum == 1 ? rows : used * rows;
}

uint64_t sigmoid_gate_columns(const OpView& view) {
  require_pieces(view, 1);
  return columns_of(view, 0);
}

uint64_t activate_columns(const OpView& view) {
  const tenon_activate_params& activate = view.op.params.activate;
  require(activate.activation <= TENON_ACTIVATION_SIGNED_ROOT, view, "unknown activation");
  const bool numbers = std::isfinite(activate.alpha_p) && std::isfinite(activate.alpha_n) &&
                       std::isfinite(activate.beta) && std::isfinite(activate.epsilon);
  require(activate.activation != TENON_ACTIVATION_XIELU || numbers, view,
          "a parameter of XIELU is no number");
  require(activate.activation != TENON_ACTIVATION_SIGNED_ROOT ||
              (std::isfinite(activate.epsilon) && activate.epsilon >= 0),
          view, "epsilon is negative or no number");
  return columns_of(view, 0);
}

uint64_t mul_columns(const OpView& view) {
  require_pieces(view, 1);
  require_one_row(view, 1);
  return columns_of(view, 0);
}

uint64_t sum_segments_columns(const OpView& view) {
  const uint64_t size = view.op.params.segments.size;
  require_segments(view, 0, size);
  return columns_of(view, 0) / size;
}

uint64_t slice_columns(const OpView& view) {
  const tenon_slice_params& slice = view.op.params.slice;
  require_segments(view, 0, slice.segment);
  require(slice.columns > 0 && uint64_t{slice.first} + slice.columns <= slice.segment, view,
          fmt::format("{} columns from {} of segments of {}", slice.columns, slice.first,
                      slice.segment));
  return columns_of(view, 0) / slice.segment * slice.columns;
}

uint64_t concat_columns(const OpView& view) {
  const tenon_concat_params& concat = view.op.params.concat;
  require(concat.broadcast <= 1, view, "broadcast is neither 0 nor 1");
  for (const uint32_t input : {0u, 1u}) {
    if (input == 1 && concat.broadcast == 1) continue;
    require(concat.segments > 0 && columns_of(view, input) % concat.segments == 0, view,
            fmt::format("{} columns are not {} whole segments", columns_of(view, input),
                        concat.segments));
  }
  const uint64_t times = concat.broadcast == 1 ? concat.segments : 1;
  return columns_of(view, 0) + times * columns_of(view, 1);
}

uint64_t linear_heads_columns(const OpView& view) {
  const uint64_t heads = view.op.params.linear_heads.heads;
  const tenon_slot& weight = *view.inputs[1];
  require(heads > 0 && weight.rows % heads == 0, view,
          fmt::format("\"{}\" has {} rows, which {} heads do not share evenly", weight.name,
                      weight.rows, heads));
  require(columns_of(view, 0) == heads * weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}, not {} times as many", weight.name,
                      weight.columns, columns_of(view, 0), heads));
  return weight.rows;
}

uint64_t position_scale_columns(const OpView& view) {
  const tenon_position_scale_params& scale = view.op.params.position_scale;
  require(std::isfinite(scale.scale), view, "scale is no number");
  require(scale.length > 0, view, "length is 0");
  return columns_of(view, 0);
}

uint64_t pool_columns(const OpView& view) {
  require(view.op.params.pool.kind <= TENON_POOL_LAST, view, "unknown kind");
  return columns_of(view, 0);
}

uint64_t mix_streams_columns(const OpView& view) {
  const tenon_mix_streams_params& mix = view.op.params.mix_streams;
  const uint64_t columns = columns_of(view, 0);
  require(mix.streams > 0 && columns % mix.streams == 0, view,
          fmt::format("{} columns are not {} streams", columns, mix.streams));
  const uint64_t width = columns / mix.streams;
  require(mix.results > 0, view, "no results");
  require(view.inputs[1] != nullptr || mix.results == 1 || mix.results == mix.streams, view,
          fmt::format("{} results of {} streams without a matrix", mix.results, mix.streams));
  require((view.inputs[2] == nullptr) == (view.inputs[3] == nullptr), view,
          "what is added and its factors come together");
  require_columns(view, 1, uint64_t{mix.streams} * mix.results);
  require_columns(view, 2, width);
  require_columns(view, 3, mix.results);
  return width * mix.results;
}

uint64_t sinkhorn_columns(const OpView& view) {
  const tenon_sinkhorn_params& sinkhorn = view.op.params.sinkhorn;
  require(sinkhorn.size > 0 && columns_of(view, 0) == uint64_t{sinkhorn.size} * sinkhorn.size, view,
          fmt::format("{} columns are no matrix [{}, {}]", columns_of(view, 0), sinkhorn.size,
                      sinkhorn.size));
  require(sinkhorn.iterations > 0, view, "no iterations");
  require(std::isfinite(sinkhorn.epsilon) && sinkhorn.epsilon >= 0, view,
          "epsilon is negative or no number");
  return columns_of(view, 0);
}

static std::span<const int64_t> integers_of(const OpView& view, uint32_t input) {
  const tenon_slot& slot = *view.inputs[input];
  require(slot.type == TENON_TYPE_I64, view, fmt::format("\"{}\" is not i64", slot.name));
  return {static_cast<const int64_t*>(slot.data), slot.rows * slot.columns};
}

uint64_t ngram_rows_columns(const OpView& view) {
  const tenon_slot& table = *view.inputs[0];
  const tenon_slot& heads = *view.inputs[2];
  const std::span<const int64_t> multipliers = integers_of(view, 1);
  require(view.inputs[1]->rows == 1 && multipliers.size() <= backends::kMaxNgram, view,
          fmt::format("multipliers [{}, {}], not [1, 1 to {}]", view.inputs[1]->rows,
                      view.inputs[1]->columns, backends::kMaxNgram));
  require(heads.columns == backends::kNgramHeadNumbers, view,
          fmt::format("heads of {} numbers, not {}", heads.columns, backends::kNgramHeadNumbers));
  require(backends::are_ngram_heads(integers_of(view, 2), multipliers.size(), table.rows), view,
          fmt::format("a head looks back beyond {} tokens or leaves the {} rows of \"{}\"",
                      multipliers.size(), table.rows, table.name));
  require(view.op.params.ngram_rows.end >= 0, view, "the end of texts is no token");
  require(view.inputs[3] == nullptr || (view.inputs[3]->rows == 1 && !integers_of(view, 3).empty()),
          view, "the map is not [1, v]");
  return heads.rows * table.columns;
}

uint64_t round_columns(const OpView& view) {
  const tenon_round_params& round = view.op.params.round;
  require(round.format <= TENON_ROUND_FP4_FP8, view, "unknown format");
  require_segments(view, 0, round.segment);
  return columns_of(view, 0);
}

uint64_t softmax_columns(const OpView& view) {
  require_segments(view, 0, view.op.params.segments.size);
  return columns_of(view, 0);
}

}  // namespace tenon::op_rules
