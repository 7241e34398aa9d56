/* Tenon's C interface: run language models inside your program. C11, and the only symbols that the
 * library exports. The C++ headers (tenon/tenon.hpp) and every binding are written over it. The
 * interface of backends is in tenon/backend.h.
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
#if defined(__GNUC__) && !defined(_WIN32) && !defined(TENON_STATIC)
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Conventions ------------------------------------------------------------------------- */

/* clang-format off */
/* Failure     Every function that can fail returns a tenon_status; tenon_last_error() then says
 *             what, where, value and limit. Out-parameters stay untouched on failure. Each function
 *             may return ARGUMENT (NULL, an invalid value, a wrong or destroyed handle if that can
 *             be told), NO_MEMORY and INTERNAL, besides the errors written at it. Nothing aborts
 *             the process.
 * Handles     Opaque, made by *_create / *_open / *_load / *_fork, and yours to destroy. Destroying
 *             NULL does nothing. An object keeps alive what it needs: a model handle may be
 *             destroyed before its sessions.
 * Texts       UTF-8, pointer and length in bytes; the length TENON_NUL_TERMINATED stands for
 *             strlen. Texts without a length (paths, names of options, formats) end in a NUL; texts
 *             that the library returns with a length do not. Each function says how long its texts
 *             live.
 * Buffers     A function that fills your buffer always reports the size it needs. If that exceeds
 *             your capacity, it wrote nothing and returned OK: grow the buffer and call again. A
 *             capacity of 0 with a NULL buffer asks for the size.
 * Structures  Begin with struct_size: set it to sizeof before every call. Structures only grow at
 *             the end. The library reads and writes no more than struct_size bytes, so a program
 *             built against another version of this header keeps working. Set fields you do not
 *             need to 0.
 * Callbacks   Receive the `user` pointer that you gave. They must return: no throw, no longjmp, no
 *             pthread_exit (which ends the process). If a callback throws anyway, the call fails
 *             with ARGUMENT (allocate: NO_MEMORY; read: IO). Exceptions are logged from notify and
 *             post, and dropped from other callbacks that have no call to fail. A callback may not
 *             call the session that called it (STATE), except tenon_session_cancel and
 *             tenon_session_destroy. A callback that returns int32_t returns 0 to continue.
 * Threads     Model, tokenizer, grammar: immutable, any thread. Engine, embedder: any thread.
 *             Session, request, sampler, matcher, options, backend list: one thread at a time (a
 *             session detects a second one: STATE). tenon_session_cancel, tenon_request_cancel,
 *             tenon_embedder_cancel: any thread, any time. The library starts the threads of the
 *             option "threads", and one per store. No signal, locale, environment variable, stdout
 *             or stderr is touched.
 * Ends        Handles may be destroyed at any time, in any order and from any thread: a handle is
 *             freed when the calls under way on it return. Later calls with it are ARGUMENT until
 *             1,000 other handles have been destroyed; then its memory is reused. Nothing runs at
 *             exit: a process may end while other threads are in calls, and waits for none.
 * Unloading   dlclose is allowed at any time, also while models live: the code of the library, and
 *             of plugins that were used, stays in the process. Handles stay valid.
 * fork(2)     An object belongs to the process that made it. In a child each call on it returns
 *             STATE, or 0 if it returns no status. Destroying it there does nothing and returns at
 *             once. Make new objects in the child. The parent is not affected.
 * Since       0.1, unless a declaration says otherwise.
 */
/* clang-format on */

#define TENON_NUL_TERMINATED SIZE_MAX

/* A status is TENON_OK or one of TENON_ERROR_* (3). */
typedef int32_t tenon_status;

/* Index of a token in the vocabulary of its model. */
typedef int32_t tenon_token;
#define TENON_NO_TOKEN (-1)
#define TENON_PICTURE_TOKEN (-2) /* a row of a picture, in tenon_session_tokens */

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
typedef struct tenon_adapter tenon_adapter;

/* ---- 2. The short way ----------------------------------------------------------------------- */

/* Opens a model: a GGUF file, or a Hugging Face folder (its path, or that of its config.json). For
 * a split model, name the first part; the others are found beside it. Reads and prepares the
 * weights before it returns. options: NULL for the defaults.
 * FORMAT (the file is malformed), UNSUPPORTED (this build lacks the architecture or tokenizer), IO,
 * LIMIT. tenon_model_load (5) opens every other source and can report progress. */
TENON_API tenon_status tenon_model_open(const char* path, const tenon_options* options,
                                        tenon_model** model);
TENON_API void tenon_model_destroy(tenon_model* model);

/* Starts an empty text. options: NULL for the defaults. STATE if the file holds a vocabulary only.
 */
TENON_API tenon_status tenon_session_create(const tenon_model* model, const tenon_options* options,
                                            tenon_session** session);
TENON_API void tenon_session_destroy(tenon_session* session);

/* How a text becomes tokens: flags, to be or-ed. 0 is plain text. */
#define TENON_ADD_SPECIAL 1u   /* add the begin (and end) token if the model wants it */
#define TENON_PARSE_SPECIAL 2u /* find control tokens in the text: not for user input */

/* Appends text to the session's text. It is only queued: the next call that needs it computes it.
 * LIMIT if the session's context would overflow; nothing is then added. */
TENON_API tenon_status tenon_session_append_text(tenon_session* session, const char* text,
                                                 size_t length, uint32_t flags);

/* Why a piece is the last. */
#define TENON_FINISH_NONE 0       /* it is not the last */
#define TENON_FINISH_END 1        /* the model drew an end token */
#define TENON_FINISH_MAX_TOKENS 2 /* max_tokens tokens were generated */
#define TENON_FINISH_STOP 3       /* a stop text or stop token was generated (9) */
#define TENON_FINISH_BANNED 4     /* every continuation found holds a banned string (9) */

/* Result of one step of generation. Valid until the callback returns, or until the next call on the
 * session. */
typedef struct tenon_piece {
  uint32_t struct_size;
  tenon_token token; /* TENON_NO_TOKEN: FINISH_BANNED after all tokens were handed out */
  int32_t finish;    /* TENON_FINISH_* */
  uint32_t reserved;
  const char* text; /* whole UTF-8 characters; empty while one is incomplete or may begin a stop */
  uint64_t length;
} tenon_piece;

/* Nonzero ends the generation after this piece. */
typedef int32_t (*tenon_piece_callback)(void* user, const tenon_piece* piece);

/* Continues the text by at most max_tokens tokens (0: as many as the context holds) and hands out
 * each one. Generated tokens belong to the session's text: append and generate again for the next
 * turn.
 *   sampler   NULL draws with the defaults of the options (9)
 *   on_piece  NULL discards the pieces
 * LIMIT if the context is full, CANCELLED after tenon_session_cancel, STATE "non-finite logits" for
 * broken weights. Pieces handed out before a failure stay part of the text. */
TENON_API tenon_status tenon_session_generate(tenon_session* session, tenon_sampler* sampler,
                                              uint64_t max_tokens, tenon_piece_callback on_piece,
                                              void* user);

/* ---- 3. Errors, version --------------------------------------------------------------------- */

/* Values never change and are never reused. */
#define TENON_OK 0
#define TENON_ERROR_FORMAT 1      /* a file or a text is malformed */
#define TENON_ERROR_UNSUPPORTED 2 /* well formed, but not supported by this build */
#define TENON_ERROR_LIMIT 3       /* larger than a stated limit */
#define TENON_ERROR_IO 4          /* the operating system or your reader failed */
#define TENON_ERROR_NO_MEMORY 5   /* an allocation failed or a budget is used up */
#define TENON_ERROR_ARGUMENT 6    /* an argument is invalid */
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

/* One sentence about the latest failure on the calling thread; "" before the first. Valid and
 * unchanged until another call fails on this thread or the thread ends. Never NULL. */
TENON_API const char* tenon_last_error(void);

/* The operating system's error number (<errno.h>) behind the latest failure on the calling thread,
 * for instance ENOENT if there is no such file. 0 if there was no failure or it has no number; only
 * IO has one. Since 0.1 */
TENON_API int32_t tenon_last_system_error(void);

/* The version of this header. tenon_version() returns the library's, as major * 1000000 + minor *
 * 1000 + patch. */
#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0
TENON_API uint32_t tenon_version(void);
TENON_API const char* tenon_version_text(void); /* "0.1.0" */

/* This interface as JSON: functions, structures with their offsets, constants, options. Lives for
 * ever. Bindings compare it with the interface they were made for before they pass a structure to
 * the library (docs/bindings.md). bindings/interface.json is the same with its prose. */
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
 *          "row_cache_bytes", "draft_model", "prediction", "draft_max", "projector",
 *          "image_max_tokens", "picture_cache_bytes", "backend.KEY", "isa", "bf16_activations",
 *          "vocabulary_only", "inspect", "metadata_only", "check_weights", "merged_adapters",
 *          "adapter_slots", "adapter_rank", "plugin", "override"
 * SESSION  "context", "salt", "priority", "client", "speculate", "weight"
 * ENGINE   "cache_bytes", "step_tokens", "running", "queue", "queue_tokens", "ageing",
 *          "decode_stretch", "max_stall_ms", "prefix_cache", "store", "store_bytes",
 *          "state_checkpoints", "state_checkpoint_tokens", "speculation", "draft_bytes",
 *          "answer_bytes"
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
 * the range; the set is then unchanged. Float keys also take an integer. */
TENON_API tenon_status tenon_options_set_int(tenon_options* options, const char* key,
                                             int64_t value);
TENON_API tenon_status tenon_options_set_float(tenon_options* options, const char* key,
                                               double value);
TENON_API tenon_status tenon_options_set_bool(tenon_options* options, const char* key,
                                              int32_t value);
TENON_API tenon_status tenon_options_set_string(tenon_options* options, const char* key,
                                                const char* value, size_t length);
/* Adds a value to a list key. set_string replaces the list by one value. LIMIT beyond 1000 texts,
 * or beyond the bytes that the key takes ("stop" and "banned_strings": 65,536 in all). */
TENON_API tenon_status tenon_options_add_string(tenon_options* options, const char* key,
                                                const char* value, size_t length);
/* Parses the value as the key's type ("8", "0.7", "true", and "random" for "seed"): for command
 * lines and configuration files. A key that begins with "backend." is text for the backend; the
 * model is refused if its backend lacks the key. tenon_backends_get_info lists them. */
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

/* All keys, in a fixed order: index < tenon_option_count(). */
TENON_API size_t tenon_option_count(void);
TENON_API tenon_status tenon_option_get_info(size_t index, tenon_option_info* info);

/* ---- 5. Models: sources and callbacks ------------------------------------------------------- */

#define TENON_SOURCE_PATH 1 /* a regular file called `name` */
#define TENON_SOURCE_FD 2   /* bytes [offset, offset + size) of an open file; size 0: to its end */
#define TENON_SOURCE_MEMORY 3 /* `size` bytes at `data` */
#define TENON_SOURCE_READER 4 /* `size` bytes that `read` delivers */

/* Copies up to `size` bytes at `offset`; returns the number copied, 0 at the end, negative on
 * failure. */
typedef int64_t (*tenon_read_callback)(void* user, uint64_t offset, void* buffer, uint64_t size);

/* Source of one file's bytes. Memory and readers must outlive the model. A descriptor is
 * duplicated, so yours may be closed. */
