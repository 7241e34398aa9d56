/* The extension module tenon._native: the functions of tenon.h as Python functions. What follows from the
 * description of the interface is in generated.h; here are the library, handles, the conversion of
 * arguments and results, requests with their wakers, and the thread that an engine may have; requests to the
 * server in this process are in server_calls.h.
 *
 * Built for the limited API of Python 3.9, so one file serves every later version. Python's lock is held
 * but between release_lock and take_lock, where nothing of Python is touched. */
#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <structmember.h>
#include <sys/eventfd.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include "generated.h" /* FUNCTIONS and enum Kind; below again, for the rest */

/* ---- The library ----------------------------------------------------------------------------- */

/* The functions of the library in use; NULL: it lacks the function, or none is in use yet. */
#define MEMBER(name) __typeof__(&tenon_##name) name;
static struct { FUNCTIONS(MEMBER) } api;
#undef MEMBER

static void* library;    /* as dlopen gives it; never closed */
static PyObject* errors; /* status -> exception type */

static PyObject* none_object(void) {
  Py_INCREF(Py_None);
  return Py_None;
}

/* open_library(path) -> (description or None, version text): opens a library without using it. */
static PyObject* open_library(PyObject* module, PyObject* args) {
  (void)module;
  const char* path = NULL;
  if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
  void* opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (opened == NULL) return PyErr_Format(PyExc_OSError, "%s", dlerror());
  const char* (*description)(void) = NULL;
  const char* (*version)(void) = NULL;
  *(void**)&description = dlsym(opened, "tenon_interface_description");
  *(void**)&version = dlsym(opened, "tenon_version_text");
  PyObject* result = Py_BuildValue("(ss)", description == NULL ? NULL : description(),
                                   version == NULL ? "?" : version());
  if (library != opened) dlclose(opened);
  return result;
}

/* use_library(path, errors): from now on all functions are those of this library. errors: a dict of
 * exception types by status. Only once. */
static PyObject* use_library(PyObject* module, PyObject* args) {
  (void)module;
  const char* path = NULL;
  PyObject* types = NULL;
  if (!PyArg_ParseTuple(args, "sO!", &path, &PyDict_Type, &types)) return NULL;
  if (library != NULL) return PyErr_Format(PyExc_RuntimeError, "a library is in use already");
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return PyErr_Format(PyExc_OSError, "%s", dlerror());
#define FIND(name) *(void**)&api.name = dlsym(library, "tenon_" #name);
  FUNCTIONS(FIND)
#undef FIND
  Py_INCREF(types);
  errors = types;
  return none_object();
}

static PyObject* raise_status(tenon_status status, const char* message) {
  PyObject* number = PyLong_FromLong(status);
  PyObject* type = errors == NULL ? NULL : PyDict_GetItem(errors, number);
  Py_XDECREF(number);
  PyErr_Format(type != NULL ? type : PyExc_RuntimeError, "%s", message);
  return NULL;
}

/* ---- Handles --------------------------------------------------------------------------------- */

/* Where the host of a request hears of it: one per request, told of on any thread, without Python. */
typedef struct Notice Notice;

typedef struct Handle Handle;
struct Handle {
  PyObject_HEAD void* pointer; /* NULL: destroyed */
  enum Kind kind;
  int calls;      /* under way on it */
  int holds;      /* views of its memory and lent handles that are alive */
  bool is_doomed; /* to be destroyed when the last of them returns */
  bool is_lent;   /* part of `owner`, not to be destroyed */
  pid_t pid;
  Handle* owner;  /* what lends the handle, held; or NULL */
  Notice* notice; /* of a request; freed after it */
};

static PyTypeObject* handle_type;
static bool is_ending; /* the process ends: its objects are left to it, and nothing is waited for */
static void forget_notice(Notice* notice);

enum { NULLABLE = 1, WHILE_BUSY = 2, LENT = 4 };
static void destroy_pointer(enum Kind kind, void* pointer);
static const char* kind_name(enum Kind kind);
static int is_one_at_a_time(enum Kind kind);

/* Destroying may wait, for a callback under way in another thread that wants Python's lock. */
static void destroy_now(Handle* handle) {
  void* const pointer = handle->pointer;
  handle->pointer = NULL;
  if (pointer == NULL || is_ending) return;
  if (!handle->is_lent && handle->pid == getpid()) {
    Py_BEGIN_ALLOW_THREADS destroy_pointer(handle->kind, pointer);
    Py_END_ALLOW_THREADS
  }
  if (handle->notice != NULL) {
    if (handle->pid == getpid()) forget_notice(handle->notice);
    handle->notice = NULL;
  }
  Handle* const owner = handle->owner;
  handle->owner = NULL;
  if (owner == NULL) return;
  if (--owner->holds == 0 && owner->calls == 0 && owner->is_doomed) destroy_now(owner);
  Py_DECREF((PyObject*)owner);
}

static void handle_dealloc(PyObject* self) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  destroy_now((Handle*)self);
  PyErr_Restore(type, value, trace);
  PyTypeObject* const of = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(of, Py_tp_free))(self);
  Py_DECREF(of);
}

/* destroy(): now, or when the calls under way return. Later calls are errors. */
static PyObject* handle_destroy(PyObject* self, PyObject* nothing) {
  (void)nothing;
  Handle* const handle = (Handle*)self;
  if (handle->calls > 0 || handle->holds > 0) {
    handle->is_doomed = true;
  } else {
    destroy_now(handle);
  }
  return none_object();
}

/* hold(), release(): around the life of a view of memory that the next call would change. */
static PyObject* handle_hold(PyObject* self, PyObject* nothing) {
  (void)nothing;
  ++((Handle*)self)->holds;
  return none_object();
}
static PyObject* handle_release(PyObject* self, PyObject* nothing) {
  (void)nothing;
  Handle* const handle = (Handle*)self;
  if (--handle->holds == 0 && handle->calls == 0 && handle->is_doomed) destroy_now(handle);
  return none_object();
}

static PyObject* handle_is_live(PyObject* self, void* closure) {
  (void)closure;
  const Handle* const handle = (Handle*)self;
  return PyBool_FromLong(handle->pointer != NULL && !handle->is_doomed);
}

