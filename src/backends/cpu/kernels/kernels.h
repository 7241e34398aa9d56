// The table of kernels: all code of the CPU backend that is compiled per instruction set. Chosen
// once per device. Kernels do not allocate, throw or use threads.
//
// Determinism: a result element is computed by a fixed sequence of operations, whatever the rows,
// columns or tokens of a call.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/attention_mask.h"
#include "backends/cpu/layouts/cache_block.h"
#include "tenon/backend.h"

namespace tenon::cpu {

/// Values of a quantised activation row that share a scale: the smallest block of integer formats.
/// Row lengths are multiples of it.
inline constexpr uint32_t kActivationBlock = 32;
/// Values whose sum is stored, for weights with a scale per half block.
inline constexpr uint32_t kHalfBlock = kActivationBlock / 2;
/// Rows of a weight panel (panels.h).
inline constexpr uint32_t kIntegerPanelRows = 16;
inline constexpr uint32_t kFloatPanelRows = 32;
/// Values of k per float tile.
inline constexpr uint32_t kTileDepth = 256;
/// Values of k of a row of an f16 or bf16 panel that share an exponent (panels.h).
inline constexpr uint32_t kExponentDepth = 256;
/// True if activation rows of this many columns have a fixed-point form.
constexpr bool has_fixed_point(uint64_t columns) { return columns % kActivationBlock == 0; }

/// Activation rows are interleaved in groups of 8 (a single row is not), so that a micro-kernel
/// reads all its rows through one pointer and constant offsets: 8 pointers would be half of the
/// registers of x86. 8 is the most rows that a micro-kernel takes (kColumns of AVX-512: 8 sums in
/// two halves hide the 4 cycles of a product), and 4 bytes of each of 8 rows are half a cache line.
/// The narrower micro-kernels of other instruction sets divide it.
inline constexpr uint32_t kRowInterleave = 8;
/// Rows in the whole groups that hold `rows`; a single row is stored alone. Micro-kernels also
/// compute the padding rows; their results are not used.
constexpr uint64_t grouped_rows(uint64_t rows) {
  return rows == 1 ? 1 : (rows + kRowInterleave - 1) / kRowInterleave * kRowInterleave;
}

/// Sums of the first and the last eight bytes of half a block.
struct HalfTotals {
  int16_t first, last;
  [[nodiscard]] int32_t both() const { return first + last; }
};

/// Quantised forms of activations: bytes for weights of integer formats, fixed point for f16 and
/// bf16. Bits of a set; 0 means f32.
using ActivationFormat = uint32_t;
inline constexpr ActivationFormat kActivationBytes = 1;
inline constexpr ActivationFormat kActivationFixed = 2;

/// Quantised activation rows in the formats that linears read; arrays of other formats are null.
/// Bytes: x[t][k] ~ d[t][k / 32] q[t][k], |q| <= 127. Row t is row i = t % kRowInterleave of group
/// g = t / kRowInterleave; a single row is stored alone (i is 0). Fixed point: x[t][k] ~
/// fixed_d[t][k / 32] fixed[t][k], |fixed| <= 8191, rows contiguous.
struct QuantRows {
  uint64_t num_rows;  ///< in the step
  uint64_t columns;
  int8_t* q;           ///< [g, columns / 4, i, 4]
  uint8_t* biased;     ///< [g, columns / 4, i, 4] q + 128
  float* d;            ///< [g, columns / 32, i]
  float* sums;         ///< [g, columns / 32, i] d times the sum of q
  float* half_sums;    ///< [g, columns / 16, i] d times the sum of q
  HalfTotals* totals;  ///< [g, columns / 16, i]
  int16_t* fixed;      ///< [rows, fixed_stride()]
  float* fixed_d;      ///< [rows, fixed_stride() / 32]