typedef struct tenon_source {
  uint32_t struct_size;
  int32_t kind;         /* TENON_SOURCE_* */
  const char* name;     /* the path; for other kinds the name in messages, or NULL */
  uint64_t name_length; /* TENON_NUL_TERMINATED is fine */
  int32_t fd;           /* on Windows the value of a HANDLE, not a number of a C run time */
  uint32_t concurrent; /* READER: nonzero if several threads may call `read` at once */
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
/* 0 <= fraction <= 1, never falling; called on the thread of the call. Nonzero ends it: CANCELLED.
 */
typedef int32_t (*tenon_progress_callback)(void* user, double fraction);
/* `size` bytes aligned to `alignment` (a power of two), or NULL. */
typedef void* (*tenon_allocate_callback)(void* user, uint64_t size, uint64_t alignment);
typedef void (*tenon_release_callback)(void* user, void* memory, uint64_t size, uint64_t alignment);
/* Calls task(arg, i) once for every i < num_tasks, in parallel or one after another, and returns
 * when all are done. */
typedef void (*tenon_indexed_task)(void* arg, uint32_t index);
typedef void (*tenon_run_tasks_callback)(void* user, uint32_t num_tasks, tenon_indexed_task task,
                                         void* arg);
/* Monotonic nanoseconds. */
typedef uint64_t (*tenon_clock_callback)(void* user);

/* Services of the host. A NULL function selects the library's own way, or nothing. All but
 * `progress` are used while the model or one of its sessions lives, and may be called from any
 * thread. */
typedef struct tenon_callbacks {
  uint32_t struct_size;
  uint32_t log_level; /* the most detailed TENON_LOG_* wanted */
  void* user;
  tenon_log_callback log;
  tenon_progress_callback progress; /* called by tenon_model_load */
  /* Both or neither. They serve all large blocks: weights, KV cache, scratch. */
  tenon_allocate_callback allocate;
  tenon_release_callback release;
  /* Your threads instead of the library's: at most `concurrency` tasks. */
  tenon_run_tasks_callback run_tasks;
  tenon_clock_callback now_ns;
  uint32_t concurrency;
  uint32_t reserved;
} tenon_callbacks;

/* Opens a model from `num_sources` sources: one file, all parts of a split model in any order, or
 * the files of a Hugging Face folder, named by their paths in it. options, callbacks: may be NULL.
 * Errors as tenon_model_open, and CANCELLED. */
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
  const char* name; /* from the file; may be empty */
  uint64_t name_length;
  const char* chat_template; /* the file's, or empty */
  uint64_t chat_template_length;
  const char* backend; /* "cpu"; empty if no weights were read */
  uint64_t backend_length;
  uint64_t parameters;      /* elements of all tensors */
  uint64_t tensor_bytes;    /* their size in the file */
  uint64_t trained_context; /* positions; this and the following are 0 if unknown */
  uint64_t vocabulary;      /* tokens */
  uint64_t layers;
  uint64_t width;
  uint64_t heads; /* per layer; this and the following are the largest if layers differ */
  uint64_t kv_heads;
  uint64_t key_dim;   /* per head */
  uint64_t value_dim; /* per head */
  uint64_t feed_forward;
  uint64_t experts;      /* per layer; 0: not a mixture of experts. Since 0.1 */
  uint64_t experts_used; /* per token */
  /* Longest source of the encoder, in tokens; 0: no encoder. Since 0.1 */
  uint64_t source_tokens;
  uint32_t gives_text; /* 1: loaded for sessions and engines. Since 0.1 */
  uint32_t gives_rows; /* 1: loaded for embedders. Since 0.1 */
} tenon_model_info;

TENON_API tenon_status tenon_model_get_info(const tenon_model* model, tenon_model_info* info);

/* Memory of the model with one session. */
typedef struct tenon_memory {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t context;       /* positions of the session */
  uint64_t weights_bytes; /* once per model */
  uint64_t scratch_bytes; /* once per model */
  uint64_t kv_bytes;      /* per session: full, in an engine of as many "cache_bytes" */
  /* Part of kv_bytes that decoding one token transfers: positions read, states read and written.
   * Since 0.1 */
  uint64_t token_cache_bytes;
} tenon_memory;

/* Memory at `context` positions; 0 means the default context. Needs no weights in memory: models
 * opened with "inspect" work. STATE for a file without weights. */
TENON_API tenon_status tenon_model_memory(const tenon_model* model, uint64_t context,
                                          tenon_memory* memory);

/* How the model runs on this machine, and the figures that speeds are measured against. Decoding
 * takes step_bytes per step and tenon_memory.token_cache_bytes per token. A step of T tokens with R
 * rows of logits takes T * token_multiplications + R * output_multiplications multiplications,
 * apart from attention. A mixture of experts counts those of one token, so token_multiplications +
 * output_multiplications are the active parameters. */
typedef struct tenon_execution {
  uint32_t struct_size;
  uint32_t threads;   /* compute threads, the caller's included */
  const char* device; /* the backend's description: "AMD EPYC, avx2 kernels" */
  uint64_t device_length;
  uint64_t huge_page_bytes; /* weights in memory on 2 MiB pages */
  uint64_t step_bytes;      /* matrices, in the formats of the file */
  uint64_t token_multiplications;
  uint64_t output_multiplications;
} tenon_execution;

/* STATE if the model's weights were not loaded. */
TENON_API tenon_status tenon_model_execution(const tenon_model* model, tenon_execution* execution);

/* Types of metadata values, with GGUF's numbers. */
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
  int32_t element_type; /* ARRAY: type of its elements; else = type */
  uint32_t reserved;
  const char* key;
  uint64_t key_length;
  uint64_t num_elements; /* ARRAY: its length; else 1 */
} tenon_metadata;

typedef struct tenon_value {
  uint32_t struct_size;
  int32_t type;     /* TENON_VALUE_*, never ARRAY */
  int64_t integer;  /* integers and BOOL; a UINT64 above INT64_MAX as its bits */
  double number;    /* floats, and integers as floats */
  const char* text; /* STRING, else empty */
  uint64_t length;
} tenon_value;

/* The metadata in file order: index < count, element < num_elements (0 for a single value). */
TENON_API size_t tenon_model_metadata_count(const tenon_model* model);
TENON_API tenon_status tenon_model_metadata(const tenon_model* model, size_t index,
                                            tenon_metadata* metadata);
TENON_API tenon_status tenon_model_metadata_value(const tenon_model* model, size_t index,
                                                  uint64_t element, tenon_value* value);
/* The index of a key; ARGUMENT if the model has no such key. */
TENON_API tenon_status tenon_model_find_metadata(const tenon_model* model, const char* key,
                                                 size_t length, size_t* index);

typedef struct tenon_tensor {
  uint32_t struct_size;
  uint32_t num_dimensions;
  const char* name;
  uint64_t name_length;
  const char* format; /* "q4_K" */
  uint64_t shape[4];  /* outermost first; 1 beyond num_dimensions */
  uint64_t size_bytes;
  uint64_t source; /* index of the file */
  uint64_t offset; /* its first byte in that file */
} tenon_tensor;

/* The tensors in file order: index < count. */
TENON_API size_t tenon_model_tensor_count(const tenon_model* model);
TENON_API tenon_status tenon_model_tensor(const tenon_model* model, size_t index,
                                          tenon_tensor* tensor);
TENON_API tenon_status tenon_model_find_tensor(const tenon_model* model, const char* name,
                                               size_t length, size_t* index);

/* ---- 7. Tokenizer --------------------------------------------------------------------------- */

/* The tokenizer of a model. It is part of the model and valid as long as the model handle; do not
 * destroy it. */
TENON_API tenon_status tenon_model_tokenizer(const tenon_model* model,
                                             const tenon_tokenizer** tokenizer);

/* A tokenizer without a model, from a Hugging Face tokenizer.json or the vocabulary of a model
 * file; the first bytes tell which. It can do what a model's can.
 * FORMAT (the file is malformed), UNSUPPORTED (names a part that this build lacks), IO, LIMIT. The
 * fields "truncation" and "padding" of a tokenizer.json are not applied. */
TENON_API tenon_status tenon_tokenizer_open(const char* path, tenon_tokenizer** tokenizer);
/* As tenon_tokenizer_open, from any source. The source is not used after the call. */
TENON_API tenon_status tenon_tokenizer_load(const tenon_source* source,
                                            tenon_tokenizer** tokenizer);
/* Does nothing for a model's tokenizer. */
TENON_API void tenon_tokenizer_destroy(tenon_tokenizer* tokenizer);

/* Text to tokens. Control tokens, and user-defined tokens that are markers (<tool_call>, [INST]),
 * are found in the text only with TENON_PARSE_SPECIAL. flags: TENON_ADD_SPECIAL,
 * TENON_PARSE_SPECIAL. Any bytes are accepted: each ill-formed part of the UTF-8 counts as U+FFFD.
 * tokens [capacity]; see "Buffers" in 1. */
TENON_API tenon_status tenon_tokenizer_encode(const tenon_tokenizer* tokenizer, const char* text,
                                              size_t length, uint32_t flags, tenon_token* tokens,
                                              size_t capacity, size_t* num_tokens);

#define TENON_RENDER_SPECIAL 4u /* show control tokens by their names */

/* Tokens to text. flags: TENON_RENDER_SPECIAL. A token's bytes may be part of a character. */
TENON_API tenon_status tenon_tokenizer_decode(const tenon_tokenizer* tokenizer,
                                              const tenon_token* tokens, size_t num_tokens,
                                              uint32_t flags, char* text, size_t capacity,
                                              size_t* length);

#define TENON_TOKEN_END 1u          /* generation ends here */
#define TENON_TOKEN_CONTROL 2u      /* structure, not text */
#define TENON_TOKEN_USER_DEFINED 4u /* extra text, matched before everything else */
#define TENON_TOKEN_BYTE 8u         /* stands for a single byte */
#define TENON_TOKEN_UNKNOWN 16u
#define TENON_TOKEN_UNUSED 32u

typedef struct tenon_token_info {
  uint32_t struct_size;
  uint32_t attributes;  /* TENON_TOKEN_*, or-ed */
  const char* spelling; /* in the file */
  uint64_t spelling_length;
  const char* text; /* its bytes; empty for control tokens */
  uint64_t text_length;
} tenon_token_info;

/* Tokens are 0 .. count - 1. */
TENON_API size_t tenon_tokenizer_count(const tenon_tokenizer* tokenizer);
TENON_API tenon_status tenon_tokenizer_token_info(const tenon_tokenizer* tokenizer,
                                                  tenon_token token, tenon_token_info* info);
/* The token with this spelling in the file, or TENON_NO_TOKEN. */
TENON_API tenon_status tenon_tokenizer_find(const tenon_tokenizer* tokenizer, const char* spelling,
                                            size_t length, tenon_token* token);

#define TENON_SPECIAL_BEGIN 1
#define TENON_SPECIAL_END 2
#define TENON_SPECIAL_END_OF_TURN 3
#define TENON_SPECIAL_UNKNOWN 4
#define TENON_SPECIAL_PADDING 5

/* The token in a role, or TENON_NO_TOKEN if the model has none. */
TENON_API tenon_status tenon_tokenizer_special(const tenon_tokenizer* tokenizer, int32_t role,
                                               tenon_token* token);

/* ---- 8. Sessions -------------------------------------------------------------------------------
 *
 * A session is a text of tokens and what the model computed for it. Several sessions of one model
 * may run at the same time on several threads. Each gets the same answer as if it were alone.
 */

/* Appends tokens, queued as by tenon_session_append_text. ARGUMENT for a token outside the
 * vocabulary, LIMIT if the context would overflow. */
TENON_API tenon_status tenon_session_append_tokens(tenon_session* session,
                                                   const tenon_token* tokens, size_t num_tokens);

/* Encoder-decoders only (T5; tenon_model_info.source_tokens): sets the source, the text that the
 * encoder reads, and queues the decoder start token, if the file has one. No token can be appended
 * before a source is set. The source is computed with the first token. Rewinding to 0 keeps it, and
 * a new one may then be set; forks share it. flags: as tenon_session_append_text, ADD_SPECIAL for
 * the end token that encoders expect.
 * STATE if the session has tokens or the model no encoder, ARGUMENT for an empty source or a token
 * outside the vocabulary, LIMIT for more tokens than the encoder reads; nothing is then changed.
 * Since 0.1 */
TENON_API tenon_status tenon_session_set_source_text(tenon_session* session, const char* text,
                                                     size_t length, uint32_t flags);
TENON_API tenon_status tenon_session_set_source_tokens(tenon_session* session,
                                                       const tenon_token* tokens,
                                                       size_t num_tokens);

/* Computes the queued tokens now; without this call, the next token computes them. progress may be
 * NULL. It is called with a fraction from 0 to 1; if it returns nonzero, the call ends with
 * CANCELLED, and the tokens computed so far are kept. */
