/* Embedders: batches of texts or tokens. */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "functions.h"
#include "values.h"

/* The texts, or the tokens, of a batch. */
static void fill_batch(Call* call, napi_value given, int32_t role, double timeout,
                       tenon_embedder_batch* batch) {
  memset(batch, 0, sizeof *batch);
  batch->struct_size = sizeof *batch;
  batch->role = role;
  batch->timeout_seconds = timeout;
  const Items items = as_items(call, given, "texts");
  batch->num_rows = scratch(call, items.count * sizeof *batch->num_rows);
  batch->count = items.count;
  batch->texts = items.texts;
  batch->lengths = items.texts == NULL ? NULL : items.lengths;
  batch->tokens = items.tokens;
  batch->num_tokens = items.tokens == NULL ? NULL : items.lengths;
}

typedef struct {
  Call call;
  tenon_embedder* embedder;
  const char* query;
  size_t query_length;
  tenon_embedder_batch batch;
  float* values;
  size_t capacity, needed;
} Call_embedder;

/* ---- embedder_embed(embedder, texts, role, timeout) -> {rows, counts} ------------------------ */

static void parse_embedder_embed(Call* call) {
  Call_embedder* const c = (Call_embedder*)call;
  c->embedder = as_handle(call, argument(call, 0), "embedder", KIND_embedder, 0);
  const int32_t role = as_int32_t(call, argument(call, 2), "role");
  const double timeout = as_double(call, argument(call, 3), "timeout");
  fill_batch(call, argument(call, 1), role, timeout, &c->batch);
}

static void run_embedder_embed(Call* call) {
  Call_embedder* const c = (Call_embedder*)call;
  do {
    call->status = api.embedder_embed(c->embedder, &c->batch, c->values, c->capacity, &c->needed);
  } while (call->status == TENON_OK && c->needed > c->capacity &&
           grow(call, (void**)&c->values, &c->capacity, c->needed, sizeof *c->values));
  keep_message(call);
}

static napi_value result_embedder_embed(Call* call) {
  Call_embedder* const c = (Call_embedder*)call;
  napi_value const object = object_value(call->env);
  set_member(call->env, object, "rows",
             owned_value(call->env, napi_float32_array, (void**)&c->values, c->needed));
  set_member(call->env, object, "counts",
             integers_value(call->env, c->batch.num_rows, (size_t)c->batch.count));
  return object;
}

static void free_embedder(Call* call) { free(((Call_embedder*)call)->values); }

/* ---- embedder_rank(embedder, query, texts, timeout) -> scores -------------------------------- */

static void parse_embedder_rank(Call* call) {
  Call_embedder* const c = (Call_embedder*)call;
  c->embedder = as_handle(call, argument(call, 0), "embedder", KIND_embedder, 0);
  c->query = as_text(call, argument(call, 1), "query", &c->query_length);
  const double timeout = as_double(call, argument(call, 3), "timeout");
  fill_batch(call, argument(call, 2), TENON_TEXT_DOCUMENT, timeout, &c->batch);
}

static void run_embedder_rank(Call* call) {
  Call_embedder* const c = (Call_embedder*)call;
  do {
    call->status = api.embedder_rank(c->embedder, c->query, c->query_length, &c->batch, c->values,
                                     c->capacity, &c->needed);
  } while (call->status == TENON_OK && c->needed > c->capacity &&
           grow(call, (void**)&c->values, &c->capacity, c->needed, sizeof *c->values));
  keep_message(call);
}

static napi_value result_embedder_rank(Call* call) {
  Call_embedder* const c = (Call_embedder*)call;
  return owned_value(call->env, napi_float32_array, (void**)&c->values, c->needed);
}

static const Function functions[] = {
    {"embedder_embed", 4, sizeof(Call_embedder), (void**)&api.embedder_embed, &parse_embedder_embed,
     &run_embedder_embed, &result_embedder_embed, &free_embedder},
    {"embedder_rank", 4, sizeof(Call_embedder), (void**)&api.embedder_rank, &parse_embedder_rank,
     &run_embedder_rank, &result_embedder_rank, &free_embedder},
};
const FunctionList embedding_list = {functions, 2};
