/* Notices of requests to event loops. Part of module.c. */

/* One per event loop: lists requests with pieces, and makes a descriptor readable. The engine
 * writes to it on its own threads; nothing of Python is touched there. */
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
  Ready* ready; /* NULL: no loop waits yet */
  uint64_t key;
  bool is_told;   /* since the last look */
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

/* Removes a notice that is not set any more from its waker. */
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

/* take() -> the keys of requests with pieces since the last call. */
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

/* For a request that is about to be made. */
static Notice* new_notice(Call* call) {
  Notice* notice = call->failed ? NULL : calloc(1, sizeof *notice);
  if (notice == NULL) {
    if (!call->failed) PyErr_NoMemory();
    call->failed = true;
    return NULL;
  }
  pthread_mutex_init(&notice->lock, NULL);
  return notice;
}

/* The handle of a request, which takes its notice. */
static PyObject* request_object(enum Kind kind, void* pointer, PyObject* owner, Notice* notice) {
  PyObject* handle = handle_object(kind, pointer, owner, 0);
  if (handle == NULL) {
    forget_notice(notice);
  } else {
    ((Handle*)handle)->notice = notice;
  }
  return handle;
}

/* Makes `ready` list the notice by `key` from now on; at once if it was set already. */
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
