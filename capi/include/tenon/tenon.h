/* Tenon's C interface: run language models inside your program. C11, and the only symbols that the
 * library exports; the C++ headers (tenon/tenon.hpp) and every binding are written over it. What a
 * backend is written against is not here but in tenon/backend.h.
 *
 * This file is the manual. Reading order:
 *   1 conventions   2 the short way   3 errors, version   4 options   5 models: sources, callbacks
 *   6 what is in a model   7 tokenizer   8 sessions   9 samplers   10 backends   11 engines
 *   12 grammars   13 random models   14 chats   15 planning   16 embeddings
 *
 * A whole program, without its error handling (examples/hello_c has it):
 *
 *   static int32_t print(void* user, const tenon_piece* piece) {
 *     fwrite(piece->text, 1, piece->length, stdout);
 *     return 0;
 *   }
 *   tenon_model* model = NULL;
 *   tenon_session* session = NULL;
 *   tenon_model_open("demo-q8_0.gguf", NULL, &model);
 *   tenon_session_create(model, NULL, &session);
 *   tenon_session_append_text(session, "Once upon a time", 16, TENON_ADD_SPECIAL);
 *   tenon_session_generate(session, NULL, 64, print, NULL);
 *   tenon_session_destroy(session);
 *   tenon_model_destroy(model);
 */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <stddef.h>
#include <stdint.h>

/* A program that links libtenon.a defines TENON_STATIC; the CMake target and tenon.pc do it. */
#if defined(__GNUC__) && !defined(TENON_STATIC)
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Conventions ------------------------------------------------------------------------- */

/* clang-format off */
/* Failure     Whatever can fail returns a tenon_status, and tenon_last_error() then says what,
 *             where, value and limit. Out-parameters stay untouched on failure. Besides what is
 *             written at a function, each may return ARGUMENT (NULL, a wrong or destroyed handle
 *             where that can be told, an invalid value), NO_MEMORY and INTERNAL. Nothing aborts the
 *             process.
 * Handles     Opaque, made by *_create / *_open / *_load / *_fork and yours to destroy. Destroying
 *             NULL is fine. What an object needs it keeps alive: a model handle may be destroyed
 *             before its sessions.
 * Texts       UTF-8, pointer and length in bytes; TENON_NUL_TERMINATED as a length stands for
 *             strlen. What has no length (paths, names of options, formats) ends in a NUL; texts
 *             that the library returns with a length do not. How long they live is written at each
 *             function.
 * Buffers     A function that fills your buffer always reports the size it needs. If that is larger
 *             than the capacity you gave, it wrote nothing and returned OK: grow and call again. A
 *             capacity of 0 with a NULL buffer asks for the size.
 * Structures  Begin with struct_size: set it to sizeof before every call. They only grow at the
 *             end; the library reads and writes no more than the struct_size you gave, so a program
 *             built against another version of this header keeps working. Fields you do not need
 *             are 0.
 * Callbacks   Get back the `user` pointer that you gave. They must return: no throw, no longjmp, no
 *             pthread_exit (which ends the process). An exception all the same gets no further: the
 *             call fails with ARGUMENT (allocate: NO_MEMORY; read: IO); where no call could tell,
 *             that of notify and post is logged, others are dropped. Nor may a callback call the
 *             session that called it (STATE), except for tenon_session_cancel and
 *             tenon_session_destroy. One that returns
 *             int32_t returns 0 to go on.
 * Threads     Model, tokenizer, grammar: immutable, any thread. Engine, embedder: any thread. Session, request,
 *             sampler, matcher, options, backend list: one thread at a time (a session notices a second one:
 *             STATE). tenon_session_cancel, tenon_request_cancel, tenon_embedder_cancel: any thread, any time. No threads
 *             are started but those of the option "threads"; no
 *             signal, locale, environment variable, stdout or stderr is touched.
 * Ends        Handles may be destroyed at any time, in any order and from any thread: a handle goes
 *             when the calls under way on it return. Calls that come later are ARGUMENT, as long as
 *             no more than 1,000 other handles have been destroyed since: its memory is then used again.
 *             Nothing runs at exit: a process may end while calls are under way in other threads, and
 *             waits for none.
 * Unloading   dlclose is allowed at any time, also while models live: the code of the library, and
 *             of plugins that were used, stays in the process. Handles stay valid.
 * fork(2)     An object belongs to the process that made it. In a child each call on it is STATE, or 0
 *             where that is no status, and destroying it does nothing, at once; make new ones there.
 *             The parent notices nothing.
 * Since       0.1, unless another version is written at a declaration.
 */
/* clang-format on */

#define TENON_NUL_TERMINATED SIZE_MAX

/* A status is TENON_OK or one of TENON_ERROR_* (3). */
typedef int32_t tenon_status;

/* Index of a token in the vocabulary of its model. */
typedef int32_t tenon_token;
#define TENON_NO_TOKEN (-1)

typedef struct tenon_options tenon_options;
typedef struct tenon_model tenon_model;
typedef struct tenon_tokenizer tenon_tokenizer;
typedef struct tenon_session tenon_session;
typedef struct tenon_sampler tenon_sampler;
typedef struct tenon_backends tenon_backends;
typedef struct tenon_engine tenon_engine;
typedef struct tenon_request tenon_request;
typedef struct tenon_grammar tenon_grammar;
typedef struct tenon_grammar_cache tenon_grammar_cache;
typedef struct tenon_matcher tenon_matcher;
typedef struct tenon_chat tenon_chat;
typedef struct tenon_chat_reply tenon_chat_reply;
typedef struct tenon_embedder tenon_embedder;
typedef struct tenon_placement tenon_placement;

/* ---- 2. The short way ----------------------------------------------------------------------- */

/* Opens a model file; of a split model the first part, the others are found beside it. Reads and
 * prepares the weights before it returns. options: NULL for the defaults.
 * FORMAT (the file is malformed), UNSUPPORTED (an architecture or tokenizer this build does not
 * know), IO, LIMIT. tenon_model_load (5) opens everything else and can report progress. */
TENON_API tenon_status tenon_model_open(const char* path, const tenon_options* options,
                                        tenon_model** model);
TENON_API void tenon_model_destroy(tenon_model* model);

/* Starts an empty text. options: NULL for the defaults. STATE for a file that holds a vocabulary
 * only. */
TENON_API tenon_status tenon_session_create(const tenon_model* model, const tenon_options* options,
                                            tenon_session** session);
TENON_API void tenon_session_destroy(tenon_session* session);

/* How a text becomes tokens: flags, to be or-ed. 0 is plain text. */
#define TENON_ADD_SPECIAL 1u   /* add the begin (and end) token where the model wants it */
#define TENON_PARSE_SPECIAL 2u /* spelled control tokens become them: not for user input */

/* Adds text to what the session has read. It is only queued: the next call that needs it computes
 * it. LIMIT when the session's context would overflow; nothing is then added. */
TENON_API tenon_status tenon_session_append_text(tenon_session* session, const char* text,
                                                 size_t length, uint32_t flags);

/* Why a piece is the last one. */
#define TENON_FINISH_NONE 0       /* it is not */
#define TENON_FINISH_END 1        /* the model drew an end token */
#define TENON_FINISH_MAX_TOKENS 2 /* max_tokens tokens were generated */
#define TENON_FINISH_STOP 3       /* a stop text or stop token came (9) */
#define TENON_FINISH_BANNED 4     /* nothing was found to go on with but banned_strings (9) */

/* What one step of generation brings. Valid until the callback returns, or until the next call on
 * the session. */
typedef struct tenon_piece {
  uint32_t struct_size;
  tenon_token token; /* TENON_NO_TOKEN: only with FINISH_BANNED, when the last one had gone */
  int32_t finish;    /* TENON_FINISH_* */
  uint32_t reserved;
  const char* text; /* whole UTF-8 characters: empty while one is incomplete or may begin a stop */
  uint64_t length;
} tenon_piece;

/* Nonzero ends the generation after this piece. */
typedef int32_t (*tenon_piece_callback)(void* user, const tenon_piece* piece);

/* Continues the text by at most max_tokens tokens (0: as many as the context holds) and hands out
 * each one. What was generated belongs to the session's text: append and generate again for the
 * next turn.
 *   sampler   NULL draws with the defaults of the options (9)
 *   on_piece  NULL throws the pieces away
 * LIMIT when the context is full, CANCELLED after tenon_session_cancel, STATE "non-finite logits"
 * for broken weights. Pieces handed out before a failure stay part of the text. */
TENON_API tenon_status tenon_session_generate(tenon_session* session, tenon_sampler* sampler,
                                              uint64_t max_tokens, tenon_piece_callback on_piece,
                                              void* user);

/* ---- 3. Errors, version --------------------------------------------------------------------- */

/* Values never change and are never reused. */
#define TENON_OK 0
#define TENON_ERROR_FORMAT 1      /* a file or a text is malformed */
#define TENON_ERROR_UNSUPPORTED 2 /* well formed, but nothing this build can do */
#define TENON_ERROR_LIMIT 3       /* larger than a stated limit */
#define TENON_ERROR_IO 4          /* the operating system or your reader failed */
#define TENON_ERROR_NO_MEMORY 5   /* an allocation failed or a budget is used up */
#define TENON_ERROR_ARGUMENT 6    /* you passed something invalid */
#define TENON_ERROR_GRAMMAR 7     /* a grammar, schema or pattern is refused */
#define TENON_ERROR_TEMPLATE 8    /* a chat template is refused or failed */
#define TENON_ERROR_BUSY 9        /* a bounded queue is full: try again later */
#define TENON_ERROR_CANCELLED 10  /* you cancelled it */
#define TENON_ERROR_DEADLINE 11   /* a deadline passed */
#define TENON_ERROR_PLUGIN 12     /* a plugin was refused or failed */
#define TENON_ERROR_STATE 13      /* the object cannot do this now */
#define TENON_ERROR_INTERNAL 14   /* a defect of the library: please report it */

/* "OK", "FORMAT", ...; "UNKNOWN" for other values. Lives for ever. */
TENON_API const char* tenon_status_name(tenon_status status);

/* One sentence about the latest failure on the calling thread; "" before the first. Stays valid and
 * unchanged until another call fails on this thread or the thread ends. Never NULL. */
TENON_API const char* tenon_last_error(void);

/* The number of the operating system's error, as in <errno.h>, behind the latest failure on the calling
 * thread; 0 where there is none, or it has none: of IO alone. ENOENT: there is no such file. Since 0.1 */
TENON_API int32_t tenon_last_system_error(void);

/* The version of this header. tenon_version() tells that of the library as
 * major * 1000000 + minor * 1000 + patch. */
#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0
TENON_API uint32_t tenon_version(void);
TENON_API const char* tenon_version_text(void); /* "0.1.0" */

/* This interface as data, in JSON: functions, structures with their offsets, constants, options. Lives
 * for ever. For bindings, which compare what they were made for with the library that they meet before
 * they pass it a structure (docs/bindings.md). bindings/interface.json is the same with its prose. */
TENON_API const char* tenon_interface_description(void);