  /// Padded: rows a power of two of bytes apart would share few cache lines.
  [[nodiscard]] uint64_t fixed_stride() const { return columns + kActivationBlock; }
  [[nodiscard]] int16_t* fixed_at(uint64_t t, uint64_t column) const {
    return fixed + t * fixed_stride() + column;
  }
  [[nodiscard]] float* fixed_scale_at(uint64_t t, uint64_t column) const {
    return fixed_d + (t * fixed_stride() + column) / kActivationBlock;
  }
  /// Number of interleaved rows: the distance between entries of a row.
  [[nodiscard]] uint64_t interleave() const { return num_rows == 1 ? 1 : kRowInterleave; }
  /// Offset of row t in an array with one `size`-element entry per `values` columns.
  [[nodiscard]] uint64_t row(uint64_t t, uint64_t values, uint64_t size = 1) const {
    const uint64_t group = t / interleave() * (columns / values) * interleave();
    return (group + t % interleave()) * size;
  }
};

/// Makes the arrays for up to `rows` rows in a set of formats; take(T*&, count) allocates each.
///   reads_both  Kernels::reads_both; if false, q and biased share memory
template <typename Take>
void make_quant_rows(QuantRows& out, uint64_t rows, uint64_t columns, ActivationFormat formats,
                     bool reads_both, Take take) {
  const uint64_t grouped = grouped_rows(rows);
  out.columns = columns;
  if ((formats & kActivationFixed) != 0) {
    take(out.fixed, grouped * out.fixed_stride());
    take(out.fixed_d, grouped * (out.fixed_stride() / kActivationBlock));
  }
  if ((formats & kActivationBytes) == 0) return;
  take(out.q, grouped * columns);
  if (reads_both) {
    take(out.biased, grouped * columns);
  } else {
    out.biased = reinterpret_cast<uint8_t*>(out.q);
  }
  take(out.d, grouped * (columns / kActivationBlock));
  take(out.sums, grouped * (columns / kActivationBlock));
  take(out.half_sums, grouped * (columns / kHalfBlock));
  take(out.totals, grouped * (columns / kHalfBlock));
}

/// y[t][c - c0] = sum_k x[t][k] W[c][k] for all rows t and the weight rows c of num_panels panels,
/// of which c0 is the first row.
struct LinearArgs {
  const uint8_t* weights;  ///< the packed weight, panel 0
  uint64_t panel_bytes;
  uint64_t first_panel;
  uint64_t num_panels;
  uint64_t weight_rows;  ///< columns of y; the last panel may be partly empty
  uint64_t depth;        ///< k
  uint64_t num_rows;     ///< t
  QuantRows quantised;   ///< read by integer panels, and by f16 and bf16 panels in fixed point
  const float* x;        ///< read by float panels: [num_rows, depth]
  uint64_t x_stride;     ///< distance between rows
  /// [grouped rows, y_stride]; columns past the last panel's weights and rows past the last may be
  /// overwritten.
  float* y;
  uint64_t y_stride;  ///< at least num_panels whole panels
  float* tile;        ///< scratch [kTileDepth, kFloatPanelRows]
  float* chunk;       ///< scratch of float panels [kChunkFloats]: packed activations
  /// Row-major blocks (kRawPanels): decodes `values` values of a row.
  void (*decode_row)(const void* blocks, float* out, uint64_t values) noexcept;
  uint64_t row_bytes;
  uint32_t block_values;
  uint32_t block_bytes;
};
/// Padding of chunk rows, which would otherwise be a power of two of bytes apart.
inline constexpr uint64_t kChunkPadding = 16;
/// Size of LinearArgs::chunk, into which float panel kernels pack k values of rows (BLIS's packed
/// A): half of a small second-level cache, 256 rows by 256 values.
inline constexpr uint64_t kChunkFloats = 264 * (256 + kChunkPadding);
/// LinearArgs::y_stride for this many columns.
constexpr uint64_t whole_panels(uint64_t columns) {
  return CacheBlock::round_up(columns, kFloatPanelRows);
}
using LinearKernel = void (*)(const LinearArgs&) noexcept;

/// Layout of a packed weight, by kernel (panels.h draws the layouts).
enum class PanelKind : uint32_t {
  F32,
  F16,
  BF16,
  E4m3Group32,
  E4m3Group128,  // float panels
  Raw,           // row-major blocks of any format, decoded on use
  U4Half,
  U4HalfMin,
  U5Half,
  U5HalfMin,
  S8Half,
  U4Super,
  U5Super,
  U6Super,
  U1Half,
  U2Half,
  U2Half256,
  U2Super,
  U3Super,
  Table4Half,
  Table4Super,
  Fp4,
  Fp4Quarter,
  Iq1S,
  Iq1M,
  Iq2Xxs,
  Iq2,
  Iq3Xxs,
  Iq3S,
  U4Group32,
  U4Group64,
  U4Group128,
  S8Group,
  U4Pair32,
  U4Pair64,
  S8Pair,  // integer panels
  Count,
};

/// Positions per softmax: partial results are merged in order at multiples of this, so the split
/// never depends on slices or threads.
inline constexpr uint32_t kAttentionSpan = 256;

/// Bias by distance for the scores of a KV head's query heads; all null means none.
struct AttentionBias {
  const double* slopes = nullptr;  ///< ALIBI: [heads]
  const float* table = nullptr;    ///< RELATIVE: [buckets, heads], table_stride from row to row
  uint64_t table_stride = 0;
  /// RELATIVE: [2 reach + 1] table rows; the entry for distance i - own is at i - own + reach.
  /// Larger distances use the outermost entries.
  const uint16_t* buckets = nullptr;
  uint32_t reach = 0;
};

/// Attention of consecutive tokens of a sequence over the cache of one layer and KV head. Columns
/// are query heads times tokens: column t * heads + h.
struct AttentionArgs {
  const uint8_t* const* blocks;  ///< address of each cache block of the sequence
  uint64_t area_offset;          ///< bytes to this layer and KV head in a block (cache_block.h)
  CacheBlock shape;
  uint32_t num_tokens;
  uint32_t position;  ///< position of the first token
  uint32_t window;    ///< 0 means none
  uint32_t mask = TENON_MASK_CAUSAL;
  uint32_t positions = 0;         ///< positions of the sequence in the group: seen_positions()
  uint32_t heads;                 ///< query heads of this KV head
  uint32_t first_span, end_span;  ///< positions in units of kAttentionSpan
  const float* q;                 ///< [num_tokens, heads, key_dim], tokens q_stride apart
  uint64_t q_stride;
  float* out;  ///< [num_tokens, heads, value_dim], tokens out_stride apart
  uint64_t out_stride;
  float scale, soft_cap;
  const float* sinks;  ///< [heads] or null
  AttentionBias bias = {};
  /// Null if the spans are complete: the result goes to `out`. Else a partial result per span, for
  /// attention_merge.
  float* partials;
  float* scratch;  ///< attention_scratch_floats(...)