static PyObject* handle_reduce(PyObject* self, PyObject* args) {
  (void)args;
  return PyErr_Format(PyExc_TypeError,
                      "a %s of tenon cannot be pickled or copied: it is an object of this process",
                      kind_name(((Handle*)self)->kind));
}

static PyMethodDef handle_methods[] = {{"destroy", handle_destroy, METH_NOARGS, NULL},
                                       {"hold", handle_hold, METH_NOARGS, NULL},
                                       {"release", handle_release, METH_NOARGS, NULL},
                                       {"__reduce_ex__", handle_reduce, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyGetSetDef handle_properties[] = {{"is_live", handle_is_live, NULL, NULL, NULL},
                                          {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot handle_slots[] = {{Py_tp_dealloc, handle_dealloc},
                                     {Py_tp_methods, handle_methods},
                                     {Py_tp_getset, handle_properties},
                                     {0, NULL}};
static PyType_Spec handle_spec = {"tenon._native.Handle", sizeof(Handle), 0, Py_TPFLAGS_DEFAULT,
                                  handle_slots};

/* flags: LENT with the handle that it is part of, which is held as long; else 0 and NULL. */
static PyObject* handle_object(enum Kind kind, void* pointer, PyObject* owner, int flags) {
  if (pointer == NULL) return none_object();
  allocfunc allocate = (allocfunc)PyType_GetSlot(handle_type, Py_tp_alloc);
  Handle* handle = (Handle*)allocate(handle_type, 0);
  if (handle == NULL) {
    if ((flags & LENT) == 0) destroy_pointer(kind, pointer);
    return NULL;
  }
  handle->pointer = pointer;
  handle->kind = kind;
  handle->is_lent = (flags & LENT) != 0;
  handle->pid = getpid();
  if (owner != NULL) {
    Py_INCREF(owner);
    handle->owner = (Handle*)owner;
    ++handle->owner->holds;
  }
  return (PyObject*)handle;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* A Python function that is called during a call, and what it raised. */
typedef struct {
  PyObject* function;
  bool has_raised;
  PyObject *type, *value, *trace;
} Callback;

enum { MOST_HANDLES = 4, MOST_KEPT = 16 };

/* One call of a function of the library: its arguments, and what lives until it returns. */
typedef struct {
  const char* name;
  PyObject* args;
  bool failed; /* a Python exception is set */
  PyThreadState* thread;
  Callback* callback;
  Handle* handles[MOST_HANDLES]; /* in use by the call */
  int num_handles;
  void* memory[MOST_KEPT];
  int num_memory;
  PyObject* objects[MOST_KEPT];
  int num_objects;
} Call;

static void begin(Call* call, PyObject* args, const char* name, int num_arguments, void* function) {
  memset(call, 0, sizeof *call);
  call->name = name;
  call->args = args;
  if (PyTuple_Size(args) != num_arguments) {
    PyErr_Format(PyExc_TypeError, "%s takes %d arguments", name, num_arguments);
    call->failed = true;
  } else if (function == NULL) {
    char message[128];
    PyOS_snprintf(message, sizeof message,
                  library == NULL ? "no library is in use: %s"
                                  : "this libtenon has no tenon_%s: it is another version",
                  name);
    raise_status(TENON_ERROR_UNSUPPORTED, message);
    call->failed = true;
  }
}

static PyObject* argument(Call* call, int index) {
  return call->failed ? NULL : PyTuple_GetItem(call->args, index);
}

static void release_lock(Call* call) { call->thread = PyEval_SaveThread(); }
static void take_lock(Call* call) { PyEval_RestoreThread(call->thread); }

/* Gives back what the call used; result: what it returns, NULL with an exception set. */
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

/* Whether the call brought what it should; else the exception is set: that of a callback first. */
static bool succeeded(Call* call, tenon_status status) {
  Callback* const callback = call->callback;
  if (callback != NULL && callback->has_raised) {
    PyErr_Restore(callback->type, callback->value, callback->trace);
    return false;
  }
  if (status == TENON_OK) return true;
  raise_status(status, api.last_error != NULL ? api.last_error() : "");
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

/* ---- Arguments ------------------------------------------------------------------------------- */

static int64_t as_int64_t(Call* call, PyObject* given) {
  if (call->failed) return 0;
  PyObject* number = PyNumber_Index(given); /* Python 3.9 would take 1.5 for 1 */
  const long long value = number == NULL ? 0 : PyLong_AsLongLong(number);
  Py_XDECREF(number);
  if (PyErr_Occurred()) call->failed = true;
  return value;
}

static uint64_t as_uint64_t(Call* call, PyObject* given) {
  if (call->failed) return 0;
  PyObject* number = PyNumber_Index(given);
  const unsigned long long value = number == NULL ? 0 : PyLong_AsUnsignedLongLong(number);
  Py_XDECREF(number);
  if (PyErr_Occurred()) call->failed = true;
  return value;
}

static int64_t within(Call* call, int64_t value, int64_t least, int64_t most) {
  if (!call->failed && (value < least || value > most)) {
    PyErr_Format(PyExc_OverflowError, "%s: %lld is not in %lld..%lld", call->name, (long long)value,
                 (long long)least, (long long)most);
    call->failed = true;
  }
  return value;
}

static int32_t as_int32_t(Call* call, PyObject* given) {
  return (int32_t)within(call, as_int64_t(call, given), INT32_MIN, INT32_MAX);
}
static uint32_t as_uint32_t(Call* call, PyObject* given) {
  return (uint32_t)within(call, as_int64_t(call, given), 0, UINT32_MAX);
}
static size_t as_size_t(Call* call, PyObject* given) { return as_uint64_t(call, given); }
static size_t as_count(Call* call, PyObject* given) {
  return (size_t)within(call, as_int64_t(call, given), 0, INT32_MAX);
}

static double as_double(Call* call, PyObject* given) {
  if (call->failed) return 0;
  const double value = PyFloat_AsDouble(given);
  if (value == -1 && PyErr_Occurred()) call->failed = true;
  return value;
}

/* Bytes of a bytes object, or of anything with a buffer, copied. */
static const void* as_bytes(Call* call, PyObject* given, size_t* size) {
  *size = 0;
  if (call->failed) return NULL;
  PyObject* bytes = PyBytes_Check(given) ? (Py_INCREF(given), given) : PyBytes_FromObject(given);
  char* data = NULL;
  Py_ssize_t length = 0;
  if (bytes == NULL || PyBytes_AsStringAndSize(bytes, &data, &length) != 0) {
    Py_XDECREF(bytes);
    call->failed = true;
    return NULL;
  }
  keep(call, bytes);
  *size = (size_t)length;
  return data;
}

/* UTF-8 of a str, or the bytes of a bytes object. */
static const char* as_text(Call* call, PyObject* given, size_t* length) {
  *length = 0;
  if (call->failed) return NULL;
  if (!PyUnicode_Check(given)) {
    if (!PyBytes_Check(given)) {
      PyErr_Format(PyExc_TypeError, "%s: a text is str or bytes", call->name);
      call->failed = true;
      return NULL;
    }
    return as_bytes(call, given, length);
  }
  PyObject* bytes = PyUnicode_AsEncodedString(given, "utf-8", "surrogateescape");
  if (bytes == NULL) {
    call->failed = true;
    return NULL;
  }
  const char* text = as_bytes(call, bytes, length);
  Py_DECREF(bytes);
  return text;
}

static const char* as_name(Call* call, PyObject* given) {
  size_t length = 0;
  const char* name = as_text(call, given, &length);
  if (!call->failed && strlen(name) != length) {
    PyErr_Format(PyExc_ValueError, "%s: a name or path holds a NUL", call->name);
    call->failed = true;
  }
  return name;
}

/* Token ids: a sequence of numbers, or bytes of 32-bit ones. */
static const tenon_token* as_tokens(Call* call, PyObject* given, size_t* count) {
  *count = 0;
  if (call->failed) return NULL;
  if (PyBytes_Check(given)) {
    const void* bytes = as_bytes(call, given, count);
    *count /= sizeof(tenon_token);
    return bytes;
  }
  const Py_ssize_t size = PySequence_Size(given);
  if (size < 0) {
    call->failed = true;
    return NULL;
  }
  tenon_token* tokens = scratch(call, (size_t)size * sizeof *tokens + 1);
  for (Py_ssize_t i = 0; !call->failed && i < size; ++i) {
    PyObject* item = PySequence_GetItem(given, i);
    if (item == NULL) {
      call->failed = true;
    } else {
      tokens[i] = as_int32_t(call, item);
      Py_DECREF(item);
    }
  }
  *count = (size_t)size;
  return tokens;
}

/* Numbers: (address, count) of memory that the caller keeps, bytes of 32-bit floats, or a sequence. */
static const float* as_floats(Call* call, PyObject* given, size_t* count) {
  *count = 0;
  if (call->failed) return NULL;
  if (PyTuple_Check(given) && PyTuple_Size(given) == 2) {
    const uint64_t address = as_uint64_t(call, PyTuple_GetItem(given, 0));
    *count = (size_t)as_uint64_t(call, PyTuple_GetItem(given, 1));
    return (const float*)(uintptr_t)address;
  }
  if (PyBytes_Check(given)) {
    const void* bytes = as_bytes(call, given, count);
    *count /= sizeof(float);
    return bytes;
  }
  const Py_ssize_t size = PySequence_Size(given);
  if (size < 0) {
    call->failed = true;
    return NULL;
  }
  float* values = scratch(call, (size_t)size * sizeof *values + 1);
  for (Py_ssize_t i = 0; !call->failed && i < size; ++i) {
    PyObject* item = PySequence_GetItem(given, i);
    if (item == NULL) {
      call->failed = true;
    } else {
      values[i] = (float)as_double(call, item);
      Py_DECREF(item);
    }
  }
  *count = (size_t)size;
  return values;
}

static void as_doubles(Call* call, PyObject* given, double* values, size_t count) {
  for (size_t i = 0; !call->failed && i < count; ++i) {
    PyObject* item = PySequence_GetItem(given, (Py_ssize_t)i);
    if (item == NULL) {
      call->failed = true;
    } else {
      values[i] = as_double(call, item);
      Py_DECREF(item);
    }
  }
}

static PyObject* as_callable(Call* call, PyObject* given) {
  if (call->failed || given == Py_None) return NULL;
  if (!PyCallable_Check(given)) {
    PyErr_Format(PyExc_TypeError, "%s: the callback cannot be called", call->name);
    call->failed = true;
  }
  return given;
}

static bool is_dict(Call* call, PyObject* given) {
  if (call->failed) return false;
  if (PyDict_Check(given)) return true;
  PyErr_Format(PyExc_TypeError, "%s: a dict of fields is needed", call->name);
  call->failed = true;
  return false;
}

/* A member of a dict, or NULL when it is absent or None. */
static PyObject* member(PyObject* dict, const char* name, size_t* used) {
  PyObject* item = PyDict_GetItemString(dict, name);
  if (item != NULL) ++*used;
  return item == Py_None ? NULL : item;
}

static void all_used(Call* call, PyObject* dict, size_t used, const char* type) {
  if (call->failed || (size_t)PyDict_Size(dict) == used) return;
  PyErr_Format(PyExc_TypeError, "%s: a member is no field of %s", call->name, type);
  call->failed = true;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Bytes that are no UTF-8 come through, and go back as they were. */
static PyObject* text_object(const char* text, size_t length) {
  return PyUnicode_Decode(text != NULL ? text : "", (Py_ssize_t)length, "utf-8", "surrogateescape");
}
static PyObject* bytes_object(const char* bytes, size_t length) {
  return PyBytes_FromStringAndSize(length != 0 ? bytes : "", (Py_ssize_t)length);
}
static PyObject* name_object(const char* name) {
  return name == NULL ? none_object() : text_object(name, strlen(name));
}

static PyObject* tokens_object(const tenon_token* tokens, size_t count) {
  PyObject* list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromLong(tokens[i]));
  }
  return list;
}

static PyObject* list_of_floats(const float* values, size_t count) {
  PyObject* list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyList_SetItem(list, (Py_ssize_t)i, PyFloat_FromDouble(values[i]));
  }
  return list;
}
#define floats_object list_of_floats

/* [address, count] of memory that the library lends; tenon/_views.py makes a buffer of it. */
static PyObject* place_object(const float* values, size_t count) {
  return Py_BuildValue("(KK)", (unsigned long long)(uintptr_t)values, (unsigned long long)count);
}

static PyObject* copy_object(const void* memory, size_t size) {
  return PyByteArray_FromStringAndSize(memory, (Py_ssize_t)size);
}

static PyObject* doubles_object(const double* values, size_t count) {
  PyObject* tuple = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; tuple != NULL && i < count; ++i) {
    PyTuple_SetItem(tuple, (Py_ssize_t)i, PyFloat_FromDouble(values[i]));
  }
  return tuple;
}
static PyObject* integers_object(const uint64_t* values, size_t count) {
  PyObject* tuple = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; tuple != NULL && i < count; ++i) {
    PyTuple_SetItem(tuple, (Py_ssize_t)i, PyLong_FromUnsignedLongLong(values[i]));
  }
  return tuple;
}

/* A tuple of objects whose references it takes; NULL when one of them could not be made. */
static PyObject* tuple_object(PyObject* const* members, size_t count) {
  PyObject* tuple = PyTuple_New((Py_ssize_t)count);
  bool is_whole = tuple != NULL;
  for (size_t i = 0; i < count; ++i) {
    is_whole = is_whole && members[i] != NULL;
    if (is_whole) {
      PyTuple_SetItem(tuple, (Py_ssize_t)i, members[i]);
    } else {
      Py_XDECREF(members[i]);
    }
  }
  if (is_whole) return tuple;
  Py_XDECREF(tuple);
  return NULL;
}

/* The same as a named tuple of a structure's type. */
static PyObject* sequence_object(PyTypeObject* type, PyObject* const* members, size_t count) {
  PyObject* sequence = PyStructSequence_New(type);
  bool is_whole = sequence != NULL;
  for (size_t i = 0; i < count; ++i) {
    is_whole = is_whole && members[i] != NULL;
    if (is_whole) {
      PyStructSequence_SetItem(sequence, (Py_ssize_t)i, members[i]);
    } else {
      Py_XDECREF(members[i]);
    }
  }
  if (is_whole) return sequence;
  Py_XDECREF(sequence);
  return NULL;
}

/* Makes a buffer hold `needed` elements. Called without Python's lock. */
static bool grow(void** buffer, size_t* capacity, size_t needed, size_t size,
                 tenon_status* status) {
  void* grown = needed < SIZE_MAX / 2 / size ? realloc(*buffer, needed * size) : NULL;
  if (grown == NULL) {
    *status = TENON_ERROR_NO_MEMORY;
    return false;
  }
  *buffer = grown;
  *capacity = needed;
  return true;
}

/* Calls a Python function with arguments whose references it takes; nonzero ends what the library
 * does: the function raised, or returned something true. With Python's lock. */
static int32_t call_python(Callback* callback, PyObject* const* arguments, size_t count) {
  PyObject* tuple = tuple_object(arguments, count);
  if (callback->has_raised) {
    Py_XDECREF(tuple);
    return 1;
  }
  PyObject* answer = tuple == NULL ? NULL : PyObject_CallObject(callback->function, tuple);
  Py_XDECREF(tuple);
  const int ends = answer == NULL ? 1 : PyObject_IsTrue(answer);
  Py_XDECREF(answer);
  if (PyErr_Occurred()) {
    callback->has_raised = true;
    PyErr_Fetch(&callback->type, &callback->value, &callback->trace);
    return 1;
  }
  return ends;
}

#define TENON_GENERATED_BODIES
#include "generated.h"

static const char* kind_name(enum Kind kind) { return kinds[kind].name; }
static int is_one_at_a_time(enum Kind kind) { return kinds[kind].one_at_a_time; }

/* ---- Wakers ---------------------------------------------------------------------------------- */

/* One for each event loop: requests that have something are listed, and a descriptor becomes readable.
 * The engine tells it on its own threads; nothing of Python is touched there. */
typedef struct Ready {
  pthread_mutex_t lock;
  int descriptor; /* eventfd */
  Notice** notices;
  size_t count, capacity;
  size_t attached; /* notices that may be listed: capacity is never less */
  int users;       /* the Python object, and each attached notice */
} Ready;

struct Notice {
  pthread_mutex_t lock;
  Ready* ready; /* NULL: nobody waits in a loop yet */
  uint64_t key;
  bool is_told;   /* since it was looked at last */
  bool is_listed; /* in ready->notices */
};

static void list_notice(Notice* notice) {
  Ready* const ready = notice->ready;
  pthread_mutex_lock(&ready->lock);
  if (!notice->is_listed) {
    notice->is_listed = true;
    ready->notices[ready->count++] = notice;
    if (ready->count == 1) {
      const uint64_t one = 1;
      while (write(ready->descriptor, &one, sizeof one) < 0 && errno == EINTR) continue;
    }
  }
  pthread_mutex_unlock(&ready->lock);
}

/* tenon_notify_callback. Any thread. */
static void tell(void* user) {
  Notice* const notice = user;
  pthread_mutex_lock(&notice->lock);
  notice->is_told = true;
  if (notice->ready != NULL) list_notice(notice);
  pthread_mutex_unlock(&notice->lock);
}

static void release_ready(Ready* ready) {
  pthread_mutex_lock(&ready->lock);
  const bool is_last = --ready->users == 0;
  pthread_mutex_unlock(&ready->lock);
  if (!is_last) return;
  close(ready->descriptor);
  pthread_mutex_destroy(&ready->lock);
  free(ready->notices);
  free(ready);
}

/* Takes a notice that is not told any more out of its waker. */
static void detach(Notice* notice) {
  Ready* const ready = notice->ready;
  if (ready == NULL) return;
  notice->ready = NULL;
  pthread_mutex_lock(&ready->lock);
  for (size_t i = 0; notice->is_listed && i < ready->count; ++i) {
    if (ready->notices[i] != notice) continue;
    ready->notices[i] = ready->notices[--ready->count];
    notice->is_listed = false;
  }
  --ready->attached;
  pthread_mutex_unlock(&ready->lock);
  release_ready(ready);
}

static void forget_notice(Notice* notice) {
  detach(notice);
  pthread_mutex_destroy(&notice->lock);
  free(notice);
}

typedef struct {
  PyObject_HEAD Ready* ready;
} Waker;
static PyTypeObject* waker_type;

static PyObject* waker_new(PyTypeObject* type, PyObject* args, PyObject* named) {
  (void)args, (void)named;
  Waker* self = (Waker*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL;
  self->ready = calloc(1, sizeof *self->ready);
  if (self->ready == NULL) {
    Py_DECREF((PyObject*)self);
    return PyErr_NoMemory();
  }
  pthread_mutex_init(&self->ready->lock, NULL);
  self->ready->users = 1;
  self->ready->descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (self->ready->descriptor < 0) {
    Py_DECREF((PyObject*)self);
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  return (PyObject*)self;
}

static void waker_dealloc(PyObject* object) {
  Waker* const self = (Waker*)object;
  if (self->ready != NULL) release_ready(self->ready);
  PyTypeObject* const of = Py_TYPE(object);
  ((freefunc)PyType_GetSlot(of, Py_tp_free))(object);
  Py_DECREF(of);
}

static PyObject* waker_fileno(PyObject* self, PyObject* nothing) {
  (void)nothing;
  return PyLong_FromLong(((Waker*)self)->ready->descriptor);
}

/* take() -> the keys of the requests that have something since the last time. */
static PyObject* waker_take(PyObject* self, PyObject* nothing) {
  (void)nothing;
  Ready* const ready = ((Waker*)self)->ready;
  PyObject* keys = PyList_New(0);
  if (keys == NULL) return NULL;
  uint64_t count = 0;
  while (read(ready->descriptor, &count, sizeof count) < 0 && errno == EINTR) continue;
  pthread_mutex_lock(&ready->lock);
  while (ready->count > 0) {
    Notice* const notice = ready->notices[--ready->count];
    notice->is_listed = false;
    PyObject* key = PyLong_FromUnsignedLongLong(notice->key);
    if (key == NULL || PyList_Append(keys, key) != 0) PyErr_Clear();
    Py_XDECREF(key);
  }
  pthread_mutex_unlock(&ready->lock);
  return keys;
}

static PyMethodDef waker_methods[] = {{"fileno", waker_fileno, METH_NOARGS, NULL},
                                      {"take", waker_take, METH_NOARGS, NULL},
                                      {NULL, NULL, 0, NULL}};
static PyType_Slot waker_slots[] = {{Py_tp_new, waker_new},
                                    {Py_tp_dealloc, waker_dealloc},
                                    {Py_tp_methods, waker_methods},
                                    {0, NULL}};
static PyType_Spec waker_spec = {"tenon._native.Waker", sizeof(Waker), 0, Py_TPFLAGS_DEFAULT,
                                 waker_slots};

/* ---- Requests -------------------------------------------------------------------------------- */

/* session_submit(session, fields) -> request. */
static PyObject* session_submit(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "session_submit", 2, (void*)api.session_submit);
  tenon_session* session = as_handle(&call, argument(&call, 0), KIND_session, 0);
  tenon_submission submission;
  fill_submission(&call, argument(&call, 1), &submission);
  if (call.failed) return end(&call, NULL);
  Notice* notice = calloc(1, sizeof *notice);
  if (notice == NULL) return end(&call, PyErr_NoMemory());
  pthread_mutex_init(&notice->lock, NULL);
  submission.notify = &tell;
  submission.user = notice;
  tenon_request* request = NULL;
  release_lock(&call);
  const tenon_status status = api.session_submit(session, &submission, &request);
  take_lock(&call);
  if (!succeeded(&call, status)) {
    forget_notice(notice);
    return end(&call, NULL);
  }
  PyObject* handle = handle_object(KIND_request, request, NULL, 0);
  if (handle == NULL) {
    forget_notice(notice);
  } else {
    ((Handle*)handle)->notice = notice;
  }
  return end(&call, handle);
}

/* From now on `ready` lists the notice by `key`; at once what was told already. */
static PyObject* attach_notice(Notice* notice, Ready* ready, uint64_t key) {
  pthread_mutex_lock(&notice->lock);
  detach(notice);
  pthread_mutex_lock(&ready->lock);
  bool has_room = ready->attached < ready->capacity;
  if (!has_room) {
    const size_t capacity = ready->capacity == 0 ? 16 : 2 * ready->capacity;
    Notice** grown = realloc(ready->notices, capacity * sizeof *grown);
    if (grown != NULL) {
      ready->notices = grown;
      ready->capacity = capacity;
      has_room = true;
    }
  }
  if (has_room) {
    ++ready->attached;
    ++ready->users;
    notice->ready = ready;
    notice->key = key;
  }
  pthread_mutex_unlock(&ready->lock);
  if (has_room && notice->is_told) list_notice(notice);
  pthread_mutex_unlock(&notice->lock);
  return has_room ? none_object() : PyErr_NoMemory();
}

/* request_attach(request, waker, key): from now on the waker lists `key` when the request has something.
 * What it has already is listed at once. */
static PyObject* request_attach(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *request = NULL, *waker = NULL;
  unsigned long long key = 0;
  if (!PyArg_ParseTuple(args, "O!O!K", handle_type, &request, waker_type, &waker, &key))
    return NULL;
  Notice* const notice = ((Handle*)request)->notice;
  if (notice == NULL) return raise_status(TENON_ERROR_STATE, "the request has been closed");
  return attach_notice(notice, ((Waker*)waker)->ready, key);
}

/* request_next(request, interval_seconds) -> Piece: waits for ever, and lets Python handle signals (a
 * KeyboardInterrupt) after each interval. */
static PyObject* request_next(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "request_next", 2, (void*)api.request_wait);
  tenon_request* request = as_handle(&call, argument(&call, 0), KIND_request, 0);
  const double interval = as_double(&call, argument(&call, 1));
  if (call.failed) return end(&call, NULL);
  for (;;) {
    tenon_piece piece = {.struct_size = sizeof piece};
    release_lock(&call);
    const tenon_status status = api.request_wait(request, interval, &piece);
    take_lock(&call);
    if (!succeeded(&call, status)) return end(&call, NULL);
    if (piece.token != TENON_NO_TOKEN || piece.finish != TENON_FINISH_NONE) {
      return end(&call, from_piece(&piece));
    }
    if (PyErr_CheckSignals() != 0 || call.handles[0]->is_doomed) {
      if (!PyErr_Occurred()) raise_status(TENON_ERROR_CANCELLED, "the request has been closed");
      return end(&call, NULL);
    }
  }
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* A log line goes to a Python function on whatever thread it is written; what that raises is shown as
 * what happens in destructors is. */
static void log_line(void* user, uint32_t level, const char* text, uint64_t length) {
  const PyGILState_STATE lock = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* line = text_object(text, (size_t)length);
  PyObject* answer = line == NULL ? NULL : PyObject_CallFunction(user, "IO", (unsigned)level, line);
  if (answer == NULL) PyErr_WriteUnraisable(user);
  Py_XDECREF(answer);
  Py_XDECREF(line);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(lock);
}

/* The user of a model's callbacks. */
typedef struct {
  Callback progress;
  PyObject* log;
} Loading;

static int32_t load_progress(void* user, double fraction) {
  return on_progress_callback(&((Loading*)user)->progress, fraction);
}
static void load_log(void* user, uint32_t level, const char* text, uint64_t length) {
  log_line(((Loading*)user)->log, level, text, length);
}

/* One source from (kind, value): a path, (fd, offset, size), or memory that the caller keeps. */
static void fill_source(Call* call, PyObject* given, tenon_source* source) {
  memset(source, 0, sizeof *source);
  source->struct_size = sizeof *source;
  if (call->failed) return;
  int kind = 0;
  PyObject* value = NULL;
  if (!PyArg_ParseTuple(given, "iO", &kind, &value)) {
    call->failed = true;
    return;
  }
  source->kind = kind;
  if (kind == TENON_SOURCE_PATH) {
    size_t length = 0;
    source->name = as_text(call, value, &length);
    source->name_length = length;
  } else if (kind == TENON_SOURCE_FD) {
    unsigned long long offset = 0, size = 0;
    if (!PyArg_ParseTuple(value, "iKK", &source->fd, &offset, &size)) call->failed = true;
    source->offset = offset;
    source->size = size;
  } else {
    size_t size = 0;
    source->data = as_bytes(call, value, &size);
    source->size = size;
  }
}

/* model_load(sources, options, progress, log, log_level) -> model. Bytes are to be kept by the caller as
 * long as the model or one of its sessions lives. */
static PyObject* model_load(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "model_load", 5, (void*)api.model_load);
  PyObject* given = argument(&call, 0);
  const Py_ssize_t count = given == NULL ? 0 : PyTuple_Size(given);
  if (count < 0) call.failed = true;
  tenon_source* sources = scratch(&call, (size_t)(count + 1) * sizeof *sources);
  const tenon_source** pointers = scratch(&call, (size_t)(count + 1) * sizeof *pointers);
  for (Py_ssize_t i = 0; !call.failed && i < count; ++i) {
    fill_source(&call, PyTuple_GetItem(given, i), &sources[i]);
    pointers[i] = &sources[i];
  }
  tenon_options* options = as_handle(&call, argument(&call, 1), KIND_options, NULLABLE);
  PyObject* progress = as_callable(&call, argument(&call, 2));
  PyObject* log = as_callable(&call, argument(&call, 3));
  const uint32_t level = as_uint32_t(&call, argument(&call, 4));
  /* As long as the process: the log is used as long as the model or one of its sessions lives. */
  Loading* loading = call.failed ? NULL : calloc(1, sizeof *loading);
  if (loading == NULL) {
    if (!call.failed) PyErr_NoMemory();
    return end(&call, NULL);
  }
  loading->progress.function = progress;
  loading->log = log;
  Py_XINCREF(log);
  call.callback = &loading->progress;
  const tenon_callbacks callbacks = {.struct_size = sizeof callbacks,
                                     .log_level = level,
                                     .user = loading,
                                     .log = log == NULL ? NULL : &load_log,
                                     .progress = progress == NULL ? NULL : &load_progress};
  tenon_model* model = NULL;
  release_lock(&call);
  const tenon_status status = api.model_load(pointers, (size_t)count, options, &callbacks, &model);
  take_lock(&call);
  PyObject* result = NULL;
  if (succeeded(&call, status)) {
    result = handle_object(KIND_model, model, NULL, 0);
  }
  loading->progress.function = NULL;
  if (log == NULL) free(loading);
  return end(&call, result);
}

/* tokenizer_load((kind, value)) -> tokenizer. */
static PyObject* tokenizer_load(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "tokenizer_load", 1, (void*)api.tokenizer_load);
  tenon_source source;
  fill_source(&call, argument(&call, 0), &source);
  if (call.failed) return end(&call, NULL);
  tenon_tokenizer* tokenizer = NULL;
  release_lock(&call);
  const tenon_status status = api.tokenizer_load(&source, &tokenizer);
  take_lock(&call);
  PyObject* result = NULL;
  if (succeeded(&call, status)) result = handle_object(KIND_tokenizer, tokenizer, NULL, 0);
  return end(&call, result);
}

/* ---- Embeddings ------------------------------------------------------------------------------ */

/* The texts, or the lists of tokens, of a batch; kept with the call. */
static void fill_batch(Call* call, PyObject* items, int32_t role, double timeout,
                       tenon_embedder_batch* batch) {
  memset(batch, 0, sizeof *batch);
  batch->struct_size = sizeof *batch;
  batch->role = role;
  batch->timeout_seconds = timeout;
  if (call->failed) return;
  const Py_ssize_t count = PyList_Check(items) ? PyList_Size(items) : -1;
  if (count < 0) {
    PyErr_Format(PyExc_TypeError, "%s: a list of texts or of lists of tokens is needed",
                 call->name);
    call->failed = true;
    return;
  }
  const bool is_text = count == 0 || !PyList_Check(PyList_GetItem(items, 0));
  const void** places = scratch(call, ((size_t)count + 1) * sizeof *places);
  uint64_t* lengths = scratch(call, ((size_t)count + 1) * sizeof *lengths);
  batch->num_rows = scratch(call, ((size_t)count + 1) * sizeof *batch->num_rows);
  /* All in one block, since a batch may have any number of texts. */
  PyObject* joined = PyList_New(0);
  for (Py_ssize_t i = 0; !call->failed && joined != NULL && i < count; ++i) {
    PyObject* item = PyList_GetItem(items, i);
    PyObject* bytes = NULL;
    if (is_text && PyUnicode_Check(item)) {
      bytes = PyUnicode_AsEncodedString(item, "utf-8", "surrogateescape");
    } else if (!is_text && PyList_Check(item)) {
      const size_t size = (size_t)PyList_Size(item);
      bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(size * sizeof(tenon_token)));
      tenon_token* tokens = bytes == NULL ? NULL : (tenon_token*)(void*)PyBytes_AsString(bytes);
      for (size_t j = 0; tokens != NULL && j < size; ++j) {
        tokens[j] = as_int32_t(call, PyList_GetItem(item, (Py_ssize_t)j));
      }
    } else {
      PyErr_Format(PyExc_TypeError, "%s: item %zd is of another kind than the first", call->name,
                   i);
    }
    if (bytes == NULL || PyList_Append(joined, bytes) != 0) {
      call->failed = true;
    } else {
      places[i] = PyBytes_AsString(bytes);
      lengths[i] = (uint64_t)PyBytes_Size(bytes) / (is_text ? 1 : sizeof(tenon_token));
    }
    Py_XDECREF(bytes);
  }
  if (joined == NULL) {
    call->failed = true;
    return;
  }
  keep(call, joined);
  batch->count = (uint64_t)count;
  if (is_text) {
    batch->texts = (const char* const*)places;
    batch->lengths = lengths;
  } else {
    batch->tokens = (const tenon_token* const*)places;
    batch->num_tokens = lengths;
  }
}