TENON_API tenon_status tenon_session_prefill(tenon_session* session,
                                             tenon_progress_callback progress, void* user);

/* Generates one token: a step of tenon_session_generate, for loops of your own. After FINISH_END
 * the end token belongs to the text, and a further call continues after it. Errors as
 * tenon_session_generate. */
TENON_API tenon_status tenon_session_next(tenon_session* session, tenon_sampler* sampler,
                                          tenon_piece* piece);

/* One of several answers to a text. Valid until the callback returns. */
typedef struct tenon_candidate {
  uint32_t struct_size;
  int32_t finish; /* TENON_FINISH_* of its last token */
  const tenon_token* tokens;
  uint64_t num_tokens;
  const char* text;
  uint64_t length;
  double logprob; /* sum over its drawn tokens, natural logarithm */
  int64_t seed;   /* it was drawn with this seed. Since 0.1 */
} tenon_candidate;

/* Nonzero ends the call after this answer. */
typedef int32_t (*tenon_candidate_callback)(void* user, const tenon_candidate* candidate);

/* Continues the text `count` times (1..128, else LIMIT) from its current end, and hands out each
 * answer. Answer i draws with the sampler's seed + i; a seed of -1 is first drawn at random. The
 * session's text then continues with the answer of the highest mean log-probability per drawn
 * token; *best becomes its index and may be NULL. The sampler is not changed. Other arguments and
 * errors as tenon_session_generate; after an error the text is unchanged. */
TENON_API tenon_status tenon_session_best_of(tenon_session* session, tenon_sampler* sampler,
                                             uint32_t count, uint64_t max_tokens,
                                             tenon_candidate_callback on_candidate, void* user,
                                             uint32_t* best);

/* Hands out text held back because it may begin a text of the option "stop": for loops of
 * tenon_session_next that end before the model does. Valid until the next call on the session.
 * Tokens held back by banned_strings (9) are not included: they were drawn ahead and are not in the
 * session's text yet. Any call but tenon_session_next drops them. */
TENON_API tenon_status tenon_session_take_held(tenon_session* session, const char** text,
                                               size_t* length);

/* Logits that the last token was drawn from, for tenon_logprobs: [*count] f32, valid until the next
 * call on the session. STATE if the last token was not drawn (or a grammar left no choice), or
 * after a fork. */
TENON_API tenon_status tenon_session_drawn_logits(tenon_session* session, const float** logits,
                                                  size_t* count);

/* Logits of the next token: [*count] f32, *count = vocabulary. Computes queued tokens. Valid until
 * the next call on the session. STATE for an empty text. */
TENON_API tenon_status tenon_session_logits(tenon_session* session, const float** logits,
                                            size_t* count);

/* Appends tokens, computes them and hands out the logits after each one: row 0 .. num_tokens - 1,
 * in order. logits [vocabulary] f32, valid during the callback. Nonzero from it ends the call:
 * CANCELLED. */
typedef int32_t (*tenon_logits_callback)(void* user, uint64_t row, const float* logits,
                                         uint64_t vocabulary);
TENON_API tenon_status tenon_session_evaluate(tenon_session* session, const tenon_token* tokens,
                                              size_t num_tokens, tenon_logits_callback on_logits,
                                              void* user);

/* Continuations of a text, as texts (tokenized separately) or as tokens. Read only during a call,
 * except num_logprobs, which is written. Since 0.1 */
typedef struct tenon_continuations {
  uint32_t struct_size;
  uint32_t flags;           /* for texts: 0 or TENON_PARSE_SPECIAL */
  uint64_t count;           /* any number */
  const char* const* texts; /* [count]; NULL: `tokens` is used */
  const uint64_t* lengths;  /* [count]; NULL: all end in a NUL */
  const tenon_token* const* tokens; /* [count] */
  const uint64_t* num_tokens;       /* [count] */
  uint64_t* num_logprobs; /* [count] or NULL: receives each one's number of tokens */
  double timeout_seconds; /* from now to the end, then DEADLINE; 0: none */
} tenon_continuations;

/* Scores continuations of the session's text: natural logarithms of the probabilities of their
 * tokens, each after the text and the tokens before it. Continuations follow one another in
 * logprobs [*num_logprobs] f32, see "Buffers" in 1; the sum of one's values is its log-probability.
 * Asking for the size costs only tokenization.
 * Queued tokens are computed first; the text does not change. Continuations are computed in one
 * batch, shared beginnings once, with the bits that tenon_session_evaluate and tenon_logprobs give
 * one by one. They hold cache memory while the call lasts.
 * ARGUMENT for a continuation without tokens, or a token outside the vocabulary; LIMIT for one that
 * the context cannot hold; STATE for an empty text, or "non-finite logits"; CANCELLED; DEADLINE;
 * NO_MEMORY if the cache has no room even for one. logprobs is undefined after a failure. Since 0.1
 */
TENON_API tenon_status tenon_session_score(tenon_session* session,
                                           const tenon_continuations* continuations,
                                           float* logprobs, size_t capacity, size_t* num_logprobs);

/* Makes a second session with this text; each continues alone. The shared part costs no computation
 * and no memory. */
TENON_API tenon_status tenon_session_fork(tenon_session* session, tenon_session** fork);

/* Forgets everything from `position` on. ARGUMENT if the text is shorter. */
TENON_API tenon_status tenon_session_rewind(tenon_session* session, uint64_t position);

/* Saves the session, its text and what was computed for it, to a file or to your buffer ("Buffers"
 * in 1; the size may be smaller at the next call). The file appears under its name complete or not
 * at all, and replaces a regular file there, also at the end of a symbolic link. The old file is
 * unchanged if saving fails. A process killed meanwhile leaves no other file, with two exceptions:
 * `path`.tenon-new in the instant in which an old file is replaced, and `path`.XXXXXXXX.tmp on file
 * systems without O_TMPFILE. The sampler and text held back (tenon_session_take_held) are not
 * saved. IO, also beyond the process's limit of file sizes. */
TENON_API tenon_status tenon_session_save(tenon_session* session, const char* path);
TENON_API tenon_status tenon_session_save_buffer(tenon_session* session, void* buffer,
                                                 size_t capacity, size_t* size);

#define TENON_RESTORE_TEXT 32u /* if only the cache differs: take the text, recompute it */

/* Replaces the session's text by a saved session, which continues with the same bits as the saved
 * one. The session is unchanged after a failure. flags: 0 or TENON_RESTORE_TEXT. FORMAT, naming the
 * difference, if the save is damaged, of another version, or made with another model, backend,
 * device or cache; LIMIT if the text is longer than the session's context; IO. A file is only as
 * trustworthy as those who could write it: nothing restored from a file is shared with other
 * sessions. */
TENON_API tenon_status tenon_session_restore(tenon_session* session, const char* path,
                                             uint32_t flags);
TENON_API tenon_status tenon_session_restore_buffer(tenon_session* session, const void* data,
                                                    size_t size, uint32_t flags);

/* Number of tokens in the text, queued ones included; the context's size in tokens; the tokens
 * themselves, valid until the next call on the session. Rows of pictures are TENON_PICTURE_TOKEN. */
TENON_API tenon_status tenon_session_position(tenon_session* session, uint64_t* position);
TENON_API tenon_status tenon_session_context(tenon_session* session, uint64_t* context);
TENON_API tenon_status tenon_session_tokens(tenon_session* session, const tenon_token** tokens,
                                            size_t* num_tokens);

/* Seed of the session's latest answer. As the option "seed" (9) it gives that answer again, from
 * the same text. STATE if none was drawn yet. Since 0.1 */
TENON_API tenon_status tenon_session_seed(tenon_session* session, int64_t* seed);

/* Ends the running call on the session, or else the next one, with CANCELLED. The session can then
 * continue from where it was. Any thread, any time, callbacks and signal handlers included. */
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
 * A sampler draws a token from logits. Its parameters are the options of scope SAMPLER. The same
 * seed at the same position of the same text draws the same token; equal logits go to the lower id.
 *
 * The default of the option "seed" is -1: each answer gets a random seed, so a text is continued
 * differently each time. tenon_session_seed, tenon_request_seed and tenon_candidate return it; set
 * it to repeat the answer. An answer lasts until the session's text changes otherwise (append,
 * evaluate, rewind). Calls that continue it keep its seed, as do forks and restored sessions.
 * Random seeds are below 2^52, so that every language can hold them.
 */

/* options: NULL for the defaults. */
TENON_API tenon_status tenon_sampler_create(const tenon_options* options, tenon_sampler** sampler);
TENON_API void tenon_sampler_destroy(tenon_sampler* sampler);

/* Changes one parameter. ARGUMENT as tenon_options_set_*. */
TENON_API tenon_status tenon_sampler_set_int(tenon_sampler* sampler, const char* name,
                                             int64_t value);
TENON_API tenon_status tenon_sampler_set_float(tenon_sampler* sampler, const char* name,
                                               double value);

/* The sampler's seed: its option. If that is -1: the seed of its latest answer, or the seed that
 * tenon_sampler_sample will draw with until the sampler is reset. Since 0.1 */
TENON_API tenon_status tenon_sampler_seed(tenon_sampler* sampler, int64_t* seed);

/* The option "banned_strings" lists texts that may not be generated ("banned_ignore_case" ignores
 * the case of ASCII letters). If the generated text comes to hold one, it goes back to the token in
 * which that begins and draws another token there; the penalties, the grammar, mirostat and
 * adaptive-p go back, too. The prompt does not count. A token whose text may still become a banned
 * one is handed out later than it is drawn, so nothing is ever withdrawn. All are handed out with
 * the last token allowed (max_tokens, tenon_sampler_set_token_limit). A ban takes precedence over a
 * stop. If 256 attempts in a row lead to banned texts, or a grammar allows nothing else, the answer
 * ends before them with TENON_FINISH_BANNED. LIMIT beyond 1000 texts, or 128 bytes per text;
 * ARGUMENT for an empty one. A loop of your own (tenon_sampler_sample) must find such texts itself,
 * and goes back with tenon_sampler_roll_back, tenon_matcher_roll_back and tenon_session_rewind. */

/* Adds `bias` to a token's logit from now on; -INFINITY forbids the token, 0 removes the bias. A
 * token outside the vocabulary is ARGUMENT when the sampler is used. */
TENON_API tenon_status tenon_sampler_set_bias(tenon_sampler* sampler, tenon_token token,
                                              double bias);

/* Ends generation at this token (TENON_FINISH_STOP), whose text is not handed out. LIMIT beyond
 * 1000 tokens. The option "stop" does so for texts. */
TENON_API tenon_status tenon_sampler_add_stop_token(tenon_sampler* sampler, tenon_token token);

/* Makes repetitions counted by the parameters dry_* end at every token whose text holds this one,
 * such as a line break. */
TENON_API tenon_status tenon_sampler_add_dry_breaker(tenon_sampler* sampler,
                                                     const tenon_tokenizer* tokenizer,
                                                     const char* text, size_t length);

/* Log-probabilities (natural) under unmodified logits [count] f32. Those of tokens [num_tokens] go
 * to logprobs [num_tokens]; the num_top likeliest, likeliest first, to top_tokens [num_top] and
 * top_logprobs [num_top]. Use tenon_session_drawn_logits for a drawn token, and
 * tenon_session_evaluate for a prompt; its row i is about the token after row i. ARGUMENT for a
 * token or num_top outside the vocabulary, STATE for NaN. Any thread. */
TENON_API tenon_status tenon_logprobs(const float* logits, size_t count, const tenon_token* tokens,
                                      size_t num_tokens, float* logprobs, tenon_token* top_tokens,
                                      float* top_logprobs, size_t num_top);

/* Restores parameters, biases, breakers and stop tokens to their values at creation; forgets
 * earlier draws. */
TENON_API tenon_status tenon_sampler_reset(tenon_sampler* sampler);

/* Draws from your logits: [count] f32. history: the text so far, for the penalties. position: key
 * of the random number. STATE for NaN, or if every token is forbidden. */
