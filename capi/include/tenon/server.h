/* Tenon's HTTP server, a library of its own: libtenon-server. It speaks the interfaces of OpenAI
 * (chat completions, responses, completions, embeddings, decisions) and Anthropic (messages) over
 * the models and engines that you give it, and tokenizes, ranks and scores. docs/server.md has the
 * table of routes, docs/server-operations.md explains how to run a server.
 *
 * This file reads from top to bottom: 1 options   2 models   3 addresses   4 running 5 requests
 * without a socket   6 errors, and this interface as data
 *
 * A server in ten lines, without error handling:
 *
 *   tenon_model* model = NULL;
 *   tenon_model_open("demo.gguf", NULL, &model);
 *   tenon_server* server = NULL;
 *   tenon_server_create(NULL, &server);
 *   tenon_server_add_model(server, "demo", 4, model, NULL, 0);
 *   tenon_server_listen_tcp(server, "127.0.0.1", 8080, NULL);
 *   tenon_server_start(server, 0);      // the server's own threads; this one is free
 *   ...
 *   tenon_server_stop(server, 10);      // running answers have ten seconds
 *   tenon_server_destroy(server);
 *   tenon_model_destroy(model);         // after the server
 *
 * The order is always: create, add models, listen (unless all requests are the program's own,
 * section 5), start or run, stop, destroy. Models and addresses added after the start are refused
 * (STATE). examples/serve_in_app shares an engine between a program and its clients;
 * examples/tenon/serve.cpp is the program `tenon serve`.
 *
 * Threads      Any thread may call any function, but only one at a time before the server runs.
 * Ownership    Arguments stay yours: models and engines must outlive the server; strings and
 *              structs are copied before a function returns.
 * Status       As in tenon/tenon.h, section 3. This library has its own messages:
 *              tenon_server_last_error().
 * Structs      Set struct_size and zero the rest; zero means the default. Later versions only
 *              append members. Structs of an older header work. Structs of a newer header work
 *              while the members that this version lacks are zero (else UNSUPPORTED).
 * Ends         A process may end while the server runs: nothing is waited for, and running answers
 *              are cut. dlclose is allowed at any time: the code stays in the process, like that of
 *              the library.
 */
#ifndef TENON_SERVER_H
#define TENON_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_SERVER_API __attribute__((visibility("default")))

typedef struct tenon_server tenon_server;

/* ---- 1. Options --------------------------------------------------------------------------------
 *
 * Options of a server for other machines:
 *
 *   tenon_server_options options = {0};
 *   options.struct_size = sizeof options;
 *   options.api_keys = "3f0c9a17 anna weight=4\n77d1e2b0 bert requests=8\n";
 *   options.api_keys_length = strlen(options.api_keys);
 *   options.tls_certificate_file = "chain.pem";
 *   options.tls_key_file = "key.pem";
 *   options.request_seconds = 300;
 *   tenon_server_create(&options, &server);
 */
