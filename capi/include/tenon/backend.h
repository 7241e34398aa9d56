/* Tenon's plugin ABI: what a backend (the code that runs a model on some hardware) is written
 * against. Plain C11, includes nothing of Tenon; a backend never links the library.
 *
 * Reading order: 1 conventions, 2 host services, 3 program, 4 step, 5 the backend's functions, 6 entry.
 *
 * A backend lives this way:
 *   entry -> list_devices -> create_device -> supports? -> compile(program) -> load_rows... -> seal
 *         -> { buffer_create (cache), run(step), wait(ticket) }* -> destroy everything in reverse order.
 *
 * A device that draws tokens itself (TENON_DEVICE_DRAWS) can be kept busy by a host that has not seen them:
 *   run(n) -> draw(n) -> run(n + 1, which names what draw(n) draws) -> wait(n), wait(draw n) -> draw(n + 1) ...
 *
 * The smallest backend fills every function up to memory_bytes of tenon_backend_api, runs one step at a
 * time to its end in `run`, and leaves the rest NULL. src/backends/reference is such a backend, written
 * to be read.
 */
#ifndef TENON_BACKEND_H
#define TENON_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Conventions -------------------------------------------------------------------------------
 *
 * - Fallible functions return a tenon_status: 0 or one of the TENON_BACKEND_* codes below, whose values
 *   equal those of tenon.h. Before returning a failure a backend passes one sentence to
 *   tenon_host.set_error: what, where, value, limit.
 * - No function may throw, abort, exit, or let a signal escape. Out-parameters stay untouched on failure.
 * - Structures begin with struct_size (set by the side that fills them) or are reached with a stride given in
 *   their parent; both only ever grow at the end. A reader uses the smaller of the two sizes it knows.
 * - Shapes are written outermost first. All numbers are little-endian, all text UTF-8.
 * - What the host can see of a broken rule is an error of code PLUGIN that names the backend: an exception,
 *   success without an object, an unknown status, INTERNAL, CANCELLED unasked, a size outside what is said
 *   at its function, logits that a step left unwritten. Texts are shown up to 4,096 bytes, control
 *   characters and what is no UTF-8 as \xNN. Nothing guards against a bad address.
 * - Unless said otherwise, pointers passed to a function are only valid until it returns.
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
#define TENON_BACKEND_MAJOR 2u          /* differs: refused */
#define TENON_BACKEND_MINOR 3u          /* newer minors only add */

/* Opaque objects of the backend. A backend casts types of its own to these and does not define them, so
 * that several can be linked into one program. */
typedef struct tenon_device tenon_device;
typedef struct tenon_buffer tenon_buffer;
typedef struct tenon_executable tenon_executable;

/* ---- 2. Host services ----------------------------------------------------------------------------- */

/* What an allocation is for; the host places and accounts for it accordingly. */
#define TENON_MEMORY_SCRATCH 0u /* activations, packed inputs */
#define TENON_MEMORY_WEIGHTS 1u /* large, read in every step: 2 MiB pages */
#define TENON_MEMORY_CACHE 2u   /* KV cache and recurrent states */

#define TENON_LOG_ERROR 0u
#define TENON_LOG_WARNING 1u
#define TENON_LOG_INFO 2u
#define TENON_LOG_DEBUG 3u

/* Work cut into phases. Every phase is run by all threads of the host's team, and no thread enters
 * phase p + 1 before all have left phase p. A backend must not assume that two threads of one phase
 * run at the same time: a host may run them one after another. */
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

/* size bytes, zeroed, aligned to `alignment` (a power of two, at most 2 MiB); NULL when there is no
 * memory. release takes the same size. */
typedef void* (*tenon_host_allocate_fn)(void* user, uint64_t size, uint64_t alignment,
                                        uint32_t purpose);
typedef void (*tenon_host_release_fn)(void* user, void* memory, uint64_t size, uint32_t purpose);
typedef void (*tenon_host_log_fn)(void* user, uint32_t level, const char* text, uint64_t length);
/* The largest num_threads a job will see. */
typedef uint32_t (*tenon_host_num_threads_fn)(void* user);
/* Runs a job and returns when it ended: 0, or the nonzero value of before_phase. A TENON_BACKEND_* code,
 * with its sentence set: ARGUMENT for a job without `run` or of a struct_size that lacks fields, STATE
 * inside another job, INTERNAL when a function of the job threw, or what kept the host's threads from
 * running it. */
typedef int32_t (*tenon_host_parallel_fn)(void* user, const tenon_parallel_job* job);
/* Leaves the sentence that goes with the failure this thread is about to return. */
typedef void (*tenon_host_set_error_fn)(void* user, const char* text, uint64_t length);

/* What a backend makes at some cost and can use again in another process, such as compiled kernels: the host keeps
 * the bytes under a key, where the application says; by default nowhere. The key names all that the bytes depend on:
 * device, driver, build of the backend. Neither function fails. What comes back has the length and checksum that was
 * put, but may be of anyone who can write where the host keeps it: check it as you would a file.
 *   get  the size of what is kept, 0 where nothing is; written to `bytes` where that is at most `capacity`
 *   put  takes the place of what was kept under the key
 * Keys have 1 to 256 bytes, what is kept at most 64 MiB. Since minor 3. */
typedef uint64_t (*tenon_host_cache_get_fn)(void* user, const void* key, uint64_t key_size,
                                            void* bytes, uint64_t capacity);
typedef void (*tenon_host_cache_put_fn)(void* user, const void* key, uint64_t key_size,
                                        const void* bytes, uint64_t size);

/* Services of the host. The table and its functions stay valid until destroy_device returns (for
 * list_devices: until it returns). Every function may be called from any thread, except that `parallel`
 * is only called from inside a call of the host (compile, seal, run or wait; load_rows itself is called
 * from jobs), never from inside another job, and not concurrently. */
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
  /* NULL where the host keeps nothing; older tables end before them. */
  tenon_host_cache_get_fn cache_get;
  tenon_host_cache_put_fn cache_put;
} tenon_host;

/* ---- 3. Program -----------------------------------------------------------------------------------
 *
 * A program is a list of operations over slots. A slot is a two-dimensional tensor [rows, columns];
 * the only free sizes are T, the tokens of a step, R, the rows of it that are wanted, and S, its
 * sequences. Each activation slot is written by exactly one operation, before the operations that read it.
 *
 * What enters a step from outside is an INPUT slot; what leaves it is a slot that the program lists as a
 * result. Logits are one result among others (hidden states, pooled vectors, the activations that go on
 * to another device).
 */