TENON_API tenon_status tenon_sampler_sample(tenon_sampler* sampler, const float* logits,
                                            size_t count, const tenon_token* history,
                                            size_t history_length, uint64_t position,
                                            tenon_token* token);

/* Takes back the last draws, at most 256: the next draw repeats the first of them. The penalties
 * see the history given. To get another token, forbid the first (tenon_sampler_set_bias) and give
 * another `position`, which is the key of the random number. ARGUMENT for more draws than were made
 * since the sampler was made, was reset or got a grammar. */
TENON_API tenon_status tenon_sampler_roll_back(tenon_sampler* sampler, size_t num_draws);

/* ---- 10. Backends ------------------------------------------------------------------------------
 *
 * Backends that can run models on this machine: built-in ones, those in the folder `tenon` beside
 * the library, and the files of the option "plugin". Nothing else is searched.
 */

/* Why a plugin is not used. */
#define TENON_REFUSED_NOT 0               /* it is used */
#define TENON_REFUSED_NOT_ABSOLUTE 1      /* the path is relative */
#define TENON_REFUSED_NOT_FOUND 2         /* no such file, or it cannot be read */
#define TENON_REFUSED_NOT_REGULAR 3       /* a directory, a device, a FIFO */
#define TENON_REFUSED_UNSAFE_OWNER 4      /* its owner is neither root nor you */
#define TENON_REFUSED_WRITABLE 5          /* others can write to it or its folder */
#define TENON_REFUSED_NOT_A_LIBRARY 6     /* the dynamic loader refuses it */
#define TENON_REFUSED_NO_ENTRY 7          /* it has no tenon_backend_entry */
#define TENON_REFUSED_ENTRY_THREW 8       /* its entry threw an exception */
#define TENON_REFUSED_DECLINED 9          /* it cannot run on this machine */
#define TENON_REFUSED_WRONG_MAGIC 10      /* its table is not of tenon/backend.h */
#define TENON_REFUSED_OTHER_MAJOR 11      /* it was made for another plugin ABI */
#define TENON_REFUSED_TOO_SMALL 12        /* its table is too small */
#define TENON_REFUSED_MISSING_FUNCTION 13 /* a function of its table is NULL */
#define TENON_REFUSED_BAD_NAME 14         /* its name is not 1 to 63 letters, digits, - and _ */
#define TENON_REFUSED_NAME_TAKEN 15       /* an earlier backend in the list has its name */

typedef struct tenon_backend_info {
  uint32_t struct_size;
  tenon_status status; /* TENON_OK: usable; PLUGIN: refused; else the device's error */
  const char* name;    /* for the option "backend" */
  uint64_t name_length;
  const char* origin; /* "built in", or the path of the plugin */
  uint64_t origin_length;
  const char* description; /* the device, or the reason for the refusal */
  uint64_t description_length;
  int32_t reason; /* TENON_REFUSED_* */
  uint32_t reserved;
  /* One line per option "backend.KEY": key, values, default, meaning, separated by tabs. */
  const char* options;
  uint64_t options_length;
} tenon_backend_info;

/* Lists all backends. options: NULL, or with "plugin". Texts live as long as the list. */
TENON_API tenon_status tenon_backends_create(const tenon_options* options,
                                             tenon_backends** backends);
TENON_API void tenon_backends_destroy(tenon_backends* backends);
TENON_API size_t tenon_backends_count(const tenon_backends* backends);
TENON_API tenon_status tenon_backends_get_info(const tenon_backends* backends, size_t index,
                                               tenon_backend_info* info);

#define TENON_DEVICE_KIND_REFERENCE 1 /* correct, not fast; used only if named */
#define TENON_DEVICE_KIND_CPU 2
#define TENON_DEVICE_KIND_GPU 3
#define TENON_DEVICE_KIND_ACCELERATOR 4

/* A device of a backend. The option "devices" takes BACKEND:NAME, or BACKEND:INDEX. */
typedef struct tenon_backend_device {
  uint32_t struct_size;
  int32_t kind; /* TENON_DEVICE_KIND_* */
  const char* name;
  uint64_t name_length;
  const char* description; /* "AMD EPYC, avx2 kernels" */
  uint64_t description_length;
  const char* unavailable; /* empty, or why it cannot be used */
  uint64_t unavailable_length;
  uint64_t memory_total; /* bytes; 0: unknown */
  uint64_t memory_available;
} tenon_backend_device;

/* Devices of the backend `index` in the list; 0 if it cannot be used. Texts live as long as the
 * list. */
TENON_API size_t tenon_backends_count_devices(const tenon_backends* backends, size_t index);
TENON_API tenon_status tenon_backends_get_device(const tenon_backends* backends, size_t index,
                                                 size_t device, tenon_backend_device* info);

/* ---- 11. Engines -------------------------------------------------------------------------------
 *
 * An engine serves many sessions of one model: a queue, a scheduler that batches the tokens of many
 * sessions into each step, and a KV cache whose budget is never exceeded. Sessions made by
 * tenon_session_create belong to the model's own engine, without limits. Engines of this section
 * are for servers. docs/inside/engine.md explains how they work and what they guarantee.
 *
 *   tenon_engine_create(model, options, &engine);
 *   tenon_engine_open_session(engine, NULL, &session);
 *   tenon_session_submit(session, &submission, &request);
 *   while (tenon_request_wait(request, -1, &piece) == TENON_OK && piece.finish == 0) ...
 *
 * The engine starts no thread, except for a store. It computes in calls that wait
 * (tenon_request_wait and the calls of section 8), each of which computes for all. A host that only
 * polls lends it a thread (tenon_engine_run), calls tenon_engine_step now and then, or sets an
 * executor.
 */

/* options: scope ENGINE; NULL for the defaults. STATE if the model has no weights. */
TENON_API tenon_status tenon_engine_create(const tenon_model* model, const tenon_options* options,
                                           tenon_engine** engine);
/* Ends tenon_engine_run. Calls and requests of the engine's sessions continue. */
TENON_API void tenon_engine_destroy(tenon_engine* engine);

/* As tenon_session_create, in this engine. Options of scope SESSION: "salt" keeps the session's
 * cache from being reused under another salt (and from being guessed by timing); "priority",
 * "client" and "weight" apply to its calls and to requests that name none. */
TENON_API tenon_status tenon_engine_open_session(tenon_engine* engine,
                                                 const tenon_options* options,
                                                 tenon_session** session);

#define TENON_IGNORE_END 8u /* an end token does not end generation */
#define TENON_LOGPROBS 16u  /* keep log-probabilities for tenon_request_logprobs */

/* Called when a piece is ready or the request has ended, on any thread that is in a call on the
 * engine, its sessions or requests (cancelling and destroying included). Do not hold a lock in such
 * a call that the callback takes. The callback must not make such a call: it only wakes the thread
 * that will. It is never called after tenon_request_destroy has returned, which waits for a running
 * call. */
typedef void (*tenon_notify_callback)(void* user);

/* Whether tokens of an answer are guessed, which changes its speed alone. */
#define TENON_SPECULATION_DEFAULT 0 /* as the session's option "speculate" */
#define TENON_SPECULATION_AUTO 1
#define TENON_SPECULATION_OFF 2
#define TENON_SPECULATION_FORCED 3

/* A request. Read only during tenon_session_submit. */
typedef struct tenon_submission {
  uint32_t struct_size;
  uint32_t flags;    /* TENON_ADD_SPECIAL, TENON_PARSE_SPECIAL for the text; IGNORE_END, LOGPROBS */
  const char* text;  /* appended to the session first; may be NULL */
  uint64_t text_length;
  const tenon_token* tokens; /* appended after the text; may be NULL */
  uint64_t num_tokens;
  const tenon_sampler* sampler; /* parameters, stops, grammar are copied; NULL: defaults */
  uint64_t max_tokens;          /* 0: as many as the context holds */
  double timeout_seconds;       /* from now to the end, then DEADLINE; 0: none */
  int32_t priority;             /* higher runs first; -1000..1000 */
  uint32_t has_priority;        /* 0: the session's priority */
  const char* client; /* key of a fair share; NULL: the session's */
  uint64_t client_length;
  double weight; /* client's share, 0.001..1000; 0: the session's */
  tenon_notify_callback notify; /* may be NULL */
  void* user;
  uint32_t num_top; /* like LOGPROBS, plus the num_top likeliest tokens; at most 1000 */
  uint32_t reserved;
  const tenon_token* logprob_tokens; /* like LOGPROBS, plus these tokens; at most 1000 */
  uint64_t num_logprob_tokens;
  /* The likely answer, such as a file of which a part will change: guesses are taken from it. It
   * changes the speed of the answer, nothing else. May be NULL. Since 0.1 */
  const tenon_token* prediction;
  uint64_t num_prediction;
  int32_t speculation; /* TENON_SPECULATION_*: whether tokens are guessed. Since 0.1 */
  uint32_t draft_max;  /* most tokens guessed at once; 0: as the model's option draft_max */
} tenon_submission;

/* Queues the generation of a continuation. Until it has ended, the session refuses other calls
 * (STATE) except cancel and destroy, which ends it. Generated tokens belong to the session's text.
 * BUSY if the engine's queue is full, LIMIT if the context is; nothing is then appended. */
TENON_API tenon_status tenon_session_submit(tenon_session* session,
                                            const tenon_submission* submission,
                                            tenon_request** request);
/* Cancels the request unless it has ended. Returns when its session accepts calls again: within a
 * few milliseconds, as tenon_request_cancel. */
TENON_API void tenon_request_destroy(tenon_request* request);

/* Returns the next piece; its text is valid until the next call on the request. The last piece has
 * a `finish`; further calls return a piece without a token and with that finish. A request that
 * ended early returns its remaining pieces, then its error: CANCELLED, DEADLINE, NO_MEMORY, or the
 * backend's.
 *   timeout_seconds  then the piece has TENON_NO_TOKEN and finish 0; 0 neither waits nor computes;
 *                    negative waits for ever
 * With a timeout the call returns at most 10 ms late, as far as thread scheduling allows, with
 * two exceptions: a step of least size that began in time (one token per running request, and up
 * to 8 prompt tokens), and one draw under a grammar. Steps are cut to the time that is left, so
 * waits much longer than a step compute fastest. Repeated waits of any length end every request,
 * with the same tokens. */
TENON_API tenon_status tenon_request_wait(tenon_request* request, double timeout_seconds,
                                          tenon_piece* piece);

/* Log-probability (natural) of the token handed out last, under the unmodified logits, and the
 * num_top likeliest tokens, likeliest first: top_tokens [num_top], top_logprobs [num_top], as
 * tenon_logprobs. STATE before the first token, or if the request was submitted without
 * log-probabilities; ARGUMENT if num_top exceeds the submission's. */
TENON_API tenon_status tenon_request_logprobs(tenon_request* request, float* logprob,
                                              tenon_token* top_tokens, float* top_logprobs,
                                              size_t num_top);

/* Log-probabilities of the first `count` of the submission's logprob_tokens, from the logits of the
 * token handed out last: logprobs [count]. */
TENON_API tenon_status tenon_request_logprobs_of(tenon_request* request, float* logprobs,
                                                 size_t count);

/* Seed of the answer, known from submission on. As the option "seed" it gives that answer again to
 * the same text. Since 0.1 */
TENON_API tenon_status tenon_request_seed(tenon_request* request, int64_t* seed);

/* Ends the request with CANCELLED, within a few milliseconds even in the middle of a long prompt.
 * The session can then continue from where it was. Does nothing if the request has ended. Any
 * thread. */
TENON_API tenon_status tenon_request_cancel(tenon_request* request);

/* Why no more of a prompt was reused. */
#define TENON_REUSE_NO_MISS 0        /* all of it was reused, or no similar text was ever cached */
#define TENON_REUSE_DIFFERENT_TEXT 1 /* the cached text differs from here */
#define TENON_REUSE_EVICTED 2        /* it was evicted */
#define TENON_REUSE_OTHER_SALT 3     /* it is cached under another salt */
#define TENON_REUSE_CACHE_TYPE 4     /* it was computed for another cache: TENON_RESTORE_TEXT */

