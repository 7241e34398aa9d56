/* From Python objects to arguments of the libraries. Part of module.c. */

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
static uint16_t as_uint16_t(Call* call, PyObject* given) {
  return (uint16_t)within(call, as_int64_t(call, given), 0, UINT16_MAX);
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

/* A member of a dict, or NULL if it is absent or None. */
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
