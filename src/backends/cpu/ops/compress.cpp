#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/layouts/cache_block.h"
#include "backends/cpu/phases/cache_fits.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

/// Requires a cache of f32 values in the layout of keys.
bool compress_fits(const OperationTable&, const tenon_program& program,
                   const tenon_op& op) noexcept {
  const uint32_t group = op.params.compress.group;
  return group_supported(program, group) && groups_of(program)[group].type == TENON_TYPE_F32;
}

/// Computes column by column, positions ascending, with weights exp(logit - highest).
void run_compress(OpRun& run, const Phase& phase, uint32_t token, uint32_t) noexcept {
  const tenon_op& op = phase.op;
  const tenon_compress_params& params = op.params.compress;
  const tenon_cache_group& group = run.group(params.group);
  const CacheBlock block(group);
  const uint32_t own = run.token_position(token);
  float* out = run.f32_row(op.outputs[0], token);
  const uint64_t n = run.columns(op.outputs[0]);
  if (own % params.stride != params.stride - 1) {
    std::memset(out, 0, n * sizeof(float));
    return;
  }
  const uint8_t* const* blocks = run.cache_blocks(params.group, token);
  const float* bias = run.vector(op.inputs[0]);  // [stride, key_dim]
  const uint32_t begin = own + 1 - params.stride;
  const bool overlaps = params.overlap == 1;
  const uint32_t first = overlaps && begin > 0 ? begin - params.stride : begin;
  for (uint64_t c = 0; c < n; ++c) {
    // Calls body(value, logit) for each position; keys have the positions innermost.
    const auto each = [&](const auto& body) {
      for (uint32_t i = first; i <= own; ++i) {
        // The block's own half comes second.
        const uint64_t column = overlaps && i >= begin ? n + c : c;
        const uint32_t slot = i % group.block_tokens;
        const uint8_t* area =
            blocks[i / group.block_tokens] + uint64_t{params.layer} * block.area_bytes();
        float value = 0;
        float gate = 0;
        std::memcpy(&value, area + column * block.key_row_bytes() + slot * sizeof(float),
                    sizeof(float));
        std::memcpy(
            &gate,
            area + block.value_offset() + slot * block.value_row_bytes() + column * sizeof(float),
            sizeof(float));
        body(value, gate + bias[i % params.stride * uint64_t{group.key_dim} + column]);
      }
    };
    float highest = -INFINITY;
    each([&](float, float logit) { highest = std::max(highest, logit); });
    float sum = 0;
    float result = 0;
    each([&](float value, float logit) {
      const float weight = std::exp(logit - highest);
      sum += weight;
      result += weight * value;
    });
    out[c] = result / sum;
  }
}

uint32_t compress_items(const OpRun& run, const Phase& phase) noexcept {
  return static_cast<uint32_t>(run.num_rows(phase.row_class));
}

}  // namespace

constexpr CpuOperation ops::compress{
    .kind = TENON_OP_COMPRESS,
    .placement = Placement::Own,
    .fits = compress_fits,
    .phase = {.items = compress_items, .run = run_compress, .small = true}};

}  // namespace tenon::cpu
