// Kernels with texts shared by both plugins (gpu/kernels): members needed by the texts, and
// entries.
#include "backends/cuda/kernels/device_weights.h"
#include "backends/cuda/kernels/gpu_dialect.h"

namespace tenon::cuda {

struct Columns {
  TENON_STAGE(ColumnsStage);
#include "backends/gpu/kernels/columns.inl"
};

struct Compress {
  TENON_STAGE(CompressStage);
  TENON_DEVICE uint cache_type() const { return constants.values[0]; }
  // Arrays with the columns of a row.
  float* rotated = dynamic_shared<float>();
  float* values = rotated + constants.values[1];
  float* highest = values + constants.values[1];
  float* weights = highest + constants.values[1];
  float* results = weights + constants.values[1];
#include "backends/gpu/kernels/compress.inl"
};

struct Conv {
  TENON_STAGE(ConvStage);
#include "backends/gpu/kernels/conv.inl"
};

struct DeltaRule {
  TENON_STAGE(DeltaRuleStage);
#include "backends/gpu/kernels/delta_rule.inl"
};

struct Draw {
  TENON_STAGE(DrawStage);
  using Draws = Array<const DeviceDraw>;
  using Biases = Array<const DrawBias>;
  using Candidates = Array<DrawCandidate>;
  using Results = Array<DrawResult>;
#include "backends/gpu/kernels/draw.inl"
};

struct Elementwise {
  TENON_STAGE(ElementwiseStage);
  TENON_DEVICE uint operation() const { return constants.values[0]; }
#include "backends/gpu/kernels/elementwise.inl"
};

struct KvWrite {
  TENON_STAGE(KvWriteStage);
  TENON_DEVICE uint cache_type() const { return constants.values[0]; }
  float* rotated = dynamic_shared<float>();  // [columns of a key or a value]
#include "backends/gpu/kernels/kv_write.inl"
};

struct MixStreams {
  TENON_STAGE(MixStreamsStage);
#include "backends/gpu/kernels/mix_streams.inl"
};

struct MoeRoute {
  TENON_STAGE(MoeRouteStage);
#include "backends/gpu/kernels/moe_route.inl"
};

struct Norm {
  TENON_STAGE(NormStage);
#include "backends/gpu/kernels/norm.inl"
};

struct Pool {
  TENON_STAGE(PoolStage);
#include "backends/gpu/kernels/pool.inl"
};

struct Rope {
  TENON_STAGE(RopeStage);
#include "backends/gpu/kernels/rope.inl"
};

struct RopeAngles {
  TENON_STAGE(RopeAnglesStage);
#include "backends/gpu/kernels/rope_angles.inl"
};

struct Rotate {
  TENON_STAGE(RotateStage);
  float* rotated = dynamic_shared<float>();  // [columns of a segment]
#include "backends/gpu/kernels/rotate.inl"
};

struct Round {
  TENON_STAGE(RoundStage);
#include "backends/gpu/kernels/round.inl"
};

template <uint family>
struct Rows {
  TENON_STAGE(RowsStage);
  TENON_DEVICE void decode8(Address row, uint first, Address grids, float (&w)[8]) {
    cuda::decode8(decoder_of<family>(constants), row, first, grids, w);
  }
#include "backends/gpu/kernels/rows.inl"
};

struct Segments {
  TENON_STAGE(SegmentsStage);
  TENON_DEVICE uint operation() const { return constants.values[0]; }
#include "backends/gpu/kernels/segments.inl"
};

struct Select {
  TENON_STAGE(SelectStage);
  TENON_DEVICE uint cache_type() const { return constants.values[0]; }
  TENON_DEVICE uint operation() const { return constants.values[1]; }
#include "backends/gpu/kernels/select.inl"
};

struct Sinkhorn {
  TENON_STAGE(SinkhornStage);
#include "backends/gpu/kernels/sinkhorn.inl"
};

struct SsmScan {
  TENON_STAGE(SsmScanStage);
#include "backends/gpu/kernels/ssm_scan.inl"
};

struct Wkv {
  TENON_STAGE(WkvStage);
  TENON_DEVICE uint operation() const { return constants.values[0]; }
#include "backends/gpu/kernels/wkv.inl"
};

}  // namespace tenon::cuda

TENON_ENTRY(columns, false, tenon::cuda::Columns)
TENON_ENTRY(compress, true, tenon::cuda::Compress)
TENON_ENTRY(conv, false, tenon::cuda::Conv)
TENON_ENTRY(delta_rule, false, tenon::cuda::DeltaRule)
TENON_ENTRY(draw, true, tenon::cuda::Draw)
TENON_ENTRY(elementwise, false, tenon::cuda::Elementwise)
TENON_ENTRY(kv_write, true, tenon::cuda::KvWrite)
TENON_ENTRY(mix_streams, false, tenon::cuda::MixStreams)
TENON_ENTRY(moe_route, true, tenon::cuda::MoeRoute)
TENON_ENTRY(norm, true, tenon::cuda::Norm)
TENON_ENTRY(pool, false, tenon::cuda::Pool)
TENON_ENTRY(rope, false, tenon::cuda::Rope)
TENON_ENTRY(rope_angles, false, tenon::cuda::RopeAngles)
TENON_ENTRY(rotate, true, tenon::cuda::Rotate)
TENON_ENTRY(round, true, tenon::cuda::Round)
TENON_ENTRY(rows_floats, false, tenon::cuda::Rows<0>)
TENON_ENTRY(rows_scaled, false, tenon::cuda::Rows<1>)
TENON_ENTRY(rows_k, false, tenon::cuda::Rows<2>)
TENON_ENTRY(rows_codebook, false, tenon::cuda::Rows<3>)
TENON_ENTRY(rows_small, false, tenon::cuda::Rows<4>)
TENON_ENTRY(segments, true, tenon::cuda::Segments)
TENON_ENTRY(select, true, tenon::cuda::Select)
TENON_ENTRY(sinkhorn, true, tenon::cuda::Sinkhorn)
TENON_ENTRY(ssm_scan, false, tenon::cuda::SsmScan)
TENON_ENTRY(wkv, false, tenon::cuda::Wkv)
