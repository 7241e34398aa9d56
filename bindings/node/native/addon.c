/* The addon: opens and uses a library, gives an engine its thread, and has the functions as members of `now`
 * (on the thread of JavaScript, for what is quick) and `later` (a promise). For Node-API 8, so for Node 18 and
 * later, Bun, Deno and Electron alike; once for each environment, all with the library that the first one uses. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"
#include "requests.h"
#include "values.h"

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static void *library, *server_library; /* as dlopen gives them; never closed */

/* Opens the library at the path of an argument; NULL with an exception. */
static void* opened_at(napi_env env, napi_value given) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, given, NULL, 0, &length) != napi_ok) {
    napi_throw_type_error(env, NULL, "a path is needed");
    return NULL;
  }
  char* const path = malloc(length + 1);
  if (path == NULL) {
    napi_throw_error(env, NULL, "no memory for a path");
    return NULL;
  }
  napi_get_value_string_utf8(env, given, path, length + 1, &length);
  void* const opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  free(path);
  if (opened == NULL) napi_throw_error(env, NULL, dlerror());
  return opened;
}

/* openLibrary(path) -> {description, version}: opens a library without using it. */
static napi_value open_library(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value given = NULL;
  napi_get_cb_info(env, info, &count, &given, NULL, NULL);
  void* const opened = opened_at(env, given);
  if (opened == NULL) return NULL;
  const char* (*description)(void) = NULL;
  const char* (*version)(void) = NULL;
  *(void**)&description = dlsym(opened, "tenon_interface_description");
  *(void**)&version = dlsym(opened, "tenon_version_text");
  napi_value const answer = object_value(env);
  set_member(env, answer, "description",
             name_value(env, description == NULL ? NULL : description()));
  set_member(env, answer, "version", name_value(env, version == NULL ? "?" : version()));
  dlclose(opened);
  return answer;
}

/* useLibrary(path, makeError): makes this library the one whose functions are called.
 * makeError(status, message) makes errors of this environment. False if the process uses another
 * library already. */
static napi_value use_library(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value given[2], answer = NULL;
  napi_get_cb_info(env, info, &count, given, NULL, NULL);
  void* const opened = opened_at(env, given[0]);
  if (opened == NULL) return NULL;
  Environment* const environment = environment_of(env);
  pthread_mutex_lock(&library_lock);
  const bool is_used = library == NULL || library == opened;
  if (is_used && library == NULL) {
    library = opened;
#define FIND(name) *(void**)&api.name = dlsym(library, "tenon_" #name);
    FUNCTIONS(FIND)
#undef FIND
  }
  pthread_mutex_unlock(&library_lock);
  if (is_used && environment->make_error == NULL) {
    napi_create_reference(env, given[1], 1, &environment->make_error);
  }
  napi_get_boolean(env, is_used, &answer);
  return answer;
}

/* openServerLibrary(path) -> {description, sharesLibrary}: opens a libtenon-server without using
 * it. sharesLibrary: the libtenon that it calls is the one in use. */
static napi_value open_server_library(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value given = NULL, shares = NULL;
  napi_get_cb_info(env, info, &count, &given, NULL, NULL);
  void* const opened = opened_at(env, given);
  if (opened == NULL) return NULL;
  const char* (*description)(void) = NULL;
  *(void**)&description = dlsym(opened, "tenon_server_interface_description");
  napi_value const answer = object_value(env);
  set_member(env, answer, "description",
             name_value(env, description == NULL ? NULL : description()));
  /* Also searches the libraries that it is linked with. */
  napi_get_boolean(env, dlsym(opened, "tenon_session_submit") == *(void**)&api.session_submit,
                   &shares);
  set_member(env, answer, "sharesLibrary", shares);
  dlclose(opened);
  return answer;
}

/* useServerLibrary(path): makes this library that of servers. False if the process uses another one
 * already. */
