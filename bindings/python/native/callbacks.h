/* Python functions that the libraries call, on whatever thread. Part of module.c. */

static atomic_int callbacks_under_way;

/* Takes Python's lock for a callback; false when the process ends, and it is too late for one. */
static bool enter_python(PyGILState_STATE* lock) {
  ++callbacks_under_way;
  if (is_ending) {
    --callbacks_under_way;
    return false;
  }
  *lock = PyGILState_Ensure();
  return true;
}

static void leave_python(PyGILState_STATE lock) {
  PyGILState_Release(lock);
  --callbacks_under_way;
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

/* A log line goes to a Python function on whatever thread it is written; what that raises is shown as
 * what happens in destructors is. */
static void log_line(void* user, uint32_t level, const char* text, uint64_t length) {
  PyGILState_STATE lock;
  if (!enter_python(&lock)) return;
  const bool was_in_log = is_in_log; /* of a call that a log function made */
  is_in_log = true;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* line = text_object(text, (size_t)length);
  PyObject* answer = line == NULL ? NULL : PyObject_CallFunction(user, "IO", (unsigned)level, line);
  if (answer == NULL) PyErr_WriteUnraisable(user);
  Py_XDECREF(answer);
  Py_XDECREF(line);
  PyErr_Restore(type, value, trace);
  is_in_log = was_in_log;
  leave_python(lock);
}