/* ---- 4. Options --------------------------------------------------------------------------------
 *
 * Typed values under string keys, checked when they are set. One set may serve several calls: each
 * takes the keys of its scope and copies them, so the set can be changed or destroyed afterwards.
 * tenon_option_get_info and docs/options.md tell values, defaults and meaning of each key.
 *
 * generated: keys of options
 * MODEL    "backend", "devices", "device_memory", "gpu_layers", "experts_on", "kernel_cache",
 *          "threads", "cache_type", "default_context", "slice", "embeddings", "rows_on_demand",
 *          "row_cache_bytes", "backend.KEY", "isa", "bf16_activations", "vocabulary_only",
 *          "inspect", "metadata_only", "check_weights", "plugin", "override"
 * SESSION  "context", "salt", "priority", "client", "weight"
 * ENGINE   "cache_bytes", "step_tokens", "running", "queue", "queue_tokens", "ageing",
 *          "decode_stretch", "max_stall_ms", "prefix_cache", "state_checkpoints",
 *          "state_checkpoint_tokens"
 * SAMPLER  "stop", "banned_strings", "banned_ignore_case", "min_tokens", "repeat_penalty",
 *          "repeat_last_n", "presence_penalty", "frequency_penalty", "dry_multiplier", "dry_base",
 *          "dry_allowed_length", "dry_last_n", "mirostat", "mirostat_tau", "mirostat_eta",
 *          "top_n_sigma", "top_k", "typical_p", "top_p", "min_p", "xtc_probability",
 *          "xtc_threshold", "temperature", "dynatemp_range", "dynatemp_exponent",
 *          "adaptive_target", "adaptive_decay", "seed"
 * EMBEDDER "pooling", "normalize", "dimensions", "truncate", "query_prefix", "document_prefix"
 * CHAT     "template", "template_name", "chat_format", "template_raw", "constrain_calls",
 *          "generic_tools", "template_time_ms"
 * generated: end
 */

TENON_API tenon_status tenon_options_create(tenon_options** options);
TENON_API void tenon_options_destroy(tenon_options* options);

/* ARGUMENT for an unknown key (the message names the nearest one), another type, or a value outside
 * the range; the set is then unchanged. An integer is taken for a float key as well. */
TENON_API tenon_status tenon_options_set_int(tenon_options* options, const char* key,
                                             int64_t value);
TENON_API tenon_status tenon_options_set_float(tenon_options* options, const char* key,
                                               double value);
TENON_API tenon_status tenon_options_set_bool(tenon_options* options, const char* key,
                                              int32_t value);
TENON_API tenon_status tenon_options_set_string(tenon_options* options, const char* key,
                                                const char* value, size_t length);
/* Adds one more value to a list key. set_string replaces the list by one value. LIMIT beyond 1000
 * texts, or beyond the bytes that the key takes (of "stop" and "banned_strings" 65,536 in all). */
TENON_API tenon_status tenon_options_add_string(tenon_options* options, const char* key,
                                                const char* value, size_t length);
/* Reads the value from text as the type of the key asks ("8", "0.7", "true", and "random" of "seed"): for command lines and
 * configuration files. A key that begins with "backend." is text for the backend: the model is refused
 * when its backend lacks it. tenon_backends_get_info tells what there is. */
TENON_API tenon_status tenon_options_parse(tenon_options* options, const char* key,
                                           const char* value, size_t length);

/* Which call takes a key. */
#define TENON_SCOPE_MODEL 1   /* tenon_model_open, tenon_model_load, tenon_backends_create */
#define TENON_SCOPE_SESSION 2 /* tenon_session_create, tenon_engine_open_session */
#define TENON_SCOPE_SAMPLER 3 /* tenon_sampler_create */
#define TENON_SCOPE_ENGINE 4  /* tenon_engine_create */
#define TENON_SCOPE_CHAT 5    /* tenon_chat_create */
#define TENON_SCOPE_EMBEDDER 6 /* tenon_embedder_create */

#define TENON_OPTION_INT 1
#define TENON_OPTION_FLOAT 2
#define TENON_OPTION_BOOL 3
#define TENON_OPTION_STRING 4
#define TENON_OPTION_STRING_LIST 5

/* One key. Its texts live for ever. */
typedef struct tenon_option_info {
  uint32_t struct_size;
  int32_t scope; /* TENON_SCOPE_* */
  int32_t type;  /* TENON_OPTION_* */
  uint32_t reserved;
  const char* name;
  const char* doc;     /* one sentence */
  int64_t int_minimum; /* INT and BOOL */
  int64_t int_maximum;
  int64_t int_default;
  double float_minimum; /* FLOAT */
  double float_maximum;
  double float_default;
  const char* string_default; /* STRING; "" for the others */
  const char* string_choices; /* STRING: the values it takes, "f16|f32"; "" takes any */
} tenon_option_info;

/* The list of all keys, in a fixed order: index < tenon_option_count(). */
TENON_API size_t tenon_option_count(void);
TENON_API tenon_status tenon_option_get_info(size_t index, tenon_option_info* info);

/* ---- 5. Models: sources and callbacks ------------------------------------------------------- */

#define TENON_SOURCE_PATH 1 /* a regular file called `name` */
#define TENON_SOURCE_FD 2   /* bytes [offset, offset + size) of an open file; size 0: to its end */
#define TENON_SOURCE_MEMORY 3 /* `size` bytes at `data` */
#define TENON_SOURCE_READER 4 /* `size` bytes that `read` delivers */

/* Copies up to `size` bytes at `offset`; returns how many, 0 at the end, negative on failure. */
typedef int64_t (*tenon_read_callback)(void* user, uint64_t offset, void* buffer, uint64_t size);

/* Where the bytes of one file come from. Memory and readers must outlive the model; a descriptor is
 * duplicated, so yours may be closed. */
typedef struct tenon_source {
  uint32_t struct_size;
  int32_t kind;         /* TENON_SOURCE_* */
  const char* name;     /* the path; for the others what messages call it, or NULL */
  uint64_t name_length; /* TENON_NUL_TERMINATED is fine */
  int32_t fd;
  uint32_t concurrent; /* READER: nonzero when `read` may be called from several threads at once */
  uint64_t offset;     /* FD */
  uint64_t size;
  const void* data;
  tenon_read_callback read;
  void* user;
} tenon_source;

#define TENON_LOG_ERROR 0u
#define TENON_LOG_WARNING 1u
#define TENON_LOG_INFO 2u
#define TENON_LOG_DEBUG 3u

/* One line, without a newline. level: TENON_LOG_*. */
typedef void (*tenon_log_callback)(void* user, uint32_t level, const char* text, uint64_t length);
/* 0 <= fraction <= 1, never falling; on the thread of the call. Nonzero ends it: CANCELLED. */
typedef int32_t (*tenon_progress_callback)(void* user, double fraction);
/* `size` bytes aligned to `alignment` (a power of two), or NULL. */
typedef void* (*tenon_allocate_callback)(void* user, uint64_t size, uint64_t alignment);
typedef void (*tenon_release_callback)(void* user, void* memory, uint64_t size, uint64_t alignment);
/* Calls task(arg, i) once for every i < num_tasks, side by side or one after another, and returns
 * when all are done. */
typedef void (*tenon_indexed_task)(void* arg, uint32_t index);
typedef void (*tenon_run_tasks_callback)(void* user, uint32_t num_tasks, tenon_indexed_task task,
                                         void* arg);
/* Monotonic nanoseconds. */
typedef uint64_t (*tenon_clock_callback)(void* user);

/* What the library does through you rather than by itself. A NULL function means: the library's own
 * way, or nothing. All but `progress` are used as long as the model or one of its sessions lives,
 * and may be called from any thread. */
typedef struct tenon_callbacks {
  uint32_t struct_size;
  uint32_t log_level; /* the most detailed TENON_LOG_* wanted */
  void* user;
  tenon_log_callback log;
  tenon_progress_callback progress; /* of tenon_model_load */
  /* Both or neither. They serve all large blocks: weights, KV cache, scratch. */
  tenon_allocate_callback allocate;
  tenon_release_callback release;
  /* Your threads instead of ours: at most `concurrency` tasks. */
  tenon_run_tasks_callback run_tasks;
  tenon_clock_callback now_ns;
  uint32_t concurrency;
  uint32_t reserved;
} tenon_callbacks;

/* Opens a model from `num_sources` sources: one file, or all parts of a split one in any order.
 * options and callbacks may be NULL. Errors as tenon_model_open, and CANCELLED. */
TENON_API tenon_status tenon_model_load(const tenon_source* const* sources, size_t num_sources,
                                        const tenon_options* options,
                                        const tenon_callbacks* callbacks, tenon_model** model);

/* ---- 6. What is in a model ---------------------------------------------------------------------
 *
 * Texts returned here live as long as the model. Counts are 0 for an invalid handle.
 */

typedef struct tenon_model_info {
  uint32_t struct_size;
  uint32_t has_weights;     /* 0: the file holds a vocabulary only, or was opened so */
  const char* architecture; /* "llama" */
  uint64_t architecture_length;
  const char* name; /* as the file calls it; may be empty */
  uint64_t name_length;
  const char* chat_template; /* the file's, or empty */
  uint64_t chat_template_length;
  const char* backend; /* what runs it: "cpu"; empty when no weights were read */
  uint64_t backend_length;
  uint64_t parameters;      /* elements of all tensors */
  uint64_t tensor_bytes;    /* their size in the file */
  uint64_t trained_context; /* positions; this and the following are 0 where unknown */
  uint64_t vocabulary;      /* tokens */
  uint64_t layers;
  uint64_t width;
  uint64_t heads; /* of a layer; this and the following are the largest where layers differ */
  uint64_t kv_heads;
  uint64_t key_dim;   /* of one head */
  uint64_t value_dim; /* of one head */
  uint64_t feed_forward;
  uint64_t experts;      /* of a layer; 0: it is no mixture of experts. Since 0.1 */
  uint64_t experts_used; /* by each token */
  /* The longest source that its encoder reads, in tokens; 0: it has none. Since 0.1 */
  uint64_t source_tokens;
} tenon_model_info;

TENON_API tenon_status tenon_model_get_info(const tenon_model* model, tenon_model_info* info);

/* What the model with one session takes in memory. */
typedef struct tenon_memory {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t context;       /* positions of the session */
  uint64_t weights_bytes; /* once per model */
  uint64_t scratch_bytes; /* once per model */
  uint64_t kv_bytes;      /* once per session: a full one in an engine of so many "cache_bytes" */
  /* Of that, what decoding one token more reads of positions, and reads and writes of states. Since 0.1 */
  uint64_t token_cache_bytes;
} tenon_memory;

/* At `context` positions; 0 stands for what a session gets by default. Needs no weights in memory:
 * works for models opened with "inspect", too. STATE for a file that has no weights. */
TENON_API tenon_status tenon_model_memory(const tenon_model* model, uint64_t context,
                                          tenon_memory* memory);

/* How the model runs here, and what speeds are measured against: decoding takes step_bytes for each
 * step and tenon_memory.token_cache_bytes for each token, and a step of T tokens with R rows of logits
 * multiplies T * token_multiplications + R * output_multiplications times, attention apart. In a mixture of experts, those of one token count: so
 * token_multiplications + output_multiplications are the active parameters. */
