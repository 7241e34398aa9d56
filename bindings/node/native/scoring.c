/* Scores: log-probabilities of continuations of a session's text. */
#include <stdlib.h>

#include "arguments.h"
#include "functions.h"
#include "values.h"

/* ---- session_score(session, continuations, flags, timeout) -> {logprobs, counts} ------------- */

typedef struct {
  Call call;
  tenon_session* session;
  tenon_continuations continuations;
  float* logprobs;
  size_t capacity, needed;
} Call_session_score;

static void parse_session_score(Call* call) {
  Call_session_score* const c = (Call_session_score*)call;
  c->session = as_handle(call, argument(call, 0), "session", KIND_session, 0);
  const Items items = as_items(call, argument(call, 1), "continuations");
  c->continuations = (tenon_continuations){
      .struct_size = sizeof c->continuations,
      .flags = as_uint32_t(call, argument(call, 2), "flags"),
      .count = items.count,
      .texts = items.texts,
      .lengths = items.texts == NULL ? NULL : items.lengths,
      .tokens = items.tokens,
      .num_tokens = items.tokens == NULL ? NULL : items.lengths,
      .num_logprobs = scratch(call, items.count * sizeof(uint64_t)),
      .timeout_seconds = as_double(call, argument(call, 3), "timeout"),
  };
}

static void run_session_score(Call* call) {
  Call_session_score* const c = (Call_session_score*)call;
  do {
    call->status =
        api.session_score(c->session, &c->continuations, c->logprobs, c->capacity, &c->needed);
  } while (call->status == TENON_OK && c->needed > c->capacity &&
           grow(call, (void**)&c->logprobs, &c->capacity, c->needed, sizeof *c->logprobs));
  keep_message(call);
}

static napi_value result_session_score(Call* call) {
  Call_session_score* const c = (Call_session_score*)call;
  napi_value const object = object_value(call->env);
  set_member(call->env, object, "logprobs",
             owned_value(call->env, napi_float32_array, (void**)&c->logprobs, c->needed));
  set_member(
      call->env, object, "counts",
      integers_value(call->env, c->continuations.num_logprobs, (size_t)c->continuations.count));
  return object;
}

static void free_session_score(Call* call) { free(((Call_session_score*)call)->logprobs); }

static const Function functions[] = {
    {"session_score", 4, sizeof(Call_session_score), (void**)&api.session_score,
     &parse_session_score, &run_session_score, &result_session_score, &free_session_score},
};
const FunctionList scoring_list = {functions, 1};
