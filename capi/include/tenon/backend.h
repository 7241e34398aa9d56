/* Tenon's plugin ABI: the interface that a backend (the code that runs a model on some hardware)
 * implements. Plain C11, includes nothing of Tenon; a backend never links the library.
 *
 * Reading order: 1 conventions, 2 host services, 3 program, 4 step, 5 the backend's functions, 6
 * entry.
 *
 * Life of a backend:
 *   entry -> list_devices -> create_device -> supports? -> compile(program) -> load_rows... -> seal
 *         -> { buffer_create (cache), run(step), wait(ticket) }* -> destroy everything in reverse.
 *
 * A device that draws tokens itself (TENON_DEVICE_DRAWS) stays busy although the host has not yet
 * seen the tokens:
 *   run(n) -> draw(n) -> run(n + 1, which names what draw(n) draws) -> wait(n), wait(draw n)
 *          -> draw(n + 1) ...
 *
 * The smallest backend fills every function up to memory_bytes of tenon_backend_api, runs one step
 * at a time to its end in `run`, and leaves the rest NULL. src/backends/reference is such a
 * backend, written to be read.
 */
#ifndef TENON_BACKEND_H
#define TENON_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Conventions -----------------------------------------------------------------------------
 *
 * - Fallible functions return a tenon_status: 0 or a TENON_BACKEND_* code, whose values equal those
 *   of tenon.h. Before it returns a failure, a backend passes one sentence to tenon_host.set_error:
 *   what, where, value, limit.
 * - No function may throw, abort, exit, or let a signal escape. Out-parameters stay untouched on
 *   failure.
 * - Structures begin with struct_size (set by the side that fills them) or are reached with a
 *   stride given in their parent. Both only grow at the end. A reader uses the smaller of the two
 *   sizes it knows.
 * - Shapes are written outermost first. All numbers are little-endian, all text UTF-8.
 * - A broken rule that the host can see is an error of code PLUGIN that names the backend: an
 *   exception, success without an object, an unknown status, INTERNAL, CANCELLED unasked, a size
 *   outside the range stated at its function, logits that a step left unwritten. Texts are shown up
 *   to 4,096 bytes, control characters and invalid UTF-8 as \xNN. Nothing guards against a bad
 *   address.
 * - Pointers passed to a function are valid only until it returns, unless said otherwise.
 */

typedef int32_t tenon_status;

#define TENON_BACKEND_OK 0
#define TENON_BACKEND_FORMAT 1
#define TENON_BACKEND_UNSUPPORTED 2
#define TENON_BACKEND_LIMIT 3
#define TENON_BACKEND_IO 4
#define TENON_BACKEND_NO_MEMORY 5
#define TENON_BACKEND_ARGUMENT 6
#define TENON_BACKEND_CANCELLED 10
#define TENON_BACKEND_STATE 13
#define TENON_BACKEND_INTERNAL 14

#define TENON_BACKEND_MAGIC 0x4E4E4554u /* "TENN" */
#define TENON_BACKEND_MAJOR 2u          /* another major is refused */
#define TENON_BACKEND_MINOR 3u          /* newer minors only add */

/* Opaque objects of the backend. A backend casts its own types to these and does not define them,
 * so that several backends can be linked into one program. */
typedef struct tenon_device tenon_device;
typedef struct tenon_buffer tenon_buffer;
typedef struct tenon_executable tenon_executable;

/* ---- 2. Host services ------------------------------------------------------------------------ */

/* Purpose of an allocation, by which the host places and accounts for it. */
#define TENON_MEMORY_SCRATCH 0u /* activations, packed inputs */
#define TENON_MEMORY_WEIGHTS 1u /* large, read in every step: 2 MiB pages */
#define TENON_MEMORY_CACHE 2u   /* KV cache and recurrent states */

#define TENON_LOG_ERROR 0u
#define TENON_LOG_WARNING 1u
#define TENON_LOG_INFO 2u
#define TENON_LOG_DEBUG 3u

/* Work cut into phases. All threads of the host's team run every phase, and no thread enters phase
 * p + 1 before all have left phase p. A backend must not assume that two threads of one phase run
 * at the same time: a host may run them one after another. */
/* Runs the part of `phase` that belongs to `thread` of `num_threads`. num_threads does not change
 * within a job. */
typedef void (*tenon_job_run_fn)(void* arg, uint32_t phase, uint32_t thread, uint32_t num_threads);
/* Called by one thread before each phase while the others wait; nonzero ends the job. */
typedef int32_t (*tenon_job_before_phase_fn)(void* arg, uint32_t phase);

typedef struct tenon_parallel_job {
  uint32_t struct_size;
  uint32_t num_phases;
  void* arg;
  tenon_job_run_fn run;
  tenon_job_before_phase_fn before_phase; /* may be NULL */
} tenon_parallel_job;

/* Returns `size` zeroed bytes aligned to `alignment` (a power of two, at most 2 MiB), or NULL
 * without memory. release takes the same size. */
typedef void* (*tenon_host_allocate_fn)(void* user, uint64_t size, uint64_t alignment,
                                        uint32_t purpose);
typedef void (*tenon_host_release_fn)(void* user, void* memory, uint64_t size, uint32_t purpose);
typedef void (*tenon_host_log_fn)(void* user, uint32_t level, const char* text, uint64_t length);
/* The largest num_threads of any job. */
typedef uint32_t (*tenon_host_num_threads_fn)(void* user);
/* Runs a job and returns when it has ended: 0, or the nonzero value of before_phase. Otherwise a
 * TENON_BACKEND_* code with its sentence set: ARGUMENT for a job without `run` or whose struct_size
 * lacks fields, STATE inside another job, INTERNAL if a function of the job threw, or the reason
 * that kept the host's threads from running it. */
typedef int32_t (*tenon_host_parallel_fn)(void* user, const tenon_parallel_job* job);
/* Sets the sentence of the failure that this thread is about to return. */
typedef void (*tenon_host_set_error_fn)(void* user, const char* text, uint64_t length);

/* A cache for data that is costly to make and useful in another process, such as compiled kernels.
 * The host keeps the bytes under a key at a place that the application names; by default it keeps
 * nothing. The key names everything the bytes depend on: device, driver, build of the backend.
 * Neither function fails. Returned bytes have the length and checksum that was put, but may come
 * from anyone who can write to that place: check them like a file.
 *   get  returns the size kept under the key, 0 if nothing is; writes it to `bytes` if it is at
 *        most `capacity`
 *   put  replaces what is kept under the key
 * Keys have 1 to 256 bytes, values at most 64 MiB. Since minor 3. */
typedef uint64_t (*tenon_host_cache_get_fn)(void* user, const void* key, uint64_t key_size,
                                            void* bytes, uint64_t capacity);
typedef void (*tenon_host_cache_put_fn)(void* user, const void* key, uint64_t key_size,
                                        const void* bytes, uint64_t size);

/* Services of the host. The table and its functions stay valid until destroy_device returns (for
 * list_devices: until it returns). Any thread may call every function but `parallel`: that is
 * called only from inside a call of the host (compile, seal, run or wait; load_rows itself is
 * called from jobs), never from inside another job, and not concurrently. */
typedef struct tenon_host {
  uint32_t struct_size;
  uint32_t reserved;
  void* user;
  tenon_host_allocate_fn allocate;
  tenon_host_release_fn release;
  tenon_host_log_fn log;
  tenon_host_num_threads_fn num_threads;
  tenon_host_parallel_fn parallel;
  tenon_host_set_error_fn set_error;
  /* NULL if the host keeps nothing; older tables end before these. */
  tenon_host_cache_get_fn cache_get;
  tenon_host_cache_put_fn cache_put;
} tenon_host;

