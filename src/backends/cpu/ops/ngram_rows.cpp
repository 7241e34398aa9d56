#include <span>

#include "abi/ngram_hash.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

uint32_t ngram_rows_matrices(const tenon_op&, uint32_t input) noexcept {
  return input == 0 ? 1 : 0;
}

void ngram_rows_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const tenon_step& step = run.step();
  const uint32_t sequence = run.token_sequence(t);
  const auto place = static_cast<uint32_t>(t - sequences_of(step)[sequence].first_token);
  const auto hashes = backends::ngram_hashes(step, run.program().view().token_history, sequence,
                                             place, backends::ngram_numbers(run.program(), op.op));
  const std::span<const int64_t> heads = run.program().integers(op.op.inputs[2]);
  const PackedWeight& table = run.weight(op.op.inputs[0]).matrix;
  float* out = run.f32_row(op.op.outputs[0], t);
  for (uint64_t head = 0; head < heads.size() / backends::kNgramHeadNumbers; ++head) {
    const auto number = backends::ngram_row(backends::ngram_head(heads, head), hashes);
    unpack_row(table, number, out + head * table.depth);
  }
}

}  // namespace

constexpr CpuOperation ops::ngram_rows{.kind = TENON_OP_NGRAM_ROWS,
                                       .constants = TENON_TYPE_I64,
                                       .matrices = ngram_rows_matrices,
                                       .looks_up = true,
                                       .row = ngram_rows_row};

}  // namespace tenon::cpu
