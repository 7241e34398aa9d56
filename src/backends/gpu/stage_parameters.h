// Parameters of each kernel, passed by address as its only argument: structures for C++ and GLSL
// (scalar layout gives equal offsets). Addresses are the device's; 0 means none.
#ifdef __cplusplus
#pragma once
#include <cstdint>

#include "backends/gpu/step_layout.h"
namespace tenon::gpu {
#define TENON_SHARED_CONSTANT inline constexpr uint32_t
#else
#include "backends/gpu/step_layout.h"
#define TENON_SHARED_CONSTANT const uint
#endif

// embed, gather_rows and ngram_rows: rows by number.
struct RowsStage {
  Address step;
  Address table;  // rows of a weight, or an activation
  Address y;
  Address grids;
  Address row_bytes;  // of the table
  uint columns;       // columns per row of the table
  uint source;        // kRowsBy...
  uint position_parts;
  uint heads;         // rows side by side in ngram_rows; else 1
  uint first_number;  // ngram_rows: numbers per token before its own in StepHeader.ngram_rows
  uint reserved;
};
TENON_SHARED_CONSTANT kRowsByToken = 0;
TENON_SHARED_CONSTANT kRowsByPosition = 1;
TENON_SHARED_CONSTANT kRowsByOutput = 2;
TENON_SHARED_CONSTANT kRowsByNgram = 3;

struct LinearStage {
  Address step;
  Address x;
  Address weight;
  Address bias;  // f32; 0: none
  Address y;
  Address grids;
  Address row_bytes;  // of the weight
  uint row_class;
  uint rows;     // of the weight, n
  uint columns;  // of the weight, k
  uint x_columns;
  uint rows_of_head;  // linear_heads: rows of the weight that read the same part of x; else n
  uint reserved;
};

// Rows of x as f16 for matrix instructions: [tiles of 8 rows][units of 256 columns] of
// kRowUnitBytes. A quarter, 64 columns, is kRowFragmentBytes in the plugin's multiplication order,
// then f32 [2][8 rows], the sums over 32 columns each. A row is scaled by a power of two that
// brings its largest value to [2^14, 2^15). Columns past the end are zeros; rows past the end are
// undefined.
struct PackRowsStage {
  Address step;
  Address x;  // f32 [rows, columns]
  Address units;
  Address factors;  // f32 [rows]: multiply results by these
  uint row_class;
  uint columns;
};
TENON_SHARED_CONSTANT kRowUnitRows = 8;
TENON_SHARED_CONSTANT kRowFragmentBytes = 1024;  // per quarter
TENON_SHARED_CONSTANT kRowQuarterBytes = 1088;
TENON_SHARED_CONSTANT kRowUnitBytes = 4352;

// linear with a weight in units (gpu/weight_units.h).
struct UnitLinearStage {
  Address step;
  Address x;          // units of PackRowsStage
  Address x_factors;  // its factors
  Address weight;
  Address row_factors;  // f32 [rows]; 0: 1
  Address bias;         // f32 [rows]; 0: none
  Address y;            // f32 [T or R, rows]
  Address parts;        // scratch f32 [tiles, parts, 128]
  Address arrived;      // [tiles] uint: groups that arrived; zeros between launches
  uint row_class;
  uint rows;           // of the weight
  uint units;          // per row
  uint units_of_part;  // column_parts() of gpu/unit_products.h
  uint num_parts;
  uint groups_of_tile;
};

struct MoeLinearStage {
  Address step;
  Address x;
  Address ids;
  Address weights;  // 0: none
  Address weight;
  Address bias;  // f32 [experts, rows]; 0: none
  Address y;
  Address grids;
  Address row_bytes;
  uint rows;  // per expert
  uint columns;
  uint x_columns;
  uint used;
  uint sum;
  uint weigh_inputs;
};

struct MoeRouteStage {
  Address step;
  Address logits;
  Address bias;          // 0: none
  Address expert_scale;  // 0: none
  Address told;          // f32 [rows, used] expert numbers; 0: choose experts
  Address ids;
  Address weights;
  Address keys;  // scratch [rows, experts + groups] uint
  uint experts;
  uint used;
  uint scoring;
  uint normalise;
  uint groups;
  uint groups_used;
  float scale;
  float min_sum;
  float closeness;
  uint reserved;
};

struct NormStage {
  Address x;
  Address weight;  // f32 [segment]; 0: none
  Address bias;
  Address y;
  uint columns;
  uint segment;
  float epsilon;
  uint kind;  // TENON_OP_*
};

struct ElementwiseStage {
  Address step;
  Address x;
  Address y;  // second operand; 0: none
  Address result;
  uint columns;
  uint y_columns;    // divides columns
  uint y_is_vector;  // 1: one row for all
  uint position_parts;
  float a;
  float b;
  float c;
  float d;
  uint activation;
  uint flag;
};

struct RopeAnglesStage {
  Address step;
  Address turns;  // [pairs] uint64: turns for a position, a binary fraction
  Address parts;  // [pairs] uint
  Address y;
  uint pairs;
  uint position_parts;
  int offset;
  float magnitude;
};

struct RopeStage {
  Address x;
  Address angles;
  Address y;
  uint columns;
  uint head_dim;
  uint pairs;
  uint offset;
  uint halves;
  uint reserved;
};

struct KvWriteStage {
  Address step;
  Address keys;
  Address values;  // 0: latent
  CacheLayer cache;
};

struct AttentionStage {
  Address step;
  Address query;
  Address sinks;      // f32 [heads]; 0: none
  Address bias;       // slopes [heads], or a table [buckets, heads]; f32
  Address distances;  // RELATIVE: [buckets of a side] uint: the first distance of each
  Address selection;  // [T, selection_columns] int; 0: none
  Address y;
  CacheLayer cache;
  CacheLayer pools;  // attention_pools: rows that follow those of the window
  uint has_pools;
  uint splits;  // groups per token and head that share its positions; 0: one group
  uint heads;
  uint window;
  uint mask;
  uint bias_kind;
  uint two_sided;
  uint side_buckets;
  uint selection_columns;
  uint selection_parts;
  uint selected_block;
  uint selected_rest;
  float scale;
  float soft_cap;
  Address partials;  // scratch f32 [T, heads, splits, 2 + columns of a row]
  Address arrived;   // [T, heads] uint: groups that arrived; zeros between launches
};
// A token's positions are cut at multiples of this, into up to kAttentionSplits parts of equal
// length, whether one group computes them or several: results have the same bits.
TENON_SHARED_CONSTANT kSplitPositions = 512;
TENON_SHARED_CONSTANT kAttentionSplits = 16;

struct SelectStage {
  Address step;
  Address query;  // rotated if the cache is
  Address weights;
  Address y;
  CacheLayer cache;
  Address candidates;  // select_within: [T, candidate_columns] int, ascending, then -1
  uint heads;
  uint count;
  uint block;  // of positions, or of rows of the index; 0: select
  uint local;
  uint candidate_columns;
  uint reserved;
};

// Keys that a group keeps between passes of a selection.
TENON_SHARED_CONSTANT kKeptKeys = 2048;

struct CompressStage {
  Address step;
  Address bias;  // f32 [stride, columns]
  Address y;
  CacheLayer cache;
  uint stride;
  uint overlap;  // 1: uses the previous pool, too
};

struct RotateStage {
  Address x;
  Address y;
  uint columns;
  uint segment;
};

struct RoundStage {
  Address x;
  Address y;
  uint columns;
  uint segment;
  uint format;  // TENON_ROUND_*
  uint reserved;
};

struct SegmentsStage {
  Address x;
  Address y;
  uint columns;
  uint segment;
};

// slice and concat: the result joins pieces of x and y.
struct ColumnsStage {
  Address x;
  Address y;  // 0: none
  Address result;
  uint segments;
  uint x_segment;  // columns per segment of x
  uint x_first;
  uint x_columns;    // columns taken of it
  uint y_segment;    // columns per segment of y
  uint y_broadcast;  // 1: y has one segment for all of x
};

struct PoolStage {
  Address step;
  Address x;
  Address y;
  uint columns;
  uint kind;
};

struct MixStreamsStage {
  Address x;
  Address matrix;  // 0: none
  Address added;   // 0: none
  Address factors;
  Address y;
  uint streams;
  uint results;
  uint width;
  uint reserved;
};

struct SinkhornStage {
  Address x;
  Address y;
  uint size;
  uint iterations;
  float epsilon;
  uint reserved;
};

// token_shift and conv.
struct ConvStage {
  Address step;
  Address x;
  Address weight;  // f32 [columns, taps]; 0: token_shift
  Address bias;    // 0: none
  Address y;
  StateLayer state;
  uint columns;
  uint taps;
};

struct SsmScanStage {
  Address step;
  Address x;
  Address dt;
  Address a;  // f32 [heads, decays]
  Address b;
  Address c;
  Address d;  // f32 [heads]; 0: none
  Address y;
  StateLayer state;
  uint heads;
  uint head_dim;
  uint groups;
  uint size;
  uint decays;
  uint reserved;
};

struct DeltaRuleStage {
  Address step;
  Address q;
  Address k;
  Address v;
  Address decay;
  Address beta;
  Address y;
  StateLayer state;
  uint key_heads;
  uint value_heads;
  uint key_dim;
  uint value_dim;
  uint interleaved;
  uint decay_of_channels;  // 1: one per key channel
  float scale;
  uint reserved;
};

struct WkvStage {
  Address step;
  Address r;
  Address w;
  Address k;
  Address v;
  Address a;
  Address b;
  Address bonus;  // wkv6: f32 [heads * dim]; 0: none
  Address y;
  StateLayer state;
  uint heads;
  uint dim;
};

// draw: a workgroup per draw.
struct DrawStage {
  Address draws;  // DeviceDraw per workgroup
};
struct DeviceDraw {
  Address logits;   // f32 [vocab]
  Address row;      // scratch f32 [vocab]: with biases, -infinity for tokens that must not be drawn
  Address allowed;  // bit mask: token t is bit t % 32 of word t / 32; 0: all
  Address biases;   // [num_biases] DrawBias
  Address result;   // DrawResult
  Address candidates;  // [num_candidates] DrawCandidate, in any order
  Address token;       // int: the drawn token for the next step, 0 if none; null if not wanted
  Address top_p;       // a multiple of 2^-64
  Address random;      // random number, a multiple of 2^-64
  uint kind;           // TENON_DRAW_*
  uint vocab;
  uint num_biases;
  uint num_candidates;
  uint top_k;         // 0: all
  uint cuts_top_p;    // 0: all
  float most_behind;  // min_p: drops tokens further below the largest logit; infinity: none
  uint rate;          // log2(e) / temperature = rate * 2^-shift (draw_arithmetic.h)
  int shift;
  uint reserved;
};
struct DrawBias {
  uint token;
  float bias;
};
struct DrawCandidate {
  uint token;
  float logit;
};
struct DrawResult {
  Address mass;  // sum of exp(logit - largest) of the allowed tokens, a multiple of 2^-40
  float largest;
  float logit;  // of the drawn token
  uint token;
  uint num_candidates;
  uint flags;  // TENON_DRAWN_*
  uint reserved;
};
// log2(e) = kNaturalRate * 2^-kNaturalShift.
TENON_SHARED_CONSTANT kNaturalRate = 3098164009u;
TENON_SHARED_CONSTANT kNaturalShift = 31u;
TENON_SHARED_CONSTANT kDrawThreads = 128u;
// Above the key of -infinity, which marks forbidden tokens (draw_key of draw_arithmetic.h).
TENON_SHARED_CONSTANT kLeastDrawKey = 0x00800000u;
TENON_SHARED_CONSTANT kNoToken = 0xFFFFFFFFu;

// ---- Codebooks: points of all grids, concatenated, two per word ---------------------------------

TENON_SHARED_CONSTANT kIq1Points = 0;
TENON_SHARED_CONSTANT kIq2SPoints = kIq1Points + 2048;
TENON_SHARED_CONSTANT kIq2XsPoints = kIq2SPoints + 1024;
TENON_SHARED_CONSTANT kIq2XxsPoints = kIq2XsPoints + 512;
TENON_SHARED_CONSTANT kIq3SPoints = kIq2XxsPoints + 256;
TENON_SHARED_CONSTANT kIq3XxsPoints = kIq3SPoints + 512;
TENON_SHARED_CONSTANT kAllPoints = kIq3XxsPoints + 256;

#ifdef __cplusplus
}  // namespace tenon::gpu
#endif
