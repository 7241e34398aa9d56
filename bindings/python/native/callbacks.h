/* Python functions that the libraries call, on any thread. Part of module.c. */

static atomic_int callbacks_under_way;

/* Takes Python's lock for a callback; false if the process is ending and it is too late. */
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

/* Calls a Python function with arguments whose references it takes. Nonzero ends the library's
 * call: the function raised, or returned a true value. With Python's lock. */
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

/* Passes a log line to a Python function on the thread that writes it. Its exception is reported
 * like one of a destructor. */
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
