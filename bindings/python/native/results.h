/* Converts results of the libraries to Python objects. Part of module.c. */

/* Invalid UTF-8 passes through, and converts back to the same bytes. */
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

/* A tuple of objects whose references it takes; NULL if one of them could not be made. */
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

/* A named tuple of a structure's type, from objects whose references it takes. */
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
