/* Servers, and requests to them without a socket: parts that the generated functions of server.h
 * leave out. */
#include "arguments.h"
#include "functions.h"
#include "log.h"
#include "requests.h"
#include "values.h"

/* ---- server_create(options, log) -> server --------------------------------------------------- */

typedef struct {
  Call call;
  tenon_server_options options;
  Log* log;
  tenon_server* server;
} Call_server_create;

static void parse_server_create(Call* call) {
  Call_server_create* const c = (Call_server_create*)call;
  read_server_options(call, argument(call, 0), &c->options);
  if (call->has_failed || is_absent(call, argument(call, 1))) return;
  c->log = log_create(call, argument(call, 1));
  c->options.log = &log_line;
  c->options.log_user = c->log;
}

static void run_server_create(Call* call) {
  Call_server_create* const c = (Call_server_create*)call;
  call->status = api.server_create(&c->options, &c->server);
  keep_server_message(call);
}

static napi_value result_server_create(Call* call) {
  Call_server_create* const c = (Call_server_create*)call;
  napi_value const object = handle_value(call, KIND_server, c->server, 0);
  Handle* const handle = object == NULL ? NULL : handle_of(call->env, object);
  c->server = NULL;
  if (handle == NULL) return NULL;
  handle->log = c->log;
  c->log = NULL;
  return object;
}

/* Frees parts that no handle took. */
static void free_server_create(Call* call) {
  Call_server_create* const c = (Call_server_create*)call;
  if (c->server != NULL) api.server_destroy(c->server);
  if (c->log != NULL) log_end(c->log);
}

/* ---- server_submit(server, request) -> call -------------------------------------------------- */

typedef struct {
  Call call;
  tenon_server* server;
  tenon_server_request request;
  Notice* notice;
  tenon_server_call* made;
} Call_server_submit;

static void parse_server_submit(Call* call) {
  Call_server_submit* const c = (Call_server_submit*)call;
  c->server = as_handle(call, argument(call, 0), "server", KIND_server, 0);
  read_server_request(call, argument(call, 1), &c->request);
  c->notice = notice_create(call);
  c->request.notify = &notice_tell;
  c->request.user = c->notice;
}

static void run_server_submit(Call* call) {
  Call_server_submit* const c = (Call_server_submit*)call;
  call->status = api.server_submit(c->server, &c->request, &c->made);
  keep_server_message(call);
}

static napi_value result_server_submit(Call* call) {
  Call_server_submit* const c = (Call_server_submit*)call;
  napi_value const object = handle_value(call, KIND_server_call, c->made, 0);
  Handle* const handle = object == NULL ? NULL : handle_of(call->env, object);
  c->made = NULL;
  if (handle == NULL) return NULL;
  handle->notice = c->notice;
  c->notice = NULL;
  /* The server was closed meanwhile, and waits for its calls. */
  if (handle->owner->is_closed) handle_close(handle, NULL);
  return object;
}

static void free_server_submit(Call* call) {
  Call_server_submit* const c = (Call_server_submit*)call;
  if (c->made != NULL) api.server_call_destroy(c->made);
  if (c->notice != NULL) notice_free(c->notice);
}

static const Function functions[] = {
    {"server_create", 2, sizeof(Call_server_create), (void**)&api.server_create,
     &parse_server_create, &run_server_create, &result_server_create, &free_server_create},
    {"server_submit", 2, sizeof(Call_server_submit), (void**)&api.server_submit,
     &parse_server_submit, &run_server_submit, &result_server_submit, &free_server_submit},
};
const FunctionList server_list = {functions, 2};