/* ---- 3. Program ---------------------------------------------------------------------------------
 *
 * A program is a list of operations over slots. A slot is a two-dimensional tensor [rows, columns].
 * The only free sizes are T, the tokens of a step, R, its wanted rows, and S, its sequences.
 * Exactly one operation writes each activation slot, before the operations that read it.
 *
 * Values enter a step through INPUT slots and leave it through slots that the program lists as
 * results. Logits are one result among others (hidden states, pooled vectors, the activations that
 * continue on another device).
 */

/* Element types and block formats have GGUF's numbers (0 f32, 1 f16, 2 q4_0, 8 q8_0, 12 q4_K, ...).
 */
#define TENON_TYPE_F32 0u
#define TENON_TYPE_F16 1u
#define TENON_TYPE_I32 26u
#define TENON_TYPE_I64 27u /* constants only; since minor 2 */
#define TENON_TYPE_F64 28u
/* Cache-only types. Every key and every value of a position and KV head has one f16 scale d.
 *   int8  x ~ d l, l in -127..127: d = max |x| / 127, l = round(x / d)
 *   q4    y ~ d (2 c - 15), c in 0..15, d = max |y| / 15: y is x after an orthonormal
 *         Walsh-Hadamard transform (of the largest power of two in the head's size, then of the
 *         rest)
 * Rounding is to nearest, ties to even; src/quant/cache_row.h is the definition to the bit. */
#define TENON_CACHE_INT8 256u
#define TENON_CACHE_Q4 257u

#define TENON_SLOT_WEIGHT 1u     /* [rows, columns] in `type`; its rows arrive through load_rows */
#define TENON_SLOT_CONSTANT 2u   /* [rows, columns] in `type`, at `data` during compile */
#define TENON_SLOT_ACTIVATION 3u /* [T, R or S, columns] f32, or i32 if the operation says so */
#define TENON_SLOT_INPUT 4u      /* as ACTIVATION, f32; bound by each step, not written */

#define TENON_ROWS_TOKENS 1u    /* T rows */
#define TENON_ROWS_OUTPUTS 2u   /* R rows */
#define TENON_ROWS_SEQUENCES 3u /* S rows, in the order of the step's sequences */

#define TENON_NO_SLOT 0xFFFFFFFFu
#define TENON_NO_PLAN 0xFFFFFFFFFFFFFFFFull

typedef struct tenon_slot {
  uint32_t kind;
  uint32_t type;
  uint32_t row_class; /* activations and inputs: TENON_ROWS_*; else 0 */
  uint32_t reserved;
  uint64_t rows; /* weights and constants; else 0. A vector has one row. */
  uint64_t columns;
  const void* data; /* constants only */
  const char* name; /* NUL-terminated; for messages */
  /* The host's memory plan, in bytes from the start of an area of tenon_program.activation_bytes:
   * slots that live at the same time do not overlap. A backend may plan for itself. TENON_NO_PLAN
   * for slots that are no activation, and for results, which live where the step binds them. */
  uint64_t plan_offset;
} tenon_slot;

/* Operations, with shapes in brackets; T may be 0. `x` etc. are activations, W weights, C
 * constants. For finite inputs the arithmetic gives a result near that of real numbers (the
 * conformance suite states the tolerance). A row of the result depends only on that row of the
 * inputs. */
#define TENON_OP_EMBED 1u /* (W [vocab, n]) -> [T, n]  params.embed; row t = W[tokens[t]] */
#define TENON_OP_RMS_NORM 2u /* (x [., n], W [1, s] or none) -> [., n]  params.norm; see below */
/* (x [., n], W [1, s] or none, bias [1, s] or none) -> [., n]  params.norm */
#define TENON_OP_LAYER_NORM 3u
/* (x [., k], W [n, k], bias W [1, n] or none) -> [., n]  x W^T + bias */
#define TENON_OP_LINEAR 4u
/* (C [1, p] f64, parts C [1, p] f64 or none) -> [T, 2p]  params.rope_angles */
#define TENON_OP_ROPE_ANGLES 5u
#define TENON_OP_ROPE 6u /* (x [T, h d], angles [T, 2p]) -> [T, h d]  params.rope */
/* (k [T, g dk], v [T, g dv]; LATENT: none) -> nothing  params.kv */
#define TENON_OP_KV_WRITE 7u
/* (q [T, h dk], sinks W [1, h] or none, bias or none,
 *  selection [T, k] or [T, g k] i32 or none) -> [T, h dv]  params.attention */
#define TENON_OP_ATTENTION 8u
#define TENON_OP_GLU 9u /* (gate [., n], up [., n]) -> [., n]  act(gate) up; params.glu */
#define TENON_OP_ADD 10u /* (x [., n], y [., n] or W [1, n]) -> [., n] */
#define TENON_OP_SCALE 11u /* (x [., n]) -> [., n]  factor x + offset; params.scale */
#define TENON_OP_GATHER_ROWS 12u /* (x [T, n]) -> [R, n]  row r = x[output_rows[r]] */
#define TENON_OP_SOFT_CAP 13u /* (x [., n]) -> [., n]  cap tanh(x / cap) */
/* (logits [., e], selection bias W [1, e] or none, expert scale W [1, e] or none,
 *  numbers [., u] or none) -> ids [., u] i32, weights [., u]  params.moe_route */
#define TENON_OP_MOE_ROUTE 14u
/* (x [., k] or [., u k], ids [., u] i32, W [e n, k], weights [., u] or none,
 *  bias W [e, n] or none) -> [., u n] or [., n]  params.moe_linear */
#define TENON_OP_MOE_LINEAR 15u
#define TENON_OP_SIGMOID_GATE 16u /* (x [., n], g [., s]) -> [., n]  x / (1 + exp(-g)); see mul */
#define TENON_OP_ACTIVATE 17u /* (x [., n]) -> [., n]  act(x); params.activate */
/* (x [., n], y [., s] or W [1, s]) -> [., n]
 * s divides n: y_j multiplies the n / s columns from j n / s on */
#define TENON_OP_MUL 18u
#define TENON_OP_SUM_SEGMENTS 19u /* (x [., n]) -> [., n / s]  of s columns each; params.segments */
#define TENON_OP_SLICE 20u /* (x [., n]) -> [., n / s c]  params.slice */
/* (x [., g a], y [., g b] or [., b]) -> [., g (a + b)]  params.concat */
#define TENON_OP_CONCAT 21u
/* (x [., h k], W [h n, k]) -> [., h n]  params.linear_heads
 * head j: its k columns times the transpose of rows [j n, (j + 1) n) of W */
#define TENON_OP_LINEAR_HEADS 22u
/* (x [., n]) -> [., n]  params.norm; per segment x / max(sqrt(sum(x^2)), epsilon) */
#define TENON_OP_L2_NORM 23u
#define TENON_OP_POSITION_SCALE 24u /* (x [T, n]) -> [T, n]  params.position_scale */
#define TENON_OP_POOL 25u /* (x [T, n]) -> [S, n]  params.pool */
/* (x [T, n]) -> [T, n]  params.state
 * row t = x of the token before it in its sequence, zeros before the first */
#define TENON_OP_TOKEN_SHIFT 26u
/* (x [T, n], W [n, K], bias W [1, n] or none) -> [T, n]  params.state */
#define TENON_OP_CONV 27u
/* (x [T, h p], dt [T, h], A W [h, N] or [h, 1], B [T, g N], C [T, g N],
 *  D W [1, h] or none) -> [T, h p]  params.ssm_scan */
#define TENON_OP_SSM_SCAN 28u
/* (q [T, hk dk], k [T, hk dk], v [T, hv dv], decay [T, hv] or [T, hv dk],
 *  beta [T, hv]) -> [T, hv dv]  params.delta_rule */
