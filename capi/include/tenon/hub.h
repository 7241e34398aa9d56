/* Getting models, a library of its own: libtenon-hub. It finds models that are on this machine and
 * fetches others from a model hub, or from a plain address, by libcurl, which it opens at run time.
 * libtenon itself never opens a socket. docs/use/getting-models.md shows it in use.
 *
 * This file reads from top to bottom: 1 options   2 models   3 pulling and finding   4 list and
 * remove   5 errors, and this interface as data
 *
 * A model by its name, without error handling:
 *
 *   tenon_hub_options options = {0};
 *   options.struct_size = sizeof options;
 *   options.cache_folder = "/home/anna/.cache/huggingface/hub";
 *   tenon_hub* hub = NULL;
 *   tenon_hub_create(&options, &hub);
 *   tenon_hub_model* found = NULL;
 *   tenon_hub_pull(hub, "hf:owner/name:Q4_K_M", NULL, NULL, &found);
 *   tenon_hub_model_info info = {0};
 *   info.struct_size = sizeof info;
 *   tenon_hub_model_get_info(found, &info);
 *   tenon_model_open(info.path, NULL, &model);
 *   tenon_hub_model_destroy(found);
 *   tenon_hub_destroy(hub);
 *
 * References   hf:OWNER/NAME             the quantisation that fits best, else the folder
 *              hf:OWNER/NAME:Q4_K_M      a quantisation, in any case
 *              hf:OWNER/NAME:a/b.gguf    a file; of a split model any part
 *              hf:OWNER/NAME@REVISION    a branch, tag or commit; before ":"
 *              https://HOST/FILE.gguf    a plain address
 *              ollama:NAME:TAG, lmstudio:PUBLISHER/MODEL, llama.cpp:FILE
 *                                        models of other programs, read where they are
 * Threads      Any thread may call any function. A call does its work on the calling thread; no
 *              thread is started.
 * Processes    Any number may pull at once: one fetches a file, the others wait for it.
 * Status       As in tenon/tenon.h, section 3. This library has its own messages:
 *              tenon_hub_last_error().
 * Structs      Set struct_size and zero the rest; zero means the default. Later versions only
 *              append members. Structs of an older header work. Structs of a newer header work
 *              while the members that this version lacks are zero (else UNSUPPORTED).
 * Environment  The library reads none: folders, token and proxy are options.
 */
#ifndef TENON_HUB_H
#define TENON_HUB_H

#include <stddef.h>
#include <stdint.h>
#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_HUB_API __attribute__((visibility("default")))

/* Access to models. Any thread. */
typedef struct tenon_hub tenon_hub;
/* A model that was found or pulled. Any thread. */
typedef struct tenon_hub_model tenon_hub_model;
/* Models on this machine. Any thread. */
typedef struct tenon_hub_list tenon_hub_list;

/* ---- 1. Options ------------------------------------------------------------------------------ */

/* Strings are copied. NULL means none unless the comment says otherwise. */
typedef struct tenon_hub_options {
  uint32_t struct_size;
  uint32_t offline;     /* 1: nothing is fetched; what is here is found */
  const char* endpoint; /* of the hub or a mirror; NULL: "https://huggingface.co" */
  /* Sent to the endpoint alone, never to a host that it redirects to. */
  const char* token;
  /* Cache in the layout of the Python package huggingface_hub, shared with other programs; needed
   * for "hf:". */
  const char* cache_folder;
  const char* url_folder;      /* of files from plain addresses, which need it */
  const char* ollama_folder;   /* "models" of Ollama, with manifests/ and blobs/; only read */
  const char* lmstudio_folder; /* "models" of LM Studio; only read */
  const char* llamacpp_folder; /* cache of llama.cpp before 2026; only read */
  /* "http://HOST:PORT", "socks5h://HOST:PORT"; not used for addresses of this machine */
  const char* proxy;
  const char* no_proxy;        /* hosts without the proxy, "a.example,b.example" */
  const char* ca_file;         /* certificates in PEM; NULL: the system's */
  uint32_t connections;        /* per file; 4 */
  uint32_t retries;            /* failures in a row after which a file is given up; 5 */
  double stall_seconds; /* a connection that brings less than 1 KiB in that time is renewed; 30 */
  double connect_seconds; /* 20 */
  double retry_seconds;   /* before the first retry, doubled each time; 1 */
  uint64_t memory_bytes;  /* that a model may take, where one is chosen; 0: what is free */
  uint64_t context;       /* positions for which it must fit; 0: a session's default */
  uint64_t piece_bytes;   /* of a file that are kept or fetched again as one; 4 MiB */
} tenon_hub_options;

/* ARGUMENT for NULL options, an invalid struct_size, endpoint or token, or a token for an endpoint
 * without TLS that is not on this machine. No connection is made. */
TENON_HUB_API tenon_status tenon_hub_create(const tenon_hub_options* options, tenon_hub** hub);
/* No call may be running. NULL is allowed. */
TENON_HUB_API void tenon_hub_destroy(tenon_hub* hub);

/* ---- 2. Models ------------------------------------------------------------------------------- */