/* embedder_embed(embedder, items, role, timeout) -> (bytearray of f32, rows of each item). */
static PyObject* embedder_embed(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "embedder_embed", 4, (void*)api.embedder_embed);
  tenon_embedder* embedder = as_handle(&call, argument(&call, 0), KIND_embedder, 0);
  const int32_t role = as_int32_t(&call, argument(&call, 2));
  const double timeout = as_double(&call, argument(&call, 3));
  tenon_embedder_batch batch;
  fill_batch(&call, argument(&call, 1), role, timeout, &batch);
  if (call.failed) return end(&call, NULL);
  size_t needed = 0;
  release_lock(&call);
  tenon_status status = api.embedder_embed(embedder, &batch, NULL, 0, &needed);
  take_lock(&call);
  PyObject* rows = NULL;
  while (succeeded(&call, status)) {
    Py_XDECREF(rows);
    const size_t capacity = needed;
    rows = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(capacity * sizeof(float)));
    if (rows == NULL || capacity == 0) break;
    float* values = (float*)(void*)PyByteArray_AsString(rows);
    release_lock(&call);
    status = api.embedder_embed(embedder, &batch, values, capacity, &needed);
    take_lock(&call);
    if (status == TENON_OK && needed <= capacity) break;
  }
  if (PyErr_Occurred()) {
    Py_XDECREF(rows);
    return end(&call, NULL);
  }
  PyObject* counts = PyList_New((Py_ssize_t)batch.count);
  for (uint64_t i = 0; counts != NULL && i < batch.count; ++i) {
    PyList_SetItem(counts, (Py_ssize_t)i, PyLong_FromUnsignedLongLong(batch.num_rows[i]));
  }
  PyObject* const members[] = {rows, counts};
  return end(&call, tuple_object(members, 2));
}

