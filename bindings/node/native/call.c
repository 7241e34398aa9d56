/* See call.h. */
#include "call.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "values.h"

typedef struct Block {
  struct Block* next;
  max_align_t data[];
} Block;

void* scratch(Call* call, size_t size) {
  if (call->has_failed) return NULL;
  Block* const block = size < SIZE_MAX / 2 ? calloc(1, sizeof *block + size + 1) : NULL;
  if (block == NULL) {
    fail_argument(call, "no memory for the arguments", NULL);
    return NULL;
  }
  block->next = call->blocks;
  call->blocks = block;
  return block->data;
}

void fail_running(Call* call, tenon_status status, const char* message) {
  call->status = status;
  if (call->message == NULL) call->message = strdup(message);
}

static void keep_message_of(Call* call, const char* (*last_error)(void)) {
  if (call->status != TENON_OK && call->message == NULL) {
    call->message = strdup(last_error != NULL ? last_error() : "");
    // libtenon-server tells no number; the latest one of libtenon is not of this call.
    const bool is_of_server = last_error == api.server_last_error;
    if (call->status == TENON_ERROR_IO && !is_of_server && api.last_system_error != NULL) {
      call->system_error = api.last_system_error();
    }
  }
}

void keep_message(Call* call) { keep_message_of(call, api.last_error); }
void keep_server_message(Call* call) { keep_message_of(call, api.server_last_error); }

void reserve_keeps(Call* call) {
  for (size_t i = 1; !call->has_failed && i < call->num_handles; ++i) {
    Keep* const keep = malloc(sizeof *keep);
    if (keep == NULL) {
      fail_argument(call, "no memory for the arguments", NULL);
      return;
    }
    *keep = (Keep){call->keeps, call->handles[i]};
    call->keeps = keep;
    keep_reserve(keep);
  }
}