  [[nodiscard]] uint32_t columns() const { return num_tokens * heads; }
};

/// Result of a span: per column the largest score, the sum of weights (0: attends to no position)
/// and the weighted values [columns, value_stride].
struct AttentionPartial {
  float* max;
  float* sum;
  float* values;
};
constexpr uint64_t attention_partial_floats(uint64_t columns, uint64_t value_stride) {
  return 2 * CacheBlock::round_up(columns, 16) + columns * value_stride;
}
constexpr AttentionPartial attention_partial(float* memory, uint64_t columns) {
  const uint64_t rounded = CacheBlock::round_up(columns, 16);
  return {memory, memory + rounded, memory + 2 * rounded};
}
constexpr uint64_t attention_scratch_floats(uint64_t columns, const CacheBlock& shape) {
  const uint64_t stride = shape.value_stride();
  return columns * (shape.query_stride() + kAttentionSpan) +
         2 * attention_partial_floats(columns, stride) + kAttentionSpan * uint64_t{2} +
         8 * uint64_t{16};
}

/// Lanes of a state tile (state_tiles.h): two vectors share each broadcast, and a tile of 128 rows
/// takes half of a first-level cache.
inline constexpr uint32_t kStateLanes = 32;

/// Causal convolution of some columns of a sequence.
struct ConvArgs {
  float* state;  ///< [taps - 1, stride] in: rows before x, out: last rows
  uint32_t taps;
  uint32_t num_tokens;
  uint64_t columns;
  uint64_t stride;      ///< distance between rows of state, x, weight and out
  const float* x;       ///< [num_tokens, stride]
  const float* weight;  ///< [taps, stride]
  const float* bias;    ///< [columns] or NULL
  float* out;           ///< [num_tokens, stride]
};

/// Runs consecutive tokens of a sequence through a tile of a state. Rows of x and out cover the
/// tile's lanes; strides go from token to token.
struct StateScan {
  const float* before;  ///< [rows, width] before the tokens; may equal `state`
  float* state;         ///< [rows, width] after the tokens
  uint32_t width;       ///< 1 to kStateLanes
  uint64_t rows;
  uint32_t num_tokens;
  float* out;  ///< [num_tokens, width], out_stride
  uint64_t out_stride;
};

struct SsmScanArgs {
  StateScan scan;
  bool channels;      ///< dt, A and D per lane; else one for all
  bool one_decay;     ///< A has one value for all rows
  const float* x;     ///< [num_tokens, width], stride as out
  const float* dt;    ///< [num_tokens, width or 1]
  const float* a;     ///< [rows or 1, width or 1]
  const float* b;     ///< [num_tokens, rows]
  const float* c;     ///< [num_tokens, rows], stride as b
  const float* skip;  ///< D [width or 1] or NULL
  uint64_t dt_stride, a_stride, b_stride;
};

struct DeltaRuleArgs {
  StateScan scan;
  const float* q;      ///< [num_tokens, rows]
  const float* k;      ///< [num_tokens, rows]
  const float* v;      ///< [num_tokens, width], stride as out
  const float* decay;  ///< [num_tokens, rows or 1]
  const float* beta;   ///< [num_tokens]
  uint64_t key_stride, decay_stride, beta_stride;
  bool decay_per_row;
  float scale;
  float* scratch;  ///< [2 rows] with decay_per_row
};

struct Wkv7Args {
  StateScan scan;
  /// [num_tokens, rows], stride as out
  const float *r, *w, *k, *a, *b;
  const float* v;  ///< [num_tokens, width], stride as out
};

struct Wkv6Args {
  StateScan scan;
  /// [num_tokens, rows], stride as out
  const float *r, *w, *k;
  const float* v;  ///< [num_tokens, width], stride as out
  const float* u;  ///< [rows] or NULL
};

struct Kernels {
  const char* name;  ///< "avx2"
  /// True if formats or row counts require both q and q + 128.
  bool reads_both;
  /// True if weights of these formats use fixed point, for rows of whole blocks.
  bool fixed_bf16, fixed_f16;
  /// True if weights of folders (formats of memory, mxfp4) are multiplied with f32.
  bool float_codes;
  LinearKernel linear[static_cast<uint32_t>(PanelKind::Count)];