/* Facts about a model. Texts live as long as the object that they come from. */
typedef struct tenon_hub_model_info {
  uint32_t struct_size;
  uint32_t is_whole;     /* 0: parts of a split model are missing */
  const char* reference; /* by which it is found again */
  const char* path;      /* for tenon_model_open: a file (of a split model the first) or a folder */
  const char* projector; /* file of the multimodal projector beside it; "" if there is none */
  const char* source;    /* "hub", "url", "ollama", "lmstudio", "llama.cpp" */
  const char* commit;    /* of "hub": 40 digits; else "" */
  const char* note; /* why this one was chosen, and what could not be verified; "" if nothing */
  uint64_t size_bytes; /* of all its files */
  uint64_t num_files;
} tenon_hub_model_info;

/* Writes into *info, whose struct_size is set. */
TENON_HUB_API tenon_status tenon_hub_model_get_info(const tenon_hub_model* model,
                                                    tenon_hub_model_info* info);
/* Frees the object; the files stay. NULL is allowed. */
TENON_HUB_API void tenon_hub_model_destroy(tenon_hub_model* model);

/* ---- 3. Pulling and finding ------------------------------------------------------------------ */

#define TENON_HUB_ASKING 1u      /* for the list of files */
#define TENON_HUB_WAITING 2u     /* for another process that fetches the file */
#define TENON_HUB_DOWNLOADING 3u
#define TENON_HUB_VERIFYING 4u   /* the digest of what has arrived */

/* How far a pull is. Valid during the callback. */
typedef struct tenon_hub_progress {
  uint32_t struct_size;
  uint32_t phase;   /* TENON_HUB_* */
  const char* file; /* path in the repository; "" while asking */
  uint64_t file_index;
  uint64_t num_files;
  uint64_t bytes_done;  /* of all files, with what was there before */
  uint64_t bytes_total; /* 0 while unknown */
} tenon_hub_progress;

/* Called on the thread of the call, at most ten times a second. Nonzero ends it: CANCELLED. */
typedef int32_t (*tenon_hub_progress_callback)(void* user, const tenon_hub_progress* progress);

/* Fetches what is missing of a model. Bytes that arrived before a failure, a cancellation or the
 * end of the process are kept, and the next call goes on from them; a plain address without an ETag
 * begins again. Every fetched byte is verified by the digest that the hub tells (info.note says if it
 * tells none, as plain addresses do), and a file appears under its name only when it is whole. What
 * the cache holds already is taken by its name and size, without reading it.
 *   reference  zero-terminated
 *   progress   may be NULL
 * Errors: CANCELLED; ARGUMENT for a reference that is malformed or names what is not there (with the
 * nearest name), and without access; IO for network and disk; FORMAT for bytes that are not those
 * announced; LIMIT if no quantisation fits into the memory; STATE offline for what is not here;
 * UNSUPPORTED without libcurl or libcrypto, and for files that are no model for this library. */
TENON_HUB_API tenon_status tenon_hub_pull(tenon_hub* hub, const char* reference,
                                          tenon_hub_progress_callback progress, void* user,
                                          tenon_hub_model** model);
/* Finds a model that is on this machine; asks nobody. STATE if it is not here; ARGUMENT for a
 * malformed reference, or for a model that another program does not have. */
TENON_HUB_API tenon_status tenon_hub_find(const tenon_hub* hub, const char* reference,
                                          tenon_hub_model** model);
/* Ends the running pulls within 200 ms, also from other threads. Later ones are CANCELLED, too. */
TENON_HUB_API void tenon_hub_cancel(tenon_hub* hub);

/* ---- 4. List and remove ---------------------------------------------------------------------- */

/* All models in the folders of the options. Damaged entries are left out. */
TENON_HUB_API tenon_status tenon_hub_list_create(const tenon_hub* hub, tenon_hub_list** list);
/* 0 for NULL. */
TENON_HUB_API size_t tenon_hub_list_size(const tenon_hub_list* list);
/* ARGUMENT if index is not below the size. */
TENON_HUB_API tenon_status tenon_hub_list_get_info(const tenon_hub_list* list, size_t index,
                                                   tenon_hub_model_info* info);
TENON_HUB_API void tenon_hub_list_destroy(tenon_hub_list* list);
/* Removes a model that was pulled: "hf:OWNER/NAME" all of it, with ":" one quantisation.
 *   bytes_freed  may be NULL
 * Also files under way from a plain address. ARGUMENT for models of other programs, STATE for what
 * is not here, BUSY for what is being fetched, IO. */
TENON_HUB_API tenon_status tenon_hub_remove(tenon_hub* hub, const char* reference,
                                            uint64_t* bytes_freed);

/* ---- 5. Errors, and this interface as data --------------------------------------------------- */

/* One sentence about this thread's last failure of a function above; valid until the next failure.
 */
TENON_HUB_API const char* tenon_hub_last_error(void);

/* This header as JSON, as tenon_interface_description() is for tenon.h. Lives for ever. */
TENON_HUB_API const char* tenon_hub_interface_description(void);

#ifdef __cplusplus
}
#endif

#endif /* TENON_HUB_H */