static napi_value use_server_library(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value given = NULL, answer = NULL;
  napi_get_cb_info(env, info, &count, &given, NULL, NULL);
  void* const opened = opened_at(env, given);
  if (opened == NULL) return NULL;
  pthread_mutex_lock(&library_lock);
  const bool is_used = server_library == NULL || server_library == opened;
  if (is_used && server_library == NULL) {
    server_library = opened;
#define FIND(name) *(void**)&api.name = dlsym(server_library, "tenon_" #name);
    SERVER_FUNCTIONS(FIND)
#undef FIND
  }
  pthread_mutex_unlock(&library_lock);
  napi_get_boolean(env, is_used, &answer);
  return answer;
}

static void* run_engine(void* data) {
  Handle* const handle = data;
  (void)api.engine_run(handle->pointer);
  handle_unuse(handle);
  return NULL;
}

/* engineStart(engine): starts its thread, which ends when the engine is closed. May be repeated. */
static napi_value engine_start(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value given = NULL;
  napi_get_cb_info(env, info, &count, &given, NULL, NULL);
  Handle* const handle = handle_of(env, given);
  if (handle == NULL || handle->kind != KIND_engine || handle->is_closed) {
    throw_status(environment_of(env), env, TENON_ERROR_STATE, "the engine has been closed");
    return NULL;
  }
  if (handle->has_thread) return NULL;
  handle_use(handle);
  handle->has_thread = threads_start("tenon-engine", &run_engine, handle);
  if (handle->has_thread) return NULL;
  handle_unuse(handle);
  throw_status(environment_of(env), env, TENON_ERROR_NO_MEMORY, "no thread can be started");
  return NULL;
}

/* readStruct(name, bytes): for tests of layouts. */
static napi_value read_struct_method(napi_env env, napi_callback_info info) {
  size_t count = 2, length = 0;
  napi_value given[2];
  char name[64] = "";
  void* data = NULL;
  unsigned char memory[4096] = {0};
  napi_get_cb_info(env, info, &count, given, NULL, NULL);
  napi_get_value_string_utf8(env, given[0], name, sizeof name, NULL);
  if (napi_get_typedarray_info(env, given[1], NULL, &length, &data, NULL, NULL) != napi_ok) {
    napi_throw_type_error(env, NULL, "readStruct: bytes are needed");
    return NULL;
  }
  memcpy(memory, data, length < sizeof memory ? length : sizeof memory);
  return structure_value(env, name, memory);
}

static void add(napi_env env, napi_value object, const char* name, napi_callback callback,
                const void* data) {
  napi_value function = NULL;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, (void*)data, &function);
  set_member(env, object, name, function);
}

NAPI_MODULE_INIT() {
  Environment* const environment = environment_create(env);
  if (environment == NULL) return NULL;
  if (!handles_define(environment, env)) {
    napi_throw_error(env, NULL, "tenon cannot be used in this environment");
    return NULL;
  }
  napi_value const now = object_value(env), later = object_value(env);
  const FunctionList* const lists[] = {&generated_list, &request_list, &loading_list,
                                       &embedding_list, &scoring_list, &server_list};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    for (size_t j = 0; j < lists[i]->count; ++j) {
      const Function* const function = &lists[i]->functions[j];
      add(env, now, function->name, &call_now, function);
      add(env, later, function->name, &call_later, function);
    }
  }
  set_member(env, exports, "now", now);
  set_member(env, exports, "later", later);
  add(env, exports, "openLibrary", &open_library, NULL);
  add(env, exports, "useLibrary", &use_library, NULL);
  add(env, exports, "openServerLibrary", &open_server_library, NULL);
  add(env, exports, "useServerLibrary", &use_server_library, NULL);
  add(env, exports, "engineStart", &engine_start, NULL);
  add(env, exports, "requestReady", &request_ready, NULL);
  add(env, exports, "memoryCreate", &memory_create, NULL);
  add(env, exports, "memoryWrite", &memory_write, NULL);
  add(env, exports, "readStruct", &read_struct_method, NULL);
  return exports;
}