#define TENON_OP_DELTA_RULE 29u
#define TENON_OP_WKV7 30u /* (r, w, k, v, a, b: each [T, h d]) -> [T, h d]  params.wkv7 */
/* (x [., s n], m [., s r] or none, y [., n] or none, p [., r] or none) -> [., r n]
 * params.mix_streams */
#define TENON_OP_MIX_STREAMS 31u
#define TENON_OP_SINKHORN 32u /* (x [., s s]) -> [., s s]  params.sinkhorn */
#define TENON_OP_SELECT 33u /* (q [T, h dk], weights [T, h]) -> [T, k] i32  params.select */
#define TENON_OP_SELECT_BLOCKS 34u /* (q [T, h dk]) -> [T, h k] i32  params.select_blocks */
#define TENON_OP_COMPRESS 35u /* (bias W [m, n] or [m, 2 n]) -> [T, n]  params.compress */
/* (W [rows, d], multipliers C [1, n] i64, heads C [h, 3] i64,
 *  map C [1, v] i64 or none) -> [T, h d]  params.ngram_rows */
#define TENON_OP_NGRAM_ROWS 36u
/* (x [., n]) -> [., n]  params.segments
 * per segment of s columns exp(x_i) / sum over j of exp(x_j) */
#define TENON_OP_SOFTMAX 37u
/* (r, w, k, v: each [T, h d], u W [1, h d] or none) -> [T, h d]  params.wkv6 */
#define TENON_OP_WKV6 38u
/* (q [T, h dk], sinks W [1, h] or none, selection [T, k] i32 or none) -> [T, h dv]
 * params.attention_pools */
#define TENON_OP_ATTENTION_POOLS 39u
#define TENON_OP_ROUND 40u /* (x [., n]) -> [., n]  params.round; see below */
/* (q [T, h dk], weights [T, h]) -> [T, k] i32  params.select_within */
#define TENON_OP_SELECT_CANDIDATES 41u
/* (q [T, h dk], weights [T, h], candidates [T, c] i32) -> [T, k] i32  params.select_within */
#define TENON_OP_SELECT_WITHIN 42u

#define TENON_ROPE_ADJACENT 0u /* rotates the pairs (2i, 2i + 1): llama */
#define TENON_ROPE_HALVES 1u   /* rotates the pairs (i, i + p): qwen2, qwen3 (NeoX) */

#define TENON_ACTIVATION_SILU 0u      /* x / (1 + exp(-x)) */
#define TENON_ACTIVATION_GELU_ERF 1u  /* x/2 (1 + erf(x / sqrt 2)) */
#define TENON_ACTIVATION_GELU_TANH 2u /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
#define TENON_ACTIVATION_RELU 3u      /* max(x, 0) */
/* For ACTIVATE alone, not for GLU: */
#define TENON_ACTIVATION_RELU_SQUARED 4u /* max(x, 0)^2 */
#define TENON_ACTIVATION_XIELU 5u        /* params.activate; arXiv 2411.13010 */
#define TENON_ACTIVATION_SIGMOID 6u      /* 1 / (1 + exp(-x)) */
#define TENON_ACTIVATION_TANH 7u
#define TENON_ACTIVATION_SOFTPLUS 8u /* ln(1 + exp(x)) */
#define TENON_ACTIVATION_EXP 9u
#define TENON_ACTIVATION_SIGNED_ROOT 10u /* sign(x) sqrt(max(|x|, epsilon)), 0 at 0; minor 2 */

/* The four numbers are for XIELU; SIGNED_ROOT uses epsilon, too.
 *   x > 0: alpha_p x^2 + beta x;   else: alpha_n (expm1(min(x, epsilon)) - x) + beta x */
typedef struct tenon_activate_params {
  uint32_t activation; /* TENON_ACTIVATION_* */
  float alpha_p;
  float alpha_n;
  float beta;
  float epsilon;
} tenon_activate_params;

/* act(min(gate, limit)) (clamp(up, -limit, limit) + up_offset); with limit_after the first factor
 * is min(act(gate), limit). SILU is x / (1 + exp(-alpha x)) in this operation. */
typedef struct tenon_glu_params {
  uint32_t activation; /* TENON_ACTIVATION_SILU to _RELU */
  float alpha;         /* 0 means 1; else SILU only */
  float limit;         /* 0: none */
  float up_offset;
  uint32_t limit_after; /* 0 or 1 */
} tenon_glu_params;

/* Source of the row's index in the table. */
#define TENON_EMBED_TOKENS 0u    /* tokens[t] */
#define TENON_EMBED_POSITIONS 1u /* first part of token t's position; 0 to rows of W - 1 */

typedef struct tenon_embed_params {
  uint32_t source; /* TENON_EMBED_* */
} tenon_embed_params;

/* Rows by a hash of several tokens (n-gram embeddings: Engram, arXiv 2601.07372). Head j is (order
 * m, offset, size), 1 <= m <= n. Its part of row t is this row of W, in unsigned 64-bit integers:
 *   offset + (xor over i < m of token_{t-i} multiplier_i) mod size
 * token_t is tokens[t]; tokens before it in its sequence are in `tokens` or in earlier_tokens,
 * which holds at most n - 1 (tenon_program.token_history). n is 1 to 16. A token before the first
 * of its text counts as `end`, and so does every token before the last `end` that precedes token_t.
 * With a map, which has a number per token, a token counts as its number, a token before the first
 * of its text as `end`, and no token ends a text. Since minor 2. */
typedef struct tenon_ngram_rows_params {
  int32_t end; /* ends a text; with a map: stands for tokens before a text */
} tenon_ngram_rows_params;

/* Values of few bits, with a scale s per segment of `segment` columns. x becomes s round(x / s), to
 * nearest even in the format. s follows from a, the segment's largest |x|:
 *   FP8      e4m3, up to 448          s = 2^ceil(log2(max(a, 1e-4) / 448))
 *   FP4      e2m1, up to 6            s = 2^ceil(log2(max(a, 6 2^-126) / 6))
 *   FP4_FP8  e2m1                     s = max(a, 6 2^-9) / 6, itself rounded to e4m3
 * Formats of OCP Microscaling, version 1.0; e4m3 without infinities. Larger values become the
 * largest. */
#define TENON_ROUND_FP8 0u
#define TENON_ROUND_FP4 1u
#define TENON_ROUND_FP4_FP8 2u

typedef struct tenon_round_params {
  uint32_t format;  /* TENON_ROUND_* */
  uint32_t segment; /* at least 1; divides n */
} tenon_round_params;

typedef struct tenon_segments_params {
  uint32_t size;
} tenon_segments_params;

/* Columns [first, first + columns) (c) of each segment of `segment` columns (s), side by side. */
typedef struct tenon_slice_params {
  uint32_t segment;
  uint32_t first;
  uint32_t columns;
} tenon_slice_params;

/* x and y are `segments` (g) pieces each; the result is x_0 y_0 x_1 y_1 ... With broadcast 1, y has
 * the columns of one piece and follows each piece of x. */
typedef struct tenon_concat_params {
  uint32_t segments;
  uint32_t broadcast; /* 0 or 1 */
} tenon_concat_params;

/* x is s streams of n columns side by side, and the result is r of them:
 *   result_i = sum over j of m[j r + i] x_j + p_i y
 * Without m, result_i is x_i if r = s, and the sum of all x_j if r = 1. y and p come together or
 * not at all.
 * Hyper-connections (arXiv 2409.19606 and 2512.24880) are two of these around each block: one
 * stream out of s before it, s out of s and the block's result after it. */