/* Sources of guessed tokens. */
#define TENON_DRAFTER_NONE 0       /* no guess became a token */
#define TENON_DRAFTER_GRAMMAR 1    /* text that a grammar leaves no choice about */
#define TENON_DRAFTER_TEXT 2       /* repetitions in the text */
#define TENON_DRAFTER_PREDICTION 3 /* the submission's prediction */
#define TENON_DRAFTER_OTHER 4
#define TENON_DRAFTER_MODEL 5 /* the draft model: the option "draft_model" */
#define TENON_DRAFTER_ANSWERS 6 /* ended answers of sessions with an equal salt */
#define TENON_DRAFTER_BLOCK 7   /* the file's prediction blocks: the option "prediction" */

typedef struct tenon_request_stats {
  uint32_t struct_size;
  int32_t reuse_miss;      /* TENON_REUSE_* */
  uint64_t prompt_tokens;  /* the session's text at submission */
  uint64_t reused_tokens;  /* part of it already computed, in the session or by others */
  uint64_t miss_position;  /* with a miss: the first position not cached */
  uint64_t drafted_tokens; /* guesses computed beside the next token. Since 0.1 */
  uint64_t accepted_tokens; /* guesses that became tokens of the answer */
  int32_t drafter;          /* TENON_DRAFTER_*: source of most of these */
  uint32_t reserved;
  uint64_t predicted_tokens; /* part of accepted_tokens that came from the prediction */
} tenon_request_stats;

TENON_API tenon_status tenon_request_get_stats(tenon_request* request, tenon_request_stats* stats);

/* Computes one step if work is waiting and no other thread is computing; *worked becomes 1, else 0.
 * Never waits for work. */
TENON_API tenon_status tenon_engine_step(tenon_engine* engine, int32_t* worked);

/* Computes all work, and sleeps while none is waiting, until tenon_engine_stop or
 * tenon_engine_destroy: for a thread that the host gives to the engine. */
TENON_API tenon_status tenon_engine_run(tenon_engine* engine);
/* Makes running and future calls of tenon_engine_run return. */
TENON_API tenon_status tenon_engine_stop(tenon_engine* engine);

/* Schedules task(arg) to be called once, soon, on any thread. */
typedef void (*tenon_task)(void* arg);
typedef void (*tenon_post_callback)(void* user, tenon_task task, void* arg);

/* Sets the host's executor for work that no call waits for. Each call of `post` gives it a task,
 * which returns when no work is left. post == NULL removes the executor; a task posted earlier must
 * still be called, and keeps the engine alive until then. If `post` throws, nothing was posted:
 * calls that wait compute the work. */
TENON_API tenon_status tenon_engine_set_executor(tenon_engine* engine, tenon_post_callback post,
                                                 void* user);

/* key: 16 bytes. Size of the record in bytes, or negative if there is none. */
typedef int64_t (*tenon_store_find_callback)(void* user, const void* key);
/* Copies the record, of exactly `size` bytes, to `record`; returns 0, or another value if it has
 * another size or cannot be read. */
typedef int32_t (*tenon_store_read_callback)(void* user, const void* key, void* record,
                                             uint64_t size);
/* Stores a record under a key that has none; returns 0, or another value if it is refused.
 *   before  key of the record without which this one is useless, or NULL: remove this one first */
typedef int32_t (*tenon_store_write_callback)(void* user, const void* key, const void* before,
                                              const void* record, uint64_t size);
typedef void (*tenon_store_remove_callback)(void* user, const void* key);
/* Called once, after all other calls: the engine and its sessions and requests are destroyed. */
typedef void (*tenon_store_release_callback)(void* user);

/* A host's store of computed prefixes: records of bytes under keys of 16 bytes. The engine calls it
 * from one thread of its own, never in a step or with a lock held, so the functions may take their
 * time; a prompt waits for reads about as long as computing it would take. A failure is a missing
 * record. Each record is compared with its tokens and checked before use, and removed if it does
 * not fit, so a store may lose and damage records; but one who can write matching records decides
 * what the model answers. */
typedef struct tenon_block_store {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  void* user;
  tenon_store_find_callback find;
  tenon_store_read_callback read;
  tenon_store_write_callback write;
  tenon_store_remove_callback remove;
  /* Enters every key: with another secret no record is found, and who does not know it cannot tell
   * from keys whether a text is stored. The same after a restart; zeros are a secret, too. */
  uint64_t secret[2];
  tenon_store_release_callback release; /* may be NULL */
} tenon_block_store;

/* Keeps computed prefixes in the host's store, as the option "store" does in a folder. Starts a
 * thread. Before the engine's first session: STATE after it, and with a store already. UNSUPPORTED
 * for an engine without a prefix index ("prefix_cache", encoder-decoders); ARGUMENT for NULL
 * functions. `release` is not called after an error. */
TENON_API tenon_status tenon_engine_set_store(tenon_engine* engine, const tenon_block_store* store);

/* Numbers of durations up to 1, 2.5, 5, 10, 25, 50, 100, 250, 500 ms, 1, 2.5, 5, 10, 25, 50, 100 s
 * and above. A duration is counted in the first bucket that holds it. */
#define TENON_HISTOGRAM_COUNTS 17

/* Totals since the engine was made, and current values. */
typedef struct tenon_engine_stats {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t waiting; /* queued requests; next: prompt tokens of those that have not begun */
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
  uint64_t kv_used_bytes;   /* part of it in blocks of sessions and shared prefixes */
  uint64_t kv_shared_bytes; /* part of it held only for reuse */
  uint64_t steps;
  uint64_t steps_stopped; /* by a cancel or a wait's timeout, and computed again */
  uint64_t prompt_tokens; /* computed in prompt slices */
  uint64_t decode_tokens; /* computed one at a time */
  uint64_t reused_tokens;
  uint64_t generated_tokens;
  double step_seconds;     /* in the backend */
  double schedule_seconds; /* choosing, preparing and settling steps */
  uint64_t idle_blocks_taken; /* evicted from idle sessions, to be computed again */
  uint64_t prefix_evicted;    /* blocks of shared prefixes evicted for others */
  uint64_t first_token_counts[TENON_HISTOGRAM_COUNTS]; /* per request, from submit */
  uint64_t token_gap_counts[TENON_HISTOGRAM_COUNTS];   /* between tokens */
  uint64_t request_counts[TENON_HISTOGRAM_COUNTS];     /* from submit to the end */
  double first_token_seconds;                          /* sums of these durations */
  double token_gap_seconds;
  double request_seconds;
  uint64_t queue_room; /* requests that the queue still accepts; 0: the next is BUSY. Since 0.1 */
  uint64_t drafts;          /* tokens computed with guesses beside them. Since 0.1 */
  uint64_t drafted_tokens;  /* guesses computed */
  uint64_t accepted_tokens; /* guesses that became tokens of requests */
  uint64_t store_hits;          /* blocks of prefixes that came from the store. Since 0.1 */
  uint64_t store_read_bytes;    /* records read */
  uint64_t store_written_bytes; /* records written */
  uint64_t store_dropped;       /* blocks that the store did not take */
  /* Work of the draft model, or of prediction blocks; 0 without. Since 0.1 */
  uint64_t draft_model_guesses; /* guesses that it made */
  uint64_t draft_model_right;   /* those that came true, computed beside a token or not */
  uint64_t draft_model_tokens;  /* tokens that it computed: texts and guesses */
  double draft_model_seconds;
  uint64_t draft_kv_limit_bytes; /* its cache, beside that of the engine */
  uint64_t draft_kv_held_bytes;
  uint64_t answer_bytes; /* memory of ended answers, from which others are guessed */
} tenon_engine_stats;

TENON_API tenon_status tenon_engine_get_stats(tenon_engine* engine, tenon_engine_stats* stats);
/* The statistics and their histograms as Prometheus text, version 0.0.4: time to first token,
 * between tokens, of whole requests. See "Buffers" in 1. */
TENON_API tenon_status tenon_engine_stats_text(tenon_engine* engine, char* text, size_t capacity,
                                               size_t* length);
/* How tokens are guessed, a line for each drafter with its counts, or why it is not used. See
 * "Buffers" in 1. Since 0.1 */
TENON_API tenon_status tenon_engine_drafters_text(tenon_engine* engine, char* text, size_t capacity,
                                                  size_t* length);

/* ---- 12. Grammars ------------------------------------------------------------------------------
 *
 * A grammar describes the texts that may be generated. Attached to a sampler
 * (tenon_sampler_set_grammar) it masks all other tokens, and the text becomes complete before the
 * token limit, whatever the model prefers. docs/structured-output.md lists what each notation
 * supports.
 */

#define TENON_GRAMMAR_JSON_SCHEMA 1 /* a JSON Schema, draft 2020-12: the text is a valid document */
#define TENON_GRAMMAR_GBNF 2        /* rules in GBNF: the text is one of `root` */
#define TENON_GRAMMAR_REGEX 3       /* a regular expression: the whole text is one match */
#define TENON_GRAMMAR_CHOICES 4     /* a JSON array of strings: the text is one of them */
#define TENON_GRAMMAR_LARK 5        /* rules in Lark: the text is one of `start` */

/* Compiles a grammar, or refuses one that takes too much work. kind: TENON_GRAMMAR_*. GRAMMAR if
 * the text is malformed, impossible, too large or uses an unsupported feature; the message says
 * where (line, column, JSON pointer, byte) and why. */
TENON_API tenon_status tenon_grammar_create(int32_t kind, const char* text, size_t length,
                                            tenon_grammar** grammar);
TENON_API void tenon_grammar_destroy(tenon_grammar* grammar);

/* Polled every few milliseconds, on the thread of the call. Nonzero ends the call: CANCELLED. Since
 * 0.1 */
typedef int32_t (*tenon_stop_callback)(void* user);

#define TENON_GRAMMAR_LENIENT 1u /* JSON_SCHEMA: leave out unsupported parts */

/* As tenon_grammar_create, for texts that come with requests.
 *   flags        0 or TENON_GRAMMAR_LENIENT: skips keywords and subschemas that would be refused;
 *                tenon_grammar_notes lists them. ARGUMENT for another kind
 *   tokenizer    prepares the grammar for this vocabulary, so that tenon_sampler_set_grammar and
 *                tenon_matcher_create are fast later; may be NULL
 *   should_stop  may be NULL; not called while the first grammar sorts the vocabulary
 * LIMIT for a text that takes more than 256 MiB to compile, CANCELLED. Since 0.1 */
TENON_API tenon_status tenon_grammar_compile(int32_t kind, const char* text, size_t length,
                                             uint32_t flags, const tenon_tokenizer* tokenizer,
                                             tenon_stop_callback should_stop, void* user,
                                             tenon_grammar** grammar);

/* Parts of a schema that TENON_GRAMMAR_LENIENT left out, as JSON that lives as long as the grammar:
 *   [{"pointer": "/properties/a", "keyword": "pattern", "reason": "lookaround is not supported"}]
 * pointer: JSON pointer of an object in the schema; keyword: its member that is left out, or null
 * for a subschema replaced by one that accepts any value. "[]" for other grammars. Parts that would
 * exclude valid texts without those left out go, too: a `not` around one, additionalProperties
 * beside one. A member "instead": "anyOf" says that a oneOf became an anyOf. Since 0.1 */
TENON_API tenon_status tenon_grammar_notes(const tenon_grammar* grammar, const char** json,
                                           size_t* length);

/* Sets *accepted to 1 if `text` is a complete text of the grammar, else to 0. LIMIT for a grammar
 * so ambiguous that thousands of readings of the text are open at once, and for a text nested so
 * deeply that 128 MiB would not hold its parse stack. */
TENON_API tenon_status tenon_grammar_accepts(const tenon_grammar* grammar, const char* text,
                                             size_t length, int32_t* accepted);

/* A cache of compiled grammars, for texts that come with requests. Keeps the most recently used, up
 * to `limit_bytes`. Any thread. */
TENON_API tenon_status tenon_grammar_cache_create(uint64_t limit_bytes,
                                                  tenon_grammar_cache** cache);
TENON_API void tenon_grammar_cache_destroy(tenon_grammar_cache* cache);
/* As tenon_grammar_create, but compiles only grammars that are not in the cache. The grammar is
 * yours to destroy and may outlive the cache. */
