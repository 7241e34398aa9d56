/* Waiting for requests. Part of module.c. */

/* request_attach(request, waker, key): from now on the waker lists `key` when the request has a
 * piece. Earlier pieces are listed at once. */
static PyObject* request_attach(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *request = NULL, *waker = NULL;
  unsigned long long key = 0;
  if (!PyArg_ParseTuple(args, "O!O!K", handle_type, &request, waker_type, &waker, &key))
    return NULL;
  Notice* const notice = ((Handle*)request)->notice;
  if (notice == NULL) return raise_status(TENON_ERROR_STATE, "the request has been closed");
  return attach_notice(notice, ((Waker*)waker)->ready, key);
}

/* request_next(request, interval_seconds) -> Piece: waits for ever, and lets Python handle signals (a
 * KeyboardInterrupt) after each interval. */
static PyObject* request_next(PyObject* module, PyObject* args) {
  (void)module;
  Call call;
  begin(&call, args, "request_next", 2, (void*)api.request_wait);
  tenon_request* request = as_handle(&call, argument(&call, 0), KIND_request, 0);
  const double interval = as_double(&call, argument(&call, 1));
  if (call.failed) return end(&call, NULL);
  for (;;) {
    tenon_piece piece = {.struct_size = sizeof piece};
    release_lock(&call);
    const tenon_status status = api.request_wait(request, interval, &piece);
    take_lock(&call);
    if (!succeeded(&call, status)) return end(&call, NULL);
    if (piece.token != TENON_NO_TOKEN || piece.finish != TENON_FINISH_NONE) {
      return end(&call, from_piece(&piece));
    }
    if (PyErr_CheckSignals() != 0 || call.handles[0]->is_doomed) {
      if (!PyErr_Occurred()) raise_status(TENON_ERROR_CANCELLED, "the request has been closed");
      return end(&call, NULL);
    }
  }
}