typedef struct tenon_mix_streams_params {
  uint32_t streams; /* s, at least 1 */
  uint32_t results; /* r, at least 1; without m 1 or s */
} tenon_mix_streams_params;

/* Brings each row, a matrix [s, s], near the doubly stochastic matrices (Sinkhorn and Knopp 1967):
 *   X <- softmax of each of its rows + epsilon;   divide_columns;
 *   iterations - 1 times: divide_rows, divide_columns
 * divide_rows divides each value by the sum of its row + epsilon, divide_columns by the sum of its
 * column + epsilon. */
typedef struct tenon_sinkhorn_params {
  uint32_t size;       /* s, at least 1 */
  uint32_t iterations; /* at least 1 */
  float epsilon;       /* at least 0 */
} tenon_sinkhorn_params;

typedef struct tenon_linear_heads_params {
  uint32_t heads; /* h */
} tenon_linear_heads_params;

/* x (1 + scale ln(floor((position + offset) / length) + 1)), with the first part of the position.
 */
typedef struct tenon_position_scale_params {
  float scale;
  uint32_t length; /* at least 1 */
  uint32_t offset;
} tenon_position_scale_params;

/* Pooling over a sequence's rows in the step; zeros without rows. A pooled sequence has all its
 * tokens in one step. */
#define TENON_POOL_MEAN 0u
#define TENON_POOL_FIRST 1u
#define TENON_POOL_LAST 2u

typedef struct tenon_pool_params {
  uint32_t kind; /* TENON_POOL_* */
} tenon_pool_params;

/* Normalisation over segments of s consecutive columns (s = n for a whole row, s = the head size
 * for q/k norms; s divides n; all segments share the weight):
 *   rms_norm:   x / sqrt(mean(x^2) + epsilon) * W
 *   layer_norm: (x - mean) / sqrt(var + epsilon) * W + bias */
typedef struct tenon_norm_params {
  float epsilon;
  uint32_t segment; /* s */
} tenon_norm_params;

/* Row t = cos(a_0) m .. cos(a_{p-1}) m, sin(a_0) m .. sin(a_{p-1}) m with a_i = (positions[t] +
 * offset) C[i], reduced in f64 (f32 would lose the angle in a context of a million positions). If
 * positions have several parts (tenon_program.position_parts), parts[i] is the part that a_i takes,
 * from 0; without `parts`, part 0. */
typedef struct tenon_rope_angles_params {
  float magnitude; /* m: YaRN's attention factor, else 1 */
  int32_t offset;  /* the sum may be negative. Since minor 2 */
} tenon_rope_angles_params;

/* Each head rotates its values offset .. offset + 2p - 1: (a, b) -> (a cos - b sin, a sin + b cos);
 * the rest is copied. */
typedef struct tenon_rope_params {
  uint32_t style;    /* TENON_ROPE_* */
  uint32_t head_dim; /* d, at least offset + 2p */
  uint32_t offset;
} tenon_rope_params;

/* Writes row t of k and v as position past + i of its sequence into layer `layer` of cache group
 * `group`. A LATENT group has keys only; its values are the first dv columns of the key. With a
 * stride m (tenon_cache_group) only rows t with (past + i + 1) % m = 0 are written. */
typedef struct tenon_kv_params {
  uint32_t group;
  uint32_t layer;
} tenon_kv_params;

/* Positions i of its sequence that a token at position `own` attends to, those written by this step
 * included. */
#define TENON_MASK_CAUSAL 0u    /* i <= own; window > 0: and i > own - window */
#define TENON_MASK_CHUNKED 1u   /* own - own % window <= i <= own */
#define TENON_MASK_SYMMETRIC 2u /* all; window > 0: |i - own| <= window / 2. Whole sequences only */
#define TENON_MASK_CROSS 3u     /* all cross_positions of a CROSS group */

/* Bias added to a score. */
#define TENON_BIAS_NONE 0u
#define TENON_BIAS_ALIBI 1u    /* bias = C [1, h] f64: - bias_j |own - i| for head j */
/* bias = W [b, h] f32, `buckets` = b: W[bucket(i - own), j] for head j, as in T5. Two-sided: half
 * of the buckets are for i > own. With n buckets per side, e = n / 2, and m = |i - own| (one-sided
 * 0 for i > own): m if m < e, else min(n - 1, e + floor(ln(m / e) / ln(max_distance / e) (n - e))).
 */
#define TENON_BIAS_RELATIVE 2u

/* Attention of token t of a sequence. Query head j reads KV head j / (heads / kv_heads).
 *   s_i = scale q.k_i;  soft_cap > 0: s_i = soft_cap tanh(s_i / soft_cap);  s_i + bias
 *   weights = softmax over i (and over the head's sink logit, whose value is zero, if given)
 * A selection, the result of a select or select_blocks, restricts attention to the positions that
 * its row names. A number of select is one position; a number b of select_blocks is the n positions
 * [b n, (b + 1) n). All heads share a selection of one part; of g parts, KV head j has part j. A
 * number j of a select over a group with a stride n is the n positions [j n, (j + 1) n). The token
 * then also attends to the positions after the last whole n, [own + 1 - (own + 1) % n, own]. A
 * selection requires a FULL or LATENT group without a stride, a CAUSAL mask without window, and no
 * bias. */
typedef struct tenon_attention_params {
  uint32_t group;
  uint32_t layer;
  uint32_t heads;
  uint32_t window; /* 0: no limit */
  float scale;
  float soft_cap;
  uint32_t mask;         /* TENON_MASK_* */
  uint32_t bias;         /* TENON_BIAS_* */
  uint32_t two_sided;    /* RELATIVE: 0 or 1 */
  uint32_t max_distance; /* RELATIVE */
  uint32_t selections;     /* parts of the selection: 1 or g; 0 means 1. Since minor 2 */
  uint32_t selected_block; /* n, positions per number; 0 means 1. Since minor 2 */
  /* 1: attend to the positions after the last whole n; else 0. Since minor 2 */
  uint32_t selected_rest;
} tenon_attention_params;

/* Selects the positions that a token at position `own` attends to: the index of DeepSeek sparse
 * attention, arXiv 2512.02556. Layer `layer` of a LATENT group has a row k_i of dk values per
 * position i; its values are not read.
 *   s_i = sum over j < h of weights_j max(q_j.k_i, 0),  i <= own
 * The row holds the positions of the k largest s_i in ascending order, then -1. Among equal s_i the
 * lower position comes first; with fewer than k positions it holds all. NaN counts as -infinity. In
 * a group with a stride m, i counts its rows, of which the token sees floor((own + 1) / m). */
typedef struct tenon_select_params {
  uint32_t group;
  uint32_t layer;
  uint32_t heads; /* h, at least 1 */
  uint32_t count; /* k, 1 to 65536 */
} tenon_select_params;

/* Selects the blocks of positions that a token at position `own` attends to, per index head:
 * MiniMax Sparse Attention. Layer `layer` of a LATENT group has a row k_i of dk values per position
 * i; its values are not read. Block b is the positions [b n, (b + 1) n), the last block up to
 * `own`.
 *   s_jb = max over i in block b of q_j.k_i;  infinity for the last `local` blocks
 * Part j of the row, of k columns, holds the numbers of the k blocks of the largest s_jb in
 * ascending order, then -1. Among equal s_jb the lower number comes first; with fewer than k blocks
 * it holds all. A NaN product counts as -infinity. Since minor 2. */
typedef struct tenon_select_blocks_params {
  uint32_t group;
  uint32_t layer;
  uint32_t heads; /* h, at least 1 */
  uint32_t count; /* k, at least 1; h k n at most 2^20 */
  uint32_t block; /* n, at least 1 */
  uint32_t local; /* 0 to k */
} tenon_select_blocks_params;