typedef struct tenon_execution {
  uint32_t struct_size;
  uint32_t threads;   /* that compute, the caller's included */
  const char* device; /* as the backend describes it: "AMD EPYC, avx2 kernels" */
  uint64_t device_length;
  uint64_t huge_page_bytes; /* of the weights in memory, those on 2 MiB pages */
  uint64_t step_bytes;      /* of the matrices, in the formats of the file */
  uint64_t token_multiplications;
  uint64_t output_multiplications;
} tenon_execution;

/* STATE for a model whose weights were not loaded. */
TENON_API tenon_status tenon_model_execution(const tenon_model* model, tenon_execution* execution);

/* Types of metadata values, with the numbers of GGUF. */
#define TENON_VALUE_UINT8 0
#define TENON_VALUE_INT8 1
#define TENON_VALUE_UINT16 2
#define TENON_VALUE_INT16 3
#define TENON_VALUE_UINT32 4
#define TENON_VALUE_INT32 5
#define TENON_VALUE_FLOAT32 6
#define TENON_VALUE_BOOL 7
#define TENON_VALUE_STRING 8
#define TENON_VALUE_ARRAY 9
#define TENON_VALUE_UINT64 10
#define TENON_VALUE_INT64 11
#define TENON_VALUE_FLOAT64 12

typedef struct tenon_metadata {
  uint32_t struct_size;
  int32_t type;         /* TENON_VALUE_* */
  int32_t element_type; /* of an ARRAY's elements, else = type */
  uint32_t reserved;
  const char* key;
  uint64_t key_length;
  uint64_t num_elements; /* of an ARRAY, else 1 */
} tenon_metadata;

typedef struct tenon_value {
  uint32_t struct_size;
  int32_t type;     /* TENON_VALUE_*, never ARRAY */
  int64_t integer;  /* integers and BOOL; a UINT64 above INT64_MAX as its bits */
  double number;    /* the same as a float, and floats */
  const char* text; /* STRING, else empty */
  uint64_t length;
} tenon_value;

/* The metadata in file order: index < count, element < num_elements (0 for a single value). */
TENON_API size_t tenon_model_metadata_count(const tenon_model* model);
TENON_API tenon_status tenon_model_metadata(const tenon_model* model, size_t index,
                                            tenon_metadata* metadata);
TENON_API tenon_status tenon_model_metadata_value(const tenon_model* model, size_t index,
                                                  uint64_t element, tenon_value* value);
/* The index of a key; ARGUMENT when the model has no such key. */
TENON_API tenon_status tenon_model_find_metadata(const tenon_model* model, const char* key,
                                                 size_t length, size_t* index);

typedef struct tenon_tensor {
  uint32_t struct_size;
  uint32_t num_dimensions;
  const char* name;
  uint64_t name_length;
  const char* format; /* "q4_K" */
  uint64_t shape[4];  /* outermost first; what is beyond num_dimensions is 1 */
  uint64_t size_bytes;
  uint64_t source; /* in which of the files */
  uint64_t offset; /* of the first byte in it */
} tenon_tensor;

/* The tensors in file order: index < count. */
TENON_API size_t tenon_model_tensor_count(const tenon_model* model);
TENON_API tenon_status tenon_model_tensor(const tenon_model* model, size_t index,
                                          tenon_tensor* tensor);
TENON_API tenon_status tenon_model_find_tensor(const tenon_model* model, const char* name,
                                               size_t length, size_t* index);

/* ---- 7. Tokenizer --------------------------------------------------------------------------- */

/* The tokenizer of a model: part of it, not to be destroyed, valid as long as the model handle. */
TENON_API tenon_status tenon_model_tokenizer(const tenon_model* model,
                                             const tenon_tokenizer** tokenizer);

/* A tokenizer of its own, without a model: of a Hugging Face tokenizer.json, or of the vocabulary of
 * a model file; the first bytes tell which it is. It can do what a model's can.
 * FORMAT (the file is malformed), UNSUPPORTED (naming a part this build does not know), IO, LIMIT.
 * The fields "truncation" and "padding" of a tokenizer.json are not applied. */
TENON_API tenon_status tenon_tokenizer_open(const char* path, tenon_tokenizer** tokenizer);
/* The same from any source, which is not used after the call. */
TENON_API tenon_status tenon_tokenizer_load(const tenon_source* source,
                                            tenon_tokenizer** tokenizer);
/* Does nothing for the tokenizer of a model. */
TENON_API void tenon_tokenizer_destroy(tenon_tokenizer* tokenizer);

/* Text to tokens. Control tokens, and user-defined ones that are marks (<tool_call>, [INST]), are
 * found in the text only with TENON_PARSE_SPECIAL. flags: TENON_ADD_SPECIAL, TENON_PARSE_SPECIAL.
 * Any bytes are taken: each ill-formed part of the UTF-8 counts as U+FFFD. tokens [capacity]; see
 * "Buffers" in 1. */
TENON_API tenon_status tenon_tokenizer_encode(const tenon_tokenizer* tokenizer, const char* text,
                                              size_t length, uint32_t flags, tenon_token* tokens,
                                              size_t capacity, size_t* num_tokens);

#define TENON_RENDER_SPECIAL 4u /* show control tokens by their names */

/* Tokens to text. flags: TENON_RENDER_SPECIAL. The bytes of a token may be part of a character. */
TENON_API tenon_status tenon_tokenizer_decode(const tenon_tokenizer* tokenizer,
                                              const tenon_token* tokens, size_t num_tokens,
                                              uint32_t flags, char* text, size_t capacity,
                                              size_t* length);

#define TENON_TOKEN_END 1u          /* generation ends here */
#define TENON_TOKEN_CONTROL 2u      /* structure, not text */
#define TENON_TOKEN_USER_DEFINED 4u /* an extra piece of text, matched before everything else */
#define TENON_TOKEN_BYTE 8u         /* stands for a single byte */
#define TENON_TOKEN_UNKNOWN 16u
#define TENON_TOKEN_UNUSED 32u

typedef struct tenon_token_info {
  uint32_t struct_size;
  uint32_t attributes;  /* TENON_TOKEN_*, or-ed */
  const char* spelling; /* as the file spells it */
  uint64_t spelling_length;
  const char* text; /* the bytes it stands for; empty for control tokens */
  uint64_t text_length;
} tenon_token_info;

/* Tokens are 0 .. count - 1. */
TENON_API size_t tenon_tokenizer_count(const tenon_tokenizer* tokenizer);
TENON_API tenon_status tenon_tokenizer_token_info(const tenon_tokenizer* tokenizer,
                                                  tenon_token token, tenon_token_info* info);
/* The token that the file spells so, or TENON_NO_TOKEN. */
TENON_API tenon_status tenon_tokenizer_find(const tenon_tokenizer* tokenizer, const char* spelling,
                                            size_t length, tenon_token* token);

#define TENON_SPECIAL_BEGIN 1
#define TENON_SPECIAL_END 2
#define TENON_SPECIAL_END_OF_TURN 3
#define TENON_SPECIAL_UNKNOWN 4
#define TENON_SPECIAL_PADDING 5

/* The token in a role, or TENON_NO_TOKEN when the model has none. */
TENON_API tenon_status tenon_tokenizer_special(const tenon_tokenizer* tokenizer, int32_t role,
                                               tenon_token* token);

/* ---- 8. Sessions -------------------------------------------------------------------------------
 *
 * A session is a text of tokens and what the model computed for it. Several sessions of one model
 * may run at the same time from several threads; each gets the same answer as if it were alone.
 */

/* ARGUMENT for a token outside the vocabulary, LIMIT when the context would overflow. */
TENON_API tenon_status tenon_session_append_tokens(tenon_session* session,
                                                   const tenon_token* tokens, size_t num_tokens);

/* Of a model with an encoder (T5; tenon_model_info.source_tokens): sets the source, the text that the
 * encoder reads and the session's text answers to, and queues the token that answers begin with, where
 * the file tells one. A session has none until then, and no token can be appended before. The source is
 * computed with the first token; rewinding to 0 keeps it, and a new one may be set there; forks share
 * it. flags: as tenon_session_append_text, ADD_SPECIAL for the end that encoders are used to.
 * STATE when the session has tokens or the model no encoder, ARGUMENT for an empty source or a token
 * outside the vocabulary, LIMIT for more tokens than the encoder reads; nothing is then changed.
 * Since 0.1 */
TENON_API tenon_status tenon_session_set_source_text(tenon_session* session, const char* text,
                                                     size_t length, uint32_t flags);
TENON_API tenon_status tenon_session_set_source_tokens(tenon_session* session,
                                                       const tenon_token* tokens,
                                                       size_t num_tokens);

/* Computes what is queued now instead of with the next token. progress: NULL, or called with
 * 0 <= fraction <= 1; nonzero ends it with CANCELLED, and what was computed stays. */
TENON_API tenon_status tenon_session_prefill(tenon_session* session,
                                             tenon_progress_callback progress, void* user);

/* Generates one token: the loop of tenon_session_generate in your hands. After FINISH_END the end
 * token belongs to the text, and a further call goes on after it. Errors as there. */
TENON_API tenon_status tenon_session_next(tenon_session* session, tenon_sampler* sampler,
                                          tenon_piece* piece);

/* One of several answers to the same text. Valid until the callback returns. */
typedef struct tenon_candidate {
  uint32_t struct_size;
  int32_t finish; /* TENON_FINISH_* of its last token */
  const tenon_token* tokens;
  uint64_t num_tokens;
  const char* text;
  uint64_t length;
  double logprob; /* natural logarithms of the probabilities of the drawn tokens, summed up */
  int64_t seed;   /* that it was drawn with. Since 0.1 */
} tenon_candidate;

/* Nonzero: no more answers. */
typedef int32_t (*tenon_candidate_callback)(void* user, const tenon_candidate* candidate);

/* Continues the text `count` times (1..128, else LIMIT), each time from where it is now, with the seed
 * of the sampler (of -1 one that is drawn), the next one, ..., and hands out each answer. The session's text then goes on with
 * the one whose drawn tokens are the likeliest on average; *best, which may be NULL, becomes its
 * number. The sampler is not changed. Other arguments and errors as tenon_session_generate; after an
 * error the text is as it was. */
TENON_API tenon_status tenon_session_best_of(tenon_session* session, tenon_sampler* sampler,
                                             uint32_t count, uint64_t max_tokens,
                                             tenon_candidate_callback on_candidate, void* user,
                                             uint32_t* best);

/* What is held back because it may begin a text of the option "stop": for loops of tenon_session_next
 * that end before the model does. It is then handed out. Valid until the next call on the session.
 * Tokens that banned_strings (9) keep back are no part of it: they were drawn ahead, are not in the
 * session's text yet, and any call but tenon_session_next drops them. */
TENON_API tenon_status tenon_session_take_held(tenon_session* session, const char** text,
                                               size_t* length);

/* The logits that the last token was drawn from: [*count] f32, valid until the next call on the
 * session; for tenon_logprobs. STATE when the last token was not drawn (or a grammar
 * left no choice), or after a fork. */