TENON_API tenon_status tenon_grammar_cache_get(tenon_grammar_cache* cache, int32_t kind,
                                               const char* text, size_t length,
                                               tenon_grammar** grammar);

/* Makes the sampler draw only tokens that continue a text of the grammar, from its beginning. Each
 * token it draws belongs to that text; an end token is drawn when the text is complete.
 * tenon_sampler_reset returns to the beginning of the text. grammar NULL: allows any token again.
 * The sampler keeps what it needs of both. The first use with a tokenizer sorts its vocabulary.
 *   tokenizer   of the model whose logits are drawn from
 * GRAMMAR "no token can follow" if the vocabulary cannot spell any text of the grammar. A draw is
 * LIMIT if it takes too much work or memory, because the grammar can be read in too many ways at
 * once. */
TENON_API tenon_status tenon_sampler_set_grammar(tenon_sampler* sampler,
                                                 const tenon_grammar* grammar,
                                                 const tenon_tokenizer* tokenizer);

/* Sets how many tokens may still be drawn. Near the limit the shortest way to a complete text of
 * the grammar is taken. banned_strings are not looked for beyond it. The last piece has finish
 * MAX_TOKENS and all text that was held back; the limit is then removed. tenon_session_generate
 * sets it itself. */
TENON_API tenon_status tenon_sampler_set_token_limit(tenon_sampler* sampler, uint64_t tokens);

/* A position in a text of a grammar and the tokens that may follow: for loops that draw by
 * themselves. One thread at a time. Errors as tenon_sampler_set_grammar; any call may be LIMIT, as
 * a draw may. */
TENON_API tenon_status tenon_matcher_create(const tenon_grammar* grammar,
                                            const tenon_tokenizer* tokenizer,
                                            tenon_matcher** matcher);
TENON_API void tenon_matcher_destroy(tenon_matcher* matcher);
/* A second matcher at the same position; each continues alone. */
TENON_API tenon_status tenon_matcher_fork(tenon_matcher* matcher, tenon_matcher** fork);
/* Returns to the beginning of the text, without a token limit. */
TENON_API tenon_status tenon_matcher_reset(tenon_matcher* matcher);

/* Limits the text to `tokens` more tokens, an end token included: the mask from now on leaves a way
 * to a complete text within them. */
TENON_API tenon_status tenon_matcher_set_token_limit(tenon_matcher* matcher, uint64_t tokens);

/* Sets *allowed to 1 if `token` may come next, else to 0. Much cheaper than a mask. An end token
 * may come when the text is complete. */
TENON_API tenon_status tenon_matcher_allows(tenon_matcher* matcher, tenon_token token,
                                            int32_t* allowed);
/* Mask of all tokens that may come next: token t is bit t % 64 of words[t / 64]; words [capacity],
 * see "Buffers" in 1: (vocabulary + 63) / 64 of them. */
TENON_API tenon_status tenon_matcher_mask(tenon_matcher* matcher, uint64_t* words, size_t capacity,
                                          size_t* num_words);

/* Accepts the next token. STATE for a token that cannot follow; nothing is then accepted. */
TENON_API tenon_status tenon_matcher_accept_token(tenon_matcher* matcher, tenon_token token);
/* Accepts text: *accepted becomes 1, or 0 if the grammar does not allow it; nothing is then
 * accepted. Counts as one token. */
TENON_API tenon_status tenon_matcher_accept_text(tenon_matcher* matcher, const char* text,
                                                 size_t length, int32_t* accepted);
/* Takes back the last tokens. ARGUMENT for more than were accepted, or more than the last 256. */
TENON_API tenon_status tenon_matcher_roll_back(tenon_matcher* matcher, size_t num_tokens);

/* Sets *complete to 1 if the text so far is a text of the grammar, *ended to 1 if only an end token
 * can follow or one came; else to 0. Either may be NULL. */
TENON_API tenon_status tenon_matcher_state(tenon_matcher* matcher, int32_t* complete,
                                           int32_t* ended);
/* The text that must come next, up to the first choice; often empty. See "Buffers" in 1. */
TENON_API tenon_status tenon_matcher_forced_text(tenon_matcher* matcher, char* text,
                                                 size_t capacity, size_t* length);

/* ---- 13. Random models -------------------------------------------------------------------------
 *
 * Model files with random weights, to measure a machine or to test a program without a download.
 * Their output makes no sense, but their shape, their sizes and so their speed are those of the
 * published models they are named after.
 */

/* Names of shapes ("llama-1b") and of weight formats ("q4_0", and mixes: "Q4_K_M"), in a fixed
 * order; NULL after the last. They live for ever. */
TENON_API const char* tenon_random_model_shape(size_t index);
TENON_API const char* tenon_random_model_format(size_t index);

/* Writes a GGUF file with a vocabulary of the right size. Equal shape, format and seed give equal
 * bytes. Matrices are in `format`; norms and biases in f32. For quantised formats the output matrix
 * (and an embedding that serves as one) has more bits, as is usual: q6_K, for the smallest q5_K. If
 * the blocks of a format do not fit the rows of a matrix, a format of smaller blocks is used. The
 * file appears under its name complete or not at all, and replaces a regular file there, also at
 * the end of a symbolic link. Any shape needs some megabytes of memory only.
 *   shape     one of the names, or NAME:LAYERS for its first LAYERS layers ("llama-8b:4")
 *   progress  NULL, or called with 0 <= fraction <= 1 on this thread; nonzero ends it: CANCELLED
 * ARGUMENT for an unknown shape or format (the message names the nearest), IO. Any thread. */
TENON_API tenon_status tenon_random_model_write(const char* path, const char* shape,
                                                const char* format, uint64_t seed,
                                                tenon_progress_callback progress, void* user);

/* ---- 14. Chats ---------------------------------------------------------------------------------
 *
 * A chat turns a conversation into the prompt that its model was trained on, by the model's
 * template or yours. It parses the model's answer into content, reasoning and tool calls. Text of
 * messages, tools and variables never becomes a control token, whatever it spells.
 *
 * A conversation is a JSON object:
 *   messages               [{"role": "user", "content": "..."}, ...]; content may be a list of
 *                          parts, {"type": "text", "text": "..."}; "tool_calls" and "tool" messages
 *                          as in the answers of tenon_chat_reply_message
 *   tools                  [{"type": "function",
 *                            "function": {"name", "description", "parameters"}}, ...]
 *   tool_choice            "auto", "required", "none" (the model sees no tools) or
 *                          {"type": "function", "function": {"name": ...}} (it sees this one only)
 *   parallel_tool_calls    false: one call per answer
 *   response_format        {"type": "json_schema", "json_schema": {"schema": {...}}} or
 *                          {"type": "json_object"}; like the two before, it concerns
 *                          tenon_chat_grammar alone
 *   add_generation_prompt  true by default: the prompt ends where the answer begins
 *   continue_final_message true: the prompt ends at the end of the last message, which must be the
 *                          assistant's, and the answer continues it. ARGUMENT for another last
 *                          message, or one with calls; tenon_chat_grammar: UNSUPPORTED together
 *                          with a response_format
 *   now                    local time, "2026-01-02T03:04:05", for templates that tell the date
 *   variables              an object whose members become variables of the template
 *   enable_thinking, ...   every other member becomes a variable, too; more than 1000: LIMIT
 *
 * Chats are immutable: any thread. A reply: one thread at a time.
 */

/* model: supplies the template and tokenizer; NULL with the option "template", for text only.
 * options: NULL, or of scope CHAT. TEMPLATE (line and reason) for a bad template, STATE if the
 * model has none. */
TENON_API tenon_status tenon_chat_create(const tenon_model* model, const tenon_options* options,
                                         tenon_chat** chat);
TENON_API void tenon_chat_destroy(tenon_chat* chat);

/* The format by which answers are parsed: "hermes", "plain", ... Lives for ever. */
TENON_API tenon_status tenon_chat_format(const tenon_chat* chat, const char** name);

/* The prompt as text; see "Buffers" in 1. TEMPLATE if the template raises an error, takes more
 * processor time than the option "template_time_ms", or writes more than 16 MB. */
TENON_API tenon_status tenon_chat_render(const tenon_chat* chat, const char* conversation,
                                         size_t length, char* text, size_t capacity,
                                         size_t* needed);

/* The prompt as tokens, begin token included: for tenon_session_append_tokens. */
TENON_API tenon_status tenon_chat_encode(const tenon_chat* chat, const char* conversation,
                                         size_t length, tenon_token* tokens, size_t capacity,
                                         size_t* num_tokens);

/* Grammar of the answer, for tenon_sampler_set_grammar: reasoning, if the family has it, then
 * content by the response_format, or calls of the tools by the schemas of their parameters. With
 * tool_choice "auto" text is free until a call begins; with "required" or a named tool a call must
 * come. *grammar becomes NULL if any answer may come. Yours to destroy; equal grammars are compiled
 * once. GRAMMAR (tool, JSON pointer) for a refused schema, UNSUPPORTED if a call must come and the
 * family's calls have no grammar. The option "constrain_calls" can leave "auto" free. */
TENON_API tenon_status tenon_chat_grammar(const tenon_chat* chat, const char* conversation,
                                          size_t length, tenon_grammar** grammar);
/* As tenon_chat_grammar; tokenizer, should_stop and user as tenon_grammar_compile. Both are LIMIT
 * for tools that together take more than 16 times the work allowed for one tool. Only this one can
 * be CANCELLED. Since 0.1 */
TENON_API tenon_status tenon_chat_compile(const tenon_chat* chat, const char* conversation,
                                          size_t length, const tenon_tokenizer* tokenizer,
                                          tenon_stop_callback should_stop, void* user,
                                          tenon_grammar** grammar);
/* tenon_chat_grammar and tenon_sampler_set_grammar in one, with the tokenizer of the chat's model.
 * *constrained becomes 0 if any answer may come, and any token is then drawn; may be NULL. */
TENON_API tenon_status tenon_chat_constrain(const tenon_chat* chat, const char* conversation,
                                            size_t length, tenon_sampler* sampler,
                                            int32_t* constrained);

#define TENON_CHAT_CONTENT 1
#define TENON_CHAT_REASONING 2
#define TENON_CHAT_CALL_BEGIN 3 /* text: the name of the tool; id */
#define TENON_CHAT_ARGUMENTS 4  /* more of the call's JSON */
#define TENON_CHAT_CALL_END 5
#define TENON_CHAT_CALL_RETRACT 6 /* malformed call: forget it; its text follows as content */

/* A piece of an answer. Valid until the callback returns. */
typedef struct tenon_chat_delta {
  uint32_t struct_size;
  int32_t kind;     /* TENON_CHAT_* */
  uint64_t call;    /* index of the call, for the CALL and ARGUMENTS kinds */
  const char* text; /* whole characters */
  uint64_t length;
  const char* id; /* CALL_BEGIN: from the model, or made up */
  uint64_t id_length;
} tenon_chat_delta;

typedef void (*tenon_chat_callback)(void* user, const tenon_chat_delta* delta);

/* Begins to parse the answer to a conversation. */
TENON_API tenon_status tenon_chat_reply_create(const tenon_chat* chat, const char* conversation,
                                               size_t length, tenon_chat_reply** reply);
TENON_API void tenon_chat_reply_destroy(tenon_chat_reply* reply);

/* Takes the next token of the answer, or text in any pieces (with the control tokens as text), and
 * hands out the parsed parts. on_delta may be NULL. The same text gives the same answer, however it
 * is divided. STATE for tokens if the chat has no model. */
TENON_API tenon_status tenon_chat_reply_push_token(tenon_chat_reply* reply, tenon_token token,
                                                   tenon_chat_callback on_delta, void* user);
TENON_API tenon_status tenon_chat_reply_push_text(tenon_chat_reply* reply, const char* text,
                                                  size_t length, tenon_chat_callback on_delta,
                                                  void* user);

/* Ends the answer. An incomplete call becomes content. */
TENON_API tenon_status tenon_chat_reply_finish(tenon_chat_reply* reply,
                                               tenon_chat_callback on_delta, void* user);