/* An index that selects in two steps (DeepSeek-V4.1). s_i and i are those of select, in blocks of
 * n:
 *   select_candidates  the numbers b of the k blocks [b n, (b + 1) n) of the largest scores; a
 *                      block's score is the largest s_i that the token sees of it, infinity for the
 *                      block of the last such i
 *   select_within      as select, but only of those i in a block that `candidates` names: the
 *                      result of a select_candidates with the same n over a group with the same
 *                      stride
 * Among equal scores the lower number comes first. A row is in ascending order, then -1. Since
 * minor 2. */
typedef struct tenon_select_within_params {
  uint32_t group;
  uint32_t layer;
  uint32_t heads; /* h, at least 1 */
  uint32_t count; /* k, 1 to 65536; select_candidates: k n at most 2^20 */
  uint32_t block; /* n, at least 1 */
} tenon_select_within_params;

/* One row per pool of m positions [j m, (j + 1) m), by learnt weights that sum to 1 in each column.
 * Layer `layer` of a WINDOW group with g = 1 and dk = dv = n, which has been written, has values
 * v_i (its keys) and gates z_i (its values) per position i. For a token at position (j + 1) m - 1,
 * over the positions i of its pool:
 *   w_ic = softmax over i of z_ic + bias_{i % m, c};   y_c = sum over i of w_ic v_ic
 * Rows of other tokens are zero. The group's window is at least m. Kept in a group with stride m,
 * these are the pooled index keys of GLM-5.3.
 * With overlap, dk = dv = 2 n, and the pool before counts, too: its positions use columns c of
 * values, gates and bias, the pool's own positions columns n + c. The softmax is over these 2 m
 * positions, for the first pool over m. The window is at least 2 m, and the group has no stride.
 * These are the compressed rows of DeepSeek-V4. Since minor 2. */
typedef struct tenon_compress_params {
  uint32_t group;
  uint32_t layer;
  uint32_t stride; /* m, at least 1; equals the group's stride if it has one */
  uint32_t overlap; /* 0 or 1 */
} tenon_compress_params;

/* Attention of token t to the last `window` positions of its sequence and to pools of positions, in
 * one softmax (DeepSeek-V4). Rows are keys and, in their first dv columns, values for all heads.
 * Layer `layer` of `group` has a row k_i per position, layer `pool_layer` of `pool_group` a row r_j
 * per m positions. Both groups are LATENT, with the same dk, dv and type; the first has no stride,
 * the second has stride m and no window.
 *   s_i = scale q.k_i,  own - window < i <= own;   s_j = scale q.r_j,  j < floor((own + 1) / m)
 *   weights = softmax over all i and j (and over the head's sink logit, whose value is zero, if
 *   given)
 * A selection, the result of a select or select_within over a group with the same stride, restricts
 * j to those that its row names. The window is at most that of `group`, if that has one. Since
 * minor 2. */
typedef struct tenon_attention_pools_params {
  uint32_t group;
  uint32_t layer;
  uint32_t heads;
  uint32_t window; /* 0: no limit */
  float scale;
  uint32_t pool_group;
  uint32_t pool_layer;
} tenon_attention_pools_params;

/* Recurrent operations keep values of each sequence in a STATE group: values [offset, offset +
 * size) of layer `layer`. Each operation states its size. All values are zero before the first
 * token of a sequence. The recurrence over a sequence's tokens gives the same bits however they are
 * cut into steps, if the device promises that. */
typedef struct tenon_state_params {
  uint32_t group;
  uint32_t layer;
  uint32_t offset; /* f32 values */
} tenon_state_params;
/* token_shift: size n, the last row.
 * conv: causal, one filter per column:
 *   row t = bias + sum over i < K of W[., i] x_{t - K + 1 + i}
 * size (K - 1) n, the last K - 1 rows, the latest last. */

/* Selective scan of Mamba 1 (p = 1, A [h, N]) and Mamba 2 (A [h, 1]), arXiv 2312.00752 and
 * 2405.21060. Head j has group j / (h / g) of B and C; its state S [p, N]:
 *   S <- exp(dt_j A_j) S + dt_j x_j B^T;   y_j = S C + D_j x_j
 * size h p N, by head, p and N. */
typedef struct tenon_ssm_scan_params {
  tenon_state_params state;
  uint32_t heads;
  uint32_t groups; /* g, divides h */
  uint32_t size;   /* N */
} tenon_ssm_scan_params;

/* Gated delta rule, arXiv 2412.06464; with a decay per key channel Kimi Delta Attention, arXiv
 * 2510.26692. Value head j has a state S [dk, dv] and reads this key head:
 *   interleaved 0: j / (hv / hk)      interleaved 1: j % hk
 *   S <- diag(exp(decay_j)) S;   d = beta_j (v_j - S^T k);   S <- S + k d^T;   o_j = scale S^T q
 * size hv dk dv, by head, dk and dv. */
typedef struct tenon_delta_rule_params {
  tenon_state_params state;
  uint32_t key_heads;   /* hk, divides hv */
  uint32_t value_heads; /* hv */
  uint32_t interleaved; /* 0 or 1 */
  float scale;
} tenon_delta_rule_params;

/* RWKV 7, arXiv 2503.14456. Each head has a state S [d, d] (value, key):
 *   S <- S diag(w) + (S a) b^T + v k^T  (S a of the previous S);   y = S r
 * size h d d, by head, value and key. */
typedef struct tenon_wkv7_params {
  tenon_state_params state;
  uint32_t heads;
} tenon_wkv7_params;

/* RWKV 6, arXiv 2404.05892; without u gated linear attention, arXiv 2312.06635. Each head has a
 * state S [d, d] (key, value):
 *   with u:     y = (S + diag(u) k v^T)^T r;  S <- diag(w) S + k v^T
 *   without u:  S <- diag(w) S + k v^T;  y = S^T r
 * size h d d, by head, key and value. */
typedef struct tenon_wkv6_params {
  tenon_state_params state;
  uint32_t heads;
} tenon_wkv6_params;

/* How logits become scores. */
#define TENON_MOE_SOFTMAX_ALL 0u    /* softmax over all logits; the chosen weights sum to < 1 */
#define TENON_MOE_SOFTMAX_CHOSEN 1u /* softmax over the chosen logits; the weights sum to 1 */
#define TENON_MOE_SIGMOID 2u        /* 1 / (1 + exp(-logit)) */
#define TENON_MOE_SPARSE_MIXER 3u   /* the weights depend on logits that come close; see below */
#define TENON_MOE_SQRT_SOFTPLUS 4u  /* sqrt(ln(1 + exp(logit))); since minor 2 */

/* Chooses for each row the u experts of the largest score + selection bias, the largest first and
 * among equal ones the lower number first. SOFTMAX_CHOSEN chooses by logit + selection bias. First
 * output: their numbers i_0 .. i_{u-1} in 0 .. e - 1. Second: their weights w_0 .. w_{u-1}, the
 * score without the bias; with normalise 1 divided by max(their sum, min_sum); times `scale`; times
 * the expert's scale if given. 1 <= u <= e <= 65536.
 *
 * With groups > 1 the experts form that many runs of equal length. A run counts the sum of its two
 * largest values of score + selection bias (a run of one: its value). Only experts of the
 * `groups_used` largest runs can be chosen, among equal ones the lower number. Under SOFTMAX_ALL
 * without bias and groups, logits order as scores do.
 *
 * SPARSE_MIXER (SparseMixer-v2, arXiv 2409.12136) chooses by logit, with neither bias nor groups.
 * With l the logit of the j-th chosen, w_j = 1 / sum(exp(l_i - l)) over the experts i that are not
 * among the first j chosen and have (l - l_i) / max(|l_i|, l) <= closeness; the chosen expert
 * itself is one of them. normalise is 0.
 *
 * With `numbers` nothing is chosen: i_j is numbers_j, rounded to the nearest of 0 .. e - 1 (NaN:
 * 0); a number may occur twice. Selection bias, groups and SPARSE_MIXER are then not allowed. Since
 * minor 2. */