typedef struct tenon_server_options {
  uint32_t struct_size;
  uint32_t without_page; /* 1: no chat page at "/" */
  /* One per line: "KEY [NAME] [weight=W] [requests=N]". The client of that name has weight W in the
   * engines' fair shares (1) and N requests at once (any number). Empty lines and lines that begin
   * with '#' do not count. NULL: no key is required. */
  const char* api_keys;
  uint64_t api_keys_length;
  /* Browser pages that may ask, by origin: "https://chat.example.org"; others are answered 403.
   * NULL: "loopback", pages of this machine; "*": all; "": none. */
  const char* cors_origin;
  /* 0 means the default, which each comment names, here and in all numbers below. */
  uint64_t max_body_bytes;    /* per request; 32 MiB; more is answered with 413 */
  uint64_t max_header_bytes;  /* 32 KiB; 431 */
  /* 4096; one more replaces an idle connection, else is answered 503. */
  uint64_t max_connections;
  double header_seconds;  /* from a request's first byte to the end of its headers; 10 */
  double body_seconds;    /* for the body; 60 */
  double idle_seconds;    /* an idle connection waits for the next request; 75 */
  double write_seconds;   /* without a client reading its answer; 60 */
  /* From queueing a generation to its end; then 504, in a stream an error event. 0: no limit. */
  double request_seconds;
  uint64_t memory_bytes;  /* limit for models of tenon_server_add_file; 0: none */
  uint32_t model_control; /* 1: clients may POST to /v1/models/NAME/load and /unload */
  uint32_t log_level;     /* the most detailed TENON_LOG_* wanted: INFO logs each request */
  /* Receives lines of JSON from a thread of the server's, until tenon_server_destroy returns. It
   * should not wait: lines without room are dropped and counted, and a stop abandons a call that
   * takes longer than half a second. NULL: no log. */
  tenon_log_callback log;
  void* log_user;
  /* OpenTelemetry collector, "http://HOST:PORT": receives a span per request. NULL: none. */
  const char* otlp_address;
  /* Both, in PEM, the first with its chain: TCP connections are then HTTPS. IO if they cannot be
   * used, UNSUPPORTED in a library without TLS. */
  const char* tls_certificate_file;
  const char* tls_key_file;
  /* Answers remembered as tokens, so that conversations that come back in other words
   * (docs/server.md) reuse computed tokens; 64 MiB. */
  uint64_t echo_bytes;
  uint64_t response_bytes; /* kept responses for "previous_response_id"; 64 MiB */
  uint32_t no_echo_repair; /* 1: remember no answer; prompts are the template's output */
  uint32_t reserved_end;
  /* All bodies, and answers that clients have not read, together; 512 MiB. Beyond it requests and
   * whole answers are refused with 503, and streams wait. */
  uint64_t max_pending_bytes;
  /* Per address, for IPv6 per network of 64 bits; half of max_connections, and any number from this
   * machine. */
  uint64_t max_connections_per_address;
  /* Names by which clients may ask ("Host") if the server listens on a loopback address,
   * "a.example, b.example"; others are answered 403. "*": all; NULL: "localhost", addresses, names
   * without a dot, and the name listened on. */
  const char* allowed_hosts;
} tenon_server_options;

/* options may be NULL for the defaults. ARGUMENT if struct_size or another value is invalid; IO or
 * UNSUPPORTED if TLS cannot be set up. */
TENON_SERVER_API tenon_status tenon_server_create(const tenon_server_options* options,
                                                  tenon_server** server);
/* Stops the server as tenon_server_stop(server, 0) does. NULL is allowed. */
TENON_SERVER_API void tenon_server_destroy(tenon_server* server);

/* ---- 2. Models ---------------------------------------------------------------------------------
 *
 * Any number of models, each under a name that clients give in the field "model" of a request. A
 * single model also gets requests without the field. A model opened with the option "embeddings"
 * serves embeddings, rerank and score; other models generate.
 */

/* Serves a model under a name, in an engine of the server's own. The model must outlive the server.
 *   engine_options  of scope ENGINE, or NULL
 *   context         most tokens of a request's prompt and answer; 0: a session's default
 * ARGUMENT for a name that is empty, taken or has control characters, STATE if the server runs;
 * errors of tenon_engine_create and tenon_embedder_create. */
TENON_SERVER_API tenon_status tenon_server_add_model(tenon_server* server, const char* name,
                                                     size_t name_length, const tenon_model* model,
                                                     const tenon_options* engine_options,
                                                     uint64_t context);
/* Serves a model in your engine, which must outlive the server. The server does not compute in it:
 * a thread of yours runs tenon_engine_run. Otherwise as tenon_server_add_model. */
TENON_SERVER_API tenon_status tenon_server_add_engine(tenon_server* server, const char* name,
                                                      size_t name_length, const tenon_model* model,
                                                      tenon_engine* engine, uint64_t context);