  /// Quantises x [num_rows, x_stride], num_columns columns from first_column on (multiples of 32),
  /// into the rows from first_row on of `out`, in all its formats.
  void (*quantise)(const float* x, uint64_t x_stride, const QuantRows& out, uint64_t first_row,
                   uint64_t num_rows, uint64_t first_column, uint64_t num_columns) noexcept;
  /// y = x / sqrt(mean(x^2) + epsilon) * weight, [n]. weight may be NULL.
  void (*rms_norm)(const float* x, const float* weight, float epsilon, float* y,
                   uint64_t n) noexcept;
  /// weight and bias may be NULL.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float epsilon,
                     float* y, uint64_t n) noexcept;
  /// y = x / max(sqrt(sum(x^2)), epsilon), [n].
  void (*l2_norm)(const float* x, float epsilon, float* y, uint64_t n) noexcept;
  /// Sum of x [n].
  float (*sum)(const float* x, uint64_t n) noexcept;
  void (*add)(const float* x, const float* y, float* out, uint64_t n) noexcept;
  void (*mul)(const float* x, const float* y, float* out, uint64_t n) noexcept;
  /// x / (1 + exp(-g))
  void (*gate)(const float* x, const float* g, float* out, uint64_t n) noexcept;
  void (*scale)(const float* x, float factor, float* out, uint64_t n) noexcept;
  void (*soft_cap)(const float* x, float cap, float* out, uint64_t n) noexcept;
  void (*activate)(const tenon_activate_params& params, const float* x, float* out,
                   uint64_t n) noexcept;
  void (*glu)(const tenon_glu_params& params, const float* gate, const float* up, float* out,
              uint64_t n) noexcept;
  /// Rotates one head: x [head_dim] -> y [head_dim]; angles [2p] from TENON_OP_ROPE_ANGLES.
  void (*rope)(uint32_t style, const float* x, const float* angles, uint32_t pairs, float* y,
               uint32_t head_dim) noexcept;
  /// Writes one KV head of a position into its area of a cache block: k [key_dim] or null, v
  /// [value_dim] or null.
  void (*kv_write)(const float* k, const float* v, const CacheBlock& shape, uint8_t* area,
                   uint32_t slot) noexcept;
  void (*attention[static_cast<uint32_t>(CacheType::Count)])(const AttentionArgs&) noexcept;
  void (*attention_merge)(const AttentionArgs&) noexcept;
  /// Index scores of a span's positions for one token [kAttentionSpan], from weights [heads].
  void (*index_scores[static_cast<uint32_t>(CacheType::Count)])(const AttentionArgs&,
                                                                const float* weights,
                                                                float* scores) noexcept;
  /// Products of an index head's query with a span's rows for one token [kAttentionSpan].
  void (*index_products[static_cast<uint32_t>(CacheType::Count)])(const AttentionArgs&,
                                                                  float* products) noexcept;
  void (*conv)(const ConvArgs&) noexcept;
  void (*ssm_scan)(const SsmScanArgs&) noexcept;
  void (*delta_rule)(const DeltaRuleArgs&) noexcept;
  void (*wkv7)(const Wkv7Args&) noexcept;
  void (*wkv6)(const Wkv6Args&) noexcept;
};

const Kernels& kernels_portable() noexcept;
#if defined(__x86_64__)
const Kernels& kernels_avx2() noexcept;
const Kernels& kernels_avx2_vnni() noexcept;
const Kernels& kernels_avx512() noexcept;
#elif defined(__aarch64__)
const Kernels& kernels_neon() noexcept;
const Kernels& kernels_neon_i8mm() noexcept;
#endif

}  // namespace tenon::cpu
