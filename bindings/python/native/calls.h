/* One call of a function of the libraries: its arguments, and memory that lives until it returns.
 * Part of module.c. */

/* A Python function that is called during a call, and its exception. */
typedef struct {
  PyObject* function;
  bool has_raised;
  PyObject *type, *value, *trace;
} Callback;

enum { MOST_HANDLES = 4, MOST_KEPT = 16 };

/* One call of a function of the library: its arguments, and memory that lives until it returns. */
typedef struct {
  const char* name;
  PyObject* args;
  const char* (*last_error)(void); /* of the function's library */
  bool failed;                     /* a Python exception is set */
  PyThreadState* thread;
  Callback* callback;
  Handle* handles[MOST_HANDLES]; /* in use by the call */
  int num_handles;
  void* memory[MOST_KEPT];
  int num_memory;
  PyObject* objects[MOST_KEPT];
  int num_objects;
} Call;

static void begin_of(const char* library_name, bool is_in_use, Call* call, PyObject* args,
                     const char* name, int num_arguments, void* function) {
  memset(call, 0, sizeof *call);
  call->name = name;
  call->args = args;
  if (PyTuple_Size(args) != num_arguments) {
    PyErr_Format(PyExc_TypeError, "%s takes %d arguments", name, num_arguments);
    call->failed = true;
  } else if (function == NULL) {
    char message[128];
    if (is_in_use) {
      PyOS_snprintf(message, sizeof message, "this %s has no tenon_%s: it is another version",
                    library_name, name);
    } else {
      PyOS_snprintf(message, sizeof message, "no %s is in use: %s", library_name, name);
    }
    raise_status(TENON_ERROR_UNSUPPORTED, message);
    call->failed = true;
  }
}

static void begin(Call* call, PyObject* args, const char* name, int num_arguments, void* function) {
  begin_of("libtenon", library != NULL, call, args, name, num_arguments, function);
  call->last_error = api.last_error;
}
/* Begins a call of a function of tenon/server.h. */
static void begin_server(Call* call, PyObject* args, const char* name, int num_arguments,
                         void* function) {
  begin_of("libtenon-server", server_library != NULL, call, args, name, num_arguments, function);
  call->last_error = api.server_last_error;
}

static PyObject* argument(Call* call, int index) {
  return call->failed ? NULL : PyTuple_GetItem(call->args, index);
}

static void release_lock(Call* call) { call->thread = PyEval_SaveThread(); }
static void take_lock(Call* call) { PyEval_RestoreThread(call->thread); }

/* Releases the call's handles and memory. result: its result, NULL with an exception set. */
static PyObject* end(Call* call, PyObject* result) {
  PyObject *type = NULL, *value = NULL, *trace = NULL;
  if (result == NULL) PyErr_Fetch(&type, &value, &trace);
  for (int i = 0; i < call->num_memory; ++i) PyMem_Free(call->memory[i]);
  for (int i = 0; i < call->num_objects; ++i) Py_DECREF(call->objects[i]);
  for (int i = 0; i < call->num_handles; ++i) {
    Handle* const handle = call->handles[i];
    if (--handle->calls == 0 && handle->holds == 0 && handle->is_doomed) destroy_now(handle);
    Py_DECREF((PyObject*)handle);
  }
  if (result == NULL) PyErr_Restore(type, value, trace);
  return result;
}

/* True if the call succeeded; else the exception is set, a callback's first. */
static bool succeeded(Call* call, tenon_status status) {
  Callback* const callback = call->callback;
  if (callback != NULL && callback->has_raised) {
    PyErr_Restore(callback->type, callback->value, callback->trace);
    return false;
  }
  if (status == TENON_OK) return true;
  const char* const message = call->last_error != NULL ? call->last_error() : "";
  /* libtenon-server has no system error number; libtenon's latest one is not of this call. */
  if (call->last_error == api.server_last_error) {
    raise_status(status, message);
  } else {
    raise_failure(status, message);
  }
  return false;
}

/* Keeps memory until the end of the call. */
static void* scratch(Call* call, size_t size) {
  if (call->failed) return NULL;
  void* memory = call->num_memory < MOST_KEPT && size < SIZE_MAX / 2 ? PyMem_Malloc(size) : NULL;
  if (memory == NULL) {
    PyErr_NoMemory();
    call->failed = true;
    return NULL;
  }
  memset(memory, 0, size);
  call->memory[call->num_memory++] = memory;
  return memory;
}

/* Keeps an object until the end of the call; takes the reference. */
static void keep(Call* call, PyObject* object) {
  if (call->num_objects < MOST_KEPT) {
    call->objects[call->num_objects++] = object;
    return;
  }
  Py_DECREF(object);
  PyErr_NoMemory();
  call->failed = true;
}

static void* as_handle(Call* call, PyObject* given, enum Kind kind, int flags) {
  if (call->failed) return NULL;
  if (given == Py_None && (flags & NULLABLE) != 0) return NULL;
  if (!PyObject_TypeCheck(given, handle_type) || ((Handle*)given)->kind != kind) {
    PyErr_Format(PyExc_TypeError, "%s: a handle of a %s is needed", call->name, kind_name(kind));
    call->failed = true;
    return NULL;
  }
  Handle* const handle = (Handle*)given;
  if (handle->pointer == NULL || handle->is_doomed) {
    PyErr_Clear();
    char message[96];
    PyOS_snprintf(message, sizeof message, "the %s has been closed", kind_name(kind));
    raise_status(TENON_ERROR_STATE, message);
    call->failed = true;
    return NULL;
  }
  /* Refusals that the library does not make itself, as it does for tenon.h. */
  if (is_of_server(kind) && (handle->pid != getpid() || is_in_log)) {
    raise_status(TENON_ERROR_STATE,
                 is_in_log ? "a log function must not call the server that it is of"
                           : "server handle was made before fork(), it is of no use in the child");
    call->failed = true;
    return NULL;
  }
  const bool is_held = handle->holds > 0;
  if ((handle->calls > 0 || is_held) && is_one_at_a_time(kind) && (flags & WHILE_BUSY) == 0) {
    char message[160];
    PyOS_snprintf(
        message, sizeof message,
        is_held ? "logits of the %s are still in use, and the call would change them: drop them "
                  "(and arrays made from them), or copy them first"
                : "the %s is in use by another call; only cancel and close may interrupt",
        kind_name(kind));
    raise_status(TENON_ERROR_STATE, message);
    call->failed = true;
    return NULL;
  }
  ++handle->calls;
  Py_INCREF(given);
  call->handles[call->num_handles++] = handle;
  return handle->pointer;
}

/* Handles in the arguments besides the first live as long as the first. */
static bool keep_handles(Call* call) {
  for (int i = 1; i < call->num_handles; ++i) {
    if (!keep_with((PyObject*)call->handles[0], (PyObject*)call->handles[i])) return false;
  }
  return true;
}