/* A model file that the server opens itself. */
typedef struct tenon_server_model_file {
  uint32_t struct_size;
  uint32_t reserved;
  const char* path;
  const char* model_options;  /* scope MODEL: lines of "key=value"; or NULL */
  const char* engine_options; /* scope ENGINE, likewise */
  uint64_t context;           /* as with tenon_server_add_model */
  uint64_t cache_bytes; /* KV cache, unless in engine_options; 0: four texts of the context */
} tenon_server_model_file;

/* Serves a model file that is loaded when a request asks for it; the request waits. If the sum of
 * loaded models would exceed memory_bytes, the least recently requested model is unloaded first. A
 * model that is answering stays, and the request is told to come again (503). Errors as
 * tenon_server_add_model; ARGUMENT for a model that alone takes more; errors of tenon_model_open
 * for the file, whose weights are not read by this call. */
TENON_SERVER_API tenon_status tenon_server_add_file(tenon_server* server, const char* name,
                                                    size_t name_length,
                                                    const tenon_server_model_file* file);

/* Serves an adapter (LoRA) of a model: requests whose "model" is `name` are answered by the model
 * with the adapter, and "lora" in a request chooses adapters by their number (docs/server.md). May
 * be called while the server runs. The model was opened with "adapter_slots", one for each
 * different sum of adapters that answers at once; a request without a slot is answered 429. Answers
 * are not reused across adapters.
 *   model  name of a model that was added; NULL: the only one
 *   path   a folder of PEFT or a GGUF file; read at once, for a model of tenon_server_add_file when
 *          a request needs it
 *   scale  in requests for `name`
 * ARGUMENT for a name as with tenon_server_add_model, an unknown model and a scale that is not
 * finite; STATE for a model without slots and after tenon_server_stop; errors of
 * tenon_adapter_open. */
TENON_SERVER_API tenon_status tenon_server_add_adapter(tenon_server* server, const char* name,
                                                       size_t name_length, const char* model,
                                                       const char* path, double scale);
/* Serves the adapter no longer; running answers keep it. ARGUMENT for an unknown name. */
TENON_SERVER_API tenon_status tenon_server_remove_adapter(tenon_server* server, const char* name,
                                                          size_t name_length);

/* ---- 3. Addresses ---------------------------------------------------------------------------- */

/* Accepts connections at an address while the server runs. host: an address, or a name, whose first
 * address is used. port 0: any free port; *bound becomes it and may be NULL. May be called for any
 * number of addresses. IO if the address cannot be used; STATE if the server runs. */
TENON_SERVER_API tenon_status tenon_server_listen_tcp(tenon_server* server, const char* host,
                                                      uint16_t port, uint16_t* bound);
/* Accepts connections at a Unix socket; the file is removed at the end. An existing file is
 * replaced if nothing listens on it. Errors as tenon_server_listen_tcp. */
TENON_SERVER_API tenon_status tenon_server_listen_unix(tenon_server* server, const char* path);

/* ---- 4. Running --------------------------------------------------------------------------------
 *
 * A server on your threads, for a host with its own executor:
 *
 *   std::jthread sockets([&] { tenon_server_run(server); });
 *   std::jthread engine([&] { tenon_server_run(server); });
 *   std::jthread parsing([&] { tenon_server_run(server); });
 *   ...
 *   tenon_server_stop(server, 10);  // the three return
 */

/* Starts threads that call tenon_server_run. 0: as many as are useful: one for the sockets, three
 * that prepare requests, and one per model that the server computes. STATE after tenon_server_stop.
 */
TENON_SERVER_API tenon_status tenon_server_start(tenon_server* server, uint32_t num_threads);
/* Lends the calling thread to the server until it is stopped. Any number of threads may call it,
 * also together with tenon_server_start. The first thread serves the sockets; the next ones
 * compute, one per model except those of tenon_server_add_engine; the others parse and prepare. A
 * single thread does everything, and sockets then wait while a step runs. Returns at once after
 * tenon_server_stop. */
