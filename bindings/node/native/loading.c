/* Models and tokenizers from sources: paths, open files, memory. */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "functions.h"
#include "log.h"
#include "values.h"

/* One source from {kind, path | fd, offset, size | memory}. */
static void fill_source(Call* call, napi_value given, tenon_source* source) {
  memset(source, 0, sizeof *source);
  source->struct_size = sizeof *source;
  if (!is_object(call, given, "source")) return;
  napi_value item = NULL;
  size_t length = 0;
  if ((item = member(call, given, "path")) != NULL) {
    source->kind = TENON_SOURCE_PATH;
    source->name = as_text(call, item, "path", &length);
    source->name_length = length;
  } else if ((item = member(call, given, "memory")) != NULL) {
    source->kind = TENON_SOURCE_MEMORY;
    source->data = as_bytes(call, item, "memory", &length);
    source->size = length;
  } else if ((item = member(call, given, "fd")) != NULL) {
    source->kind = TENON_SOURCE_FD;
    source->fd = as_int32_t(call, item, "fd");
    if ((item = member(call, given, "offset")) != NULL)
      source->offset = as_uint64_t(call, item, "offset");
    if ((item = member(call, given, "size")) != NULL)
      source->size = as_uint64_t(call, item, "size");
  } else {
    fail_argument(call, "a path, fd or memory is needed", "source");
  }
}

/* ---- model_load(sources, options, progress, log, log_level) -> model ------------------------- */

/* Both callbacks get one pointer: progress is called only during the call, the log also later. With
 * a log it lives as long as the process, because sessions log after the model. */
typedef struct {
  Call* call;
  Log* log;
} Loading;

typedef struct {
  Call call;
  const tenon_source** sources;
  size_t num_sources;
  OptionList* options;
  uint32_t log_level;
  Loading* loading;
  tenon_model* model;
} Call_model_load;

static int32_t load_progress(void* user, double fraction) {
  return tell_progress(((Loading*)user)->call, fraction);
}
static void load_log(void* user, uint32_t level, const char* text, uint64_t length) {
  log_line(((Loading*)user)->log, level, text, length);
}

static void parse_model_load(Call* call) {
  Call_model_load* const c = (Call_model_load*)call;
  napi_value given = argument(call, 0);
  bool is_array = false;
  uint32_t count = 0;
  napi_is_array(call->env, given, &is_array);
  if (!is_array) fail_argument(call, "an array is needed", "sources");
  if (!call->has_failed) napi_get_array_length(call->env, given, &count);
  tenon_source* const sources = scratch(call, count * sizeof *sources);
  c->sources = scratch(call, count * sizeof *c->sources);
  c->num_sources = count;
  for (uint32_t i = 0; !call->has_failed && i < count; ++i) {
    napi_value item = NULL;
    napi_get_element(call->env, given, i, &item);
    fill_source(call, item, &sources[i]);
    c->sources[i] = &sources[i];
  }
  c->options = as_options(call, argument(call, 1), "options");
  as_callback(call, argument(call, 2), "progress");
  if (call->has_failed || is_absent(call, argument(call, 3))) {
    c->loading = call->has_failed ? NULL : scratch(call, sizeof *c->loading);
  } else if ((c->loading = calloc(1, sizeof *c->loading)) != NULL) {
    c->log_level = as_uint32_t(call, argument(call, 4), "logLevel");
    c->loading->log = log_create(call, argument(call, 3));
  }
  if (!call->has_failed) c->loading->call = call;
}

static void run_model_load(Call* call) {
  Call_model_load* const c = (Call_model_load*)call;
  tenon_options* options = NULL;
  if (!make_options(call, c->options, &options)) return;
  const tenon_callbacks callbacks = {.struct_size = sizeof callbacks,
                                     .log_level = c->log_level,
                                     .user = c->loading,
                                     .log = c->loading->log == NULL ? NULL : &load_log,
                                     .progress = call->callback == NULL ? NULL : &load_progress};
  /* Without callbacks nothing of the call is used after it has returned. */
  const bool has_callbacks = callbacks.log != NULL || callbacks.progress != NULL;
  call->status = api.model_load(c->sources, c->num_sources, options,
                                has_callbacks ? &callbacks : NULL, &c->model);
  keep_message(call);
  if (options != NULL) api.options_destroy(options);
}

static napi_value result_model_load(Call* call) {
  Call_model_load* const c = (Call_model_load*)call;
  napi_value const object = handle_value(call, KIND_model, c->model, 0);
  Handle* const handle = object == NULL ? NULL : handle_of(call->env, object);
  c->model = NULL;
  if (handle == NULL) return NULL;
  if (call->memory != NULL) {
    memory_hold(call->memory);
    handle->kept = call->memory;
  }
  return object;
}

static void free_model_load(Call* call) {
  Call_model_load* const c = (Call_model_load*)call;
  if (c->model != NULL) api.model_destroy(c->model);
}

/* ---- tokenizer_load(source) -> tokenizer ----------------------------------------------------- */

typedef struct {
  Call call;
  tenon_source source;
  tenon_tokenizer* tokenizer;
} Call_tokenizer_load;

static void parse_tokenizer_load(Call* call) {
  fill_source(call, argument(call, 0), &((Call_tokenizer_load*)call)->source);
}
static void run_tokenizer_load(Call* call) {
  Call_tokenizer_load* const c = (Call_tokenizer_load*)call;
  call->status = api.tokenizer_load(&c->source, &c->tokenizer);
  keep_message(call);
}
static napi_value result_tokenizer_load(Call* call) {
  Call_tokenizer_load* const c = (Call_tokenizer_load*)call;
  return handle_value(call, KIND_tokenizer, c->tokenizer, 0);
}

static const Function functions[] = {
    {"model_load", 5, sizeof(Call_model_load), (void**)&api.model_load, &parse_model_load,
     &run_model_load, &result_model_load, &free_model_load},
    {"tokenizer_load", 1, sizeof(Call_tokenizer_load), (void**)&api.tokenizer_load,
     &parse_tokenizer_load, &run_tokenizer_load, &result_tokenizer_load, NULL},
};
const FunctionList loading_list = {functions, 2};