/* Element types and block formats have the numbers of GGUF (0 f32, 1 f16, 2 q4_0, 8 q8_0, 12 q4_K, ...). */
#define TENON_TYPE_F32 0u
#define TENON_TYPE_F16 1u
#define TENON_TYPE_I32 26u
#define TENON_TYPE_I64 27u /* of constants alone; since minor 2 */
#define TENON_TYPE_F64 28u
/* Types of the cache alone. Every key and every value of a position and KV head has one f16 scale d.
 *   int8  x ~ d l, l in -127..127: d = max |x| / 127, l = round(x / d)
 *   q4    y ~ d (2 c - 15), c in 0..15: y is x after an orthonormal Walsh-Hadamard transform (of the
 *         largest power of two in the head's size, then of the rest), d = max |y| / 15
 * Rounding is to nearest, ties to even; src/quant/cache_row.h is the definition to the bit. */
#define TENON_CACHE_INT8 256u
#define TENON_CACHE_Q4 257u

#define TENON_SLOT_WEIGHT 1u     /* [rows, columns] in `type`; its rows arrive through load_rows */
#define TENON_SLOT_CONSTANT 2u   /* [rows, columns] in `type`, at `data` during compile */
#define TENON_SLOT_ACTIVATION 3u /* [T, R or S, columns] f32, or i32 where the operation says so */
#define TENON_SLOT_INPUT 4u      /* the same, f32; bound by each step instead of written by an operation */

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
  /* Memory plan of the host, in bytes from the start of an area of tenon_program.activation_bytes: slots
   * that live at the same time do not overlap. A backend may plan for itself. TENON_NO_PLAN for slots
   * that are no activation, and for results, which live where the step binds them. */
  uint64_t plan_offset;
} tenon_slot;

/* Operations. In brackets the shapes; T may be 0. `x` etc. are activations, W weights, C constants.
 * All arithmetic gives, for finite inputs, a result near that of real numbers (the conformance suite
 * states the tolerance), and a row of the result depends on that row of the inputs alone. */
#define TENON_OP_EMBED 1u       /* (W [vocab, n])                    -> [T, n]  params.embed; row t = W[tokens[t]] */
#define TENON_OP_RMS_NORM 2u    /* (x [., n], W [1, s] or none)      -> [., n]  params.norm; see below */
#define TENON_OP_LAYER_NORM 3u  /* (x [., n], W [1, s] or none, bias [1, s] or none) -> [., n]  params.norm */
#define TENON_OP_LINEAR 4u      /* (x [., k], W [n, k], bias W [1, n] or none) -> [., n]  x W^T + bias */
#define TENON_OP_ROPE_ANGLES 5u /* (C [1, p] f64, parts C [1, p] f64 or none) -> [T, 2p]  params.rope_angles */
#define TENON_OP_ROPE 6u        /* (x [T, h d], angles [T, 2p])      -> [T, h d]  params.rope */
#define TENON_OP_KV_WRITE 7u    /* (k [T, g dk], v [T, g dv]; LATENT: none) -> nothing  params.kv */
#define TENON_OP_ATTENTION 8u   /* (q [T, h dk], sinks W [1, h] or none, bias or none,
                                    selection [T, k] or [T, g k] i32 or none) -> [T, h dv]  params.attention */
#define TENON_OP_GLU 9u         /* (gate [., n], up [., n])          -> [., n]  act(gate) up; params.glu */
#define TENON_OP_ADD 10u        /* (x [., n], y [., n] or W [1, n])  -> [., n] */
#define TENON_OP_SCALE 11u      /* (x [., n])                        -> [., n]  factor x + offset; params.scale */
#define TENON_OP_GATHER_ROWS 12u /* (x [T, n])                       -> [R, n]  row r = x[output_rows[r]] */
#define TENON_OP_SOFT_CAP 13u   /* (x [., n])                        -> [., n]  cap tanh(x / cap) */
#define TENON_OP_MOE_ROUTE 14u  /* (logits [., e], selection bias W [1, e] or none, expert scale W [1, e] or none,
                                    numbers [., u] or none)
                                                 -> ids [., u] i32, weights [., u]  params.moe_route */
#define TENON_OP_MOE_LINEAR 15u /* (x [., k] or [., u k], ids [., u] i32, W [e n, k], weights [., u] or none,
                                    bias W [e, n] or none)        -> [., u n] or [., n]  params.moe_linear */
#define TENON_OP_SIGMOID_GATE 16u /* (x [., n], g [., s])            -> [., n]  x / (1 + exp(-g)); see mul */
#define TENON_OP_ACTIVATE 17u     /* (x [., n])                      -> [., n]  act(x); params.activate */
#define TENON_OP_MUL 18u          /* (x [., n], y [., s] or W [1, s]) -> [., n]  s divides n: y_j multiplies
                                     the n / s columns from j n / s on */
#define TENON_OP_SUM_SEGMENTS 19u /* (x [., n])                      -> [., n / s]  of s columns each; params.segments */
#define TENON_OP_SLICE 20u        /* (x [., n])                      -> [., n / s c]  params.slice */
#define TENON_OP_CONCAT 21u       /* (x [., g a], y [., g b] or [., b]) -> [., g (a + b)]  params.concat */
#define TENON_OP_LINEAR_HEADS 22u /* (x [., h k], W [h n, k])        -> [., h n]  params.linear_heads; head j:
                                     its k columns times the transpose of rows [j n, (j + 1) n) of W */
#define TENON_OP_L2_NORM 23u      /* (x [., n])                      -> [., n]  params.norm; per segment
                                     x / max(sqrt(sum(x^2)), epsilon) */
#define TENON_OP_POSITION_SCALE 24u /* (x [T, n])                    -> [T, n]  params.position_scale */
#define TENON_OP_POOL 25u         /* (x [T, n])                      -> [S, n]  params.pool */
#define TENON_OP_TOKEN_SHIFT 26u  /* (x [T, n])                      -> [T, n]  params.state; row t = x of the
                                     token before it in its sequence, zeros before the first */
#define TENON_OP_CONV 27u         /* (x [T, n], W [n, K], bias W [1, n] or none) -> [T, n]  params.state */
#define TENON_OP_SSM_SCAN 28u     /* (x [T, h p], dt [T, h], A W [h, N] or [h, 1], B [T, g N], C [T, g N],
                                    D W [1, h] or none)            -> [T, h p]  params.ssm_scan */
#define TENON_OP_DELTA_RULE 29u   /* (q [T, hk dk], k [T, hk dk], v [T, hv dv], decay [T, hv] or [T, hv dk],
                                    beta [T, hv])                  -> [T, hv dv]  params.delta_rule */
#define TENON_OP_WKV7 30u         /* (r, w, k, v, a, b: each [T, h d]) -> [T, h d]  params.wkv7 */
#define TENON_OP_MIX_STREAMS 31u  /* (x [., s n], m [., s r] or none, y [., n] or none, p [., r] or none)
                                                                     -> [., r n]  params.mix_streams */
