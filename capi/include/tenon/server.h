/* Tenon's HTTP server, a library of its own: libtenon-server. It speaks the interfaces of OpenAI (chat
 * completions, responses, completions, embeddings, decisions) and Anthropic (messages) over the models and
 * engines that you give it, and tokenizes, ranks and scores. docs/server.md has the table of routes,
 * docs/server-operations.md tells how a server is run.
 *
 * This file reads from top to bottom: 1 options   2 models   3 addresses   4 running
 * 5 requests without a socket   6 errors, and this interface as data
 *
 * A server in ten lines, without its errors:
 *
 *   tenon_model* model = NULL;
 *   tenon_model_open("demo.gguf", NULL, &model);
 *   tenon_server* server = NULL;
 *   tenon_server_create(NULL, &server);
 *   tenon_server_add_model(server, "demo", 4, model, NULL, 0);
 *   tenon_server_listen_tcp(server, "127.0.0.1", 8080, NULL);
 *   tenon_server_start(server, 0);      // threads of the server's; this one is free
 *   ...
 *   tenon_server_stop(server, 10);      // answers under way have ten seconds
 *   tenon_server_destroy(server);
 *   tenon_model_destroy(model);         // after the server
 *
 * The order is always this one: create, add what is served, listen (unless all requests are the program's
 * own, section 5), start or run, stop, destroy. What is added after the start is refused (STATE).
 * examples/serve_in_app shares an engine between a program and its clients; examples/tenon/serve.cpp is the
 * program `tenon serve`.
 *
 * Threads      Any thread may call any function, but only one at a time before the server runs.
 * Ownership    What you pass stays yours: models and engines must outlive the server, strings and structs
 *              are copied before a function returns.
 * Status       As in tenon/tenon.h, section 3. Messages are of this library: tenon_server_last_error().
 * Structs      Set struct_size and zero the rest; zero stands for the default. Later versions append
 *              members only: one of an older header is as good, one of a newer header as long as what this
 *              version lacks is zero (else UNSUPPORTED).
 * Ends         A process may end while the server runs: nothing is waited for, and answers under way are cut.
 *              dlclose is allowed at any time: the code stays in the process, as that of the library does.
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
 * One for more than one's own machine:
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
  const char* api_keys; /* one a line: "KEY [NAME] [weight=W] [requests=N]". The client of that name
                         * has weight W in the engines' fair shares (1) and N requests at once (any).
                         * Empty lines and those after '#' do not count. NULL: no key is asked for. */
  uint64_t api_keys_length;
  const char* cors_origin; /* of pages in browsers that may ask, "https://chat.example.org"; others are
                            * answered 403; NULL: "loopback", those of this machine; "*": all; "": none */
  /* 0 stands for the default, which each comment names, here and in all numbers below. */
  uint64_t max_body_bytes;    /* of a request; 32 MiB; more is answered with 413 */
  uint64_t max_header_bytes;  /* 32 KiB; 431 */
  uint64_t max_connections;   /* 4096; one more takes the place of one that waits for a request, else 503 */
  double header_seconds;  /* from the first byte of a request to the end of its headers; 10 */
  double body_seconds;    /* for its body; 60 */
  double idle_seconds;    /* that a connection may wait for the next request; 75 */
  double write_seconds;   /* that a client may take nothing of its answer; 60 */
  double request_seconds; /* of a generation, from when it is queued to its end; else 504, in a stream an error
                           * event; 0: any */
  uint64_t memory_bytes;  /* of the models of tenon_server_add_file that are loaded at a time; 0: any */
  uint32_t model_control; /* 1: clients may ask for POST /v1/models/NAME/load and /unload */
  uint32_t log_level;     /* the most detailed TENON_LOG_* wanted: INFO has a line for each request */
  tenon_log_callback log; /* gets lines of JSON from a thread of the server's, until tenon_server_destroy returns.
                           * It should not wait: lines for which there is no room are dropped and counted, and a
                           * stop leaves a call that takes longer than half a second behind. NULL: none */
  void* log_user;
  const char* otlp_address; /* of an OpenTelemetry collector, "http://HOST:PORT": gets a span for each
                             * request; NULL: none */
  /* Both, in PEM, the first with its chain: connections over TCP are then HTTPS. IO where they cannot be
   * used, UNSUPPORTED in a library without TLS. */
  const char* tls_certificate_file;
  const char* tls_key_file;
  uint64_t echo_bytes;    /* of answers that are remembered as tokens, so that conversations that come
                           * back in other words (docs/server.md) reuse what was computed; 64 MiB */
  uint64_t response_bytes; /* of responses that "previous_response_id" may name; 64 MiB */
  uint32_t no_echo_repair; /* 1: no answer is remembered, prompts are what the template makes of them */
  uint32_t reserved_end;
  uint64_t max_pending_bytes; /* of all bodies and all answers that clients have not taken, together; 512 MiB; beyond
                               * it requests and whole answers are refused with 503, and streams wait */
  uint64_t max_connections_per_address; /* from one address, of IPv6 from one network of 64 bits; half of
                               * max_connections, and any number from this machine */
  const char* allowed_hosts; /* names by which clients may ask ("Host") where the server listens on a loopback
                              * address, "a.example, b.example"; "*": all; NULL: "localhost", addresses, names
                              * without a dot and the one listened on; others are answered 403 */
} tenon_server_options;

