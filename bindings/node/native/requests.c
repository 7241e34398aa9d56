/* See requests.h. */
#include "requests.h"

#include <stdlib.h>

#include "arguments.h"
#include "functions.h"
#include "values.h"

struct Notice {
  Item item;
  Environment* environment;
  /* Under the lock of the environment. */
  bool is_told; /* since the last look */
  bool is_posted;
  napi_deferred waiting; /* for it, or NULL */
};

/* On the thread of JavaScript: wakes the waiter. */
static void resolve_waiting(Notice* notice, napi_env env, napi_deferred waiting) {
  if (waiting == NULL) return;
  napi_resolve_deferred(env, waiting, undefined_value(env));
  environment_came(notice->environment, env);
}

static void deliver_notice(Item* item, napi_env env) {
  Notice* const notice = (Notice*)((char*)item - offsetof(Notice, item));
  pthread_mutex_lock(&notice->environment->lock);
  napi_deferred const waiting = notice->waiting;
  notice->is_posted = false;
  notice->is_told = false;
  notice->waiting = NULL;
  pthread_mutex_unlock(&notice->environment->lock);
  if (env != NULL) resolve_waiting(notice, env, waiting);
}

Notice* notice_create(Call* call) {
  Notice* const notice = call->has_failed ? NULL : calloc(1, sizeof *notice);
  if (notice == NULL) {
    fail_argument(call, "no memory for a request", NULL);
    return NULL;
  }
  notice->item.deliver = &deliver_notice;
  notice->environment = call->environment;
  environment_hold(call->environment);
  return notice;
}

void notice_tell(void* user) {
  Notice* const notice = user;
  pthread_mutex_lock(&notice->environment->lock);
  notice->is_told = true;
  if (notice->waiting != NULL && !notice->is_posted) {
    notice->is_posted = environment_post_locked(notice->environment, &notice->item);
  }
  pthread_mutex_unlock(&notice->environment->lock);
}

void notice_stop(Notice* notice, napi_env env) {
  pthread_mutex_lock(&notice->environment->lock);
  napi_deferred const waiting = notice->waiting;
  notice->waiting = NULL;
  pthread_mutex_unlock(&notice->environment->lock);
  resolve_waiting(notice, env, waiting);
}

void notice_free(Notice* notice) {
  pthread_mutex_lock(&notice->environment->lock);
  if (notice->is_posted) environment_take_back_locked(notice->environment, &notice->item);
  pthread_mutex_unlock(&notice->environment->lock);
  environment_release(notice->environment);
  free(notice);
}

napi_value request_ready(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value request = NULL, answer = NULL;
  napi_deferred waiting = NULL;
  napi_get_cb_info(env, info, &count, &request, NULL, NULL);
  Handle* const handle = handle_of(env, request);
  if (handle == NULL || handle->notice == NULL || handle->is_closed) {
    throw_status(environment_of(env), env, TENON_ERROR_STATE, "the request has been closed");
    return NULL;
  }
  Notice* const notice = handle->notice;
  if (napi_create_promise(env, &waiting, &answer) != napi_ok) return NULL;
  pthread_mutex_lock(&notice->environment->lock);
  const bool is_told = notice->is_told || notice->waiting != NULL;
  notice->is_told = false;
  if (!is_told) notice->waiting = waiting;
  pthread_mutex_unlock(&notice->environment->lock);
  if (is_told) {
    napi_resolve_deferred(env, waiting, undefined_value(env));
    napi_get_boolean(env, true, &answer);
  } else {
    environment_await(notice->environment, env);
  }
  return answer;
}

/* ---- session_submit(session, submission, sampling, grammar, tokenizer) -> request ------------ */

/* sampling: sampler options instead of a sampler; the made sampler gets the grammar. */
typedef struct {
  Call call;
  tenon_session* session;
  tenon_submission submission;
  OptionList* sampling;
  tenon_grammar* grammar;
  tenon_tokenizer* tokenizer;
  Notice* notice;
  tenon_request* request;
} Call_session_submit;

static void parse_session_submit(Call* call) {
  Call_session_submit* const c = (Call_session_submit*)call;
  c->session = as_handle(call, argument(call, 0), "session", KIND_session, 0);
  read_submission(call, argument(call, 1), &c->submission);
  c->sampling = as_options(call, argument(call, 2), "sampling");
  c->grammar = as_handle(call, argument(call, 3), "grammar", KIND_grammar, NULLABLE);
  c->tokenizer = as_handle(call, argument(call, 4), "tokenizer", KIND_tokenizer, NULLABLE);
  c->notice = notice_create(call);
  c->submission.notify = &notice_tell;
  c->submission.user = c->notice;
}

/* A sampler of its own, which the submission copies. */
static tenon_sampler* make_sampler(Call_session_submit* c) {
  Call* const call = &c->call;
  tenon_options* options = NULL;
  tenon_sampler* sampler = NULL;
  if (!make_options(call, c->sampling, &options)) return NULL;
  call->status = api.sampler_create(options, &sampler);
  keep_message(call);
  if (options != NULL) api.options_destroy(options);
  return sampler;
}

static void run_session_submit(Call* call) {
  Call_session_submit* const c = (Call_session_submit*)call;
  tenon_sampler* made = NULL;
  if (c->submission.sampler == NULL && (c->sampling != NULL || c->grammar != NULL)) {
    made = make_sampler(c);
    c->submission.sampler = made;
  }
  if (call->status == TENON_OK && c->grammar != NULL) {
    /* A given sampler is used by this call exclusively. */
    call->status =
        api.sampler_set_grammar((tenon_sampler*)c->submission.sampler, c->grammar, c->tokenizer);
    keep_message(call);
  }
  if (call->status == TENON_OK) {
    call->status = api.session_submit(c->session, &c->submission, &c->request);
    keep_message(call);
  }
  if (made != NULL) api.sampler_destroy(made);
}

static napi_value result_session_submit(Call* call) {
  Call_session_submit* const c = (Call_session_submit*)call;
  napi_value const object = handle_value(call, KIND_request, c->request, 0);
  Handle* const handle = object == NULL ? NULL : handle_of(call->env, object);
  c->request = NULL;
  if (handle == NULL) return NULL;
  handle->notice = c->notice;
  c->notice = NULL;
  /* The session was closed meanwhile, and waits for its request. */
  if (handle->owner->is_closed) handle_close(handle, NULL);
  return object;
}

/* Frees parts that no handle took: the environment has ended, or the call failed. */
static void free_session_submit(Call* call) {
  Call_session_submit* const c = (Call_session_submit*)call;
  if (c->request != NULL) api.request_destroy(c->request);
  if (c->notice != NULL) notice_free(c->notice);
}

static const Function functions[] = {
    {"session_submit", 5, sizeof(Call_session_submit), (void**)&api.session_submit,
     &parse_session_submit, &run_session_submit, &result_session_submit, &free_session_submit},
};
const FunctionList request_list = {functions, 1};