TENON_API tenon_status tenon_session_drawn_logits(tenon_session* session, const float** logits,
                                                  size_t* count);

/* The logits of the next token: [*count] f32, *count = vocabulary; computes what is queued. Valid
 * until the next call on the session. STATE for an empty text. */
TENON_API tenon_status tenon_session_logits(tenon_session* session, const float** logits,
                                            size_t* count);

/* Appends tokens, computes them and hands out the logits after each one: row 0 .. num_tokens - 1,
 * in order. logits [vocabulary] f32, valid during the call. Nonzero ends it: CANCELLED. */
typedef int32_t (*tenon_logits_callback)(void* user, uint64_t row, const float* logits,
                                         uint64_t vocabulary);
TENON_API tenon_status tenon_session_evaluate(tenon_session* session, const tenon_token* tokens,
                                              size_t num_tokens, tenon_logits_callback on_logits,
                                              void* user);

/* What may follow a text: texts, which become tokens each by itself, or tokens. Only read during a call,
 * but for num_logprobs. Since 0.1 */
typedef struct tenon_continuations {
  uint32_t struct_size;
  uint32_t flags;           /* of texts: 0 or TENON_PARSE_SPECIAL */
  uint64_t count;           /* any number */
  const char* const* texts; /* [count]; or NULL: tokens */
  const uint64_t* lengths;  /* [count]; NULL: all end in a NUL */
  const tenon_token* const* tokens; /* [count] */
  const uint64_t* num_tokens;       /* [count] */
  uint64_t* num_logprobs; /* [count], or NULL: gets how many tokens each one has */
  double timeout_seconds; /* from now to the end: DEADLINE; 0: none */
} tenon_continuations;

/* How likely each continuation of the session's text is: natural logarithms of the probabilities of its
 * tokens, each after the text and the tokens before it; those of all continuations one after another,
 * logprobs [*num_logprobs] f32, see "Buffers" in 1. Their sum is that of the whole continuation. Which
 * number of them there is, costs no more than finding the tokens.
 * What is queued is computed first; the text stays as it is. Continuations are computed side by side,
 * those that begin alike together, and have the bits that tenon_session_evaluate and tenon_logprobs give
 * one by one. Their memory is that of the cache while the call lasts.
 * ARGUMENT for a continuation without tokens, or a token outside the vocabulary; LIMIT for one that the
 * context does not hold; STATE for an empty text, or "non-finite logits"; CANCELLED, DEADLINE, NO_MEMORY
 * when the cache has no room even for one. What is in logprobs after a failure is not defined. Since
 * 0.1 */
TENON_API tenon_status tenon_session_score(tenon_session* session,
                                           const tenon_continuations* continuations,
                                           float* logprobs, size_t capacity, size_t* num_logprobs);

/* A second session with the same text; both go on alone. Costs no computation and no memory for
 * what they share. */
TENON_API tenon_status tenon_session_fork(tenon_session* session, tenon_session** fork);

/* Forgets everything from `position` on. ARGUMENT when the text is shorter. */
TENON_API tenon_status tenon_session_rewind(tenon_session* session, uint64_t position);

/* Saves the session, its text and what was computed for it, to a file or to your buffer ("Buffers" in
 * 1; the size can be smaller at the next call). A file appears under its name complete or not at all
 * and replaces a regular file there, where a symbolic link leads to as well; when saving fails the old
 * one is as it was. A process that is killed meanwhile leaves no other file, but for an instant in which
 * an old file is replaced (then `path`.tenon-new), and on file systems without O_TMPFILE
 * (`path`.XXXXXXXX.tmp). The sampler and text held back (tenon_session_take_held) are not part of
 * it. IO, also for a file beyond the process's limit of file sizes. */
TENON_API tenon_status tenon_session_save(tenon_session* session, const char* path);
TENON_API tenon_status tenon_session_save_buffer(tenon_session* session, void* buffer,
                                                 size_t capacity, size_t* size);

#define TENON_RESTORE_TEXT 32u /* if only the cache differs: take the text, compute all of it again */

/* Puts a saved session in place of the session's text; it goes on bit by bit as the saved one would
 * have. When it fails the session is as it was. flags: 0 or TENON_RESTORE_TEXT. FORMAT, naming the
 * difference, for what is damaged, of another version, or made with another model, backend, device or
 * cache; LIMIT when the text is longer than the session's context; IO. A file is only as trustworthy
 * as those who could write it: what comes from one is never shared with other sessions. */
TENON_API tenon_status tenon_session_restore(tenon_session* session, const char* path,
                                             uint32_t flags);
TENON_API tenon_status tenon_session_restore_buffer(tenon_session* session, const void* data,
                                                    size_t size, uint32_t flags);

/* Tokens in the text, queued ones included; the most it can hold; the tokens themselves, valid
 * until the next call on the session. */
TENON_API tenon_status tenon_session_position(tenon_session* session, uint64_t* position);
TENON_API tenon_status tenon_session_context(tenon_session* session, uint64_t* context);
TENON_API tenon_status tenon_session_tokens(tenon_session* session, const tenon_token** tokens,
                                            size_t* num_tokens);

/* The seed that the latest answer of the session was drawn with: as the option "seed" (9) it gives that
 * answer again, from the same text. STATE when none was drawn yet. Since 0.1 */
TENON_API tenon_status tenon_session_seed(tenon_session* session, int64_t* seed);

/* Ends the call under way on the session, or else the next one, with CANCELLED. The session can
 * then go on from where it was. Any thread, any time, callbacks and signal handlers included. */
TENON_API tenon_status tenon_session_cancel(tenon_session* session);

typedef struct tenon_session_stats {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t prefill_tokens; /* computed in prompts, since the session was made */
  uint64_t decode_tokens;  /* generated */
  double prefill_seconds;
  double decode_seconds;
} tenon_session_stats;

TENON_API tenon_status tenon_session_get_stats(tenon_session* session, tenon_session_stats* stats);

/* ---- 9. Samplers -------------------------------------------------------------------------------
 *
 * A sampler turns logits into a token. Its parameters are the options of scope SAMPLER. The same
 * seed at the same position of the same text draws the same token; equal logits go to the lower id.
 *
 * The option "seed" is -1 unless it is set: each answer gets a seed of its own, at random, so the same
 * text is continued in another way each time. tenon_session_seed, tenon_request_seed and
 * tenon_candidate tell it: set it, and the answer comes again. An answer lasts until the session's text
 * changes otherwise (append, evaluate, rewind); calls that go on with it keep its seed, as do forks and
 * what a saved session is restored to. Random seeds are below 2^52, so that every language can hold them.
 */

/* options: NULL for the defaults. */
TENON_API tenon_status tenon_sampler_create(const tenon_options* options, tenon_sampler** sampler);
TENON_API void tenon_sampler_destroy(tenon_sampler* sampler);

/* Changes one parameter. ARGUMENT as tenon_options_set_*. */
TENON_API tenon_status tenon_sampler_set_int(tenon_sampler* sampler, const char* name,
                                             int64_t value);
TENON_API tenon_status tenon_sampler_set_float(tenon_sampler* sampler, const char* name,
                                               double value);

/* The seed that the sampler draws with: its option, or of -1 that of the latest answer it drew, or
 * the one that tenon_sampler_sample will draw with until the sampler is reset. Since 0.1 */
TENON_API tenon_status tenon_sampler_seed(tenon_sampler* sampler, int64_t* seed);

/* Texts that may not be generated are the option "banned_strings" ("banned_ignore_case": of letters
 * of ASCII, capital or small). When the text comes to hold one, it goes back to the token in which
 * that begins, and another token is drawn there; the penalties, the grammar and what mirostat and
 * adaptive-p remember go back with it. Only generated text counts, not the prompt. Tokens whose
 * text may still become a banned one are handed out later than they are drawn, so nothing is ever
 * withdrawn; with the last token allowed (max_tokens, tenon_sampler_set_token_limit) all go. A ban
 * comes before a stop. Where 256 ways in a row lead to banned texts, or a grammar allows nothing
 * else, the answer ends with TENON_FINISH_BANNED before them. At most 1000 texts of 128 bytes each:
 * LIMIT; ARGUMENT for an empty one.
 * A loop that draws by itself (tenon_sampler_sample) finds such texts itself, and goes back with
 * tenon_sampler_roll_back, tenon_matcher_roll_back and tenon_session_rewind. */

/* Adds `bias` to the logit of a token from now on; -INFINITY forbids the token, 0 takes it back. A
 * token outside the vocabulary is ARGUMENT when the sampler is used. */
TENON_API tenon_status tenon_sampler_set_bias(tenon_sampler* sampler, tenon_token token,
                                              double bias);

/* Generation ends with this token (TENON_FINISH_STOP), whose text is not handed out. LIMIT beyond
 * 1000 tokens. Texts that end it are the option "stop". */
TENON_API tenon_status tenon_sampler_add_stop_token(tenon_sampler* sampler, tenon_token token);

/* Repetitions that the parameters dry_* look for end at every token whose text holds this one, such
 * as a line break. */
TENON_API tenon_status tenon_sampler_add_dry_breaker(tenon_sampler* sampler,
                                                     const tenon_tokenizer* tokenizer,
                                                     const char* text, size_t length);

/* Natural logarithms of probabilities under logits [count] f32, as a model left them: those of
 * tokens [num_tokens] go to logprobs [num_tokens], and the num_top likeliest, likeliest first, to
 * top_tokens [num_top] and top_logprobs [num_top]. For a drawn token the logits come from
 * tenon_session_drawn_logits, for a prompt from tenon_session_evaluate, whose row i is about the
 * token after row i. ARGUMENT for a token or num_top outside the vocabulary, STATE for NaN. Any
 * thread. */
TENON_API tenon_status tenon_logprobs(const float* logits, size_t count, const tenon_token* tokens,
                                      size_t num_tokens, float* logprobs, tenon_token* top_tokens,
                                      float* top_logprobs, size_t num_top);

/* Parameters, biases, breakers and stop tokens as they were created; earlier draws are forgotten. */
TENON_API tenon_status tenon_sampler_reset(tenon_sampler* sampler);

/* Draws from logits of your own: [count] f32. history: the text so far, for the penalties. STATE
 * for NaN, or when every token is forbidden. */
TENON_API tenon_status tenon_sampler_sample(tenon_sampler* sampler, const float* logits,
                                            size_t count, const tenon_token* history,
                                            size_t history_length, uint64_t position,
                                            tenon_token* token);

/* Takes the last draws back, at most 256: the next one is made as the first of them was. What the
 * penalties see is the history given. For another token in its place forbid that one
 * (tenon_sampler_set_bias) and give another `position`, which is the key of the random number.
 * ARGUMENT for more draws than there were since the sampler was made or reset or got a grammar. */
TENON_API tenon_status tenon_sampler_roll_back(tenon_sampler* sampler, size_t num_draws);

/* ---- 10. Backends ------------------------------------------------------------------------------
 *
 * What can run models here: what is built in, what lies in the folder `tenon` beside the library,
 * and the files of the option "plugin". Nowhere else is searched.
 */