#define TENON_OP_SINKHORN 32u     /* (x [., s s])                    -> [., s s]  params.sinkhorn */
#define TENON_OP_SELECT 33u       /* (q [T, h dk], weights [T, h])   -> [T, k] i32  params.select */
#define TENON_OP_SELECT_BLOCKS 34u /* (q [T, h dk])                  -> [T, h k] i32  params.select_blocks */
#define TENON_OP_COMPRESS 35u      /* (bias W [m, n] or [m, 2 n])    -> [T, n]  params.compress */
#define TENON_OP_NGRAM_ROWS 36u   /* (W [rows, d], multipliers C [1, n] i64, heads C [h, 3] i64,
                                    map C [1, v] i64 or none)
                                                                     -> [T, h d]  params.ngram_rows */
#define TENON_OP_SOFTMAX 37u      /* (x [., n])                      -> [., n]  params.segments; of each segment of
                                     s columns exp(x_i) / sum over j of exp(x_j) */
#define TENON_OP_WKV6 38u         /* (r, w, k, v: each [T, h d], u W [1, h d] or none) -> [T, h d]  params.wkv6 */
#define TENON_OP_ATTENTION_POOLS 39u /* (q [T, h dk], sinks W [1, h] or none, selection [T, k] i32 or none)
                                                                     -> [T, h dv]  params.attention_pools */
#define TENON_OP_ROUND 40u        /* (x [., n])                      -> [., n]  params.round; see below */
#define TENON_OP_SELECT_CANDIDATES 41u /* (q [T, h dk], weights [T, h]) -> [T, k] i32  params.select_within */
#define TENON_OP_SELECT_WITHIN 42u /* (q [T, h dk], weights [T, h], candidates [T, c] i32)
                                                                     -> [T, k] i32  params.select_within */

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
#define TENON_ACTIVATION_SIGNED_ROOT 10u /* sign(x) sqrt(max(|x|, epsilon)), 0 for 0; since minor 2 */

/* The four numbers are XIELU's alone, but for the epsilon of SIGNED_ROOT:
 *   x > 0: alpha_p x^2 + beta x;   else: alpha_n (expm1(min(x, epsilon)) - x) + beta x */
typedef struct tenon_activate_params {
  uint32_t activation; /* TENON_ACTIVATION_* */
  float alpha_p;
  float alpha_n;
  float beta;
  float epsilon;
} tenon_activate_params;

/* act(min(gate, limit)) (clamp(up, -limit, limit) + up_offset), with limit_after min(act(gate), limit) in place
 * of the first factor. SILU is here x / (1 + exp(-alpha x)). */
typedef struct tenon_glu_params {
  uint32_t activation; /* TENON_ACTIVATION_SILU to _RELU */
  float alpha;         /* 0 stands for 1; else for SILU only */
  float limit;         /* 0: none */
  float up_offset;
  uint32_t limit_after; /* 0 or 1 */
} tenon_glu_params;

/* What chooses the row of the table. */
#define TENON_EMBED_TOKENS 0u    /* tokens[t] */
#define TENON_EMBED_POSITIONS 1u /* the first part of the position of token t; from 0, below the rows of W */

typedef struct tenon_embed_params {
  uint32_t source; /* TENON_EMBED_* */
} tenon_embed_params;

/* Rows by the hash of several tokens (n-gram embeddings: Engram, arXiv 2601.07372). Head j is (order m, offset,
 * size), 1 <= m <= n, and its part of row t is the row
 *   offset + (xor over i < m of token_{t-i} multiplier_i) mod size
 * of W, in integers of 64 bits without sign. token_t is tokens[t], and what stands before it in its sequence is
 * there or in earlier_tokens, of which n - 1 are there at most (tenon_program.token_history). A token before the
 * first of its text, and each one before the last `end` that stands before token_t, counts as `end`. n is 1 to 16.
 * With a map, which has a number for each token, a token counts as its number there, one before the first of its text
 * as `end`, and none ends a text. Since minor 2. */
typedef struct tenon_ngram_rows_params {
  int32_t end; /* the token that ends a text; with a map the number of what is before a text */
} tenon_ngram_rows_params;

/* Values of few bits with a scale for each segment of `segment` columns. Of a segment whose largest absolute value is
 * a, each x becomes s times the value of the format nearest to x / s, and of two that are equally near the one whose
 * last bit is 0:
 *   FP8      e4m3, up to 448          s = 2^ceil(log2(max(a, 1e-4) / 448))
 *   FP4      e2m1, up to 6            s = 2^ceil(log2(max(a, 6 2^-126) / 6))
 *   FP4_FP8  e2m1                     s = max(a, 6 2^-9) / 6, itself rounded to e4m3
 * Formats of OCP Microscaling, version 1.0; e4m3 without infinities. What is beyond the largest value becomes it. */
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

/* Of each segment of `segment` columns (s) the columns [first, first + columns) (c), side by side. */
typedef struct tenon_slice_params {
  uint32_t segment;
  uint32_t first;
  uint32_t columns;
} tenon_slice_params;

/* x and y are `segments` (g) pieces each; the result is x_0 y_0 x_1 y_1 ... A y of as many columns as one of
 * its pieces (broadcast 1) stands after each piece of x. */
typedef struct tenon_concat_params {
  uint32_t segments;
  uint32_t broadcast; /* 0 or 1 */
} tenon_concat_params;

/* x is s streams of n columns side by side, and so is the result of r:
 *   result_i = sum over j of m[j r + i] x_j + p_i y
 * Without m it is x_i where r = s, and the sum of all x_j where r = 1. y and p come together or not at all.
 * Hyper-connections (arXiv 2409.19606 and 2512.24880) are two of these around each block: one stream out of s
 * before it, s out of s and the block's result after it. */
typedef struct tenon_mix_streams_params {
  uint32_t streams; /* s, at least 1 */
  uint32_t results; /* r, at least 1; without m 1 or s */
} tenon_mix_streams_params;

/* Each row is a matrix [s, s] that is brought near the doubly stochastic ones (Sinkhorn and Knopp 1967):
 *   X <- softmax of each of its rows + epsilon;   divide_columns;   iterations - 1 times: divide_rows, divide_columns
 * where divide_rows divides each value by the sum of its row + epsilon, and divide_columns by that of its
 * column + epsilon. */
typedef struct tenon_sinkhorn_params {
  uint32_t size;       /* s, at least 1 */
  uint32_t iterations; /* at least 1 */
  float epsilon;       /* at least 0 */
} tenon_sinkhorn_params;

typedef struct tenon_linear_heads_params {
  uint32_t heads; /* h */
} tenon_linear_heads_params;

/* x (1 + scale ln(floor((position + offset) / length) + 1)), by the first part of the position. */
typedef struct tenon_position_scale_params {
  float scale;
  uint32_t length; /* at least 1 */
  uint32_t offset;
} tenon_position_scale_params;

