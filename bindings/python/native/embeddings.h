/* Embedders and scores, which take arrays of pointers. Part of module.c. */

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
  /* All in one block, because a batch may have any number of texts. */
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