/* Why a plugin is not used. */
#define TENON_REFUSED_NOT 0               /* it is used */
#define TENON_REFUSED_NOT_ABSOLUTE 1      /* the path is relative */
#define TENON_REFUSED_NOT_FOUND 2         /* no such file, or it cannot be read */
#define TENON_REFUSED_NOT_REGULAR 3       /* a directory, a device, a FIFO */
#define TENON_REFUSED_UNSAFE_OWNER 4      /* it is neither root's nor yours */
#define TENON_REFUSED_WRITABLE 5          /* others can write it, or its folder */
#define TENON_REFUSED_NOT_A_LIBRARY 6     /* the dynamic loader does not take it */
#define TENON_REFUSED_NO_ENTRY 7          /* it has no tenon_backend_entry */
#define TENON_REFUSED_ENTRY_THREW 8       /* its entry threw an exception */
#define TENON_REFUSED_DECLINED 9          /* it cannot run on this machine */
#define TENON_REFUSED_WRONG_MAGIC 10      /* its table is not one of tenon/backend.h */
#define TENON_REFUSED_OTHER_MAJOR 11      /* it is made for another plugin ABI */
#define TENON_REFUSED_TOO_SMALL 12        /* its table is too small */
#define TENON_REFUSED_MISSING_FUNCTION 13 /* a function of its table is NULL */
#define TENON_REFUSED_BAD_NAME 14         /* its name is not 1 to 63 letters, digits, - and _ */
#define TENON_REFUSED_NAME_TAKEN 15       /* a backend before it in the list has its name */

typedef struct tenon_backend_info {
  uint32_t struct_size;
  tenon_status status; /* TENON_OK: usable; PLUGIN: refused; else what its device said */
  const char* name;    /* as the option "backend" takes it */
  uint64_t name_length;
  const char* origin; /* "built in", or the path of the plugin */
  uint64_t origin_length;
  const char* description; /* of its device, or the reason for the refusal */
  uint64_t description_length;
  int32_t reason; /* TENON_REFUSED_* */
  uint32_t reserved;
  /* A line for each option it takes as backend.KEY: key, values, default, meaning; tabs between. */
  const char* options;
  uint64_t options_length;
} tenon_backend_info;

/* Looks at all of them. options: NULL, or with "plugin". Texts live as long as the list. */
TENON_API tenon_status tenon_backends_create(const tenon_options* options,
                                             tenon_backends** backends);
TENON_API void tenon_backends_destroy(tenon_backends* backends);
TENON_API size_t tenon_backends_count(const tenon_backends* backends);
TENON_API tenon_status tenon_backends_get_info(const tenon_backends* backends, size_t index,
                                               tenon_backend_info* info);

#define TENON_DEVICE_KIND_REFERENCE 1 /* right rather than fast; only its name chooses it */
#define TENON_DEVICE_KIND_CPU 2
#define TENON_DEVICE_KIND_GPU 3
#define TENON_DEVICE_KIND_ACCELERATOR 4

/* A device of a backend. The option "devices" takes it as BACKEND:NAME, or BACKEND:NUMBER by its place. */
typedef struct tenon_backend_device {
  uint32_t struct_size;
  int32_t kind; /* TENON_DEVICE_KIND_* */
  const char* name;
  uint64_t name_length;
  const char* description; /* "AMD EPYC, avx2 kernels" */
  uint64_t description_length;
  const char* unavailable; /* empty, or why it cannot be used */
  uint64_t unavailable_length;
  uint64_t memory_total; /* bytes; 0: not known */
  uint64_t memory_available;
} tenon_backend_device;

/* Of the backend `index` of the list; 0 for one that cannot be used. Texts live as long as the list. */
TENON_API size_t tenon_backends_count_devices(const tenon_backends* backends, size_t index);
TENON_API tenon_status tenon_backends_get_device(const tenon_backends* backends, size_t index,
                                                 size_t device, tenon_backend_device* info);

/* ---- 11. Engines -------------------------------------------------------------------------------
 *
 * An engine serves many sessions of one model: a queue, a scheduler that puts the tokens of many of
 * them into each step, and a KV cache with a budget that is never exceeded. Sessions made by
 * tenon_session_create are in an engine of the model's own, without limits; these are for servers.
 * docs/inside/engine.md tells how it works and what is promised.
 *
 *   tenon_engine_create(model, options, &engine);
 *   tenon_engine_open_session(engine, NULL, &session);
 *   tenon_session_submit(session, &submission, &request);
 *   while (tenon_request_wait(request, -1, &piece) == TENON_OK && piece.finish == 0) ...
 *
 * The engine starts no thread. It computes in the calls that wait: tenon_request_wait and the calls
 * of section 8, each for all. A host that only polls lends it a thread (tenon_engine_run), calls
 * tenon_engine_step now and then, or names an executor.
 */

/* options: scope ENGINE; NULL for the defaults. STATE when the model has no weights. */
TENON_API tenon_status tenon_engine_create(const tenon_model* model, const tenon_options* options,
                                           tenon_engine** engine);
/* Ends tenon_engine_run. What is under way in sessions of the engine goes on. */
TENON_API void tenon_engine_destroy(tenon_engine* engine);

/* As tenon_session_create, in this engine. Options of scope SESSION: "salt" keeps what the session
 * computes from being reused under another salt (and from being guessed by timing); "priority",
 * "client" and "weight" are those of its calls and of requests that name none. */
TENON_API tenon_status tenon_engine_open_session(tenon_engine* engine,
                                                 const tenon_options* options,
                                                 tenon_session** session);

#define TENON_IGNORE_END 8u /* an end token is a token like any other */
#define TENON_LOGPROBS 16u  /* keep log-probabilities for tenon_request_logprobs */

/* Called when there is a piece or the end, on any thread that is in a call on the engine, its
 * sessions or requests (cancelling and destroying included): hold no lock in one that it takes.
 * It must not make such a call itself: it is for waking the thread that will. Never called again
 * when tenon_request_destroy has returned, which waits for a call under way. */
typedef void (*tenon_notify_callback)(void* user);

/* What is to be done. Only read during tenon_session_submit. */
typedef struct tenon_submission {
  uint32_t struct_size;
  uint32_t flags;    /* TENON_ADD_SPECIAL, TENON_PARSE_SPECIAL for the text; IGNORE_END, LOGPROBS */
  const char* text;  /* is appended to the session first; may be NULL */
  uint64_t text_length;
  const tenon_token* tokens; /* are appended after the text; may be NULL */
  uint64_t num_tokens;
  const tenon_sampler* sampler; /* parameters, stops, grammar are copied; NULL: the defaults */
  uint64_t max_tokens;          /* 0: as many as the context holds */
  double timeout_seconds;       /* from now to the end: DEADLINE; 0: none */
  int32_t priority;             /* higher runs first; -1000..1000 */
  uint32_t has_priority;        /* 0: that of the session */
  const char* client; /* requests of one key share what its weight gives; NULL: the session's */
  uint64_t client_length;
  double weight; /* of the client, 0.001..1000; 0: the session's */
  tenon_notify_callback notify; /* may be NULL */
  void* user;
  uint32_t num_top; /* as with LOGPROBS, and those of this many likeliest tokens; at most 1000 */
  uint32_t reserved;
  const tenon_token* logprob_tokens; /* as with LOGPROBS, and those of these; at most 1000 */
  uint64_t num_logprob_tokens;
} tenon_submission;

/* Queues the generation of a continuation. Until it has ended the session refuses other calls
 * (STATE) but cancel and destroy, which ends it. What was generated belongs to the session's text.
 * BUSY when the queue of the engine is full, LIMIT when the context is; nothing is then appended. */
TENON_API tenon_status tenon_session_submit(tenon_session* session,
                                            const tenon_submission* submission,
                                            tenon_request** request);
/* Cancels it unless it has ended, and returns when its session takes the next call: within a few
 * milliseconds, as tenon_request_cancel. */
TENON_API void tenon_request_destroy(tenon_request* request);

/* The next piece; its text is valid until the next call on the request. The last piece has a
 * `finish`; after it further calls give a piece without a token and with the same finish. A request
 * that ended early returns, after the pieces that were there, its error: CANCELLED, DEADLINE,
 * NO_MEMORY, what the backend said.
 *   timeout_seconds  how long to wait; then the piece has TENON_NO_TOKEN and finish 0. 0 does not
 *                    wait and does not compute; negative waits for ever.
 * With a timeout the call returns at most 10 ms late, as far as the scheduling of threads allows, but
 * for a step of least size that it began to compute in time (one token of each running request, and
 * up to 8 of prompts) and for one draw under a grammar. (It also lets a step of another engine of the
 * same model end.) What it computes is cut to the time that is left, so waits that are long for a
 * step compute fastest; but however short they are, repeated ones end every request, with the same
 * tokens. */
TENON_API tenon_status tenon_request_wait(tenon_request* request, double timeout_seconds,
                                          tenon_piece* piece);

/* The natural logarithm of the probability of the token that the request handed out last, under the
 * logits as the model left them, and the num_top likeliest tokens, likeliest first: top_tokens
 * [num_top], top_logprobs [num_top]; as tenon_logprobs. STATE before the first token, or when the
 * request was submitted without; ARGUMENT for a num_top beyond that of the submission. */
TENON_API tenon_status tenon_request_logprobs(tenon_request* request, float* logprob,
                                              tenon_token* top_tokens, float* top_logprobs,
                                              size_t num_top);

/* The same of the first `count` of the submission's logprob_tokens, each where the token handed out
 * last was drawn: logprobs [count]. */
TENON_API tenon_status tenon_request_logprobs_of(tenon_request* request, float* logprobs,
                                                 size_t count);

/* The seed that its answer is drawn with, from the beginning on: as the option "seed" it gives the same
 * answer to the same text. Since 0.1 */
TENON_API tenon_status tenon_request_seed(tenon_request* request, int64_t* seed);

/* Ends the request with CANCELLED, within a few milliseconds even in the middle of a long prompt;
 * the session can then go on from where it was. Nothing happens to one that has ended. Any thread. */
TENON_API tenon_status tenon_request_cancel(tenon_request* request);

/* Why not more of a prompt was reused. */
#define TENON_REUSE_NO_MISS 0        /* all that could be was, or nothing like it was ever there */
#define TENON_REUSE_DIFFERENT_TEXT 1 /* what is there goes on otherwise */
#define TENON_REUSE_EVICTED 2        /* it was there, and its memory was needed */
#define TENON_REUSE_OTHER_SALT 3     /* it is there under another salt */
#define TENON_REUSE_CACHE_TYPE 4     /* it was computed for another cache: TENON_RESTORE_TEXT */

typedef struct tenon_request_stats {
  uint32_t struct_size;
  int32_t reuse_miss;      /* TENON_REUSE_* */
  uint64_t prompt_tokens;  /* of the session's text when it was submitted */
  uint64_t reused_tokens;  /* of these computed before, in the session or by others */
  uint64_t miss_position;  /* with a miss: the first position that is not there */
} tenon_request_stats;

TENON_API tenon_status tenon_request_get_stats(tenon_request* request, tenon_request_stats* stats);

/* Computes one step, if there is work and no other thread is at it; *worked tells. Never waits for
 * work. */