typedef struct tenon_moe_route_params {
  uint32_t used;    /* u */
  uint32_t scoring; /* TENON_MOE_* */
  float scale;
  uint32_t normalise; /* 0 or 1; 0 for SOFTMAX_CHOSEN */
  float min_sum;
  uint32_t groups;      /* 0 or 1: none; divides e */
  uint32_t groups_used; /* must hold at least u experts */
  float closeness;      /* SPARSE_MIXER: at least 0 */
} tenon_moe_route_params;

#define TENON_MOE_WEIGHT_OUTPUTS 0u
#define TENON_MOE_WEIGHT_INPUTS 1u

/* A linear whose weight is chosen per row. W holds e matrices [n, k], the first expert's first;
 * `ids` and `weights` are the outputs of one moe_route of e experts. x_j is the whole row of x, or
 * its part [j k, (j + 1) k) if x has u k columns. y_j = x_j W_{i_j}^T + bias_{i_j}; w_j is 1 if
 * absent.
 *   sum 0: the row is w_0 y_0 .. w_{u-1} y_{u-1}, u n columns
 *   sum 1: the row is w_0 y_0 + .. + w_{u-1} y_{u-1}, n columns
 * With TENON_MOE_WEIGHT_INPUTS, which needs weights, w_j multiplies x_j instead of y_j. */
typedef struct tenon_moe_linear_params {
  uint32_t experts; /* e */
  uint32_t sum;     /* 0 or 1 */
  uint32_t weigh;   /* TENON_MOE_WEIGHT_* */
  /* 1: all of the first matrix is zero, and a backend may write zeros for rows that chose it. */
  uint32_t first_is_zero;
} tenon_moe_linear_params;

#define TENON_MAX_INPUTS 8u
#define TENON_MAX_OUTPUTS 2u

typedef struct tenon_op {
  uint32_t kind; /* TENON_OP_* */
  uint32_t reserved;
  uint32_t num_inputs;
  uint32_t num_outputs;
  uint32_t inputs[TENON_MAX_INPUTS];   /* slots; TENON_NO_SLOT if absent and from num_inputs on */
  uint32_t outputs[TENON_MAX_OUTPUTS]; /* slots; TENON_NO_SLOT from num_outputs on */
  union {
    tenon_norm_params norm;
    tenon_rope_angles_params rope_angles;
    tenon_rope_params rope;
    tenon_kv_params kv;
    tenon_attention_params attention;
    tenon_moe_route_params moe_route;
    tenon_moe_linear_params moe_linear;
    tenon_embed_params embed;
    tenon_glu_params glu;
    tenon_activate_params activate;
    tenon_segments_params segments;
    tenon_slice_params slice;
    tenon_concat_params concat;
    tenon_linear_heads_params linear_heads;
    tenon_position_scale_params position_scale;
    tenon_pool_params pool;
    tenon_state_params state;
    tenon_ssm_scan_params ssm_scan;
    tenon_delta_rule_params delta_rule;
    tenon_wkv7_params wkv7;
    tenon_mix_streams_params mix_streams;
    tenon_sinkhorn_params sinkhorn;
    tenon_select_params select;
    tenon_select_blocks_params select_blocks;
    tenon_ngram_rows_params ngram_rows;
    tenon_wkv6_params wkv6;
    tenon_compress_params compress;
    tenon_attention_pools_params attention_pools;
    tenon_round_params round;
    tenon_select_within_params select_within;
    struct {
      float factor;
      float offset;
    } scale;
    struct {
      float cap;
    } soft_cap;
    uint64_t reserved[16];
  } params;
} tenon_op;

/* Cache of a group of layers, per sequence. */
#define TENON_CACHE_FULL 0u   /* keys and values of every position, in blocks */
#define TENON_CACHE_WINDOW 1u /* last `window` positions; earlier blocks may be absent */
#define TENON_CACHE_LATENT 2u /* one row of dk values per position, the first dv its value; g = 1 */
#define TENON_CACHE_STATE 3u  /* a fixed number of values, whatever the length */
#define TENON_CACHE_CROSS 4u  /* as FULL, of another text: an encoder's */

/* Layers whose cache has the same kind, geometry and lifetime. A block holds block_tokens positions
 * of all layers of the group, or one state of all of them. Its inner layout is the backend's own
 * (block_bytes tells the size). It is the same for all programs of a device whose groups have equal
 * fields and, for states, whose operations keep the same values at the same places. */
typedef struct tenon_cache_group {
  uint32_t layers;
  uint32_t kv_heads;  /* g */
  uint32_t key_dim;   /* dk */
  uint32_t value_dim; /* dv */
  uint32_t type;      /* TENON_TYPE_F32, TENON_TYPE_F16, TENON_CACHE_INT8, TENON_CACHE_Q4 */
  uint32_t block_tokens;
  uint32_t kind;   /* TENON_CACHE_* */
  /* WINDOW: positions, at least 1; no attention of the group looks back further. LATENT: likewise,
   * earlier blocks may be missing, and no select reads the group; 0: all positions. Else 0. */
  uint32_t window;
  /* STATE: f32 values per layer, at least 1; kv_heads, key_dim, value_dim and block_tokens are then
   * 0 and type is TENON_TYPE_F32. Else 0. */
  uint32_t state_values;
  uint32_t reserved;
  /* LATENT without a window, m > 1: only positions p with (p + 1) % m = 0 have a row, which stands
   * for the m positions up to p; a block holds ceil(block_tokens / m) rows. 0 means 1. WINDOW, m >
   * 1: only compress reads the group, and only positions from the last multiple of m on. Else 0.
   * Since minor 2. */
  uint32_t stride;
} tenon_cache_group;

/* Flag of tenon_program.flags. The executable is only asked for sizes (block_bytes,
 * row_granularity, memory_bytes) and destroyed: a backend may leave its memory unallocated and its
 * kernels unmade. Nothing is loaded or run. */
#define TENON_PROGRAM_PLAN 1u

typedef struct tenon_program {
  uint32_t struct_size;
  uint32_t num_slots;
  uint32_t slot_size; /* bytes from one slot to the next */
  uint32_t num_ops;
  uint32_t op_size;
  uint32_t num_groups;
  uint32_t group_size;
  uint32_t num_results; /* at least 1 */
  uint32_t logits;      /* the result with the logits, a slot [R, vocab], or TENON_NO_SLOT */
  uint32_t max_tokens;  /* largest T of a step, and so largest S */
  uint32_t max_outputs; /* largest R of a step */
  uint32_t position_parts; /* numbers per position: 1, or 3 (time, height, width) */
  const tenon_slot* slots;
  const tenon_op* ops;
  const tenon_cache_group* groups;
  const uint32_t* results;   /* [num_results] activation slots, each once; also readable */
  uint64_t activation_bytes; /* size of the planned area */
  /* Columns of tenon_step.earlier_tokens: largest n - 1 of an ngram_rows; else 0. Since minor 2 */
  uint32_t token_history;
  uint32_t flags; /* TENON_PROGRAM_*. Since minor 3 */
} tenon_program;

/* ---- 4. Step --------------------------------------------------------------------------------- */

/* Entry of a block table of a group with a window: no position of this block is within the window
 * of a token that the step computes. */
#define TENON_NO_BLOCK 0xFFFFFFFFu

