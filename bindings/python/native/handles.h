/* Handles of the libraries as Python objects, and their lifetime. Part of module.c. */

/* Notice of a request to its host: one per request, set on any thread, without Python. */
typedef struct Notice Notice;

typedef struct Handle Handle;
struct Handle {
  PyObject_HEAD void* pointer; /* NULL: destroyed */
  enum Kind kind;
  int calls;      /* running on it */
  int holds;      /* views of its memory and lent handles that are alive */
  bool is_doomed; /* to be destroyed when the last one returns */
  bool is_lent;   /* part of `owner`, not to be destroyed */
  pid_t pid;
  Handle* owner;  /* lender of the handle, or an object that must outlive it, held; or NULL */
  PyObject* kept; /* a list of objects that live as long, handles in it held; or NULL */
  Notice* notice; /* of a request; freed after the request */
};

static PyTypeObject* handle_type;
static atomic_bool is_ending;        /* the process ends: its objects are left to it */
static _Thread_local bool is_in_log; /* this thread of a library is in a log function */
static void forget_notice(Notice* notice);

enum { NULLABLE = 1, WHILE_BUSY = 2, LENT = 4 };
static void destroy_pointer(enum Kind kind, void* pointer);
static void destroy_now(Handle* handle);
static const char* kind_name(enum Kind kind);
static int is_one_at_a_time(enum Kind kind);
static int is_of_server(enum Kind kind);

static void release_hold(Handle* handle) {
  if (--handle->holds == 0 && handle->calls == 0 && handle->is_doomed) destroy_now(handle);
}

static void release_kept(PyObject* kept) {
  if (kept == NULL) return;
  for (Py_ssize_t i = PyList_Size(kept) - 1; i >= 0; --i) {
    PyObject* const item = PyList_GetItem(kept, i);
    if (PyObject_TypeCheck(item, handle_type)) release_hold((Handle*)item);
  }
  Py_DECREF(kept);
}

/* A server released by a log function: destroying it on the thread that called the function would
 * wait for itself. */
typedef struct {
  enum Kind kind;
  void* pointer;
  PyObject* kept;
  pid_t pid;
} Leftover;

static int destroy_leftover(void* given) {
  Leftover* const leftover = given;
  if (!is_ending && leftover->pid == getpid()) { /* a child of fork has no threads of the server */
    Py_BEGIN_ALLOW_THREADS destroy_pointer(leftover->kind, leftover->pointer);
    Py_END_ALLOW_THREADS release_kept(leftover->kept);
  }
  free(leftover);
  return 0;
}

/* Makes the main thread destroy it; if there is no room for that, it is left to the process. */
static void destroy_later(Handle* handle, void* pointer) {
  Leftover* leftover = malloc(sizeof *leftover);
  if (leftover == NULL) return;
  *leftover = (Leftover){
      .kind = handle->kind, .pointer = pointer, .kept = handle->kept, .pid = handle->pid};
  handle->kept = NULL;
  if (Py_AddPendingCall(&destroy_leftover, leftover) != 0) free(leftover);
}

/* Destroying may wait for a running callback in another thread that wants Python's lock. */
static void destroy_now(Handle* handle) {
  void* const pointer = handle->pointer;
  handle->pointer = NULL;
  if (pointer == NULL || is_ending) return;
  if (is_in_log && handle->kind == KIND_server && handle->pid == getpid()) {
    destroy_later(handle, pointer);
  } else if (!handle->is_lent && handle->pid == getpid()) {
    Py_BEGIN_ALLOW_THREADS destroy_pointer(handle->kind, pointer);
    Py_END_ALLOW_THREADS
  }
  if (handle->notice != NULL) {
    if (handle->pid == getpid()) forget_notice(handle->notice);
    handle->notice = NULL;
  }
  PyObject* const kept = handle->kept;
  handle->kept = NULL;
  release_kept(kept);
  Handle* const owner = handle->owner;
  handle->owner = NULL;
  if (owner == NULL) return;
  release_hold(owner);
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

/* destroy(): now, or when running calls return. Later calls are errors. */
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
  release_hold((Handle*)self);
  return none_object();
}

static bool keep_with(PyObject* keeper, PyObject* object);

/* keep(object): as long as the handle lives. */
static PyObject* handle_keep(PyObject* self, PyObject* object) {
  return keep_with(self, object) ? none_object() : NULL;
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
                                       {"keep", handle_keep, METH_O, NULL},
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

/* owner: held as long as the handle; with the flag LENT the handle is part of it. */
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

/* Keeps an object, and holds it when it is a handle, as long as `keeper` lives. */
static bool keep_with(PyObject* keeper, PyObject* object) {
  Handle* const handle = (Handle*)keeper;
  if (handle->kept == NULL) handle->kept = PyList_New(0);
  if (handle->kept == NULL || PyList_Append(handle->kept, object) != 0) return false;
  if (PyObject_TypeCheck(object, handle_type)) ++((Handle*)object)->holds;
  return true;
}
