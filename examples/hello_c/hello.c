/* Streams a continuation of a text from a model: the C interface with complete error handling. */
#include <stdio.h>
#include <tenon/tenon.h>

static int32_t print_piece(void* user, const tenon_piece* piece) {
  (void)user;
  /* A nonzero result ends the generation: standard output is closed. */
  return fwrite(piece->text, 1, piece->length, stdout) != piece->length || fflush(stdout) != 0;
}

/* Reports a failed call on standard error; returns 1 if it failed. */
static int failed(const char* what, tenon_status status) {
  if (status == TENON_OK) return 0;
  fprintf(stderr, "hello_c: %s: %s: %s\n", what, tenon_status_name(status), tenon_last_error());
  return 1;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "examples/models/demo-q8_0.gguf";
  const char* prompt = argc > 2 ? argv[2] : "Once upon a time";
  tenon_model* model = NULL;
  tenon_session* session = NULL;
  const int error =
      failed("opening the model", tenon_model_open(path, NULL, &model)) ||
      failed("starting a session", tenon_session_create(model, NULL, &session)) ||
      failed("reading the prompt",
             tenon_session_append_text(session, prompt, TENON_NUL_TERMINATED, TENON_ADD_SPECIAL)) ||
      failed("generating", tenon_session_generate(session, NULL, 64, print_piece, NULL));
  tenon_session_destroy(session);
  tenon_model_destroy(model);
  return error;
}
