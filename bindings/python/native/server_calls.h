/* The server in this process (tenon/server.h): Server, and ServerCall, a request to it without a socket.
 * Part of module.c. The library libtenon-server is opened when the first Server is made. */
#include <tenon/server.h>

#define SERVER_FUNCTIONS(do)                                                              \
  do                                                                                      \
  (create) do(destroy) do(add_model) do(add_engine) do(start) do(stop) do(last_error) do( \
      submit) do(call_destroy) do(call_wait)
#define MEMBER(name) __typeof__(&tenon_server_##name) name;
static struct { SERVER_FUNCTIONS(MEMBER) } server_api;
#undef MEMBER

/* open_server_library(path): once; OSError where it cannot be had. */
static PyObject* open_server_library(PyObject* module, PyObject* args) {
  (void)module;
  const char* path = NULL;
  if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
  if (server_api.create != NULL) return none_object();
  void* opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (opened == NULL) return PyErr_Format(PyExc_OSError, "%s", dlerror());
  bool is_whole = true;
#define FIND(name)                                                  \
  *(void**)&server_api.name = dlsym(opened, "tenon_server_" #name); \
  is_whole = is_whole && server_api.name != NULL;
  SERVER_FUNCTIONS(FIND)
#undef FIND
  if (is_whole) return none_object();
  memset(&server_api, 0, sizeof server_api);
  dlclose(opened);
  return PyErr_Format(PyExc_OSError, "%s is of another version: it lacks functions", path);
}

static PyObject* raise_server_status(tenon_status status) {
  return raise_status(status, server_api.last_error());
}

/* ---- Server ---------------------------------------------------------------------------------- */

typedef struct {
  PyObject_HEAD tenon_server* server; /* NULL: closed */
  PyObject* used; /* list of the handles of models and engines, each with a call under way */
  int calls;      /* ServerCalls that live, and calls under way */
  bool is_doomed;
  pid_t pid;
} Server;
static PyTypeObject* server_type;

/* The process holds the lock of Python; stopping may wait for callbacks that want it. */
static void end_server(Server* self) {
  tenon_server* const server = self->server;
  self->server = NULL;
  if (server == NULL || is_ending) return;
  if (self->pid == getpid()) {
    Py_BEGIN_ALLOW_THREADS server_api.destroy(server);
    Py_END_ALLOW_THREADS
  }
  const Py_ssize_t count = PyList_Size(self->used);
  for (Py_ssize_t i = 0; i < count; ++i) {
    Handle* const handle = (Handle*)PyList_GetItem(self->used, i);
    if (--handle->calls == 0 && handle->holds == 0 && handle->is_doomed) destroy_now(handle);
  }
  Py_DECREF(self->used);
  self->used = NULL;
}

static void leave_server(Server* self) {
  if (--self->calls == 0 && self->is_doomed) end_server(self);
}

/* Server() */
static PyObject* server_new(PyTypeObject* type, PyObject* args, PyObject* named) {
  (void)args, (void)named;
  if (server_api.create == NULL) {
    return PyErr_Format(PyExc_RuntimeError, "libtenon-server has not been opened");
  }
  Server* self = (Server*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL;
  self->pid = getpid();
  self->used = PyList_New(0);
  const tenon_status status = server_api.create(NULL, &self->server);
  if (self->used != NULL && status == TENON_OK) return (PyObject*)self;
  if (status != TENON_OK) raise_server_status(status);
  Py_DECREF((PyObject*)self);
  return NULL;
}

static void server_dealloc(PyObject* object) {
  Server* const self = (Server*)object;
  end_server(self);
  Py_XDECREF(self->used);
  PyTypeObject* const of = Py_TYPE(object);
  ((freefunc)PyType_GetSlot(of, Py_tp_free))(object);
  Py_DECREF(of);
}

static bool is_open(Server* self) {
  if (self->server != NULL && !self->is_doomed && self->pid == getpid()) return true;
  raise_status(TENON_ERROR_STATE, self->pid == getpid()
                                      ? "the client has been closed"
                                      : "the client was made before fork(): make one here");
  return false;
}

/* add(name, model, engine or None, context): the engine is computed by whoever made it; without one the
 * server has its own. */
static PyObject* server_add(PyObject* object, PyObject* args) {
  Server* const self = (Server*)object;
  if (!is_open(self)) return NULL;
  Call call;
  begin(&call, args, "add", 4, (void*)server_api.add_model);
  size_t length = 0;
  const char* name = as_text(&call, argument(&call, 0), &length);
  tenon_model* model = as_handle(&call, argument(&call, 1), KIND_model, 0);
  tenon_engine* engine = as_handle(&call, argument(&call, 2), KIND_engine, NULLABLE);
  const uint64_t context = as_uint64_t(&call, argument(&call, 3));
  if (call.failed) return end(&call, NULL);
  tenon_status status = TENON_OK;
  release_lock(&call);
  status = engine == NULL
               ? server_api.add_model(self->server, name, length, model, NULL, context)
               : server_api.add_engine(self->server, name, length, model, engine, context);
  take_lock(&call);
  if (status != TENON_OK) {
    raise_server_status(status);
    return end(&call, NULL);
  }
  /* They live as long as the server: as if a call on them were under way. */
  for (int i = 0; i < call.num_handles; ++i) {
    if (PyList_Append(self->used, (PyObject*)call.handles[i]) != 0) return end(&call, NULL);
    ++call.handles[i]->calls;
  }
  return end(&call, none_object());
}

static PyObject* server_start(PyObject* object, PyObject* args) {
  Server* const self = (Server*)object;
  unsigned threads = 0;
  if (!is_open(self) || !PyArg_ParseTuple(args, "I", &threads)) return NULL;
  const tenon_status status = server_api.start(self->server, threads);
  return status == TENON_OK ? none_object() : raise_server_status(status);
}

/* close(): cancels what is under way; freed when the last ServerCall has gone. */
static PyObject* server_close(PyObject* object, PyObject* nothing) {
  (void)nothing;
  Server* const self = (Server*)object;
  if (self->server == NULL || self->is_doomed) return none_object();
  self->is_doomed = true;
  if (self->calls == 0) {
    end_server(self);
  } else if (self->pid == getpid()) {
    /* Counts as a call: what stopping wakes may close the last ServerCall before it returns. */
    ++self->calls;
    Py_BEGIN_ALLOW_THREADS(void) server_api.stop(self->server, 0);
    Py_END_ALLOW_THREADS leave_server(self);
  }
  return none_object();
}

static PyMethodDef server_methods[] = {{"add", server_add, METH_VARARGS, NULL},
                                       {"start", server_start, METH_VARARGS, NULL},
                                       {"close", server_close, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyType_Slot server_slots[] = {{Py_tp_new, server_new},
                                     {Py_tp_dealloc, server_dealloc},
                                     {Py_tp_methods, server_methods},
                                     {0, NULL}};
static PyType_Spec server_spec = {"tenon._native.Server", sizeof(Server), 0, Py_TPFLAGS_DEFAULT,
                                  server_slots};

/* ---- Calls of the server --------------------------------------------------------------------- */

typedef struct {
  PyObject_HEAD tenon_server_call* call; /* NULL: closed */
  Server* server;
  Notice* notice;
  int waits; /* under way */
  bool is_doomed;
} ServerCall;
static PyTypeObject* server_call_type;

/* ServerCall(server, method, target, body) */
static PyObject* server_call_new(PyTypeObject* type, PyObject* args, PyObject* named) {
  (void)named;
  PyObject* server = NULL;
  const char *method = NULL, *target = NULL, *body = NULL;
  Py_ssize_t length = 0;
  if (!PyArg_ParseTuple(args, "O!ssy#", server_type, &server, &method, &target, &body, &length)) {
    return NULL;
  }
  if (!is_open((Server*)server)) return NULL;
  ServerCall* self = (ServerCall*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL;
  self->notice = calloc(1, sizeof *self->notice);
  if (self->notice == NULL) {
    Py_DECREF((PyObject*)self);
    return PyErr_NoMemory();
  }
  pthread_mutex_init(&self->notice->lock, NULL);
  const tenon_server_request request = {.struct_size = sizeof request,
                                        .method = method,
                                        .target = target,
                                        .body = body,
                                        .body_length = (uint64_t)length,
                                        .notify = &tell,
                                        .user = self->notice};
  const tenon_status status = server_api.submit(((Server*)server)->server, &request, &self->call);
  if (status != TENON_OK) {
    raise_server_status(status);
    Py_DECREF((PyObject*)self);
    return NULL;
  }
  Py_INCREF(server);
  self->server = (Server*)server;
  ++self->server->calls;
  return (PyObject*)self;
}

static void end_server_call(ServerCall* self) {
  tenon_server_call* const call = self->call;
  Server* const server = self->server;
  Notice* const notice = self->notice;
  self->call = NULL;
  self->server = NULL;
  self->notice = NULL;
  if (is_ending) return;
  const bool is_here = server == NULL || server->pid == getpid();
  if (call != NULL && is_here) {
    Py_BEGIN_ALLOW_THREADS server_api.call_destroy(call);
    Py_END_ALLOW_THREADS
  }
  if (notice != NULL && is_here) forget_notice(notice);
  if (server != NULL) {
    leave_server(server);
    Py_DECREF((PyObject*)server);
  }
}

static void server_call_dealloc(PyObject* object) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  end_server_call((ServerCall*)object);
  PyErr_Restore(type, value, trace);
  PyTypeObject* const of = Py_TYPE(object);
  ((freefunc)PyType_GetSlot(of, Py_tp_free))(object);
  Py_DECREF(of);
}

/* close(): cancels it, unless it is complete. */
static PyObject* server_call_close(PyObject* object, PyObject* nothing) {
  (void)nothing;
  ServerCall* const self = (ServerCall*)object;
  if (self->waits > 0) {
    self->is_doomed = true;
  } else {
    end_server_call(self);
  }
  return none_object();
}

/* wait(seconds) -> (status, is_last, headers, bytes); status 0 and no bytes when nothing has come. Above 0 it waits
 * for ever, and lets Python handle signals after each such interval; below, so many seconds once. */
static PyObject* server_call_wait(PyObject* object, PyObject* args) {
  ServerCall* const self = (ServerCall*)object;
  double interval = 0;
  if (!PyArg_ParseTuple(args, "d", &interval)) return NULL;
  PyObject* result = NULL;
  for (;;) {
    if (self->call == NULL || self->is_doomed) {
      raise_status(TENON_ERROR_CANCELLED, "the request has been closed");
      break;
    }
    if (self->server->pid != getpid()) {
      raise_status(TENON_ERROR_STATE, "the request was made before fork()");
      break;
    }
    if (self->waits > 0) {
      raise_status(TENON_ERROR_STATE, "the request is in use by another call");
      break;
    }
    tenon_server_part part = {.struct_size = sizeof part};
    tenon_status status = TENON_OK;
    ++self->waits;
    Py_BEGIN_ALLOW_THREADS status =
        server_api.call_wait(self->call, interval < 0 ? -interval : interval, &part);
    Py_END_ALLOW_THREADS const bool has_news = part.is_last != 0 || part.length > 0;
    if (status != TENON_OK) {
      raise_server_status(status);
    } else if (has_news || interval <= 0) {
      result =
          Py_BuildValue("(iOsy#)", (int)part.http_status, part.is_last != 0 ? Py_True : Py_False,
                        part.headers, part.bytes, (Py_ssize_t)part.length);
    }
    /* Not before: making objects may collect garbage, which lets another thread in, and its close() would
     * free what the part lends. */
    --self->waits;
    if (result != NULL || PyErr_Occurred()) break;
    if (PyErr_CheckSignals() != 0) break;
  }
  if (self->is_doomed && self->waits == 0) end_server_call(self);
  return result;
}

/* attach(waker, key): the waker lists `key` when there is something. */
static PyObject* server_call_attach(PyObject* object, PyObject* args) {
  PyObject* waker = NULL;
  unsigned long long key = 0;
  if (!PyArg_ParseTuple(args, "O!K", waker_type, &waker, &key)) return NULL;
  Notice* const notice = ((ServerCall*)object)->notice;
  if (notice == NULL) return raise_status(TENON_ERROR_STATE, "the request has been closed");
  return attach_notice(notice, ((Waker*)waker)->ready, key);
}

static PyMethodDef server_call_methods[] = {{"wait", server_call_wait, METH_VARARGS, NULL},
                                            {"attach", server_call_attach, METH_VARARGS, NULL},
                                            {"close", server_call_close, METH_NOARGS, NULL},
                                            {NULL, NULL, 0, NULL}};
static PyType_Slot server_call_slots[] = {{Py_tp_new, server_call_new},
                                          {Py_tp_dealloc, server_call_dealloc},
                                          {Py_tp_methods, server_call_methods},
                                          {0, NULL}};
static PyType_Spec server_call_spec = {"tenon._native.ServerCall", sizeof(ServerCall), 0,
                                       Py_TPFLAGS_DEFAULT, server_call_slots};