/* Tokens [first_token, first_token + num_tokens) of the step belong to one sequence that has `past`
 * positions in the cache; they become its positions past, past + 1, ... A sequence occurs once in a
 * step; the tokens of the next one follow its own. */
typedef struct tenon_step_sequence {
  uint32_t first_token;
  uint32_t num_tokens;
  uint32_t past;
  uint32_t cross_positions; /* in CROSS groups; else 0 */
  /* [num_groups] -> block numbers:
   *   STATE       [2]: the state after `past` tokens (TENON_NO_BLOCK: all zeros; past is then 0),
   *               and the destination of the state after past + num_tokens; may be equal (no
   *               tokens: untouched)
   *   CROSS       [ceil(cross_positions / block_tokens)]
   *   all others  [ceil((past + num_tokens) / block_tokens)]
   * A program that writes a CROSS group (the encoder) treats it as FULL: the positions are its own.
   */
  const uint32_t* const* block_tables;
} tenon_step_sequence;

/* Block b of a group is in slabs[b / blocks_per_slab] at (b % blocks_per_slab) * block_bytes. A
 * slab without blocks in use may be NULL. */
typedef struct tenon_cache_pool {
  tenon_buffer* const* slabs;
  uint32_t num_slabs;
  uint32_t blocks_per_slab;
} tenon_cache_pool;

/* Host memory of an input's or a result's values: [rows, columns] of the slot's type, row after
 * row. */
typedef struct tenon_binding {
  uint32_t slot;
  uint32_t reserved;
  void* data;
} tenon_binding;

typedef struct tenon_step {
  uint32_t struct_size;
  uint32_t num_tokens; /* T, at most max_tokens */
  uint32_t num_outputs; /* R, at most max_outputs */
  uint32_t num_sequences; /* S */
  uint32_t sequence_size; /* bytes from one sequence to the next */
  uint32_t num_pools;     /* = num_groups */
  uint32_t num_bindings;
  uint32_t binding_size;    /* bytes from one binding to the next */
  const int32_t* tokens;    /* [T], 0 <= token < vocab; with `after` also -1 - r */
  const int32_t* positions; /* [T, position_parts] */
  const tenon_step_sequence* sequences;
  const tenon_cache_pool* pools;
  const uint32_t* output_rows; /* [R], each < T */
  /* One per INPUT slot and per result with rows in this step. With TENON_DEVICE_DRAWS the logits
   * may be left out: they then stay on the device, for `draw`. */
  const tenon_binding* bindings;
  /* NULL, or a flag that another thread may set at any time (read it atomically). Stop before the
   * next operation, or in the middle of a long one (a few milliseconds are long), and return
   * TENON_BACKEND_CANCELLED. The results, and the positions that the step was to write, are then
   * undefined. */
  const uint32_t* cancel;
  /* TENON_NO_TICKET, or with TENON_DEVICE_DRAWS the ticket of the step run last. tokens[t] = -1 - r
   * is then the token drawn for its output row r, by kind GREEDY or DRAWN. ARGUMENT if none was
   * drawn, also because that step or its draw failed or was cancelled. If the draw gave no token
   * (tenon_drawn.flags), the step computes anything, but ends. */
  uint64_t after;
  /* [S, token_history]: the tokens before each sequence's first one in the step, the latest last;
   * TENON_BEFORE_TEXT before the text's beginning. All are known: a token named by `after` is a
   * token of the step itself. Not read if token_history is 0. Since minor 2. */
  const int32_t* earlier_tokens;
} tenon_step;

#define TENON_BEFORE_TEXT INT32_MIN /* a place before the first token of a text */

#define TENON_NO_TICKET 0ull

/* A draw from an output row. It first adds the biases to the logits, then drops the tokens that are
 * not allowed. The kinds then work over the remaining tokens, in the order of token ids:
 *   GREEDY      the token of the largest logit, among equal ones the lowest
 *   DRAWN       with the weights w_i = exp(l_i - max l): keeps the top_k largest logits (among
 *               equal ones the lower tokens), then the fewest heaviest tokens whose weights reach
 *               top_p of their sum, then those with l_i >= max l + ln(min_p); divides logits by
 *               temperature; takes the first token at which the sum of the weights passes u times
 *               the whole sum. u has 53 bits, from the first two words of Philox4x32-10 with the
 *               counter (position, position >> 32, 0, 0) and the key (seed, seed >> 32), the first
 *               word the lower one, shifted right by 11.
 *   CANDIDATES  the num_candidates largest logits, largest first, among equal ones the lower tokens
 *               first
 *   ROW         the logits as the step computed them, without biases and with all tokens
 * A draw is reproducible on its device; another device may round sums otherwise. */
#define TENON_DRAW_GREEDY 1u
#define TENON_DRAW_DRAWN 2u
#define TENON_DRAW_CANDIDATES 3u
#define TENON_DRAW_ROW 4u

#define TENON_DRAWN_NOT_FINITE 1u   /* a logit is NaN or infinite; no token */
#define TENON_DRAWN_NONE_ALLOWED 2u /* all tokens are masked; no token */

typedef struct tenon_drawn {
  uint32_t flags;      /* TENON_DRAWN_* */
  int32_t token;       /* GREEDY, DRAWN; -1: none */
  float logprob;       /* among the allowed tokens, with biases, before top_k, top_p and min_p */
  float log_sum_exp;   /* over the same logits */
  uint32_t num_candidates; /* CANDIDATES: fewer than asked for if fewer are allowed */
  uint32_t reserved;
} tenon_drawn;

typedef struct tenon_draw_bias {
  int32_t token;
  float bias; /* finite, or -infinity */
} tenon_draw_bias;

typedef struct tenon_draw {
  uint32_t row;  /* row in the step, below its R */
  uint32_t kind; /* TENON_DRAW_* */
  uint32_t top_k;      /* 0: all */
  uint32_t reserved;
  double temperature; /* above 0 */
  double top_p;       /* 1: all */
  double min_p;       /* 0: all */
  uint64_t seed;
  uint64_t position;
  const uint64_t* allowed; /* NULL: all; or [ceil(vocab / 64)]: bit t % 64 of word t / 64 */
  const tenon_draw_bias* biases; /* [num_biases], no token twice */
  uint32_t num_biases;
  uint32_t num_candidates; /* CANDIDATES: 1 to 1024 */
  /* Destinations in host memory. */
  tenon_drawn* drawn;      /* always */
  int32_t* candidates;     /* CANDIDATES: [num_candidates] tokens */
  float* logits;           /* CANDIDATES: [num_candidates]; ROW: [vocab] */
} tenon_draw;

/* ---- 5. The backend's functions -------------------------------------------------------------- */

typedef struct tenon_backend_option {
  const char* key;
  const char* value;
} tenon_backend_option;

/* An option of create_device. Texts are NUL-terminated and live as long as the plugin is loaded. */
typedef struct tenon_backend_option_info {
  const char* key;
  const char* values; /* its values: "fixed or f32", "a whole number from 1" */
  const char* standard; /* the default; may be empty */
  const char* doc;    /* one sentence */
} tenon_backend_option_info;

#define TENON_DEVICE_REFERENCE 1u /* correct, not fast; used only if named */
#define TENON_DEVICE_CPU 2u
#define TENON_DEVICE_GPU 3u
#define TENON_DEVICE_ACCELERATOR 4u

/* Rounding of activations in a product with weights of some format; sums are kept in f32 or wider.
 * The conformance suite takes its tolerances from this. */
#define TENON_PRECISION_F32 1u     /* none */
#define TENON_PRECISION_FIXED14 2u /* 14-bit integers with a scale per 32 values */
#define TENON_PRECISION_F16 3u
#define TENON_PRECISION_BF16 4u
#define TENON_PRECISION_INT8 5u /* 8-bit integers with a scale per 32 values */

