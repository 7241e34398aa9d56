/* A stranger's C11 program: prints what the model in argv[1] answers, greedily. */
#include <stdio.h>
#include <tenon/tenon.h>

static int32_t print(void* user, const tenon_piece* piece) {
  (void)user;
  fwrite(piece->text, 1, (size_t)piece->length, stdout);
  return 0;
}

static int failed(tenon_status status, const char* call) {
  if (status != TENON_OK) {
    fprintf(stderr, "%s: %s: %s\n", call, tenon_status_name(status), tenon_last_error());
  }
  return status != TENON_OK;
}

int main(int argc, char** argv) {
  static const char prompt[] =
      "<|im_start|>user\nWhat is the capital of Norway?<|im_end|>\n<|im_start|>assistant\n";
  tenon_options* options = NULL;
  tenon_model* model = NULL;
  tenon_session* session = NULL;
  tenon_sampler* sampler = NULL;
  const int bad =
      argc < 2 || failed(tenon_options_create(&options), "options_create") ||
      failed(tenon_options_set_float(options, "temperature", 0), "set_float") ||
      failed(tenon_sampler_create(options, &sampler), "sampler_create") ||
      failed(tenon_model_open(argv[1], NULL, &model), "model_open") ||
      failed(tenon_session_create(model, NULL, &session), "session_create") ||
      failed(tenon_session_append_text(session, prompt, sizeof prompt - 1, TENON_PARSE_SPECIAL),
             "append_text") ||
      failed(tenon_session_generate(session, sampler, 16, print, NULL), "generate");
  puts("");
  tenon_session_destroy(session);
  tenon_sampler_destroy(sampler);
  tenon_model_destroy(model);
  tenon_options_destroy(options);
  return bad;
}