/* Of the rows of a sequence that are in the step; zeros where there are none. A sequence that is pooled has
 * all its tokens in one step. */
#define TENON_POOL_MEAN 0u
#define TENON_POOL_FIRST 1u
#define TENON_POOL_LAST 2u

typedef struct tenon_pool_params {
  uint32_t kind; /* TENON_POOL_* */
} tenon_pool_params;

/* Normalisation over segments of s consecutive columns (s = n for a whole row, s = the head size for
 * q/k norms; s divides n; all segments share the weight):
 *   rms_norm:   x / sqrt(mean(x^2) + epsilon) * W
 *   layer_norm: (x - mean) / sqrt(var + epsilon) * W + bias */
typedef struct tenon_norm_params {
  float epsilon;
  uint32_t segment; /* s */
} tenon_norm_params;

/* Row t = cos(a_0) m .. cos(a_{p-1}) m, sin(a_0) m .. sin(a_{p-1}) m with a_i = (positions[t] + offset) C[i],
 * reduced in f64 (a context of a million positions would lose the angle in f32). Where a position has
 * several parts (tenon_program.position_parts), `parts` says by its number, from 0, which one a_i takes;
 * without it, part 0. */
typedef struct tenon_rope_angles_params {
  float magnitude; /* m: YaRN's attention factor, else 1 */
  int32_t offset;  /* the sum may be negative. Since minor 2 */
} tenon_rope_angles_params;

/* Each head rotates its values offset .. offset + 2p - 1: (a, b) -> (a cos - b sin, a sin + b cos); the
 * rest is copied. */
typedef struct tenon_rope_params {
  uint32_t style;    /* TENON_ROPE_* */
  uint32_t head_dim; /* d, at least offset + 2p */
  uint32_t offset;
} tenon_rope_params;

/* Writes row t of k and v as position past + i of its sequence into layer `layer` of cache group `group`. A
 * LATENT group has keys only; its values are the first dv columns of the key. With a stride m (tenon_cache_group)
 * only rows t with (past + i + 1) % m = 0 are written. */
typedef struct tenon_kv_params {
  uint32_t group;
  uint32_t layer;
} tenon_kv_params;

/* Which positions i of its sequence a token at position `own` sees, those that this step wrote included. */
#define TENON_MASK_CAUSAL 0u    /* i <= own; window > 0: and i > own - window */
#define TENON_MASK_CHUNKED 1u   /* own - own % window <= i <= own */
#define TENON_MASK_SYMMETRIC 2u /* all; window > 0: |i - own| <= window / 2. The sequence is whole in the step */
#define TENON_MASK_CROSS 3u     /* all cross_positions of a CROSS group */

/* What is added to a score. */
#define TENON_BIAS_NONE 0u
#define TENON_BIAS_ALIBI 1u    /* bias = C [1, h] f64: - bias_j |own - i| for head j */
/* bias = W [b, h] f32, `buckets` = b: W[bucket(i - own), j] for head j, as T5 has it. Two-sided, half of the
 * buckets are those of i > own. With n buckets for one side, e = n / 2, and m = |i - own| (one-sided 0 for
 * i > own): m if m < e, else min(n - 1, e + floor(ln(m / e) / ln(max_distance / e) (n - e))). */
#define TENON_BIAS_RELATIVE 2u

/* Attention of token t of a sequence. Query head j reads KV head j / (heads / kv_heads).
 *   s_i = scale q.k_i;  soft_cap > 0: s_i = soft_cap tanh(s_i / soft_cap);  s_i + bias
 *   weights = softmax over i (and over the head's sink logit, whose value is zero, if given)
 * A selection, the result of one select or select_blocks, leaves of the positions seen those that its row
 * names: that of select one by one, that of select_blocks n at a time, [b n, (b + 1) n) for a number b. All heads
 * share a selection of one part; of g parts, KV head j has part j. The numbers of a select over a group with a
 * stride n stand for n positions each, too, [j n, (j + 1) n), and beside them the token looks at the positions after
 * the last whole n, [own + 1 - (own + 1) % n, own]. A selection goes with a FULL or LATENT group without a stride, a
 * CAUSAL mask without window, and no bias. */
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
  uint32_t selections;     /* parts of the selection, 1 or g; 0 stands for 1. Since minor 2 */
  uint32_t selected_block; /* n, the positions of a number of the selection; 0 stands for 1. Since minor 2 */
  uint32_t selected_rest;  /* 1: the positions after the last whole n are looked at, too; else 0. Since minor 2 */
} tenon_attention_params;

/* The positions that a token at position `own` looks at: the index of DeepSeek sparse attention, arXiv
 * 2512.02556. Layer `layer` of a LATENT group has a row k_i of dk values for each position i; its values are
 * not read.
 *   s_i = sum over j < h of weights_j max(q_j.k_i, 0),  i <= own
 * The row has the positions of the k largest s_i, of equal ones the lower position first, and of fewer than k
 * positions all; an s_i that is NaN counts as -infinity. They are in ascending order, and the rest of the row
 * is -1. In a group with a stride m, i counts its rows instead, of which the token sees (own + 1) / m, rounded
 * down. */
typedef struct tenon_select_params {
  uint32_t group;
  uint32_t layer;
  uint32_t heads; /* h, at least 1 */
  uint32_t count; /* k, 1 to 65536 */
} tenon_select_params;

/* The blocks of positions that a token at position `own` looks at, each index head for itself: MiniMax Sparse
 * Attention. Layer `layer` of a LATENT group has a row k_i of dk values for each position i; its values are not
 * read. Block b is the positions [b n, (b + 1) n), the last one as far as `own`.
 *   s_jb = max over i in block b of q_j.k_i;  infinity for the last `local` blocks
 * Part j of the row, of k columns, has the numbers of the k blocks of the largest s_jb, of equal ones the lower
 * first, and of fewer than k blocks all; a product that is NaN counts as -infinity. They are in ascending order,
 * and the rest of the part is -1. Since minor 2. */
typedef struct tenon_select_blocks_params {
  uint32_t group;
  uint32_t layer;
  uint32_t heads; /* h, at least 1 */
  uint32_t count; /* k, at least 1; h k n at most 2^20 */
  uint32_t block; /* n, at least 1 */
  uint32_t local; /* 0 to k */
} tenon_select_blocks_params;

/* An index that chooses in two steps (DeepSeek-V4.1). With s_i and i as in select, and blocks of n of these i:
 *   select_candidates  the numbers b of the k blocks [b n, (b + 1) n) of the largest scores; a block's score is the
 *                      largest s_i that the token sees of it, infinity for the block of the last such i
 *   select_within      as select, but of those i alone that are in a block which `candidates` names: the result of a
 *                      select_candidates with the same n over a group with the same stride
 * Of equal scores the lower number comes first. A row is in ascending order, and the rest of it is -1. Since minor
 * 2. */