/* A result's row has the same bits alone and in any step, with any neighbours and however the
 * prompt was cut into steps. */
#define TENON_DEVICE_BATCH_INVARIANT 1u
/* The device has `draw`, for all kinds, and tenon_step.after. */
#define TENON_DEVICE_DRAWS 2u

typedef struct tenon_device_info {
  uint32_t struct_size;
  uint32_t kind;         /* TENON_DEVICE_* */
  char name[64];         /* unique within the backend: "cpu", "gpu 1" */
  char description[192]; /* "AMD EPYC, AVX2 kernels": all that the bits of a result depend on */
  char unavailable[192]; /* empty, or why it cannot be used: "driver 535, needs 580" */
  uint64_t memory_total; /* bytes; 0: unknown */
  uint64_t memory_available;
  uint32_t flags;            /* TENON_DEVICE_BATCH_INVARIANT, ... */
  uint32_t precision_float;  /* TENON_PRECISION_* with f32 weights */
  uint32_t precision_bf16;   /* with bf16 weights */
  uint32_t precision_blocks; /* with weights of a block format */
  uint32_t step_tokens;      /* tokens get cheaper up to this T */
  uint32_t step_outputs;     /* a good largest R */
  uint32_t token_multiple;   /* T costs about as much as the next multiple of this */
  uint32_t block_tokens;     /* a good size of a cache block, in positions */
  uint64_t slab_bytes;       /* a good size of a buffer of cache blocks */
  uint32_t steps_under_way;  /* runs that may precede the first wait; 1 to 64 */
  uint32_t precision_f16;    /* with f16 weights; 0: as precision_float */
} tenon_device_info;

/* Any thread may use a device and the objects made from it, one call at a time; load_rows may be
 * called concurrently for disjoint rows. */
typedef struct tenon_backend_api {
  uint32_t magic; /* TENON_BACKEND_MAGIC */
  uint32_t major;
  uint32_t minor;
  uint32_t struct_size;
  const char* name; /* "reference", "cpu", ...: 1 to 63 letters, digits, - and _; not "auto" */

  /* Writes up to `capacity` infos, info_size bytes from one to the next, and their total number to
   * `count`. UNSUPPORTED, with a sentence that says why, if nothing can be listed (no driver). No
   * function before this one may look for hardware. */
  tenon_status (*list_devices)(const tenon_host* host, tenon_device_info* infos, uint32_t info_size,
                               uint32_t capacity, uint32_t* count);
  /* Lists the options of create_device, likewise; never fails. */
  void (*list_options)(tenon_backend_option_info* infos, uint32_t info_size, uint32_t capacity,
                       uint32_t* count);

  /* `index`: position in list_devices. Unknown option keys and values are TENON_BACKEND_ARGUMENT.
   */
  tenon_status (*create_device)(const tenon_host* host, uint32_t index,
                                const tenon_backend_option* options, uint32_t num_options,
                                tenon_device** device);
  void (*destroy_device)(tenon_device* device);
  /* As list_devices, for the device with its options. info->struct_size is the size of the caller's
   * structure. */
  tenon_status (*describe)(tenon_device* device, tenon_device_info* info);

  /* Nonzero if the device can run operation `op` of the program with the types of its slots. */
  int32_t (*supports)(tenon_device* device, const tenon_program* program, uint32_t op);

  /* Memory that the host can hand to steps (cache slabs), zeroed. read, write and copy take byte
   * ranges and take effect after all steps that were run before. */
  tenon_status (*buffer_create)(tenon_device* device, uint64_t size, uint32_t purpose,
                                tenon_buffer** buffer);
  void (*buffer_destroy)(tenon_buffer* buffer);
  tenon_status (*buffer_read)(tenon_buffer* buffer, uint64_t offset, void* out, uint64_t size);
  tenon_status (*buffer_write)(tenon_buffer* buffer, uint64_t offset, const void* in, uint64_t size);
  tenon_status (*buffer_copy)(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                              uint64_t from_offset, uint64_t size);

  /* Compiles a program into the backend's own form; keeps no pointer into it. Allocates the memory
   * of weights and activations. */
  tenon_status (*compile)(tenon_device* device, const tenon_program* program,
                          tenon_executable** executable);
  void (*destroy_executable)(tenon_executable* executable);

  /* Bytes of one block of a cache group, 1 to 2^48; asked once. */
  uint64_t (*block_bytes)(const tenon_executable* executable, uint32_t group);
  /* first_row and num_rows of load_rows (except at the end) are multiples of this, 1 to 2^48. */
  uint64_t (*row_granularity)(const tenon_executable* executable, uint32_t slot);
  /* Stores rows [first_row, first_row + num_rows) of weight `slot`, given as blocks of its format,
   * row after row. After seal, between steps, a backend may take rows again, or refuse them as
   * TENON_BACKEND_STATE. */
  tenon_status (*load_rows)(tenon_executable* executable, uint32_t slot, uint64_t first_row,
                            uint64_t num_rows, const void* blocks, uint64_t size_bytes);
  /* Called when all weights are loaded; run may be called afterwards. */
  tenon_status (*seal)(tenon_executable* executable);

  /* Starts a step and returns its ticket, a number of at least 1. The step's data is read or copied
   * before run returns, except the memory of bindings and the cancel flag, which stay valid until
   * wait returns. A backend may finish the work in this call. Steps take effect in the order of
   * their runs. At most steps_under_way may have been run and not waited for; a further run is
   * TENON_BACKEND_STATE. */
  tenon_status (*run)(tenon_executable* executable, const tenon_step* step, uint64_t* ticket);
  /* Returns when the step or draw has ended and its results are where they were bound to. Called
   * once per ticket, in the order of the runs and draws. */
  tenon_status (*wait)(tenon_executable* executable, uint64_t ticket);

  /* Bytes that the executable holds: weights, scratch; at most 2^48. */
  uint64_t (*memory_bytes)(const tenon_executable* executable, uint32_t purpose);

  /* With TENON_DEVICE_DRAWS, else may be NULL. Draws from the logits of the step that was run last;
   * `step` is its ticket, which may have been waited for. draw_size is the bytes from one draw to
   * the next. Each row at most once for GREEDY and DRAWN until the next run. The draw's own ticket
   * is waited for like a step's. Everything is copied before it returns, except the memory of
   * results, which stays valid until wait returns. A step that failed or was cancelled fails its
   * draws. */
  tenon_status (*draw)(tenon_executable* executable, uint64_t step, const tenon_draw* draws,
                       uint32_t num_draws, uint32_t draw_size, uint64_t* ticket);
  /* May be NULL: a host then waits. *ended becomes 1 if wait for this ticket would return at once,
   * else 0; the ticket must still be waited for. */
  tenon_status (*poll)(tenon_executable* executable, uint64_t ticket, uint32_t* ended);
  /* May be NULL: such a device is never lost. Nonzero if the driver has lost the device: all later
   * calls are STATE, for good. Destroy the objects made of it; a new device of the same index may
   * work. Since minor 3. */
  int32_t (*is_lost)(const tenon_device* device);
} tenon_backend_api;

/* ---- 6. Entry -----------------------------------------------------------------------------------
 *
 * A plugin exports this one symbol. It is called once, with the version of the host. NULL means
 * that the plugin cannot run on this machine. It does not touch hardware or drivers: list_devices
 * does. The table lives as long as the plugin is loaded. */
typedef const tenon_backend_api* (*tenon_backend_entry_fn)(uint32_t host_major, uint32_t host_minor);
#define TENON_BACKEND_ENTRY "tenon_backend_entry"

#ifdef __cplusplus
}
#endif

#endif /* TENON_BACKEND_H */