TENON_API tenon_status tenon_engine_step(tenon_engine* engine, int32_t* worked);

/* Computes whatever comes, and sleeps between, until tenon_engine_stop or tenon_engine_destroy: for
 * a thread that the host gives to the engine. */
TENON_API tenon_status tenon_engine_run(tenon_engine* engine);
/* Makes the calls of tenon_engine_run return, those under way and those to come. */
TENON_API tenon_status tenon_engine_stop(tenon_engine* engine);

/* Has task(arg) called once, soon, on any thread. */
typedef void (*tenon_task)(void* arg);
typedef void (*tenon_post_callback)(void* user, tenon_task task, void* arg);

/* From now on work that no call waits for is computed by the host's executor: each call of `post`
 * gives it a task, which returns when there is no more to do. post == NULL ends that; a task posted
 * before is still to be called, and keeps the engine alive until then. A post that throws has not
 * posted: calls that wait compute what there is. */
TENON_API tenon_status tenon_engine_set_executor(tenon_engine* engine, tenon_post_callback post,
                                                 void* user);

/* How many durations were at most 1, 2.5, 5, 10, 25, 50, 100, 250, 500 ms, 1, 2.5, 5, 10, 25, 50,
 * 100 s and above, each without those before it. */
#define TENON_HISTOGRAM_COUNTS 17

/* Totals are since the engine was made, the rest is as it is now. */
typedef struct tenon_engine_stats {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t waiting; /* requests in the queue, and prompt tokens of those that have not begun */
  uint64_t waiting_tokens;
  uint64_t running; /* requests that have begun */
  uint64_t submitted;
  uint64_t finished;
  uint64_t cancelled;
  uint64_t expired; /* ended by their deadline */
  uint64_t failed;
  uint64_t busy; /* refused */
  uint64_t preempted;
  uint64_t kv_limit_bytes;
  uint64_t kv_held_bytes;   /* memory of the cache */
  uint64_t kv_used_bytes;   /* of this in blocks of sessions and shared beginnings */
  uint64_t kv_shared_bytes; /* of this held for reuse alone */
  uint64_t steps;
  uint64_t steps_stopped; /* by a cancel or the timeout of a wait, and computed again */
  uint64_t prompt_tokens; /* computed in slices of prompts */
  uint64_t decode_tokens; /* computed one at a time */
  uint64_t reused_tokens;
  uint64_t generated_tokens;
  double step_seconds;     /* in the backend */
  double schedule_seconds; /* choosing, preparing and settling steps */
  uint64_t idle_blocks_taken; /* from sessions between two calls, to be computed again */
  uint64_t prefix_evicted;    /* blocks of shared beginnings that were given up for others */
  uint64_t first_token_counts[TENON_HISTOGRAM_COUNTS]; /* of requests: from submit */
  uint64_t token_gap_counts[TENON_HISTOGRAM_COUNTS];   /* between tokens */
  uint64_t request_counts[TENON_HISTOGRAM_COUNTS];     /* from submit to the end */
  double first_token_seconds;                          /* the sums of these durations */
  double token_gap_seconds;
  double request_seconds;
  uint64_t queue_room; /* requests that the queue still takes; 0: the next is BUSY. Since 0.1 */
} tenon_engine_stats;

TENON_API tenon_status tenon_engine_get_stats(tenon_engine* engine, tenon_engine_stats* stats);
/* The same and histograms (time to first token, between tokens, of whole requests) as text for
 * Prometheus, version 0.0.4. See "Buffers" in 1. */
TENON_API tenon_status tenon_engine_stats_text(tenon_engine* engine, char* text, size_t capacity,
                                               size_t* length);

/* ---- 12. Grammars ------------------------------------------------------------------------------
 *
 * A grammar says which texts may be generated: attached to a sampler (tenon_sampler_set_grammar) it
 * lets no other token through, and whatever the model wants, the text becomes complete before the
 * token limit. docs/structured-output.md lists what of each notation is supported.
 */

#define TENON_GRAMMAR_JSON_SCHEMA 1 /* a JSON Schema, draft 2020-12: the text is a valid document */
#define TENON_GRAMMAR_GBNF 2        /* rules in GBNF: the text is one of `root` */
#define TENON_GRAMMAR_REGEX 3       /* a regular expression: the whole text is one match */
#define TENON_GRAMMAR_CHOICES 4     /* a JSON array of strings: the text is one of them */
#define TENON_GRAMMAR_LARK 5        /* rules in Lark: the text is one of `start` */

/* Compiles a grammar, or refuses it when that takes too much. kind: TENON_GRAMMAR_*.
 * GRAMMAR when the text is malformed, impossible, too large or uses what is not supported; the
 * message says where (line, column, JSON pointer, byte) and why. */
TENON_API tenon_status tenon_grammar_create(int32_t kind, const char* text, size_t length,
                                            tenon_grammar** grammar);
TENON_API void tenon_grammar_destroy(tenon_grammar* grammar);

/* Asks whether the work under way is still wanted: every few milliseconds, on the thread of the
 * call. Nonzero ends the call: CANCELLED. Since 0.1 */
typedef int32_t (*tenon_stop_callback)(void* user);

#define TENON_GRAMMAR_LENIENT 1u /* JSON_SCHEMA: what has no grammar is left out */

/* As tenon_grammar_create, for texts that come with requests.
 *   flags        0 or TENON_GRAMMAR_LENIENT: keywords and subschemas that would be refused are
 *                skipped, and tenon_grammar_notes tells which. ARGUMENT for another kind
 *   tokenizer    may be NULL; prepares the grammar for this vocabulary, so that
 *                tenon_sampler_set_grammar and tenon_matcher_create are quick later
 *   should_stop  may be NULL; not called for the first grammar's sorting of the vocabulary
 * LIMIT for a text that takes more than 256 MiB to compile, CANCELLED. Since 0.1 */
TENON_API tenon_status tenon_grammar_compile(int32_t kind, const char* text, size_t length,
                                             uint32_t flags, const tenon_tokenizer* tokenizer,
                                             tenon_stop_callback should_stop, void* user,
                                             tenon_grammar** grammar);

/* Parts of a schema that TENON_GRAMMAR_LENIENT left out, as JSON that lives as long as the grammar:
 *   [{"pointer": "/properties/a", "keyword": "pattern", "reason": "lookaround is not supported"}]
 * pointer: JSON pointer of an object in the schema; keyword: its member that is left out, or null
 * for a subschema that any value satisfies instead. "[]" for other grammars. Parts that would
 * exclude valid texts without the others go, too: `not` around one, additionalProperties beside one.
 * A member "instead": "anyOf" means that a oneOf became an anyOf. Since 0.1 */
TENON_API tenon_status tenon_grammar_notes(const tenon_grammar* grammar, const char** json,
                                           size_t* length);

/* *accepted becomes 1 when `text` is a complete text of the grammar, else 0. LIMIT for a grammar so
 * ambiguous that thousands of ways to read the text are open at once, and for a text nested so deep
 * that 128 MiB would not hold its place. */
TENON_API tenon_status tenon_grammar_accepts(const tenon_grammar* grammar, const char* text,
                                             size_t length, int32_t* accepted);

/* Grammars used again and again, from texts that come with requests: the ones used last are kept, up
 * to `limit_bytes`. Any thread. */
TENON_API tenon_status tenon_grammar_cache_create(uint64_t limit_bytes,
                                                  tenon_grammar_cache** cache);
TENON_API void tenon_grammar_cache_destroy(tenon_grammar_cache* cache);
/* As tenon_grammar_create, but compiles only what the cache does not hold. The grammar is yours to
 * destroy and may outlive the cache. */
TENON_API tenon_status tenon_grammar_cache_get(tenon_grammar_cache* cache, int32_t kind,
                                               const char* text, size_t length,
                                               tenon_grammar** grammar);

/* From now on the sampler draws only tokens that continue a text of the grammar, from its beginning;
 * each token that it draws belongs to that text, and an end token comes when it is complete.
 * tenon_sampler_reset goes back to the beginning of the text. grammar NULL: any token again. The
 * sampler keeps what it needs of both. The first use with a tokenizer sorts its vocabulary.
 *   tokenizer   of the model whose logits are drawn from
 * GRAMMAR "no token can follow" when the vocabulary cannot spell any text of the grammar. A draw is
 * LIMIT when it takes too much work or memory, as a grammar can be read in too many ways at once. */
TENON_API tenon_status tenon_sampler_set_grammar(tenon_sampler* sampler,
                                                 const tenon_grammar* grammar,
                                                 const tenon_tokenizer* tokenizer);

/* How many tokens may still be drawn: when they run out, the shortest way to a complete text of the
 * grammar is taken; banned_strings are not looked for beyond them; and the last piece has finish
 * MAX_TOKENS and all text that was held back. Then the limit is gone. tenon_session_generate
 * does this itself. */
TENON_API tenon_status tenon_sampler_set_token_limit(tenon_sampler* sampler, uint64_t tokens);

/* For loops that draw by themselves: where a text of the grammar has come to, and what may follow.
 * One thread at a time. Errors as tenon_sampler_set_grammar; any call may be LIMIT as a draw may. */
TENON_API tenon_status tenon_matcher_create(const tenon_grammar* grammar,
                                            const tenon_tokenizer* tokenizer,
                                            tenon_matcher** matcher);
TENON_API void tenon_matcher_destroy(tenon_matcher* matcher);
/* A second one at the same place; both go on alone. */
TENON_API tenon_status tenon_matcher_fork(tenon_matcher* matcher, tenon_matcher** fork);
/* Back to the beginning of the text, without a token limit. */
TENON_API tenon_status tenon_matcher_reset(tenon_matcher* matcher);

/* At most `tokens` tokens may still come, an end token included: what is allowed from now on leaves
 * a way to a complete text within them. */
TENON_API tenon_status tenon_matcher_set_token_limit(tenon_matcher* matcher, uint64_t tokens);

/* *allowed becomes 1 when `token` may come next, else 0: much cheaper than a mask. An end token may
 * come when the text is complete. */
TENON_API tenon_status tenon_matcher_allows(tenon_matcher* matcher, tenon_token token,
                                            int32_t* allowed);
/* All tokens that may come next, token t as bit t % 64 of words[t / 64]; words [capacity], see
 * "Buffers" in 1: (vocabulary + 63) / 64 of them. */
TENON_API tenon_status tenon_matcher_mask(tenon_matcher* matcher, uint64_t* words, size_t capacity,
                                          size_t* num_words);

/* Takes the next token. STATE for one that cannot follow; nothing is then taken. */
TENON_API tenon_status tenon_matcher_accept_token(tenon_matcher* matcher, tenon_token token);
/* Takes text; *accepted becomes 1, or 0 when the grammar does not go on so, and nothing is taken.
 * Counts as one token. */
TENON_API tenon_status tenon_matcher_accept_text(tenon_matcher* matcher, const char* text,
                                                 size_t length, int32_t* accepted);
/* Takes the last tokens back; ARGUMENT for more than there were, or more than the last 256. */
TENON_API tenon_status tenon_matcher_roll_back(tenon_matcher* matcher, size_t num_tokens);