TENON_SERVER_API tenon_status tenon_server_run(tenon_server* server);
/* Stops the server. New requests and /ready are answered with 503 until the end. Running answers
 * have `seconds` to finish; the others are cancelled (503, or an event of that error in a stream,
 * which clients have half a second to read). Returns when no thread is in the server; logs and
 * traces have another half second. The server cannot run again. Any thread except those in
 * tenon_server_run. */
TENON_SERVER_API tenon_status tenon_server_stop(tenon_server* server, double seconds);

/* ---- 5. Requests without a socket --------------------------------------------------------------
 *
 * The program asks like a client and gets the same answers, without sockets. The server need not
 * listen, but it must run (tenon_server_start, tenon_server_run).
 *
 *   const char* body =
 *       "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"stream\": true}";
 *   tenon_server_request request = {0};
 *   request.struct_size = sizeof request;
 *   request.method = "POST";
 *   request.target = "/v1/chat/completions";
 *   request.body = body;
 *   request.body_length = strlen(body);
 *   tenon_server_call* call = NULL;
 *   if (tenon_server_submit(server, &request, &call) != TENON_OK) return;
 *   tenon_server_part part = {0};
 *   part.struct_size = sizeof part;
 *   while (!part.is_last && tenon_server_call_wait(call, -1, &part) == TENON_OK)
 *     fwrite(part.bytes, 1, part.length, stdout);
 *   tenon_server_call_destroy(call);
 */

/* A request of the program and its answer. One thread at a time. */
typedef struct tenon_server_call tenon_server_call;

/* A request. Read only during tenon_server_submit. */
typedef struct tenon_server_request {
  uint32_t struct_size;
  uint32_t reserved;
  const char* method;  /* "POST" */
  const char* target;  /* "/v1/chat/completions" */
  const char* body;    /* any bytes; may be NULL */
  uint64_t body_length;
  const char* api_key; /* if the server requires one; else NULL */
  /* Called when a part is ready, on any thread; called again only after tenon_server_call_wait. It
   * must not call the server. It is never called after tenon_server_call_destroy has returned. May
   * be NULL. */
  tenon_notify_callback notify;
  void* user;
} tenon_server_request;

/* The part of an answer that came since the last part. Texts are valid until the next call with
 * this tenon_server_call. */
typedef struct tenon_server_part {
  uint32_t struct_size;
  int32_t http_status;      /* 200, 400, ...; 0: the answer has not begun */
  uint32_t is_last;         /* 1: the answer is complete; further calls repeat this */
  uint32_t reserved;
  const char* content_type; /* "application/json"; for a stream "text/event-stream" */
  const char* headers;      /* lines of "Name: value": X-Request-Id, Tenon-Notes, Retry-After */
  const char* bytes;        /* new bytes of the body; events of a stream as they are sent */
  uint64_t length;
} tenon_server_part;

/* Starts a request. Any thread. STATE after tenon_server_stop, ARGUMENT without method or target.
 * Errors of the request itself are in the answer, as a client gets them. */
TENON_SERVER_API tenon_status tenon_server_submit(tenon_server* server,
                                                  const tenon_server_request* request,
                                                  tenon_server_call** call);
/* Cancels the request unless it is complete. Call it before tenon_server_destroy. */
TENON_SERVER_API void tenon_server_call_destroy(tenon_server_call* call);
/* Writes the next part into *part, whose struct_size is set. Waits for it up to timeout_seconds; 0
 * does not wait, negative waits for ever. The answer pauses while 256 KiB of it are not taken.
 * CANCELLED if the server was stopped first. */
TENON_SERVER_API tenon_status tenon_server_call_wait(tenon_server_call* call, double timeout_seconds,
                                                     tenon_server_part* part);

/* ---- 6. Errors, and this interface as data --------------------------------------------------- */

/* One sentence about this thread's last failure of a function above; valid until the next failure.
 */
TENON_SERVER_API const char* tenon_server_last_error(void);

/* This header as JSON, as tenon_interface_description() is for tenon.h. Lives for ever. */
TENON_SERVER_API const char* tenon_server_interface_description(void);

#ifdef __cplusplus
}
#endif

#endif /* TENON_SERVER_H */
