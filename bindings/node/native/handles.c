/* See handles.h. */
#include "handles.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "requests.h"
#include "values.h"

Api api;

static const struct {
  const char* name;
  bool one_at_a_time;
} kinds[NUM_KINDS] = {
#define KIND_ROW(name, alone) [KIND_##name] = {#name, alone},
    KINDS(KIND_ROW)
#undef KIND_ROW
};

const char* kind_name(enum Kind kind) { return kinds[kind].name; }
bool kind_is_one_at_a_time(enum Kind kind) { return kinds[kind].one_at_a_time; }

static void destroy_pointer(enum Kind kind, void* pointer) {
  switch (kind) {
#define DESTROY(name, alone)     \
  case KIND_##name:              \
    api.name##_destroy(pointer); \
    return;
    KINDS(DESTROY)
#undef DESTROY
    default:
      return;
  }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void memory_hold(Memory* memory) { atomic_fetch_add(&memory->users, 1); }
void memory_release(Memory* memory) {
  if (memory != NULL && atomic_fetch_sub(&memory->users, 1) == 1) free(memory);
}

/* Tag of wrapped objects, so that no other object is taken for one. */
static const napi_type_tag handle_tag = {0x74656e6f6e2d6861, 0x6e646c652d6f6e65};
static const napi_type_tag memory_tag = {0x74656e6f6e2d6d65, 0x6d6f72792d6f6e65};

static void* unwrapped(napi_env env, napi_value object, const napi_type_tag* tag) {
  napi_valuetype type = napi_undefined;
  bool has_tag = false;
  void* data = NULL;
  if (napi_typeof(env, object, &type) != napi_ok || type != napi_object ||
      napi_check_object_type_tag(env, object, tag, &has_tag) != napi_ok || !has_tag ||
      napi_unwrap(env, object, &data) != napi_ok) {
    return NULL;
  }
  return data;
}

/* An instance of a class of this file around a pointer; NULL with an exception, and the pointer is
 * not taken. */
static napi_value wrapped(napi_env env, napi_ref class, const napi_type_tag* tag, void* data,
                          napi_finalize finalize) {
  napi_value constructor = NULL, object = NULL;
  if (napi_get_reference_value(env, class, &constructor) != napi_ok ||
      napi_new_instance(env, constructor, 0, NULL, &object) != napi_ok ||
      napi_type_tag_object(env, object, tag) != napi_ok ||
      napi_wrap(env, object, data, finalize, NULL, NULL) != napi_ok) {
    return NULL;
  }
  return object;
}

Memory* memory_of(napi_env env, napi_value object) { return unwrapped(env, object, &memory_tag); }

static void collect_memory(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  memory_release(data);
}

napi_value memory_create(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = NULL, object = NULL;
  int64_t size = -1;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  if (napi_get_value_int64(env, argument, &size) != napi_ok || size < 0) {
    napi_throw_type_error(env, NULL, "memoryCreate: a size is needed");
    return NULL;
  }
  Memory* const memory = malloc(sizeof *memory + (size_t)size);
  if (memory != NULL) {
    atomic_init(&memory->users, 1);
    memory->size = (size_t)size;
    object = wrapped(env, environment_of(env)->memory_class, &memory_tag, memory, &collect_memory);
    if (object == NULL) free(memory);
  }
  if (object == NULL) napi_throw_error(env, NULL, "no memory for the bytes");
  return object;
}

napi_value memory_write(napi_env env, napi_callback_info info) {
  size_t count = 3, length = 0;
  napi_value arguments[3];
  int64_t offset = -1;
  void* data = NULL;
  napi_typedarray_type type = napi_int8_array;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  Memory* const memory = memory_of(env, arguments[0]);
  if (memory == NULL || napi_get_value_int64(env, arguments[1], &offset) != napi_ok ||
      napi_get_typedarray_info(env, arguments[2], &type, &length, &data, NULL, NULL) != napi_ok ||
      type != napi_uint8_array || offset < 0 || (uint64_t)offset > memory->size ||
      length > memory->size - (size_t)offset) {
    napi_throw_type_error(env, NULL, "memoryWrite: bytes within the memory are needed");
    return NULL;
  }
  if (length > 0) memcpy(memory->data + offset, data, length);
  return NULL;
}

/* ---- Uses ------------------------------------------------------------------------------------ */

static void release_holder(Handle* handle) {
  if (atomic_fetch_sub(&handle->holders, 1) != 1) return;
  environment_release(handle->environment);
  free(handle);
}

/* On the thread of the environment: reports that it is gone. */
static void tell_gone(Item* item, napi_env env) {
  Handle* const handle = (Handle*)((char*)item - offsetof(Handle, item));
  if (env != NULL) {
    napi_value undefined = NULL;
    napi_get_undefined(env, &undefined);
    napi_resolve_deferred(env, handle->gone, undefined);
    environment_came(handle->environment, env);
  }
  release_holder(handle);
}

void keep_reserve(Keep* keep) {
  pthread_mutex_lock(&keep->handle->environment->lock);
  ++keep->handle->num_keepers;
  pthread_mutex_unlock(&keep->handle->environment->lock);
  handle_use(keep->handle);
}

void handle_keep(Handle* keeper, Keep** keeps) {
  pthread_mutex_lock(&keeper->environment->lock);
  while (*keeps != NULL) {
    Keep* const keep = *keeps;
    *keeps = keep->next;
    keep->next = keeper->keeps;
    keeper->keeps = keep;
  }
  pthread_mutex_unlock(&keeper->environment->lock);
}

static bool is_kept(Handle* handle) {
  pthread_mutex_lock(&handle->environment->lock);
  const bool is_kept = handle->num_keepers > 0;
  pthread_mutex_unlock(&handle->environment->lock);
  return is_kept;
}

void keeps_let_go(Keep* keep) {
  while (keep != NULL) {
    Keep* const next = keep->next;
    Handle* const handle = keep->handle;
    pthread_mutex_lock(&handle->environment->lock);
    const bool stops = --handle->num_keepers == 0 && handle->stops_last;
    pthread_mutex_unlock(&handle->environment->lock);
    if (stops) (void)api.engine_stop(handle->pointer);
    handle_unuse(handle);
    free(keep);
    keep = next;
  }
}

/* Ends an engine's thread, unless a server still needs it. */
static void stop_engine(Handle* handle) {
  pthread_mutex_lock(&handle->environment->lock);
  handle->stops_last = handle->num_keepers > 0;
  const bool stops = !handle->stops_last;
  pthread_mutex_unlock(&handle->environment->lock);
  if (stops) (void)api.engine_stop(handle->pointer);
}

/* On a thread that may wait. */
static void destroy_handle(Job* job) {
  Handle* const handle = (Handle*)((char*)job - offsetof(Handle, job));
  if (!handle->is_lent) destroy_pointer(handle->kind, handle->pointer);
  if (handle->notice != NULL) notice_free(handle->notice);
  if (handle->log != NULL) log_end(handle->log);
  keeps_let_go(handle->keeps);
  memory_release(handle->kept);
  if (handle->owner != NULL) handle_unuse(handle->owner);
  handle->item.deliver = &tell_gone;
  if (handle->gone == NULL || !environment_post(handle->environment, &handle->item)) {
    release_holder(handle);
  }
}

void handle_use(Handle* handle) { atomic_fetch_add(&handle->uses, 1); }

void handle_unuse(Handle* handle) {
  if (atomic_fetch_sub(&handle->uses, 1) != 1) return;
  handle->job.run = &destroy_handle;
  if (threads_is_one() || !threads_run(&handle->job)) destroy_handle(&handle->job);
}

void handle_close(Handle* handle, napi_deferred gone) {
  handle->is_closed = true;
  handle->gone = gone;
  if (handle->previous == NULL) {
    handle->environment->handles = handle->next;
  } else {
    handle->previous->next = handle->next;
  }
  if (handle->next != NULL) handle->next->previous = handle->previous;
  switch (handle->kind) {
    case KIND_session:
      (void)api.session_cancel(handle->pointer);
      break;
    case KIND_request:
      (void)api.request_cancel(handle->pointer);
      break;
    case KIND_embedder:
      if (atomic_load(&handle->uses) > 1) (void)api.embedder_cancel(handle->pointer);
      break;
    case KIND_engine:
      if (handle->has_thread) stop_engine(handle);
      break;
    default:
      break;
  }
  handle_unuse(handle);
}

/* ---- Objects --------------------------------------------------------------------------------- */

Handle* handle_of(napi_env env, napi_value object) { return unwrapped(env, object, &handle_tag); }

static void collect_handle(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  Handle* const handle = data;
  if (!handle->is_closed) handle_close(handle, NULL);
  release_holder(handle);
}

napi_value handle_create(Environment* environment, napi_env env, enum Kind kind, void* pointer,
                         Handle* from, int flags) {
  napi_value object = NULL;
  if (pointer == NULL) {
    napi_get_null(env, &object);
    return object;
  }
  Handle* const handle = calloc(1, sizeof *handle);
  if (handle == NULL) {
    if ((flags & LENT) == 0) destroy_pointer(kind, pointer);
    napi_throw_error(env, NULL, "no memory");
    return NULL;
  }
  handle->pointer = pointer;
  handle->kind = kind;
  handle->is_lent = (flags & LENT) != 0;
  handle->environment = environment;
  atomic_init(&handle->uses, 1);
  atomic_init(&handle->holders, 2);
  environment_hold(environment);
  if (from != NULL) {
    handle->kept = from->kept;
    if (handle->kept != NULL) memory_hold(handle->kept);
    /* A session is destroyed after its request, because two threads that wait for one request's end
     * may wait for ever. A server is destroyed after its calls, as tenon/server.h requires. */
    if (handle->is_lent || kind == KIND_request || kind == KIND_server_call) {
      handle->owner = from;
      handle_use(from);
    }
  }
  handle->next = environment->handles;
  if (handle->next != NULL) handle->next->previous = handle;
  environment->handles = handle;
  object = wrapped(env, environment->handle_class, &handle_tag, handle, &collect_handle);
  if (object == NULL) {
    /* Destroyed at once: the call frees the parts the pointer was made with, its notice, log and
     * bytes. */
    handle_use(handle);
    handle_close(handle, NULL);
    if (atomic_fetch_sub(&handle->uses, 1) == 1) destroy_handle(&handle->job);
    release_holder(handle);
    napi_throw_error(env, NULL, "no memory");
  }
  return object;
}

static napi_value construct(napi_env env, napi_callback_info info) {
  napi_value self = NULL;
  napi_get_cb_info(env, info, NULL, NULL, &self, NULL);
  return self;
}

/* close() -> a promise that resolves when it is gone, or undefined if it was closed before. */
static napi_value close_method(napi_env env, napi_callback_info info) {
  napi_value self = NULL, promise = NULL;
  napi_deferred gone = NULL;
  napi_get_cb_info(env, info, NULL, NULL, &self, NULL);
  Handle* const handle = handle_of(env, self);
  if (handle == NULL || handle->is_closed) return NULL;
  if (napi_create_promise(env, &gone, &promise) != napi_ok) gone = NULL;
  if (handle->notice != NULL) notice_stop(handle->notice, env);
  for (Handle *other = handle->environment->handles, *next = NULL;
       (handle->kind == KIND_session || handle->kind == KIND_server) && other != NULL;
       other = next) {
    next = other->next;
    if (other->owner != handle) continue;
    notice_stop(other->notice, env);
    handle_close(other, NULL);
  }
  /* A handle that a server keeps, or is being given, goes with the server: do not wait for it. */
  if (gone != NULL && is_kept(handle)) {
    napi_resolve_deferred(env, gone, undefined_value(env));
    gone = NULL;
  }
  if (gone != NULL) environment_await(handle->environment, env);
  handle_close(handle, gone);
  return promise;
}

static napi_value is_live_getter(napi_env env, napi_callback_info info) {
  napi_value self = NULL, answer = NULL;
  napi_get_cb_info(env, info, NULL, NULL, &self, NULL);
  const Handle* const handle = handle_of(env, self);
  napi_get_boolean(env, handle != NULL && !handle->is_closed, &answer);
  return answer;
}

bool handles_define(Environment* environment, napi_env env) {
  const napi_property_descriptor members[] = {
      {.utf8name = "close", .method = &close_method, .attributes = napi_default},
      {.utf8name = "isLive", .getter = &is_live_getter, .attributes = napi_default},
  };
  napi_value handle_class = NULL, memory_class = NULL;
  return napi_define_class(env, "Handle", NAPI_AUTO_LENGTH, &construct, NULL, 2, members,
                           &handle_class) == napi_ok &&
         napi_define_class(env, "Memory", NAPI_AUTO_LENGTH, &construct, NULL, 0, NULL,
                           &memory_class) == napi_ok &&
         napi_create_reference(env, handle_class, 1, &environment->handle_class) == napi_ok &&
         napi_create_reference(env, memory_class, 1, &environment->memory_class) == napi_ok;
}