/* *complete: 1 when the text so far is one of the grammar. *ended: 1 when nothing can follow but an
 * end token, or one came. Either may be NULL. */
TENON_API tenon_status tenon_matcher_state(tenon_matcher* matcher, int32_t* complete,
                                           int32_t* ended);
/* The text that must come next, as far as there is no choice; often empty. See "Buffers" in 1. */
TENON_API tenon_status tenon_matcher_forced_text(tenon_matcher* matcher, char* text,
                                                 size_t capacity, size_t* length);

/* ---- 13. Random models -------------------------------------------------------------------------
 *
 * Model files with random weights: to measure a machine or to test a program without a download.
 * What they say makes no sense, but their shape, their sizes and so their speed are those of the
 * published models they are named after.
 */

/* The names of shapes ("llama-1b") and of weight formats ("q4_0", and mixes of several: "Q4_K_M"),
 * in a fixed order; NULL after the last. They live for ever. */
TENON_API const char* tenon_random_model_shape(size_t index);
TENON_API const char* tenon_random_model_format(size_t index);

/* Writes a GGUF file with a vocabulary of the right size. Equal shape, format and seed give equal
 * bytes. Matrices are in `format`; norms and biases in f32; the output matrix (and an embedding that
 * serves as one) of quantised formats in one of more bits, as is usual: q6_K, for the smallest q5_K.
 * Where the blocks of a format do not fit the rows of a matrix, a format of smaller blocks stands
 * in. The file appears under its name complete or not at all and replaces a regular file there, where
 * a symbolic link leads to as well; some megabytes of memory are enough for any shape.
 *   shape     one of the names, or NAME:LAYERS for its first LAYERS layers ("llama-8b:4")
 *   progress  NULL, or called with 0 <= fraction <= 1 on this thread; nonzero ends it: CANCELLED
 * ARGUMENT for an unknown shape or format (the message names the nearest), IO. Any thread. */
TENON_API tenon_status tenon_random_model_write(const char* path, const char* shape,
                                                const char* format, uint64_t seed,
                                                tenon_progress_callback progress, void* user);

/* ---- 14. Chats ---------------------------------------------------------------------------------
 *
 * A chat turns a conversation into the prompt that its model was trained on, by the template in the
 * model or one of yours, and takes the model's answer apart: content, reasoning, tool calls. What
 * stands in messages, tools and variables never becomes a control token, whatever it spells.
 *
 * A conversation is a JSON object:
 *   messages               [{"role": "user", "content": "..."}, ...]; content may be a list of parts,
 *                          {"type": "text", "text": "..."}; "tool_calls" and "tool" messages as in
 *                          the answers that tenon_chat_reply_message makes
 *   tools                  [{"type": "function",
 *                            "function": {"name", "description", "parameters"}}, ...]
 *   tool_choice            "auto", "required", "none" (the model sees no tools) or
 *                          {"type": "function", "function": {"name": ...}} (it sees this one only)
 *   parallel_tool_calls    false: one call an answer
 *   response_format        {"type": "json_schema", "json_schema": {"schema": {...}}} or
 *                          {"type": "json_object"}; like the two before, it concerns
 *                          tenon_chat_grammar alone
 *   add_generation_prompt  true unless given: the prompt ends where the answer begins
 *   continue_final_message true: the prompt ends where the text of the last message, the
 *                          assistant's, ends, and the answer is what follows. ARGUMENT for another
 *                          last message, or one with calls; tenon_chat_grammar: UNSUPPORTED beside
 *                          a response_format
 *   now                    local time, "2026-01-02T03:04:05", for templates that tell the date
 *   variables              an object whose members become variables of the template
 *   enable_thinking, ...   every other member becomes a variable, too; more than 1000: LIMIT
 *
 * Chats are immutable: any thread. A reply: one thread at a time.
 */

/* model: whose template and tokenizer are used; NULL with the option "template", for text only.
 * options: NULL, or of scope CHAT. TEMPLATE (line and reason) for a bad template, STATE when the
 * model has none. */
TENON_API tenon_status tenon_chat_create(const tenon_model* model, const tenon_options* options,
                                         tenon_chat** chat);
TENON_API void tenon_chat_destroy(tenon_chat* chat);

/* The family by which answers are read: "hermes", "plain", ... Lives for ever. */
TENON_API tenon_status tenon_chat_format(const tenon_chat* chat, const char** name);

/* The prompt as text; see "Buffers" in 1. TEMPLATE where the template raises an error, runs longer
 * (processor time) than the option "template_time_ms", or writes more than 16 MB. */
TENON_API tenon_status tenon_chat_render(const tenon_chat* chat, const char* conversation,
                                         size_t length, char* text, size_t capacity,
                                         size_t* needed);

/* The prompt as tokens, begin token included: for tenon_session_append_tokens. */
TENON_API tenon_status tenon_chat_encode(const tenon_chat* chat, const char* conversation,
                                         size_t length, tenon_token* tokens, size_t capacity,
                                         size_t* num_tokens);

/* What the answer may be, for tenon_sampler_set_grammar: after the reasoning that the family has,
 * content by the response_format, or calls of the tools by the schemas of their parameters. With
 * tool_choice "auto" text is free until a call begins; "required" or a tool named: a call must come.
 * *grammar becomes NULL when any answer may come. Yours to destroy; equal ones are compiled once.
 * GRAMMAR (tool, JSON pointer) for a schema that is refused, UNSUPPORTED when a call must come and
 * the family's calls have no grammar. The option "constrain_calls" leaves "auto" free. */
TENON_API tenon_status tenon_chat_grammar(const tenon_chat* chat, const char* conversation,
                                          size_t length, tenon_grammar** grammar);
/* As tenon_chat_grammar; tokenizer, should_stop and user as tenon_grammar_compile. Both are LIMIT for
 * tools that together take more than 16 times the work that one tool may take; this one may be
 * CANCELLED. Since 0.1 */
TENON_API tenon_status tenon_chat_compile(const tenon_chat* chat, const char* conversation,
                                          size_t length, const tenon_tokenizer* tokenizer,
                                          tenon_stop_callback should_stop, void* user,
                                          tenon_grammar** grammar);
/* tenon_chat_grammar and tenon_sampler_set_grammar in one, with the tokenizer of the chat's model;
 * *constrained, which may be NULL, becomes 0 when any answer may come: any token is then drawn. */
TENON_API tenon_status tenon_chat_constrain(const tenon_chat* chat, const char* conversation,
                                            size_t length, tenon_sampler* sampler,
                                            int32_t* constrained);

#define TENON_CHAT_CONTENT 1
#define TENON_CHAT_REASONING 2
#define TENON_CHAT_CALL_BEGIN 3 /* text: the name of the tool; id */
#define TENON_CHAT_ARGUMENTS 4  /* more of the call's JSON */
#define TENON_CHAT_CALL_END 5
#define TENON_CHAT_CALL_RETRACT 6 /* the call was broken: forget it; its text follows as content */

/* A piece of an answer. Valid until the callback returns. */
typedef struct tenon_chat_delta {
  uint32_t struct_size;
  int32_t kind;     /* TENON_CHAT_* */
  uint64_t call;    /* number of the call, of the CALL and ARGUMENTS kinds */
  const char* text; /* whole characters */
  uint64_t length;
  const char* id; /* CALL_BEGIN: as the model wrote it, or made up */
  uint64_t id_length;
} tenon_chat_delta;

typedef void (*tenon_chat_callback)(void* user, const tenon_chat_delta* delta);

/* Begins to read the answer to a conversation. */
TENON_API tenon_status tenon_chat_reply_create(const tenon_chat* chat, const char* conversation,
                                               size_t length, tenon_chat_reply** reply);
TENON_API void tenon_chat_reply_destroy(tenon_chat_reply* reply);

/* Takes the next token of the answer, or text in any pieces (with the control tokens as text), and
 * hands out what it amounts to. on_delta may be NULL. The pieces do not matter: the same text gives
 * the same answer. STATE for tokens when the chat has no model. */
TENON_API tenon_status tenon_chat_reply_push_token(tenon_chat_reply* reply, tenon_token token,
                                                   tenon_chat_callback on_delta, void* user);
TENON_API tenon_status tenon_chat_reply_push_text(tenon_chat_reply* reply, const char* text,
                                                  size_t length, tenon_chat_callback on_delta,
                                                  void* user);

/* The answer is complete. A call that is not becomes content. */
TENON_API tenon_status tenon_chat_reply_finish(tenon_chat_reply* reply,
                                               tenon_chat_callback on_delta, void* user);

/* The answer so far as a message: {"role": "assistant", "content", "reasoning_content",
 * "tool_calls"}, to be put after the conversation's messages. Valid until the next call on the
 * reply. */
TENON_API tenon_status tenon_chat_reply_message(tenon_chat_reply* reply, const char** json,
                                                size_t* length);

/* Takes a piece of a generation: token and text of tenon_piece. As tenon_chat_reply_push_token, but what
 * is held back for a text of the option "stop" waits, and the stop is no part of the answer. Since 0.1 */
TENON_API tenon_status tenon_chat_reply_push_piece(tenon_chat_reply* reply, tenon_token token,
                                                   const char* text, size_t length,
                                                   tenon_chat_callback on_delta, void* user);

#define TENON_DROP_OLDEST 64u /* of a conversation that does not fit the oldest turns are left out */

/* One turn of a conversation: generates the answer in the session and hands out its parts as they come.
 *   session         becomes the prompt and the answer; what it holds of the prompt is not computed again,
 *                   so the session of one conversation is for the next turn of it
 *   sampler         NULL draws with the defaults; it is not changed. Draws only what the answer may be
 *                   (tenon_chat_grammar)
 *   max_tokens      0: as many as the context holds
 *   flags           0, or TENON_DROP_OLDEST: where the prompt leaves no room for max_tokens (of 0 a quarter
 *                   of the context, and half of it at most), the oldest turns are left out. Messages before
 *                   the first of the user stay, as does the last turn; a turn begins with a message of the
 *                   user. So many go that the prompt takes three quarters of its room, and as many go in
 *                   later turns while that is enough: what is left is computed once.
 *   on_delta        may be NULL; tenon_session_cancel in it ends the answer with CANCELLED
 *   message         the answer as a message (tenon_chat_reply_message), to be put after the conversation's;
 *                   valid until the next call on the session
 *   finish          TENON_FINISH_*; may be NULL
 * Errors as tenon_chat_encode, tenon_chat_grammar, tenon_session_generate; LIMIT when the prompt does not
 * fit the context, or its last turn does not; STATE for a chat of another model, or of none. Since 0.1 */
TENON_API tenon_status tenon_chat_answer(const tenon_chat* chat, tenon_session* session,
                                         const char* conversation, size_t length,
                                         tenon_sampler* sampler, uint64_t max_tokens,
                                         uint32_t flags, tenon_chat_callback on_delta, void* user,
                                         const char** message, size_t* message_length,
                                         int32_t* finish);

/* Its beginning, for answers by tenon_session_submit or in a loop of your own: makes the session's text
 * the prompt, has the sampler draw only what the answer may be, and begins to read the answer
 * (tenon_chat_reply_push_piece). max_tokens and flags as tenon_chat_answer. Since 0.1 */
