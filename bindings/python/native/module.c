/* The extension module tenon._native: the functions of tenon.h and of tenon/server.h as Python functions. What
 * follows from the descriptions of the interfaces is in generated.h; here are the libraries, and in the files
 * beside this one, each a part of it, what the generated functions use and those that no rule covers.
 *
 * Built for the limited API of Python 3.9, so one file serves every later version. Python's lock is held
 * but between release_lock and take_lock, where nothing of Python is touched. */
#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <structmember.h>
#include <sys/eventfd.h>
#include <tenon/server.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include "generated.h" /* FUNCTIONS, SERVER_FUNCTIONS and enum Kind; below again, for the rest */

/* ---- The libraries --------------------------------------------------------------------------- */

/* Functions of the libraries in use; NULL: the library lacks the function, or none is in use yet.
 */
#define MEMBER(name) __typeof__(&tenon_##name) name;
static struct { FUNCTIONS(MEMBER) SERVER_FUNCTIONS(MEMBER) } api;
#undef MEMBER

static void* library;        /* as dlopen gives it; never closed */
static void* server_library; /* libtenon-server; opened for the first server */
static PyObject* errors;     /* status -> exception type */

static PyObject* none_object(void) {
  Py_INCREF(Py_None);
  return Py_None;
}

/* open_library(path, function) -> (description or None, version text, whether it is the libtenon in
 * use, or works with that): opens a library without using it. function: name of the function that
 * returns the description. */
static PyObject* open_library(PyObject* module, PyObject* args) {
  (void)module;
  const char *path = NULL, *function = NULL;
  if (!PyArg_ParseTuple(args, "ss", &path, &function)) return NULL;
  void* opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (opened == NULL) return PyErr_Format(PyExc_OSError, "%s", dlerror());
  const char* (*description)(void) = NULL;
  const char* (*version)(void) = NULL;
  *(void**)&description = dlsym(opened, function);
  *(void**)&version = dlsym(opened, "tenon_version_text");
  const bool is_ours = library != NULL && dlsym(library, "tenon_version_text") == *(void**)&version;
  PyObject* result = Py_BuildValue("(ssO)", description == NULL ? NULL : description(),
                                   version == NULL ? "?" : version(), is_ours ? Py_True : Py_False);
  if (library != opened && server_library != opened) dlclose(opened);
  return result;
}

/* use_library(path, errors): makes this library the one whose functions are called. errors: a dict
 * of exception types by status. Only once. */
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

/* use_server_library(path): makes this library that of tenon/server.h. Only once. */
static PyObject* use_server_library(PyObject* module, PyObject* args) {
  (void)module;
  const char* path = NULL;
  if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
  if (server_library != NULL) return none_object();
  server_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (server_library == NULL) return PyErr_Format(PyExc_OSError, "%s", dlerror());
#define FIND(name) *(void**)&api.name = dlsym(server_library, "tenon_" #name);
  SERVER_FUNCTIONS(FIND)
#undef FIND
  return none_object();
}

static PyObject* raise_status(tenon_status status, const char* message) {
  PyObject* number = PyLong_FromLong(status);
  PyObject* type = errors == NULL ? NULL : PyDict_GetItem(errors, number);
  Py_XDECREF(number);
  PyErr_Format(type != NULL ? type : PyExc_RuntimeError, "%s", message);
  return NULL;
}

/* Raises a failed call's error; an error of the operating system with its number (_errors.py). */
static PyObject* raise_failure(tenon_status status, const char* message) {
  const int32_t number =
      status == TENON_ERROR_IO && api.last_system_error != NULL ? api.last_system_error() : 0;
  PyObject* make = number == 0 || errors == NULL ? NULL : PyDict_GetItemString(errors, "system");
  if (make == NULL) return raise_status(status, message);
  PyObject* error = PyObject_CallFunction(make, "is", (int)number, message);
  if (error == NULL) return NULL;
  PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

/* In this order. */
/* clang-format off */
#include "handles.h"
#include "calls.h"
#include "arguments.h"
#include "results.h"
#include "callbacks.h"
#include "wakers.h"

#define TENON_GENERATED_BODIES
#include "generated.h"

static const char* kind_name(enum Kind kind) { return kinds[kind].name; }
static int is_one_at_a_time(enum Kind kind) { return kinds[kind].one_at_a_time; }
static int is_of_server(enum Kind kind) { return kinds[kind].of_server; }

#include "requests.h"
#include "loading.h"
#include "embeddings.h"
#include "runner.h"
/* clang-format on */

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

/* end_process(): from now on nothing is destroyed or waited for, except callbacks that have begun:
 * a thread of the library that waits for Python's lock when Python ends would be ended inside the
 * library. */
static PyObject* end_process(PyObject* module, PyObject* nothing) {
  (void)module, (void)nothing;
  is_ending = true;
  enum { MOST_MILLISECONDS = 50 };
  Py_BEGIN_ALLOW_THREADS for (int i = 0; i < MOST_MILLISECONDS && callbacks_under_way > 0; ++i) {
    usleep(1000);
  }
  Py_END_ALLOW_THREADS return none_object();
}

/* is_in_log_function() -> whether this thread of a library is in a log function. */
static PyObject* is_in_log_function(PyObject* module, PyObject* nothing) {
  (void)module, (void)nothing;
  return PyBool_FromLong(is_in_log);
}

static PyMethodDef methods[] = {GENERATED_METHODS{"end_process", end_process, METH_NOARGS, NULL},
                                {"is_in_log_function", is_in_log_function, METH_NOARGS, NULL},
                                {"open_library", open_library, METH_VARARGS, NULL},
                                {"use_library", use_library, METH_VARARGS, NULL},
                                {"use_server_library", use_server_library, METH_VARARGS, NULL},
                                {"read_struct", read_struct_method, METH_VARARGS, NULL},
                                {"request_attach", request_attach, METH_VARARGS, NULL},
                                {"request_next", request_next, METH_VARARGS, NULL},
                                {"model_load", model_load, METH_VARARGS, NULL},
                                {"tokenizer_load", tokenizer_load, METH_VARARGS, NULL},
                                {"embedder_embed", embedder_embed, METH_VARARGS, NULL},
                                {"session_score", session_score, METH_VARARGS, NULL},
                                {"embedder_rank", embedder_rank, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

/* Types are made once per process; a module that is imported again gets them, too. */
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
      add_type(module, &runner_type, made_of(runner_type, &runner_spec), "Runner") != 0) {
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