/* embedder_rank(embedder, query, items, timeout) -> list of scores. */
static PyObject* embedder_rank(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "embedder_rank", 4, (void*)api.embedder_rank);
  tenon_embedder* embedder = as_handle(&call, argument(&call, 0), KIND_embedder, 0);
  size_t length = 0;
  const char* query = as_text(&call, argument(&call, 1), &length);
  const double timeout = as_double(&call, argument(&call, 3));
  tenon_embedder_batch batch;
  fill_batch(&call, argument(&call, 2), TENON_TEXT_DOCUMENT, timeout, &batch);
  if (call.failed) return end(&call, NULL);
  float* scores = NULL;
  size_t capacity = 0, needed = 0;
  tenon_status status = TENON_OK;
  release_lock(&call);
  do {
    status = api.embedder_rank(embedder, query, length, &batch, scores, capacity, &needed);
  } while (status == TENON_OK && needed > capacity &&
           grow((void**)&scores, &capacity, needed, sizeof *scores, &status));
  take_lock(&call);
  PyObject* result = succeeded(&call, status) ? list_of_floats(scores, needed) : NULL;
  free(scores);
  return end(&call, result);
}

/* session_score(session, items, flags, timeout) -> (logprobs of all items, tokens of each). */
static PyObject* session_score(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "session_score", 4, (void*)api.session_score);
  tenon_session* session = as_handle(&call, argument(&call, 0), KIND_session, 0);
  const uint32_t flags = as_uint32_t(&call, argument(&call, 2));
  const double timeout = as_double(&call, argument(&call, 3));
  tenon_embedder_batch batch;
  fill_batch(&call, argument(&call, 1), 0, timeout, &batch);
  if (call.failed) return end(&call, NULL);
  const tenon_continuations continuations = {.struct_size = sizeof continuations,
                                             .flags = flags,
                                             .count = batch.count,
                                             .texts = batch.texts,
                                             .lengths = batch.lengths,
                                             .tokens = batch.tokens,
                                             .num_tokens = batch.num_tokens,
                                             .num_logprobs = batch.num_rows,
                                             .timeout_seconds = timeout};
  float* logprobs = NULL;
  size_t capacity = 0, needed = 0;
  tenon_status status = TENON_OK;
  release_lock(&call);
  do {
    status = api.session_score(session, &continuations, logprobs, capacity, &needed);
  } while (status == TENON_OK && needed > capacity &&
           grow((void**)&logprobs, &capacity, needed, sizeof *logprobs, &status));
  take_lock(&call);
  PyObject* counts = NULL;
  PyObject* values = NULL;
  if (succeeded(&call, status)) {
    values = list_of_floats(logprobs, needed);
    counts = PyList_New((Py_ssize_t)batch.count);
    for (uint64_t i = 0; counts != NULL && i < batch.count; ++i) {
      PyList_SetItem(counts, (Py_ssize_t)i, PyLong_FromUnsignedLongLong(batch.num_rows[i]));
    }
  }
  free(logprobs);
  if (PyErr_Occurred()) {
    Py_XDECREF(values);
    Py_XDECREF(counts);
    return end(&call, NULL);
  }
  PyObject* const members[] = {values, counts};
  return end(&call, tuple_object(members, 2));
}