/* options: NULL for the defaults. ARGUMENT for a struct_size that cannot be, or values that are wrong; of TLS
 * also IO and UNSUPPORTED. */
TENON_SERVER_API tenon_status tenon_server_create(const tenon_server_options* options,
                                                  tenon_server** server);
/* Stops it as tenon_server_stop(server, 0) does. NULL is allowed. */
TENON_SERVER_API void tenon_server_destroy(tenon_server* server);

/* ---- 2. Models ---------------------------------------------------------------------------------
 *
 * Any number, each under a name by which clients ask for it: the field "model" of a request. One alone also
 * gets the requests without the field. A model opened with the option "embeddings" serves embeddings, rerank
 * and score, others generate.
 */

/* Serves a model under a name, in an engine of the server's own. The model must outlive the server.
 *   engine_options  of scope ENGINE, or NULL
 *   context         most tokens of a request's prompt and answer; 0: as a session has by default
 * ARGUMENT for a name that is empty, taken or has control characters, STATE when the server runs; what
 * tenon_engine_create and tenon_embedder_create say of the model. */
TENON_SERVER_API tenon_status tenon_server_add_model(tenon_server* server, const char* name,
                                                     size_t name_length, const tenon_model* model,
                                                     const tenon_options* engine_options,
                                                     uint64_t context);
/* The same in an engine of yours, which must outlive the server. The server does not compute in it: a
 * thread of yours is in tenon_engine_run. */
TENON_SERVER_API tenon_status tenon_server_add_engine(tenon_server* server, const char* name,
                                                      size_t name_length, const tenon_model* model,
                                                      tenon_engine* engine, uint64_t context);

/* A model that the server opens by itself. */
typedef struct tenon_server_model_file {
  uint32_t struct_size;
  uint32_t reserved;
  const char* path;
  const char* model_options;  /* of scope MODEL: "key=value", one a line; or NULL */
  const char* engine_options; /* of scope ENGINE, likewise */
  uint64_t context;           /* as with tenon_server_add_model */
  uint64_t cache_bytes; /* of the KV cache, unless engine_options say; 0: four texts of the context */
} tenon_server_model_file;

/* Serves a model from when a request asks for it: the request waits until it is loaded. Where the sum is
 * beyond memory_bytes, the model that was not asked for the longest goes first; one that answers stays,
 * and the request is told to come again (503). Errors as with add_model; ARGUMENT for a model that alone
 * takes more; what tenon_model_open says of the file, of which the weights are not read here. */
TENON_SERVER_API tenon_status tenon_server_add_file(tenon_server* server, const char* name,
                                                    size_t name_length,
                                                    const tenon_server_model_file* file);

/* ---- 3. Addresses ------------------------------------------------------------------------------ */

/* Takes connections there from when it runs on. host: an address, or a name, of which the first address is
 * taken. port 0: any that is free; *bound, which may be NULL, becomes the one. May be called for any number
 * of addresses. IO when that cannot be; STATE when the server runs. */
TENON_SERVER_API tenon_status tenon_server_listen_tcp(tenon_server* server, const char* host,
                                                      uint16_t port, uint16_t* bound);
/* A Unix socket; the file is removed at the end. One that lies there is replaced if nothing listens on it.
 * Errors as above. */
TENON_SERVER_API tenon_status tenon_server_listen_unix(tenon_server* server, const char* path);