/* The answer so far as a message, {"role": "assistant", "content", "reasoning_content",
 * "tool_calls"}, to be appended to the conversation's messages. Valid until the next call on the
 * reply. */
TENON_API tenon_status tenon_chat_reply_message(tenon_chat_reply* reply, const char** json,
                                                size_t* length);

/* Takes a piece of a generation: token and text of tenon_piece. As tenon_chat_reply_push_token, but
 * text held back for the option "stop" waits, and the stop is not part of the answer. Since 0.1 */
TENON_API tenon_status tenon_chat_reply_push_piece(tenon_chat_reply* reply, tenon_token token,
                                                   const char* text, size_t length,
                                                   tenon_chat_callback on_delta, void* user);

#define TENON_DROP_OLDEST 64u /* leave out the oldest turns of a conversation that does not fit */

/* Generates the answer of one turn in the session and hands out its parts as they come.
 *   session         its text becomes the prompt and the answer; the part of the prompt it already
 *                   holds is not computed again, so use one session per conversation
 *   sampler         NULL draws with the defaults; it is not changed. Draws follow
 *                   tenon_chat_grammar
 *   max_tokens      0: as many as the context holds
 *   flags           0, or TENON_DROP_OLDEST: leaves out the oldest turns if the prompt leaves no
 *                   room for max_tokens (0: a quarter of the context; half of it at most). Messages
 *                   before the first of the user stay, as does the last turn; a turn begins with a
 *                   message of the user. Turns are dropped until the prompt takes three quarters of
 *                   its room. Later turns drop the same ones while that is enough, so the rest is
 *                   computed once.
 *   on_delta        may be NULL; tenon_session_cancel in it ends the answer with CANCELLED
 *   message         the answer as a message (tenon_chat_reply_message), to be appended to the
 *                   conversation's; valid until the next call on the session
 *   finish          TENON_FINISH_*; may be NULL
 * Errors as tenon_chat_encode, tenon_chat_grammar, tenon_session_generate; LIMIT if the prompt, or
 * its last turn, does not fit the context; STATE for a chat of another model, or of none. Since 0.1
 */
TENON_API tenon_status tenon_chat_answer(const tenon_chat* chat, tenon_session* session,
                                         const char* conversation, size_t length,
                                         tenon_sampler* sampler, uint64_t max_tokens,
                                         uint32_t flags, tenon_chat_callback on_delta, void* user,
                                         const char** message, size_t* message_length,
                                         int32_t* finish);

/* Begins tenon_chat_answer, for answers by tenon_session_submit or in a loop of your own. Makes the
 * prompt the session's text, attaches the answer's grammar to the sampler, and begins to parse the
 * answer (tenon_chat_reply_push_piece). max_tokens and flags as tenon_chat_answer. Since 0.1 */
TENON_API tenon_status tenon_chat_begin(const tenon_chat* chat, tenon_session* session,
                                        const char* conversation, size_t length,
                                        tenon_sampler* sampler, uint64_t max_tokens, uint32_t flags,
                                        tenon_chat_reply** reply);

/* ---- 15. Planning ------------------------------------------------------------------------------
 *
 * Predicts a model's memory and speed before its weights are read:
 *
 *   tenon_options_set_bool(options, "inspect", 1);     with "cache_type", "threads", ... as wanted
 *   tenon_model_open("model.gguf", options, &model);   reads the header and the vocabulary
 *   tenon_measure_hardware(model, TENON_MEASURE_SPEED, &hardware);
 *   tenon_model_plan(model, 8192, 4, &hardware, &plan);
 */

/* A machine, for planning. Fill it in yourself, or measure it. Speeds are for all threads together;
 * 0 means unknown, and nothing is predicted from it. */
typedef struct tenon_hardware {
  uint32_t struct_size;
  uint32_t threads;       /* compute threads; at least 1 */
  uint64_t memory_bytes;  /* available to the process, current use included */
  uint64_t process_bytes; /* used besides weights, cache and scratch */
  /* Bytes per second of decode steps of 1, 2, 4, ... 128 sequences at the beginning of their texts:
   * matrices, in the file's format, and states, read and written. The first is the memory bandwidth
   * that the kernels reach. */
  double decode_bytes_per_second[8];
  double prefill_multiplications_per_second;   /* in the matrices, while a prompt is computed */
  double cache_bytes_per_second;               /* cache bytes that attention reads in decoding */
  double attention_multiplications_per_second; /* in attention, while a prompt is computed */
} tenon_hardware;

#define TENON_MEASURE_SPEED 1u

/* Measures this machine for this model and its options. Memory and threads cost nothing;
 * process_bytes is what the process holds now, the model's header and vocabulary included.
 * TENON_MEASURE_SPEED also measures the speeds: it runs some of the model's layers with made-up
 * weights, for seconds and in up to 1.5 GiB of memory. flags: 0 or TENON_MEASURE_SPEED. STATE for a
 * file that holds a vocabulary only, NO_MEMORY. Any thread. */
TENON_API tenon_status tenon_measure_hardware(const tenon_model* model, uint32_t flags,
                                              tenon_hardware* hardware);

typedef struct tenon_plan {
  uint32_t struct_size;
  uint32_t fits;       /* 1: total_bytes <= the hardware's memory_bytes */
  uint64_t context;    /* the argument; for 0 a session's default */
  uint64_t sessions;
  uint64_t process_bytes; /* this to kv_bytes add up to total_bytes, plus a short peak of loading;
                           * a draft model and its cache are part of it */
  uint64_t weights_bytes; /* in the layout for computing */
  uint64_t scratch_bytes; /* activations, work memory of the threads, logits of a step */
  uint64_t kv_bytes;      /* all sessions, full contexts: least "cache_bytes" without eviction */
  uint64_t session_bytes; /* per session: its part of the cache, logits, text, sampler */
  uint64_t total_bytes;   /* peak of the process */
  /* Largest values that fit if the rest is unchanged; 0 or "" if none does. */
  uint64_t max_context;
  uint64_t max_sessions;
  const char* fitting_cache_type; /* most bits, at most the model's; lives for ever */
  /* Speeds with all contexts full; 0 if the hardware's speeds are unknown. */
  double prefill_tokens_per_second; /* for a prompt that fills the context */
  double decode_tokens_per_second;  /* all sessions together */
  /* Model on several devices: the "gpu_layers" that would fit with these sessions; -1: one device,
   * or nothing fits. total_bytes leaves out a device's own memory, but `fits` covers every device:
   * tenon_placement_create describes each. */
  int64_t fitting_gpu_layers;
} tenon_plan;

/* A pure function: equal arguments give equal plans; no weights are read and nothing is measured.
 * model: its header is enough ("inspect"); its options give cache_type, slice and backend. context,
 * sessions: 0 for the default context, and for one. ARGUMENT for impossible sizes, STATE for a file
 * that holds a vocabulary only. Any thread. */
TENON_API tenon_status tenon_model_plan(const tenon_model* model, uint64_t context,
                                        uint64_t sessions, const tenon_hardware* hardware,
                                        tenon_plan* plan);

/* One device's part of a model. */
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
  uint64_t kv_bytes; /* all sessions with full contexts */
  uint64_t total_bytes;
  uint64_t memory_bytes;   /* available to the model; 0: no known limit */
  uint32_t has_own_memory; /* 1: a GPU's; 0: the process's memory, part of tenon_plan.total_bytes */
  uint32_t fits;
} tenon_placed_device;

/* Devices that hold the model's layers, in the order in which steps run on them: one, or as the
 * options "devices", "gpu_layers" and "experts_on" say. Arguments and errors as tenon_model_plan,
 * and NO_MEMORY if no placement fits. */
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
 * An embedder turns texts into rows of numbers: embeddings, whose cosines say how similar texts
 * are, or the scores of a reranker. Encoders (BERT and its kin) do only this. Generating models do
 * it if opened with the option "embeddings".
 *
 *   tenon_model_open("all-minilm-l6-v2.gguf", NULL, &model);
 *   tenon_embedder_create(model, NULL, &embedder);
 *   tenon_embedder_embed(embedder, &batch, rows, capacity, &num_values);
 *
 * Any number of texts share steps without padding. A text's row has the same bits alone and in any
 * batch. See docs/embeddings.md.
 */

/* How the rows of a text's tokens become its row: the option "pooling". */
#define TENON_POOLING_NONE 0 /* one row per token */
#define TENON_POOLING_MEAN 1 /* their mean */
#define TENON_POOLING_CLS 2  /* the first one */
#define TENON_POOLING_LAST 3 /* the last one */
#define TENON_POOLING_RANK 4 /* the scores of the model's classifier */

/* options: scope EMBEDDER; NULL for the defaults: the file's, with rows of length 1. STATE for a
 * model that was opened to generate, or without weights; UNSUPPORTED for a pooling that the model
 * cannot have; ARGUMENT for more dimensions than its rows have. */
TENON_API tenon_status tenon_embedder_create(const tenon_model* model, const tenon_options* options,
                                             tenon_embedder** embedder);
/* Running calls continue. */
TENON_API void tenon_embedder_destroy(tenon_embedder* embedder);

typedef struct tenon_embedder_info {
  uint32_t struct_size;
  int32_t pooling;     /* TENON_POOLING_* */
  uint64_t dimensions; /* per row; with RANK the number of labels */
  uint64_t max_tokens; /* per text, those that the vocabulary adds included */
  uint32_t normalizes; /* 1: rows have length 1 */
  uint32_t num_labels; /* labels that have a name */
} tenon_embedder_info;

TENON_API tenon_status tenon_embedder_get_info(const tenon_embedder* embedder,
                                               tenon_embedder_info* info);
/* Dimensions of a row; 0 for an invalid handle. */
TENON_API size_t tenon_embedder_dimensions(const tenon_embedder* embedder);
/* Name of a label of the classifier: index < num_labels. Lives as long as the handle. */
TENON_API tenon_status tenon_embedder_label(const tenon_embedder* embedder, size_t index,
                                            const char** name, size_t* length);

/* Role of texts: retrieval models want different words before a question and before a document. The
 * options "query_prefix" and "document_prefix" hold them; the default is that of the model's card,
 * if the library knows it. */
#define TENON_TEXT_PLAIN 0 /* no prefix */
#define TENON_TEXT_QUERY 1
#define TENON_TEXT_DOCUMENT 2

/* Texts, or their tokens. Control tokens are not found in texts; the tokens that the vocabulary
 * adds at the ends are added. Read only during a call, except num_rows, which is written. */
typedef struct tenon_embedder_batch {
  uint32_t struct_size;
  int32_t role;             /* TENON_TEXT_*, for all texts; not applied to tokens */
  uint64_t count;           /* any number */
  const char* const* texts; /* [count]; NULL: `tokens` is used */
  const uint64_t* lengths;  /* [count]; NULL: all end in a NUL */
  const tenon_token* const* tokens; /* [count] */
  const uint64_t* num_tokens;       /* [count] */
  uint64_t* num_rows;               /* [count] or NULL: receives rows per text; 1 but for NONE */
  double timeout_seconds; /* from now to the end, then DEADLINE; 0: none */
} tenon_embedder_batch;

/* Rows of all texts, one after another: rows [*num_values] f32, see "Buffers" in 1. Asking for the
 * size costs only tokenization. rows is undefined after a failure. LIMIT, naming the text, if it
 * has more than max_tokens tokens and "truncate" is not set; ARGUMENT for a text without tokens, or
 * a token outside the vocabulary; CANCELLED, DEADLINE. */
TENON_API tenon_status tenon_embedder_embed(tenon_embedder* embedder,
                                            const tenon_embedder_batch* batch, float* rows,
                                            size_t capacity, size_t* num_values);

/* Scores how well each text of the batch answers the query; more is better: scores [*num_scores]
 * f32, see "Buffers" in 1. With TENON_POOLING_RANK: the classifier's scores for the pair of texts,
 * one per label. Otherwise: the cosine of their rows, with the prefixes of query and documents
 * (role is not used). Errors as tenon_embedder_embed; UNSUPPORTED with TENON_POOLING_NONE, ARGUMENT
 * for a classifier and tokens. */
