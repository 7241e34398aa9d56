/* An engine's own thread. Part of module.c. */

/* Runs tenon_engine_run on a thread of its own, which never enters Python, until the last reference goes. */
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

static PyType_Slot runner_slots[] = {
    {Py_tp_new, runner_new}, {Py_tp_dealloc, runner_dealloc}, {0, NULL}};
static PyType_Spec runner_spec = {"tenon._native.Runner", sizeof(Runner), 0, Py_TPFLAGS_DEFAULT,
                                  runner_slots};