bool grow(Call* call, void** buffer, size_t* capacity, size_t needed, size_t size) {
  void* const grown = needed < SIZE_MAX / 2 / size ? realloc(*buffer, needed * size) : NULL;
  if (grown == NULL) {
    fail_running(call, TENON_ERROR_NO_MEMORY, "no memory for the result");
    return false;
  }
  *buffer = grown;
  *capacity = needed;
  return true;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static void throw_failure(Environment* environment, napi_env env, tenon_status status,
                          const char* message, int32_t system_error) {
  napi_value make = NULL, receiver = NULL, error = NULL, arguments[3];
  napi_get_undefined(env, &receiver);
  arguments[0] = int64_value(env, status);
  arguments[1] = name_value(env, message != NULL ? message : "");
  arguments[2] = int64_value(env, system_error);
  if (environment->make_error == NULL ||
      napi_get_reference_value(env, environment->make_error, &make) != napi_ok ||
      napi_call_function(env, receiver, make, 3, arguments, &error) != napi_ok) {
    napi_throw_error(env, NULL, message);
    return;
  }
  napi_throw(env, error);
}

void throw_status(Environment* environment, napi_env env, tenon_status status,
                  const char* message) {
  throw_failure(environment, env, status, message, 0);
}

static void delete_reference(napi_env env, napi_ref* reference) {
  if (*reference != NULL) napi_delete_reference(env, *reference);
  *reference = NULL;
}

/* ---- The way of a call ----------------------------------------------------------------------- */

/* env NULL: the environment has ended. */
static void free_call(Call* call, napi_env env) {
  /* Freed before its parts. */
  if (call->of->free != NULL) call->of->free(call);
  keeps_let_go(call->keeps);
  for (size_t i = 0; i < call->num_handles; ++i) {
    if (call->is_alone[i]) call->handles[i]->is_busy = false;
    handle_unuse(call->handles[i]);
  }
  while (call->blocks != NULL) {
    Block* const block = call->blocks;
    call->blocks = block->next;
    free(block);
  }
  memory_release(call->memory);
  if (env != NULL) {
    delete_reference(env, &call->callback);
    delete_reference(env, &call->thrown);
  }
  free(call->message);
  environment_release(call->environment);
  free(call);
}

/* The result, or NULL with an exception, a callback's first. */
static napi_value finish(Call* call) {
  napi_env const env = call->env;
  napi_value kept = NULL, thrown = NULL;
  if (call->has_thrown && call->thrown != NULL &&
      napi_get_reference_value(env, call->thrown, &kept) == napi_ok &&
      napi_get_element(env, kept, 0, &thrown) == napi_ok) {
    napi_throw(env, thrown);
    return NULL;
  }
  if (call->status != TENON_OK) {
    throw_failure(call->environment, env, call->status, call->message, call->system_error);
    return NULL;
  }
  return call->of->result(call);
}

static Call* begin(napi_env env, napi_callback_info info) {
  void* data = NULL;
  size_t count = MOST_ARGUMENTS;
  napi_value arguments[MOST_ARGUMENTS];
  napi_get_cb_info(env, info, &count, arguments, NULL, &data);
  const Function* const of = data;
  Environment* const environment = environment_of(env);
  if (*of->function == NULL) {
    char message[160] = "no library is in use";
    const bool is_of_server = strncmp(of->name, "server_", 7) == 0;
    if (is_of_server ? api.server_last_error != NULL : api.version != NULL) {
      snprintf(message, sizeof message, "this libtenon%s is another version: it has no tenon_%s",
               is_of_server ? "-server" : "", of->name);
    }
    throw_status(environment, env, TENON_ERROR_UNSUPPORTED, message);
    return NULL;
  }
  Call* const call = calloc(1, of->call_size);
  if (call == NULL) {
    throw_status(environment, env, TENON_ERROR_NO_MEMORY, "no memory for a call");
    return NULL;
  }
  call->of = of;
  call->env = env;
  call->environment = environment;
  environment_hold(environment);
  memcpy(call->arguments, arguments, sizeof arguments);
  of->parse(call);
  if (!call->has_failed) return call;
  free_call(call, env);
  return NULL;
}

napi_value call_now(napi_env env, napi_callback_info info) {
  Call* const call = begin(env, info);
  if (call == NULL) return NULL;
  call->of->run(call);
  napi_value const result = finish(call);
  free_call(call, env);
  return result;
}

static void deliver_call(Item* item, napi_env env) {
  Call* const call = (Call*)((char*)item - offsetof(Call, item));
  if (env == NULL) {
    free_call(call, NULL);
    return;
  }
  napi_deferred const deferred = call->deferred;
  Environment* const environment = call->environment;
  napi_value result = finish(call), thrown = NULL;
  bool has_thrown = false;
  napi_is_exception_pending(env, &has_thrown);
  if (has_thrown) napi_get_and_clear_last_exception(env, &thrown);
  free_call(call, env);
  if (has_thrown || result == NULL) {
    napi_reject_deferred(env, deferred, thrown != NULL ? thrown : undefined_value(env));
  } else {
    napi_resolve_deferred(env, deferred, result);
  }
  environment_came(environment, env);
}

static void run_later(Job* job) {
  Call* const call = (Call*)((char*)job - offsetof(Call, job));
  call->of->run(call);
  if (!environment_post(call->environment, &call->item)) free_call(call, NULL);
}

napi_value call_later(napi_env env, napi_callback_info info) {
  Call* const call = begin(env, info);
  if (call == NULL) return NULL;
  napi_value promise = NULL;
  call->item.deliver = &deliver_call;
  call->job.run = &run_later;
  if (napi_create_promise(env, &call->deferred, &promise) != napi_ok) {
    free_call(call, env);
    return NULL;
  }
  environment_await(call->environment, env);
  if (!threads_run(&call->job)) {
    fail_running(call, TENON_ERROR_NO_MEMORY, "no thread can be started");
    deliver_call(&call->item, env);
  }
  return promise;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* A running call's question to JavaScript, on the stack of the waiting thread. */
typedef struct {
  Item item;
  Call* call;
  size_t (*make)(napi_env env, const void* data, napi_value* arguments);
  const void* data;
  bool is_answered;
  int32_t answer;
} Question;

static void keep_thrown(Call* call, napi_env env) {
  napi_value thrown = NULL, kept = NULL;
  call->has_thrown = true;
  napi_get_and_clear_last_exception(env, &thrown);
  if (napi_create_array_with_length(env, 1, &kept) == napi_ok) {
    napi_set_element(env, kept, 0, thrown);
    napi_create_reference(env, kept, 1, &call->thrown);
  }
}

static int32_t answer(Question* question, napi_env env) {
  Call* const call = question->call;
  napi_value function = NULL, receiver = NULL, given = NULL, arguments[MOST_ARGUMENTS];
  napi_valuetype type = napi_undefined;
  bool ends = false;
  const size_t count = question->make(env, question->data, arguments);
  napi_get_undefined(env, &receiver);
  if (napi_get_reference_value(env, call->callback, &function) != napi_ok ||
      napi_call_function(env, receiver, function, count, arguments, &given) != napi_ok) {
    keep_thrown(call, env);
    return 1;
  }
  napi_typeof(env, given, &type);
  if (type == napi_boolean) napi_get_value_bool(env, given, &ends);
  return ends;
}

static void deliver_question(Item* item, napi_env env) {
  Question* const question = (Question*)((char*)item - offsetof(Question, item));
  Environment* const environment = question->call->environment;
  question->answer = env == NULL ? 1 : answer(question, env);
  pthread_mutex_lock(&environment->lock);
  question->is_answered = true;
  pthread_cond_broadcast(&environment->answered);
  pthread_mutex_unlock(&environment->lock);
}

int32_t ask_javascript(void* user,
                       size_t (*make)(napi_env env, const void* data, napi_value* arguments),
                       const void* data) {
  Call* const call = user;
  Environment* const environment = call->environment;
  Question question = {.item.deliver = &deliver_question, .call = call, .make = make, .data = data};
  if (call->has_thrown) return 1;
  if (pthread_equal(pthread_self(), environment->thread)) return answer(&question, call->env);
  if (!environment_post(environment, &question.item)) return 1;
  pthread_mutex_lock(&environment->lock);
  while (!question.is_answered) pthread_cond_wait(&environment->answered, &environment->lock);
  pthread_mutex_unlock(&environment->lock);
  return question.answer;
}