TENON_API tenon_status tenon_embedder_rank(tenon_embedder* embedder, const char* query,
                                           size_t length, const tenon_embedder_batch* documents,
                                           float* scores, size_t capacity, size_t* num_scores);

/* Ends the running calls on the embedder with CANCELLED, within a few milliseconds. Any thread, any
 * time, but not in a signal handler. */
TENON_API tenon_status tenon_embedder_cancel(tenon_embedder* embedder);

/* ---- 17. Quantised files -----------------------------------------------------------------------
 *
 * Writes a model file with its matrices in formats of fewer bits. Types of files ("Q4_K_M") are
 * those of llama.cpp: each gives some matrices, in some layers, more bits than the rest.
 *
 *   tenon_quantize_options options = {sizeof options};
 *   options.type = "Q4_K_M";
 *   tenon_quantize("model-f16.gguf", "model-q4.gguf", &options, NULL, NULL);
 */

/* Names of types ("Q4_K_M"), in a fixed order; NULL after the last. They live for ever. */
TENON_API const char* tenon_quantize_type(size_t index);

#define TENON_QUANTIZE_PURE 1u        /* one format for all matrices, without rules for layers */
#define TENON_QUANTIZE_KEEP_OUTPUT 2u /* the output matrix stays as it is */
#define TENON_QUANTIZE_AGAIN 4u       /* accepts matrices that are quantised already */
/* Accepts types of one to three bits (IQ1_S to IQ3_XXS, Q2_K_S) without an importance matrix;
 * answers are poor. */
#define TENON_QUANTIZE_WITHOUT_IMPORTANCE 8u

typedef struct tenon_quantize_options {
  uint32_t struct_size;
  uint32_t flags;         /* TENON_QUANTIZE_* */
  const char* type;       /* one of the names; NULL: every tensor keeps its format, and formats of
                           * folders that no GGUF file holds become F32 */
  const char* formats;    /* NULL, or lines PATTERN=FORMAT for single matrices: the first PATTERN, a
                           * regular expression, that is found in a tensor's name decides.
                           * "@output=FORMAT" means the output matrix, or the embedding that serves
                           * as one, "@embedding=FORMAT" the embedding; these outrank patterns */
  const char* importance; /* NULL, or path of an importance matrix, by which errors are weighed */
  uint64_t threads;       /* 0: all that the process may use */
} tenon_quantize_options;

/* Writes a GGUF file `target` from the GGUF file (any part of a split one) or Hugging Face folder
 * `path`. Keys stay; the tokenizer.json of a folder becomes "tokenizer.huggingface.json", which this
 * library reads.
 * Equal files and options give equal bytes, with any number of threads. The file appears under its
 * name complete or not at all. Takes 16 MiB of memory, a row of f32 for each thread, and the
 * importance matrix.
 *   progress  NULL, or called with 0 <= fraction <= 1 on this thread; nonzero ends it: CANCELLED
 * ARGUMENT for an unknown type, format or pattern, a line that fits no tensor, an importance matrix
 * of another model, and a target that is the model itself; UNSUPPORTED for quantised matrices
 * without TENON_QUANTIZE_AGAIN, for types that need an importance matrix without one or
 * TENON_QUANTIZE_WITHOUT_IMPORTANCE, and a projector; FORMAT for a damaged file and a value
 * that its format cannot hold, naming the tensor; IO. Any thread. */
TENON_API tenon_status tenon_quantize(const char* path, const char* target,
                                      const tenon_quantize_options* options,
                                      tenon_progress_callback progress, void* user);
/* The changes that tenon_quantize would make: a line for each tensor, in the order of the file, with
 * its name, format and bytes before and after, divided by tabs: "output.weight f16 q6_K 1024 420".
 * Writes no file. Errors as tenon_quantize. Buffers: see section 1. */
TENON_API tenon_status tenon_quantize_plan(const char* path, const tenon_quantize_options* options,
                                           char* text, size_t capacity, size_t* length);

/* Importance: mean squares of the inputs of a model's products with weights over a text, by which
 * tenon_quantize weighs errors. Take the texts that the model is for, in their languages; 50,000
 * tokens are plenty. */

#define TENON_IMPORTANCE_SPECIAL 1u /* the text may spell control tokens */
#define TENON_IMPORTANCE_OUTPUT 2u  /* also the output matrix */

typedef struct tenon_importance_options {
  uint32_t struct_size;
  uint32_t flags;        /* TENON_IMPORTANCE_* */
  uint64_t chunk_tokens; /* 0: 512; each part of the text is computed by itself */
  uint64_t max_chunks;   /* 0: all */
  const char* dataset;   /* NULL, or name of the text, kept in the file */
  const char* add_to;    /* NULL, or path of a matrix of the model to which the text is added */
} tenon_importance_options;

/* Computes the model `path` on a text and writes its importance matrix to `target`, a file that
 * llama.cpp reads, too. The file appears complete or not at all. Tokens that do not fill the last
 * part are left out. Experts that no token chose count as unknown.
 *   options     scope MODEL, or NULL: device, threads; "context" and "embeddings" do not count
 *   importance  NULL: the defaults
 *   progress    as in tenon_quantize
 * ARGUMENT for a text shorter than a part and for `add_to` of another model; UNSUPPORTED for a model
 * that gives rows; STATE for one without tensors or opened without them; FORMAT for a damaged file
 * and inputs that are not finite, naming the weight; the errors of tenon_model_open. Any thread. */
TENON_API tenon_status tenon_importance_write(const char* path, const tenon_options* options,
                                              const char* text, size_t length, const char* target,
                                              const tenon_importance_options* importance,
                                              tenon_progress_callback progress, void* user);

/* ---- 18. Adapters ------------------------------------------------------------------------------
 *
 * LoRA: each session of a model can have its own, and sessions with different ones share steps. The
 * model is opened with room for them, on the CPU; opening it is UNSUPPORTED on a device that takes
 * no weights once it is loaded (CUDA, Vulkan):
 *
 *   tenon_options_set(options, "adapter_slots", "8");
 *   tenon_model_open("model.gguf", options, &model);
 *   tenon_adapter_open(model, "my-adapter", &adapter);
 *   tenon_session_add_adapter(session, adapter, 1.0);
 *
 * The option "merged_adapters" adds adapters to the weights of the whole model instead. It also
 * takes those that change more than products of matrices (DoRA, embeddings, biases, saved modules,
 * experts in stacks).
 */

/* Reads an adapter for a model that was opened with "adapter_slots": a folder of PEFT
 * (adapter_config.json and adapter_model.safetensors) or a GGUF file. Other calls may run
 * meanwhile. STATE without the option; FORMAT for a damaged adapter; UNSUPPORTED for one that does
 * not fit the model, or changes what a session cannot change for itself, naming the key or the
 * tensor; LIMIT for a rank above "adapter_rank"; IO. Any thread. */
TENON_API tenon_status tenon_adapter_open(const tenon_model* model, const char* path,
                                          tenon_adapter** adapter);
/* Sessions that have the adapter keep it. */
TENON_API void tenon_adapter_destroy(tenon_adapter* adapter);

/* Adds an adapter, times `scale`, to the sum that changes the model for this session and its forks,
 * from its first token on. Cached text is shared only with sessions of equal adapters and scales. A
 * slot is taken for each different sum, until the last session with it is destroyed or has another.
 * New sums wait for a running step, and are loaded while other requests generate.
 * STATE if the session has tokens (see tenon_session_rewind) or the model no slots; BUSY if all
 * slots are in use; LIMIT if the ranks add up to more than "adapter_rank"; ARGUMENT for an adapter
 * of another model and a scale that is not finite. Nothing changes then. */
TENON_API tenon_status tenon_session_add_adapter(tenon_session* session,
                                                 const tenon_adapter* adapter, double scale);
/* Back to the model itself. STATE as tenon_session_add_adapter. */
TENON_API tenon_status tenon_session_clear_adapters(tenon_session* session);
/* Writes an adapter of any form as a GGUF file, which llama.cpp reads, too. Factors of rsLoRA and of
 * patterns stand in its values.
 *   path    of the adapter, as in tenon_adapter_open
 *   model   path of the model that it was trained for, whose weights are not read
 *   target  complete or not there at all
 * UNSUPPORTED for what such a file cannot say (DoRA, biases, saved modules), naming the tensor, and
 * for another model's; FORMAT; IO. Any thread. */
TENON_API tenon_status tenon_adapter_convert(const char* path, const char* model,
                                             const char* target);
/* Makes the sum of two adapters of one model, each times its scale, as an adapter: a session takes
 * all of it at once, with one slot. The two may be destroyed. ARGUMENT for different models and a
 * scale that is not finite; LIMIT if the ranks add up to more than "adapter_rank". Any thread. */
TENON_API tenon_status tenon_adapter_sum(const tenon_adapter* adapter, double scale,
                                         const tenon_adapter* other, double other_scale,
                                         tenon_adapter** sum);

/* ---- 19. Pictures ------------------------------------------------------------------------------
 *
 * A model that is opened with its tower, a mmproj file, reads pictures. The host decodes them
 * (tenon/media.h can); the library resizes them as the model was trained to see them.
 *
 *   tenon_options_set(options, "projector", "mmproj-model.gguf");
 *   tenon_model_open("model.gguf", options, &model);
 *   tenon_picture picture = {0};
 *   picture.struct_size = sizeof picture;
 *   picture.width = 640, picture.height = 480, picture.channels = 3;
 *   tenon_session_append_picture(session, &picture, rgb, 640 * 480 * 3);
 *   tenon_session_append_text(session, "What is this?", 13, 0);
 *
 * A picture becomes tokens of the text: marks of its family, and tokens that its rows stand for.
 * Equal pictures are encoded once while they are in the model's cache (option
 * "picture_cache_bytes"), and equal texts with equal pictures share what is computed. A text with
 * pictures cannot be saved yet (UNSUPPORTED).
 */

#define TENON_PIXELS_U8 0u  /* 0..255 */
#define TENON_PIXELS_U16 1u /* 0..65535, in the machine's byte order */
#define TENON_PIXELS_F32 2u /* 0..1; values outside are clamped, NaN is 0 */

/* The form of interleaved pixels, from the top left in rows. */
typedef struct tenon_picture {
  uint32_t struct_size;
  uint32_t channels;    /* 1 grey, 2 grey and opacity, 3 RGB, 4 RGB and opacity */
  uint64_t width;       /* 1..32,768 */
  uint64_t height;      /* likewise; at most 178,956,970 pixels in all */
  uint64_t stride;      /* bytes from row to row; 0: rows without a gap */
  uint32_t pixel_type;  /* TENON_PIXELS_* */
  uint32_t orientation; /* as in EXIF, 1..8: 6 is to be turned clockwise; 0: upright */
  uint32_t background;  /* what shows through: 0x01RRGGBB; 0: white */
  uint32_t reserved;
} tenon_picture;

/* Tokens that a picture of this size, upright, takes in a text. STATE for a model without a tower,
 * LIMIT for a size that is refused. */
TENON_API tenon_status tenon_model_picture_tokens(const tenon_model* model, uint64_t width,
                                                  uint64_t height, uint64_t* tokens);
/* The token ("<image>", "[IMG]") that a chat template of the family writes where a picture goes:
 * append the tokens before it, the picture in its place, and go on. STATE for a model without a
 * tower. */
TENON_API tenon_status tenon_model_picture_place(const tenon_model* model, tenon_token* token);

/* Appends a picture to the session's text. It is encoded in this call, between the steps of other
 * sessions; tenon_session_cancel ends that.
 *   pixels  `size` bytes, read before the call returns
 * STATE for a model without a tower; ARGUMENT for channels, a type, a stride, an orientation or a
 * background that does not exist, for NULL, and for fewer bytes than the pixels; LIMIT for a size
 * that is refused and if the context would overflow, before anything is computed; CANCELLED;
 * NO_MEMORY. Nothing is appended then. */
TENON_API tenon_status tenon_session_append_picture(tenon_session* session,
                                                    const tenon_picture* picture,
                                                    const void* pixels, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* TENON_TENON_H */