typedef struct tenon_select_within_params {
  uint32_t group;
  uint32_t layer;
  uint32_t heads; /* h, at least 1 */
  uint32_t count; /* k, 1 to 65536; of select_candidates k n at most 2^20 */
  uint32_t block; /* n, at least 1 */
} tenon_select_within_params;

/* One row of m positions, those of a pool [j m, (j + 1) m): learnt weights that sum to 1 in each column. Layer
 * `layer` of a WINDOW group with g = 1 and dk = dv = n, which has been written, has values v_i (its keys) and gates
 * z_i (its values) for each position i. For a token at position (j + 1) m - 1
 *   w_ic = softmax over i of z_ic + bias_{i % m, c};   y_c = sum over i of w_ic v_ic
 * over the positions i of its pool. The group's window is at least m. Rows of other tokens are zero. Kept in a group
 * with stride m, these are the pooled index keys of GLM-5.3.
 * With overlap dk = dv = 2 n, and the pool before counts, too: column c of its positions is column c of values, gates
 * and bias, that of the pool's own positions column n + c. The softmax is over the 2 m of them, for the first pool over
 * m. The window is at least 2 m, and the group has no stride. The compressed rows of DeepSeek-V4. Since minor 2. */
typedef struct tenon_compress_params {
  uint32_t group;
  uint32_t layer;
  uint32_t stride; /* m, at least 1, as that of the group where that has one */
  uint32_t overlap; /* 0 or 1 */
} tenon_compress_params;

/* Attention of token t to the last `window` positions of its sequence and to pools of positions, all in one softmax,
 * whose rows are keys and, in their first dv columns, values for all heads: DeepSeek-V4. Layer `layer` of `group`
 * has a row k_i for each position, layer `pool_layer` of `pool_group` a row r_j for every m positions; both groups are
 * LATENT and of the same dk, dv and type, the first without a stride, the second with stride m and without a window.
 *   s_i = scale q.k_i,  own - window < i <= own;   s_j = scale q.r_j,  j < (own + 1) / m, rounded down
 *   weights = softmax over all i and j (and over the head's sink logit, whose value is zero, if given)
 * A selection, the result of one select or select_within over a group with the same stride, leaves those j that its
 * row names. The window is at most that of `group`, where
 * that has one. Since minor 2. */
typedef struct tenon_attention_pools_params {
  uint32_t group;
  uint32_t layer;
  uint32_t heads;
  uint32_t window; /* 0: no limit */
  float scale;
  uint32_t pool_group;
  uint32_t pool_layer;
} tenon_attention_pools_params;

/* Recurrent operations keep values of each sequence in a STATE group: values [offset, offset + size) of
 * layer `layer`. Each says its size. All are zero before the first token of a sequence. The recurrence over
 * the tokens of a sequence gives the same bits however they are cut into steps where the device promises
 * that. */
typedef struct tenon_state_params {
  uint32_t group;
  uint32_t layer;
  uint32_t offset; /* f32 values */
} tenon_state_params;
/* token_shift: size n, the last row.
 * conv: causal, one filter for each column: row t = bias + sum over i < K of W[., i] x_{t - K + 1 + i};
 *   size (K - 1) n, the last K - 1 rows, the latest last. */

/* Selective scan of Mamba 1 (p = 1, A [h, N]) and Mamba 2 (A [h, 1]), arXiv 2312.00752 and 2405.21060. Head j
 * has group j / (h / g) of B and C; its state S [p, N]:
 *   S <- exp(dt_j A_j) S + dt_j x_j B^T;   y_j = S C + D_j x_j
 * size h p N, by head, p and N. */
typedef struct tenon_ssm_scan_params {
  tenon_state_params state;
  uint32_t heads;
  uint32_t groups; /* g, divides h */
  uint32_t size;   /* N */
} tenon_ssm_scan_params;

/* Gated delta rule, arXiv 2412.06464; with a decay for each key channel Kimi Delta Attention, arXiv
 * 2510.26692. Value head j has a state S [dk, dv] and reads the key head
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
 *   S <- S diag(w) + (S a) b^T + v k^T  (S a of the S before);   y = S r
 * size h d d, by head, value and key. */
typedef struct tenon_wkv7_params {
  tenon_state_params state;
  uint32_t heads;
} tenon_wkv7_params;

/* RWKV 6, arXiv 2404.05892; without u gated linear attention, arXiv 2312.06635. Each head has a state S [d, d]
 * (key, value):
 *   with u:     y = (S + diag(u) k v^T)^T r;  S <- diag(w) S + k v^T
 *   without u:  S <- diag(w) S + k v^T;  y = S^T r
 * size h d d, by head, key and value. */
typedef struct tenon_wkv6_params {
  tenon_state_params state;
  uint32_t heads;
} tenon_wkv6_params;

/* How logits become scores. */
#define TENON_MOE_SOFTMAX_ALL 0u    /* softmax over all logits; the weights of the chosen stay below 1 */
#define TENON_MOE_SOFTMAX_CHOSEN 1u /* softmax over the logits of the chosen; the weights sum to 1 */
#define TENON_MOE_SIGMOID 2u        /* 1 / (1 + exp(-logit)) */
#define TENON_MOE_SPARSE_MIXER 3u   /* the weights depend on logits that come close; see below */
#define TENON_MOE_SQRT_SOFTPLUS 4u  /* sqrt(ln(1 + exp(logit))); since minor 2 */

/* Chooses for each row the u experts of the largest score + selection bias, the largest first and of equal ones
 * the lower number first; SOFTMAX_CHOSEN chooses by logit + selection bias. With groups > 1 the experts are as
 * many runs of equal length: of each run the two largest of these sums count together (of a run of one, that
 * one), and only experts of the `groups_used` largest runs can be chosen (of equal ones the lower number). Under
 * SOFTMAX_ALL without bias and groups the logits order as the scores do. First output: their
 * numbers i_0 .. i_{u-1} in 0 .. e - 1. Second: their weights w_0 .. w_{u-1}: the score without the bias,
 * normalise 1: divided by max(their sum, min_sum), times `scale`, times the expert's scale where that is
 * given. 1 <= u <= e <= 65536.
 *
 * SPARSE_MIXER (SparseMixer-v2, arXiv 2409.12136) chooses by logit, with neither bias nor groups. With l the
 * logit of the j-th chosen, w_j = 1 / sum(exp(l_i - l)) over the experts i that are not among the first j chosen
 * and have (l - l_i) / max(|l_i|, l) <= closeness; that expert itself is one of them. normalise is 0.
 *
 * With `numbers` nothing is chosen: i_j is numbers_j, rounded to the nearest of 0 .. e - 1 (NaN: 0); one may stand
 * there twice. No selection bias, groups or SPARSE_MIXER then. Since minor 2. */
