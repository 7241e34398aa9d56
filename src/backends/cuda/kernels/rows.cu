// embed, ngram_rows and gather_rows: rows of a table by numbers that the step brings.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_weights.h"

namespace tenon::cuda {

template <uint family>
struct Rows {
  gpu::RowsStage stage;
  Constants constants;

  TENON_DEVICE Decoder decoder() const {
    return {constants.values[0], constants.values[1], constants.values[2]};
  }

  TENON_DEVICE uint token_of(uint row) const {
    Step step = Step(stage.step);
    const int token = Ints(step.header.token_ids).at[row];
    return uint(token >= 0 ? token : Ints(step.header.drawn_tokens).at[-1 - token]);
  }

  TENON_DEVICE uint number_of(uint row, uint head) {
    Step step = Step(stage.step);
    switch (stage.source) {
      case gpu::kRowsByToken:
        return token_of(row);
      case gpu::kRowsByPosition:
        return uint(Ints(step.header.positions).at[row * stage.position_parts]);
      case gpu::kRowsByOutput:
        return Words(step.header.output_rows).at[row];
      default:
        return Words(step.header.ngram_rows)
            .at[step.header.tokens * stage.first_number + row * stage.heads + head];
    }
  }

  TENON_DEVICE void run() {
    const uint row = group_y();
    const uint columns = stage.columns;
    Floats y = Floats(stage.y);
    for (uint head = 0; head < stage.heads; ++head) {
      const Address from = stage.table + number_of(row, head) * stage.row_bytes;
      const uint to = (row * stage.heads + head) * columns;
      for (uint c = 8 * global_thread(); c < columns; c += 8 * num_groups() * num_threads()) {
        float w[8];
        decode8<family>(decoder(), from, c, stage.grids, w);
        for (uint i = 0; i < 8 && c + i < columns; ++i) y.at[to + c + i] = w[i];
      }
    }
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(rows_floats, false, tenon::cuda::Rows<0>)
TENON_ENTRY(rows_scaled, false, tenon::cuda::Rows<1>)
TENON_ENTRY(rows_k, false, tenon::cuda::Rows<2>)
TENON_ENTRY(rows_codebook, false, tenon::cuda::Rows<3>)
TENON_ENTRY(rows_small, false, tenon::cuda::Rows<4>)
