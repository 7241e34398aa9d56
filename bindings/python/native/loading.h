/* Models and tokenizers from sources: structures with callbacks and arrays of pointers. Part of module.c. */

/* The user of a model's callbacks. */
typedef struct {
  Callback progress;
  PyObject* log;
} Loading;

static int32_t load_progress(void* user, double fraction) {
  return on_progress_callback(&((Loading*)user)->progress, fraction);
}
static void load_log(void* user, uint32_t level, const char* text, uint64_t length) {
  log_line(((Loading*)user)->log, level, text, length);
}

/* One source from (kind, value): a path, (fd, offset, size), or memory that the caller keeps. */
static void fill_source(Call* call, PyObject* given, tenon_source* source) {
  memset(source, 0, sizeof *source);
  source->struct_size = sizeof *source;
  if (call->failed) return;
  int kind = 0;
  PyObject* value = NULL;
  if (!PyArg_ParseTuple(given, "iO", &kind, &value)) {
    call->failed = true;
    return;
  }
  source->kind = kind;
  if (kind == TENON_SOURCE_PATH) {
    size_t length = 0;
    source->name = as_text(call, value, &length);
    source->name_length = length;
  } else if (kind == TENON_SOURCE_FD) {
    unsigned long long offset = 0, size = 0;
    if (!PyArg_ParseTuple(value, "iKK", &source->fd, &offset, &size)) call->failed = true;
    source->offset = offset;
    source->size = size;
  } else {
    size_t size = 0;
    source->data = as_bytes(call, value, &size);
    source->size = size;
  }
}

/* model_load(sources, options, progress, log, log_level) -> model. The caller keeps bytes as long
 * as the model or one of its sessions lives. */
static PyObject* model_load(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "model_load", 5, (void*)api.model_load);
  PyObject* given = argument(&call, 0);
  const Py_ssize_t count = given == NULL ? 0 : PyTuple_Size(given);
  if (count < 0) call.failed = true;
  tenon_source* sources = scratch(&call, (size_t)(count + 1) * sizeof *sources);
  const tenon_source** pointers = scratch(&call, (size_t)(count + 1) * sizeof *pointers);
  for (Py_ssize_t i = 0; !call.failed && i < count; ++i) {
    fill_source(&call, PyTuple_GetItem(given, i), &sources[i]);
    pointers[i] = &sources[i];
  }
  tenon_options* options = as_handle(&call, argument(&call, 1), KIND_options, NULLABLE);
  PyObject* progress = as_callable(&call, argument(&call, 2));
  PyObject* log = as_callable(&call, argument(&call, 3));
  const uint32_t level = as_uint32_t(&call, argument(&call, 4));
  /* Lives as long as the process: the log is used while the model or one of its sessions lives. */
  Loading* loading = call.failed ? NULL : calloc(1, sizeof *loading);
  if (loading == NULL) {
    if (!call.failed) PyErr_NoMemory();
    return end(&call, NULL);
  }
  loading->progress.function = progress;
  loading->log = log;
  Py_XINCREF(log);
  call.callback = &loading->progress;
  const tenon_callbacks callbacks = {.struct_size = sizeof callbacks,
                                     .log_level = level,
                                     .user = loading,
                                     .log = log == NULL ? NULL : &load_log,
                                     .progress = progress == NULL ? NULL : &load_progress};
  tenon_model* model = NULL;
  release_lock(&call);
  const tenon_status status = api.model_load(pointers, (size_t)count, options, &callbacks, &model);
  take_lock(&call);
  PyObject* result = NULL;
  if (succeeded(&call, status)) {
    result = handle_object(KIND_model, model, NULL, 0);
  }
  loading->progress.function = NULL;
  if (log == NULL) free(loading);
  return end(&call, result);
}

/* tokenizer_load((kind, value)) -> tokenizer. */
static PyObject* tokenizer_load(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "tokenizer_load", 1, (void*)api.tokenizer_load);
  tenon_source source;
  fill_source(&call, argument(&call, 0), &source);
  if (call.failed) return end(&call, NULL);
  tenon_tokenizer* tokenizer = NULL;
  release_lock(&call);
  const tenon_status status = api.tokenizer_load(&source, &tokenizer);
  take_lock(&call);
  PyObject* result = NULL;
  if (succeeded(&call, status)) result = handle_object(KIND_tokenizer, tokenizer, NULL, 0);
  return end(&call, result);
}