/* ---- 4. Running --------------------------------------------------------------------------------
 *
 * A server whose threads are yours, as a host with an executor of its own has it:
 *
 *   std::jthread sockets([&] { tenon_server_run(server); });
 *   std::jthread engine([&] { tenon_server_run(server); });
 *   std::jthread parsing([&] { tenon_server_run(server); });
 *   ...
 *   tenon_server_stop(server, 10);  // the three return
 */

/* Starts threads, which do what tenon_server_run tells. 0: as many as there is use for: one for the sockets,
 * three that prepare, and one for each model that the server computes. STATE after tenon_server_stop. */
TENON_SERVER_API tenon_status tenon_server_start(tenon_server* server, uint32_t num_threads);
/* Lends the calling thread to the server until it is stopped; may be called by any number of threads, and
 * beside tenon_server_start. The first one serves the sockets, the next ones compute, one for each model
 * but those of tenon_server_add_engine, the others parse and prepare. One alone does all of it, and then
 * sockets wait while a step runs. Returns at once after tenon_server_stop. */
TENON_SERVER_API tenon_status tenon_server_run(tenon_server* server);
/* Takes no more requests (until the end, /ready and they are answered with 503), waits up to `seconds` for the
 * answers under way, cancels the others (503, or an event of that error in a stream, which clients have half a
 * second to take), and returns when no thread is in the server; logs and traces have half a second then. It cannot
 * run again. Any thread but those in tenon_server_run. */
TENON_SERVER_API tenon_status tenon_server_stop(tenon_server* server, double seconds);

/* ---- 5. Requests without a socket --------------------------------------------------------------
 *
 * The program that the server is in asks as a client does, and gets the same answers, without sockets: the
 * server needs none to listen on, but it must run (tenon_server_start, tenon_server_run).
 *
 *   const char* body = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"stream\": true}";
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

/* A request of the program itself, and its answer. One thread at a time. */
typedef struct tenon_server_call tenon_server_call;

/* Only read during tenon_server_submit. */
typedef struct tenon_server_request {
  uint32_t struct_size;
  uint32_t reserved;
  const char* method;  /* "POST" */
  const char* target;  /* "/v1/chat/completions" */
  const char* body;    /* any bytes; may be NULL */
  uint64_t body_length;
  const char* api_key; /* where the server asks for one; else NULL */
  /* There is something to take; on any thread, and again only after tenon_server_call_wait. It must not
   * call the server, and is never called again when tenon_server_call_destroy has returned. May be NULL. */
  tenon_notify_callback notify;
  void* user;
} tenon_server_request;

/* What has come of an answer since it was looked at last. Texts are valid until the next call on it. */
typedef struct tenon_server_part {
  uint32_t struct_size;
  int32_t http_status;      /* 200, 400, ...; 0: the answer has not begun */
  uint32_t is_last;         /* 1: the answer is complete; further calls say so again, without bytes */
  uint32_t reserved;
  const char* content_type; /* "application/json"; of a stream "text/event-stream" */
  const char* headers;      /* "Name: value", one a line: X-Request-Id, Tenon-Notes, Retry-After */
  const char* bytes;        /* of the body, what has come since; events of a stream as they are sent */
  uint64_t length;
} tenon_server_part;

/* Any thread. STATE after tenon_server_stop, ARGUMENT without method or target. What is wrong with the
 * request is in the answer, as a client gets it. */
TENON_SERVER_API tenon_status tenon_server_submit(tenon_server* server,
                                                  const tenon_server_request* request,
                                                  tenon_server_call** call);
/* Cancels the request unless it is complete. Before tenon_server_destroy. */
TENON_SERVER_API void tenon_server_call_destroy(tenon_server_call* call);
/* What there is, into *part, of which struct_size is set; waits for it so many seconds, 0: not at all,
 * negative: for ever. A call that takes
 * nothing makes the answer wait (256 KiB). CANCELLED when the server was stopped first. */
TENON_SERVER_API tenon_status tenon_server_call_wait(tenon_server_call* call, double timeout_seconds,
                                                     tenon_server_part* part);

/* ---- 6. Errors, and this interface as data ----------------------------------------------------- */

/* About the last failure of a function above on this thread; valid until the next one. */
TENON_SERVER_API const char* tenon_server_last_error(void);

/* What tenon_interface_description() is for tenon.h, for this header. Lives for ever. */
TENON_SERVER_API const char* tenon_server_interface_description(void);

#ifdef __cplusplus
}
#endif

#endif /* TENON_SERVER_H */