typedef struct tenon_moe_route_params {
  uint32_t used;    /* u */
  uint32_t scoring; /* TENON_MOE_* */
  float scale;
  uint32_t normalise; /* 0 or 1; 0 for SOFTMAX_CHOSEN */
  float min_sum;
  uint32_t groups;      /* 0 or 1: none; divides e */
  uint32_t groups_used; /* u experts fit into them */
  float closeness;      /* SPARSE_MIXER: at least 0 */
} tenon_moe_route_params;

#define TENON_MOE_WEIGHT_OUTPUTS 0u
#define TENON_MOE_WEIGHT_INPUTS 1u

/* A linear whose weight is chosen row by row: W holds e matrices [n, k], the first expert's first; `ids`
 * and `weights` are the outputs of one moe_route of e experts. With x_j the whole row of x, or its part
 * [j k, (j + 1) k) where x has u k columns, y_j = x_j W_{i_j}^T + bias_{i_j} and w_j 1 where absent:
 *   sum 0: the row is w_0 y_0 .. w_{u-1} y_{u-1}, u n columns
 *   sum 1: the row is w_0 y_0 + .. + w_{u-1} y_{u-1}, n columns
 * With TENON_MOE_WEIGHT_INPUTS, which needs weights, it is x_j that w_j multiplies, not y_j. */
typedef struct tenon_moe_linear_params {
  uint32_t experts; /* e */
  uint32_t sum;     /* 0 or 1 */
  uint32_t weigh;   /* TENON_MOE_WEIGHT_* */
} tenon_moe_linear_params;

#define TENON_MAX_INPUTS 8u
#define TENON_MAX_OUTPUTS 2u

typedef struct tenon_op {
  uint32_t kind; /* TENON_OP_* */
  uint32_t reserved;
  uint32_t num_inputs;
  uint32_t num_outputs;
  uint32_t inputs[TENON_MAX_INPUTS];   /* slots; TENON_NO_SLOT for one that is absent and from num_inputs on */
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

/* What a group of layers keeps of a sequence. */
#define TENON_CACHE_FULL 0u   /* keys and values of every position, in blocks */
#define TENON_CACHE_WINDOW 1u /* the same of the last `window` positions: blocks before them may be missing */
#define TENON_CACHE_LATENT 2u /* one row of dk values for each position, the first dv of them its value; g = 1 */
#define TENON_CACHE_STATE 3u  /* a fixed number of values, whatever the length */
#define TENON_CACHE_CROSS 4u  /* as FULL, of another text than the sequence's own: an encoder's */

/* Layers whose cache has the same kind, geometry and lifetime. A block holds block_tokens positions of all
 * layers of the group, or one state of all of them; its inner layout is the backend's own (block_bytes tells
 * the size) and the same for all programs of a device whose groups have equal fields and, of states, whose
 * operations keep the same values at the same places. */
typedef struct tenon_cache_group {
  uint32_t layers;
  uint32_t kv_heads;  /* g */
  uint32_t key_dim;   /* dk */
  uint32_t value_dim; /* dv */
  uint32_t type;      /* in the cache: TENON_TYPE_F32, TENON_TYPE_F16, TENON_CACHE_INT8, TENON_CACHE_Q4 */
  uint32_t block_tokens;
  uint32_t kind;   /* TENON_CACHE_* */
  /* WINDOW: positions, at least 1; no attention of the group looks back further. LATENT: the same, blocks before them
   * may be missing as in a WINDOW, and no select reads the group; 0: all positions. Else 0 */
  uint32_t window;
  /* STATE: f32 values of one layer, at least 1, while kv_heads, key_dim, value_dim and block_tokens are 0 and
   * type is TENON_TYPE_F32. Else 0. */
  uint32_t state_values;
  uint32_t reserved;
  /* LATENT without a window: m > 1: only positions p with (p + 1) % m = 0 have a row, which stands for the m
   * positions up to p, and a block holds block_tokens / m of them, rounded up; 0 stands for 1. WINDOW: m > 1: of it only compress reads, and
   * so only positions from the last multiple of m on. Else 0. Since minor 2. */
  uint32_t stride;
} tenon_cache_group;

/* Of tenon_program.flags. The executable is asked for sizes alone (block_bytes, row_granularity, memory_bytes) and
 * destroyed: a backend may leave its memory unallocated and its kernels unmade. Nothing is loaded or run. */
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
  uint32_t logits;      /* of the results, the slot [R, vocab] of the logits, or TENON_NO_SLOT */
  uint32_t max_tokens;  /* the largest T of a step, and so the largest S */
  uint32_t max_outputs; /* the largest R of a step */
  uint32_t position_parts; /* numbers in a position: 1, or 3 (time, height, width) */
  const tenon_slot* slots;
  const tenon_op* ops;
  const tenon_cache_group* groups;
  const uint32_t* results;   /* [num_results] activation slots, each once; operations may read them, too */
  uint64_t activation_bytes; /* size of the planned area */
  uint32_t token_history; /* columns of tenon_step.earlier_tokens: the largest n - 1 of an ngram_rows; else 0.
                             Since minor 2 */
  uint32_t flags;         /* TENON_PROGRAM_*. Since minor 3 */
} tenon_program;

/* ---- 4. Step -------------------------------------------------------------------------------------- */

/* In a block table of a group with a window: no position of this block is within the window of a token that the
 * step computes. */
#define TENON_NO_BLOCK 0xFFFFFFFFu

/* Tokens [first_token, first_token + num_tokens) of the step belong to one sequence that already has
 * `past` positions in the cache; they become positions past, past + 1, ... of it. A sequence occurs
 * once in a step; the tokens of the next one follow its own. */
typedef struct tenon_step_sequence {
  uint32_t first_token;
  uint32_t num_tokens;
  uint32_t past;
  uint32_t cross_positions; /* in CROSS groups; 0 where there are none */
  /* [num_groups] -> block numbers:
   *   STATE                [2]: the state after `past` tokens (TENON_NO_BLOCK: all zeros; past is then 0), and
   *                        where the one after past + num_tokens goes; may be the same (no tokens: untouched)
   *   CROSS                [ceil(cross_positions / block_tokens)]
   *   all others           [ceil((past + num_tokens) / block_tokens)]
   * A program that writes a CROSS group (the encoder) has it as if it were FULL: the positions are its own. */
  const uint32_t* const* block_tables;
} tenon_step_sequence;

/* Block b of a group lies in slabs[b / blocks_per_slab] at (b % blocks_per_slab) * block_bytes. A slab
 * without blocks in use may be NULL. */
typedef struct tenon_cache_pool {
  tenon_buffer* const* slabs;
  uint32_t num_slabs;
  uint32_t blocks_per_slab;
} tenon_cache_pool;

