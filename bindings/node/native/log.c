/* See log.h. */
#include "log.h"

#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "values.h"

struct Log {
  Item end;
  Environment* environment;
  napi_ref function;
};

typedef struct {
  Item item;
  Log* log;
  uint32_t level;
  size_t length;
  char text[];
} Line;

static void deliver_line(Item* item, napi_env env) {
  Line* const line = (Line*)((char*)item - offsetof(Line, item));
  napi_value function = NULL, receiver = NULL, thrown = NULL, arguments[2];
  if (env != NULL && napi_get_reference_value(env, line->log->function, &function) == napi_ok) {
    napi_get_undefined(env, &receiver);
    arguments[0] = int64_value(env, line->level);
    arguments[1] = text_value(env, line->text, line->length);
    /* Its exception is dropped: no call waits for it. */
    if (napi_call_function(env, receiver, function, 2, arguments, NULL) != napi_ok &&
        napi_get_and_clear_last_exception(env, &thrown) == napi_ok) {
      napi_fatal_exception(env, thrown);
    }
  }
  free(line);
}

void log_line(void* user, uint32_t level, const char* text, uint64_t length) {
  Log* const log = user;
  Line* const line = malloc(sizeof *line + length);
  if (line == NULL) return;
  line->item.deliver = &deliver_line;
  line->log = log;
  line->level = level;
  line->length = length;
  memcpy(line->text, text, length);
  if (!environment_post(log->environment, &line->item)) free(line);
}

static void deliver_end(Item* item, napi_env env) {
  Log* const log = (Log*)((char*)item - offsetof(Log, end));
  if (env != NULL) napi_delete_reference(env, log->function);
  environment_release(log->environment);
  free(log);
}

void log_end(Log* log) {
  log->end.deliver = &deliver_end;
  if (!environment_post(log->environment, &log->end)) deliver_end(&log->end, NULL);
}

Log* log_create(Call* call, napi_value function) {
  napi_valuetype type = napi_undefined;
  if (call->has_failed) return NULL;
  napi_typeof(call->env, function, &type);
  if (type != napi_function) {
    fail_argument(call, "a function is needed", "log");
    return NULL;
  }
  Log* const log = calloc(1, sizeof *log);
  if (log == NULL || napi_create_reference(call->env, function, 1, &log->function) != napi_ok) {
    free(log);
    fail_argument(call, "no memory for a log", NULL);
    return NULL;
  }
  log->environment = call->environment;
  environment_hold(call->environment);
  return log;
}