/* ---- The thread of an engine ----------------------------------------------------------------- */

/* Runs tenon_engine_run on a thread of its own, which never enters Python. */
typedef struct {
  PyObject_HEAD PyObject* engine;
  pthread_t thread;
  bool is_running;
  pid_t pid;
} Runner;
static PyTypeObject* runner_type;

static void* run_engine(void* engine) {
  (void)api.engine_run(engine);
  return NULL;
}

/* Runner(engine) */
static PyObject* runner_new(PyTypeObject* type, PyObject* args, PyObject* named) {
  (void)named;
  PyObject* engine = NULL;
  if (!PyArg_ParseTuple(args, "O!", handle_type, &engine)) return NULL;
  Handle* const handle = (Handle*)engine;
  if (handle->kind != KIND_engine || handle->pointer == NULL || handle->is_doomed) {
    return raise_status(TENON_ERROR_STATE, "the engine has been closed");
  }
  Runner* self = (Runner*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL;
  const int status = pthread_create(&self->thread, NULL, &run_engine, handle->pointer);
  if (status != 0) {
    Py_DECREF((PyObject*)self);
    errno = status;
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  ++handle->calls;
  Py_INCREF(engine);
  self->engine = engine;
  self->is_running = true;
  self->pid = getpid();
  return (PyObject*)self;
}

static void runner_end(Runner* self) {
  if (!self->is_running || is_ending) return;
  self->is_running = false;
  Handle* const handle = (Handle*)self->engine;
  if (self->pid == getpid()) {
    Py_BEGIN_ALLOW_THREADS(void) api.engine_stop(handle->pointer);
    pthread_join(self->thread, NULL);
    Py_END_ALLOW_THREADS
  }
  self->engine = NULL;
  if (--handle->calls == 0 && handle->holds == 0 && handle->is_doomed) destroy_now(handle);
  Py_DECREF((PyObject*)handle);
}

static void runner_dealloc(PyObject* object) {
  runner_end((Runner*)object);
  PyTypeObject* const of = Py_TYPE(object);
  ((freefunc)PyType_GetSlot(of, Py_tp_free))(object);
  Py_DECREF(of);
}

/* stop(): returns when the thread has ended. */
static PyObject* runner_stop(PyObject* self, PyObject* nothing) {
  (void)nothing;
  runner_end((Runner*)self);
  return none_object();
}

static PyMethodDef runner_methods[] = {{"stop", runner_stop, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyType_Slot runner_slots[] = {{Py_tp_new, runner_new},
                                     {Py_tp_dealloc, runner_dealloc},
                                     {Py_tp_methods, runner_methods},
                                     {0, NULL}};
static PyType_Spec runner_spec = {"tenon._native.Runner", sizeof(Runner), 0, Py_TPFLAGS_DEFAULT,
                                  runner_slots};

#include "server_calls.h"

/* ---- The module ------------------------------------------------------------------------------ */

/* read_struct(name, bytes): for tests of layouts. */
static PyObject* read_struct_method(PyObject* module, PyObject* args) {
  (void)module;
  const char *name = NULL, *memory = NULL;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "sy#", &name, &memory, &size)) return NULL;
  char copy[4096] = {0};
  memcpy(copy, memory, (size_t)size < sizeof copy ? (size_t)size : sizeof copy);
  return read_struct(name, copy);
}

/* end_process(): nothing is destroyed, or waited for, from now on. */
static PyObject* end_process(PyObject* module, PyObject* nothing) {
  (void)module, (void)nothing;
  is_ending = true;
  return none_object();
}

static PyMethodDef methods[] = {GENERATED_METHODS{"end_process", end_process, METH_NOARGS, NULL},
                                {"open_library", open_library, METH_VARARGS, NULL},
                                {"use_library", use_library, METH_VARARGS, NULL},
                                {"open_server_library", open_server_library, METH_VARARGS, NULL},
                                {"read_struct", read_struct_method, METH_VARARGS, NULL},
                                {"session_submit", session_submit, METH_VARARGS, NULL},
                                {"request_attach", request_attach, METH_VARARGS, NULL},
                                {"request_next", request_next, METH_VARARGS, NULL},
                                {"model_load", model_load, METH_VARARGS, NULL},
                                {"tokenizer_load", tokenizer_load, METH_VARARGS, NULL},
                                {"embedder_embed", embedder_embed, METH_VARARGS, NULL},
                                {"session_score", session_score, METH_VARARGS, NULL},
                                {"embedder_rank", embedder_rank, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

/* Types are made once for the process; a module that is imported anew gets the same ones. */
static int add_type(PyObject* module, PyTypeObject** type, PyObject* made, const char* name) {
  if (*type == NULL) *type = (PyTypeObject*)made;
  if (*type == NULL) return -1;
  Py_INCREF((PyObject*)*type);
  return PyModule_AddObject(module, name, (PyObject*)*type);
}

static PyObject* made_of(PyTypeObject* type, PyType_Spec* spec) {
  return type != NULL ? NULL : PyType_FromSpec(spec);
}

static int execute(PyObject* module) {
  /* Callbacks come on threads, from which only the main interpreter can be entered. */
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "tenon works in the main interpreter only, not in subinterpreters: the library "
                    "calls back on its own threads");
    return -1;
  }
  if (add_type(module, &handle_type, made_of(handle_type, &handle_spec), "Handle") != 0 ||
      add_type(module, &waker_type, made_of(waker_type, &waker_spec), "Waker") != 0 ||
      add_type(module, &runner_type, made_of(runner_type, &runner_spec), "Runner") != 0 ||
      add_type(module, &server_type, made_of(server_type, &server_spec), "Server") != 0 ||
      add_type(module, &server_call_type, made_of(server_call_type, &server_call_spec),
               "ServerCall") != 0) {
    return -1;
  }
  for (size_t i = 0; i < sizeof struct_types / sizeof *struct_types; ++i) {
    const struct StructType* of = &struct_types[i];
    PyObject* made = *of->type != NULL ? NULL : (PyObject*)PyStructSequence_NewType(of->desc);
    if (add_type(module, of->type, made, of->name) != 0) return -1;
  }
  return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void*)&execute}, {0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tenon._native", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