/* Where the values of an input come from or those of a result go to: [rows, columns] of the slot's type
 * in host memory, row after row. */
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
  const int32_t* tokens;    /* [T], each 0 <= token < vocab; or, with `after`, -1 - r: see there */
  const int32_t* positions; /* [T, position_parts] */
  const tenon_step_sequence* sequences;
  const tenon_cache_pool* pools;
  const uint32_t* output_rows; /* [R], each < T */
  /* One for each INPUT slot and each result that has rows in this step. With TENON_DEVICE_DRAWS the logits
   * may be left out: they then stay on the device, for `draw`. */
  const tenon_binding* bindings;
  /* NULL, or a flag that another thread may set at any time (read it atomically): stop before the next
   * operation, or in the middle of a long one (a few milliseconds are long), and return
   * TENON_BACKEND_CANCELLED. The results and the positions that the step was to write are then
   * undefined. */
  const uint32_t* cancel;
  /* TENON_NO_TICKET, or with TENON_DEVICE_DRAWS the ticket of the step run last: tokens[t] = -1 - r is then
   * the token that was drawn for its output row r, by kind GREEDY or DRAWN. ARGUMENT when none was, also
   * because that step or its draw failed or was cancelled. Where the draw came to no token
   * (tenon_drawn.flags) the step computes anything, but ends. */
  uint64_t after;
  /* [S, token_history]: of each sequence the tokens before its first one in the step, the latest last, and
   * TENON_BEFORE_TEXT where the text has none. All are known: what a step names by `after` is a token of its own.
   * Not read where token_history is 0. Since minor 2. */
  const int32_t* earlier_tokens;
} tenon_step;

#define TENON_BEFORE_TEXT INT32_MIN /* a place before the first token of a text */

#define TENON_NO_TICKET 0ull

/* What is wanted of an output row. A draw first adds the biases to the logits, then drops the tokens that
 * are not allowed; the kinds then go on, over what is left, in the order of token ids:
 *   GREEDY      the token of the largest logit, of equal ones the lowest
 *   DRAWN       with the weights w_i = exp(l_i - max l): keeps the top_k largest logits (of equal ones the
 *               lower tokens), then the fewest heaviest tokens whose weights reach top_p of their sum, then
 *               those with l_i >= max l + ln(min_p); divides logits by temperature; and takes the first
 *               token at which the sum of the weights passes u times the whole sum. u has 53 bits, from
 *               the first two words of Philox4x32-10 with the counter (position, position >> 32, 0, 0) and the
 *               key (seed, seed >> 32), the first word the lower one, shifted right by 11.
 *   CANDIDATES  the num_candidates largest logits, largest first, of equal ones the lower tokens first
 *   ROW         the logits as the step computed them, without biases and with all tokens
 * A draw is reproducible on its device; on another one sums may be rounded otherwise. */
#define TENON_DRAW_GREEDY 1u
#define TENON_DRAW_DRAWN 2u
#define TENON_DRAW_CANDIDATES 3u
#define TENON_DRAW_ROW 4u

#define TENON_DRAWN_NOT_FINITE 1u   /* a logit is NaN or infinite; no token */
#define TENON_DRAWN_NONE_ALLOWED 2u /* no token is left; no token */

typedef struct tenon_drawn {
  uint32_t flags;      /* TENON_DRAWN_* */
  int32_t token;       /* GREEDY, DRAWN; -1: none */
  float logprob;       /* of the token among those allowed, with biases, before top_k and what follows it */
  float log_sum_exp;   /* of the logits of the same */
  uint32_t num_candidates; /* CANDIDATES: fewer than asked for when fewer are allowed */
  uint32_t reserved;
} tenon_drawn;

typedef struct tenon_draw_bias {
  int32_t token;
  float bias; /* finite, or -infinity */
} tenon_draw_bias;

typedef struct tenon_draw {
  uint32_t row;  /* of the step, below its R */
  uint32_t kind; /* TENON_DRAW_* */
  uint32_t top_k;      /* 0: all */
  uint32_t reserved;
  double temperature; /* above 0 */
  double top_p;       /* 1: all */
  double min_p;       /* 0: all */
  uint64_t seed;
  uint64_t position;
  const uint64_t* allowed; /* NULL: all; or [ceil(vocab / 64)] bits, token t at bit t % 64 of word t / 64 */
  const tenon_draw_bias* biases; /* [num_biases], no token twice */
  uint32_t num_biases;
  uint32_t num_candidates; /* CANDIDATES: 1 to 1024 */
  /* Where it goes, in host memory. */
  tenon_drawn* drawn;      /* always */
  int32_t* candidates;     /* CANDIDATES: [num_candidates] tokens */
  float* logits;           /* CANDIDATES: [num_candidates] their logits; ROW: [vocab] */
} tenon_draw;

/* ---- 5. The backend's functions ------------------------------------------------------------------- */

typedef struct tenon_backend_option {
  const char* key;
  const char* value;
} tenon_backend_option;

/* An option that create_device takes. Texts are NUL-terminated and live as long as the plugin is loaded. */
typedef struct tenon_backend_option_info {
  const char* key;
  const char* values; /* what it may be: "fixed or f32", "a whole number from 1" */
  const char* standard; /* what it is unless given; may be empty */
  const char* doc;    /* one sentence */
} tenon_backend_option_info;

#define TENON_DEVICE_REFERENCE 1u /* right rather than fast; never chosen unless asked for by name */
#define TENON_DEVICE_CPU 2u
#define TENON_DEVICE_GPU 3u
#define TENON_DEVICE_ACCELERATOR 4u

/* What activations are rounded to on their way into a product with weights of some format; sums are kept
 * in f32 or wider. The conformance suite takes its tolerances from here. */
#define TENON_PRECISION_F32 1u     /* not at all */
#define TENON_PRECISION_FIXED14 2u /* integers of 14 bits with a scale for 32 values */
#define TENON_PRECISION_F16 3u
#define TENON_PRECISION_BF16 4u
#define TENON_PRECISION_INT8 5u /* integers of 8 bits with a scale for 32 values */

/* A row of a result has the same bits alone and in any step, with any neighbours and however the prompt
 * was cut into steps. */
#define TENON_DEVICE_BATCH_INVARIANT 1u
/* `draw` is there, for all kinds, and tenon_step.after. */
#define TENON_DEVICE_DRAWS 2u