TENON_API tenon_status tenon_chat_begin(const tenon_chat* chat, tenon_session* session,
                                        const char* conversation, size_t length,
                                        tenon_sampler* sampler, uint64_t max_tokens, uint32_t flags,
                                        tenon_chat_reply** reply);

/* ---- 15. Planning ------------------------------------------------------------------------------
 *
 * What a model will take and how fast it will be, before its weights are read:
 *
 *   tenon_options_set_bool(options, "inspect", 1);     with "cache_type", "threads", ... as wanted
 *   tenon_model_open("model.gguf", options, &model);   reads the header and the vocabulary
 *   tenon_measure_hardware(model, TENON_MEASURE_SPEED, &hardware);
 *   tenon_model_plan(model, 8192, 4, &hardware, &plan);
 */

/* A machine as planning sees it. Fill it in yourself, or have it measured. Speeds are those of all
 * threads together; 0: not known, and nothing is predicted from it. */
typedef struct tenon_hardware {
  uint32_t struct_size;
  uint32_t threads;       /* that compute; at least 1 */
  uint64_t memory_bytes;  /* that the process may take, what it holds now included */
  uint64_t process_bytes; /* what it holds besides weights, cache and what computing takes */
  /* Bytes that decode steps of 1, 2, 4, ... 128 sequences get through in a second at the beginning of their
   * texts: matrices, as the file has them, and states, read and written. The first is the bandwidth of the
   * memory as far as the kernels use it. */
  double decode_bytes_per_second[8];
  double prefill_multiplications_per_second;   /* in the matrices, while a prompt is computed */
  double cache_bytes_per_second;               /* that attention reads of the cache in decoding */
  double attention_multiplications_per_second; /* of attention, while a prompt is computed */
} tenon_hardware;

#define TENON_MEASURE_SPEED 1u

/* Finds out about this machine, for this model and its options. Memory and threads cost nothing;
 * process_bytes is what the process holds at this moment, the model's header and vocabulary
 * included. With TENON_MEASURE_SPEED the speeds, too: some of the model's layers run with made-up
 * weights, for seconds and in up to 1.5 GiB of memory. flags: 0 or TENON_MEASURE_SPEED.
 * STATE for a file that holds a vocabulary only, NO_MEMORY. Any thread. */
TENON_API tenon_status tenon_measure_hardware(const tenon_model* model, uint32_t flags,
                                              tenon_hardware* hardware);

typedef struct tenon_plan {
  uint32_t struct_size;
  uint32_t fits;       /* total_bytes is no more than the hardware's memory_bytes */
  uint64_t context;    /* as asked for; of 0, what a session gets by default */
  uint64_t sessions;
  uint64_t process_bytes; /* the following add up to total_bytes, but for the short peak of loading */
  uint64_t weights_bytes; /* as they are stored for computing */
  uint64_t scratch_bytes; /* activations, work memory of the threads, logits of a step */
  uint64_t kv_bytes;      /* of all sessions with full contexts: the least "cache_bytes" that takes
                             nothing from any of them */
  uint64_t session_bytes; /* of one session: its part of the cache, logits, text, sampler */
  uint64_t total_bytes;   /* what the process holds at its peak */
  /* What fits, with all else as it is; 0 or "" where nothing does. */
  uint64_t max_context;
  uint64_t max_sessions;
  const char* fitting_cache_type; /* the one of most bits, at most the model's; lives for ever */
  /* When all contexts are full; 0 where the hardware's speeds are not known. */
  double prefill_tokens_per_second; /* of a prompt as long as the context, from its beginning */
  double decode_tokens_per_second;  /* of all sessions together */
  /* Of a model over several devices what would fit as "gpu_layers" with these sessions; -1: of another
   * one, or nothing does. total_bytes leaves out what is in memory of a device's own, while `fits` is about
   * every device, too: tenon_placement_create tells of each. */
  int64_t fitting_gpu_layers;
} tenon_plan;

/* A pure function: equal arguments, equal plans; no weights are read and nothing is measured.
 * model: its header is enough ("inspect"); its options say cache_type, slice and backend.
 * context, sessions: 0 for the default context, and for one.
 * ARGUMENT for sizes that cannot be, STATE for a file that holds a vocabulary only. Any thread. */
TENON_API tenon_status tenon_model_plan(const tenon_model* model, uint64_t context,
                                        uint64_t sessions, const tenon_hardware* hardware,
                                        tenon_plan* plan);

/* What one device of a placement holds of a model. */
typedef struct tenon_placed_device {
  uint32_t struct_size;
  int32_t kind;        /* TENON_DEVICE_KIND_* */
  const char* backend; /* texts live as long as the placement */
  uint64_t backend_length;
  const char* name; /* in its backend */
  uint64_t name_length;
  uint64_t layers;
  uint64_t weights_bytes;
  uint64_t scratch_bytes;
  uint64_t kv_bytes; /* of all sessions with full contexts */
  uint64_t total_bytes;
  uint64_t memory_bytes;   /* that the model may take of it; 0: no limit is known */
  uint32_t has_own_memory; /* 1: a GPU's; 0: it is the process's, and in tenon_plan.total_bytes */
  uint32_t fits;
} tenon_placed_device;

/* The devices that the layers of a model are placed on, in the order in which steps come to them: one, or
 * as its options "devices", "gpu_layers" and "experts_on" say. Arguments and errors as of tenon_model_plan,
 * and NO_MEMORY where no placement fits. */
TENON_API tenon_status tenon_placement_create(const tenon_model* model, uint64_t context,
                                              uint64_t sessions, const tenon_hardware* hardware,
                                              tenon_placement** placement);
TENON_API void tenon_placement_destroy(tenon_placement* placement);
/* 0 for an invalid handle. */
TENON_API size_t tenon_placement_count(const tenon_placement* placement);
TENON_API tenon_status tenon_placement_get_device(const tenon_placement* placement, size_t index,
                                                  tenon_placed_device* device);

/* ---- 16. Embeddings ----------------------------------------------------------------------------
 *
 * An embedder turns texts into rows of numbers: embeddings, whose cosines say how alike texts are, or
 * the scores of a reranker. Encoders (BERT and its kin) do this and nothing else; models that generate
 * do it where they were opened with the option "embeddings".
 *
 *   tenon_model_open("all-minilm-l6-v2.gguf", NULL, &model);
 *   tenon_embedder_create(model, NULL, &embedder);
 *   tenon_embedder_embed(embedder, &batch, rows, capacity, &num_values);
 *
 * Texts of any number share steps without padding. The row of a text has the same bits alone and among
 * any others. docs/embeddings.md tells more.
 */

/* What becomes of the rows of a text's tokens: the option "pooling". */
#define TENON_POOLING_NONE 0 /* they stay: a row for each token */
#define TENON_POOLING_MEAN 1 /* their mean */
#define TENON_POOLING_CLS 2  /* the first one */
#define TENON_POOLING_LAST 3 /* the last one */
#define TENON_POOLING_RANK 4 /* the scores of the model's classifier */

/* options: scope EMBEDDER; NULL for the defaults: what the file says, rows of length 1. STATE for a
 * model that was opened to generate, or without weights; UNSUPPORTED for a pooling that it cannot have;
 * ARGUMENT for more dimensions than its rows have. */
TENON_API tenon_status tenon_embedder_create(const tenon_model* model, const tenon_options* options,
                                             tenon_embedder** embedder);
/* Calls under way go on. */
TENON_API void tenon_embedder_destroy(tenon_embedder* embedder);

typedef struct tenon_embedder_info {
  uint32_t struct_size;
  int32_t pooling;     /* TENON_POOLING_* */
  uint64_t dimensions; /* of a row; with RANK the labels */
  uint64_t max_tokens; /* of a text, those included that the vocabulary adds */
  uint32_t normalizes; /* 1: rows have length 1 */
  uint32_t num_labels; /* that have a name */
} tenon_embedder_info;

TENON_API tenon_status tenon_embedder_get_info(const tenon_embedder* embedder,
                                               tenon_embedder_info* info);
/* Of a row; 0 for an invalid handle. */
TENON_API size_t tenon_embedder_dimensions(const tenon_embedder* embedder);
/* The name of a label of the classifier: index < num_labels. Lives as long as the handle. */
TENON_API tenon_status tenon_embedder_label(const tenon_embedder* embedder, size_t index,
                                            const char** name, size_t* length);

/* What texts are for: retrieval models want other words before a question than before what is searched.
 * They are the options "query_prefix" and "document_prefix", and unless these are set those of the
 * model's card, where the library knows it. */
#define TENON_TEXT_PLAIN 0 /* nothing goes before it */
#define TENON_TEXT_QUERY 1
#define TENON_TEXT_DOCUMENT 2

/* Texts, or their tokens. Only read during a call, but for num_rows. */
typedef struct tenon_embedder_batch {
  uint32_t struct_size;
  int32_t role;             /* TENON_TEXT_* of all of them; tokens stay as they are */
  uint64_t count;           /* any number */
  const char* const* texts; /* [count]; or NULL: tokens. Control tokens are not found in them; what the
                             * vocabulary adds at the ends is added */
  const uint64_t* lengths;  /* [count]; NULL: all end in a NUL */
  const tenon_token* const* tokens; /* [count] */
  const uint64_t* num_tokens;       /* [count] */
  uint64_t* num_rows;               /* [count], or NULL: gets how many rows each text has; 1 but for
                                     * TENON_POOLING_NONE */
  double timeout_seconds; /* from now to the end: DEADLINE; 0: none */
} tenon_embedder_batch;

/* The rows of all texts, one after another: rows [*num_values] f32, see "Buffers" in 1. Which number
 * that is, costs no more than finding the tokens. After a failure what is in rows is not defined.
 * LIMIT naming the text when it has more tokens than max_tokens and "truncate" is not set; ARGUMENT for
 * one without tokens, or a token outside the vocabulary; CANCELLED, DEADLINE. */
TENON_API tenon_status tenon_embedder_embed(tenon_embedder* embedder,
                                            const tenon_embedder_batch* batch, float* rows,
                                            size_t capacity, size_t* num_values);

/* How well each text of the batch answers the query, more is better: scores [*num_scores], see
 * "Buffers" in 1. With TENON_POOLING_RANK the scores of the model's classifier for the pair of texts,
 * as many for each as it has labels; else the cosine of their rows, the query and the documents each
 * with the words that go before them (role is not used). Errors as tenon_embedder_embed; UNSUPPORTED
 * with TENON_POOLING_NONE, ARGUMENT for a classifier and tokens. */
TENON_API tenon_status tenon_embedder_rank(tenon_embedder* embedder, const char* query,
                                           size_t length, const tenon_embedder_batch* documents,
                                           float* scores, size_t capacity, size_t* num_scores);

/* Ends the calls that are under way on the embedder with CANCELLED, within a few milliseconds. Any
 * thread, any time, but not in a signal handler. */
TENON_API tenon_status tenon_embedder_cancel(tenon_embedder* embedder);

#ifdef __cplusplus
}
#endif

#endif /* TENON_TENON_H */