typedef struct tenon_device_info {
  uint32_t struct_size;
  uint32_t kind;         /* TENON_DEVICE_* */
  char name[64];         /* unique within the backend: "cpu", "gpu 1" */
  char description[192]; /* "AMD EPYC, AVX2 kernels": names all that the bits of a result depend on */
  char unavailable[192]; /* empty, or why it cannot be used: "driver 535, needs 580" */
  uint64_t memory_total; /* bytes; 0 unknown */
  uint64_t memory_available;
  uint32_t flags;            /* TENON_DEVICE_BATCH_INVARIANT, ... */
  uint32_t precision_float;  /* TENON_PRECISION_* with f32 weights */
  uint32_t precision_bf16;   /* with bf16 weights */
  uint32_t precision_blocks; /* with weights of a block format */
  uint32_t step_tokens;      /* T up to here makes each token cheaper */
  uint32_t step_outputs;     /* a good largest R */
  uint32_t token_multiple;   /* T costs about as much as the next multiple of this */
  uint32_t block_tokens;     /* a good size of a block of the cache, in positions */
  uint64_t slab_bytes;       /* a good size of a buffer of cache blocks */
  uint32_t steps_under_way;  /* how many runs may precede the first wait; 1 to 64 */
  uint32_t precision_f16;    /* with f16 weights; 0: as precision_float */
} tenon_device_info;

/* A device and what was made from it may be used from any thread, one call at a time, except that
 * load_rows may be called concurrently for disjoint rows. */
typedef struct tenon_backend_api {
  uint32_t magic; /* TENON_BACKEND_MAGIC */
  uint32_t major;
  uint32_t minor;
  uint32_t struct_size;
  const char* name; /* "reference", "cpu", ...: 1 to 63 letters, digits, - and _; not "auto" */

  /* Writes up to `capacity` infos, info_size bytes from one to the next, and their whole number to
   * `count`. Where nothing can be listed (no driver), UNSUPPORTED with a sentence that says why. This is
   * the first function that may look for hardware. */
  tenon_status (*list_devices)(const tenon_host* host, tenon_device_info* infos, uint32_t info_size,
                               uint32_t capacity, uint32_t* count);
  /* The options of create_device, in the same way; never fails. */
  void (*list_options)(tenon_backend_option_info* infos, uint32_t info_size, uint32_t capacity,
                       uint32_t* count);

  /* `index` counts list_devices. Unknown option keys and values are TENON_BACKEND_ARGUMENT. */
  tenon_status (*create_device)(const tenon_host* host, uint32_t index,
                                const tenon_backend_option* options, uint32_t num_options,
                                tenon_device** device);
  void (*destroy_device)(tenon_device* device);
  /* As list_devices, but of the device with its options. info->struct_size says how much there is room
   * for. */
  tenon_status (*describe)(tenon_device* device, tenon_device_info* info);

  /* Nonzero when the device can run operation `op` of the program with the types of its slots. */
  int32_t (*supports)(tenon_device* device, const tenon_program* program, uint32_t op);

  /* Memory the host can hand to steps (cache slabs), zeroed; read, write and copy are by byte range and
   * take effect after all steps that were run before. */
  tenon_status (*buffer_create)(tenon_device* device, uint64_t size, uint32_t purpose,
                                tenon_buffer** buffer);
  void (*buffer_destroy)(tenon_buffer* buffer);
  tenon_status (*buffer_read)(tenon_buffer* buffer, uint64_t offset, void* out, uint64_t size);
  tenon_status (*buffer_write)(tenon_buffer* buffer, uint64_t offset, const void* in, uint64_t size);
  tenon_status (*buffer_copy)(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                              uint64_t from_offset, uint64_t size);

  /* Takes a program apart into whatever the device runs; keeps no pointer into it. Allocates the memory
   * of weights and activations. */
  tenon_status (*compile)(tenon_device* device, const tenon_program* program,
                          tenon_executable** executable);
  void (*destroy_executable)(tenon_executable* executable);

  /* Bytes of one block of a cache group, 1 to 2^48; asked once. */
  uint64_t (*block_bytes)(const tenon_executable* executable, uint32_t group);
  /* load_rows wants first_row and num_rows (except at the end) in multiples of this, 1 to 2^48. */
  uint64_t (*row_granularity)(const tenon_executable* executable, uint32_t slot);
  /* Rows [first_row, first_row + num_rows) of weight `slot`, as blocks of its format, row after row. */
  tenon_status (*load_rows)(tenon_executable* executable, uint32_t slot, uint64_t first_row,
                            uint64_t num_rows, const void* blocks, uint64_t size_bytes);
  /* All weights are loaded; run may be called from here on. */
  tenon_status (*seal)(tenon_executable* executable);

  /* Starts a step and gives it a number, its ticket, at least 1. Everything the step points to is read or copied
   * before run returns, but for the memory of bindings and the cancel flag, which stay valid until wait
   * returns. A backend may finish the work here. Steps take effect in the order of their runs. At most
   * steps_under_way may have been run and not waited for; a further one is TENON_BACKEND_STATE. */
  tenon_status (*run)(tenon_executable* executable, const tenon_step* step, uint64_t* ticket);
  /* Returns when the step or draw has ended; its results are then where they were bound to. Once for each
   * ticket, in the order of the runs and draws. */
  tenon_status (*wait)(tenon_executable* executable, uint64_t ticket);

  /* Bytes the executable holds: weights, scratch; at most 2^48. */
  uint64_t (*memory_bytes)(const tenon_executable* executable, uint32_t purpose);

  /* With TENON_DEVICE_DRAWS, else may be NULL. Draws from the logits of the step that was run last, `step` its
   * ticket, which may have been waited for: draw_size bytes from one draw to the next, each row at most
   * once for GREEDY and DRAWN until the next run. Its own ticket is waited for as a step's. Everything is
   * copied before it returns but for the memory of results, which stays valid until wait returns. A step
   * that failed or was cancelled fails its draws. */
  tenon_status (*draw)(tenon_executable* executable, uint64_t step, const tenon_draw* draws,
                       uint32_t num_draws, uint32_t draw_size, uint64_t* ticket);
  /* May be NULL: a host then waits. *ended becomes 1 when wait for this ticket would not have to wait,
   * else 0; the ticket is still to be waited for. */
  tenon_status (*poll)(tenon_executable* executable, uint64_t ticket, uint32_t* ended);
  /* May be NULL: such a device is never lost. Nonzero when the driver has lost the device: all that follows is STATE,
   * for good. Destroy what was made of it; a new device of the same index may work. Since minor 3. */
  int32_t (*is_lost)(const tenon_device* device);
} tenon_backend_api;

/* ---- 6. Entry ---------------------------------------------------------------------------------------
 *
 * A plugin exports this one symbol. It is called once, with the version of the host; NULL means that the
 * plugin cannot run here. It does not touch hardware or drivers: that is for list_devices. The table
 * lives as long as the plugin is loaded. */
typedef const tenon_backend_api* (*tenon_backend_entry_fn)(uint32_t host_major, uint32_t host_minor);
#define TENON_BACKEND_ENTRY "tenon_backend_entry"

#ifdef __cplusplus
}
#endif

#endif /* TENON_BACKEND_H */
