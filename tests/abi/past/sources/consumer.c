/* Calls every function of tenon.h once at least and says what came; past.sh tells what for. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
static void check(tenon_status status, const char* call, int line) {
  if (status == TENON_OK) return;
  printf("line %d: %s: %s: %s\n", line, call, tenon_status_name(status), tenon_last_error());
  exit(1);
}
#define CHECK(call) check(call, #call, __LINE__)

static void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
}

static int32_t print_piece(void* user, const tenon_piece* piece) {
  (void)user;
  printf("[%d %.*s]", (int)piece->token, (int)piece->length, piece->text);
  if (piece->finish != TENON_FINISH_NONE) printf(" finish %d\n", (int)piece->finish);
  return 0;
}

static int32_t print_candidate(void* user, const tenon_candidate* candidate) {
  (void)user;
  say("candidate of %d tokens: %.*s", (int)candidate->num_tokens, (int)candidate->length,
      candidate->text);
  return candidate->tokens == NULL || candidate->logprob > 0;
}

static int32_t count_call(void* user, double fraction) {
  if (fraction < 0 || fraction > 1) exit(1);
  ++*(int*)user;
  return 0;
}

static int32_t count_rows(void* user, uint64_t row, const float* logits, uint64_t vocabulary) {
  (void)logits;
  *(uint64_t*)user += row + 1 + vocabulary;
  return 0;
}

static void count_notification(void* user) { ++*(volatile int*)user; }
static void count_line(void* user, uint32_t level, const char* text, uint64_t length) {
  (void)text;
  if (level <= TENON_LOG_DEBUG && length > 0) ++*(int*)user;
}
static void run_at_once(void* user, tenon_task task, void* arg) {
  ++*(int*)user;
  task(arg);
}

typedef struct Bytes {
  const char* data;
  uint64_t size;
} Bytes;

static int64_t read_bytes(void* user, uint64_t offset, void* buffer, uint64_t size) {
  const Bytes* bytes = user;
  if (offset >= bytes->size) return 0;
  if (size > bytes->size - offset) size = bytes->size - offset;
  memcpy(buffer, bytes->data + offset, size);
  return (int64_t)size;
}

static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) exit(1);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char* data = malloc(*size);
  if (data == NULL || fread(data, 1, *size, file) != *size) exit(1);
  fclose(file);
  return data;
}

static void versions(void) {
  say("version at least 0.1: %d, text: %d", tenon_version() >= 1000,
      strlen(tenon_version_text()) >= 5);
  say("described: %d", strstr(tenon_interface_description(), "tenon_session_generate") != NULL);
  say("status 4 is %s", tenon_status_name(TENON_ERROR_IO));
}

static void options(tenon_options* options) {
  CHECK(tenon_options_set_int(options, "threads", 2));
  CHECK(tenon_options_set_float(options, "temperature", 0));
  CHECK(tenon_options_set_bool(options, "check_weights", 1));
  CHECK(tenon_options_set_string(options, "isa", "portable", TENON_NUL_TERMINATED));
  CHECK(tenon_options_add_string(options, "stop", "###", 3));
  CHECK(tenon_options_parse(options, "context", "512", 3));
  if (tenon_options_set_int(options, "thread", 2) != TENON_ERROR_ARGUMENT) exit(1);
  say("refused: %s", tenon_last_error());
  for (size_t i = 0; i < tenon_option_count(); ++i) {
    tenon_option_info info = {.struct_size = sizeof info};
    CHECK(tenon_option_get_info(i, &info));
    if (strcmp(info.name, "threads") == 0)
      say("threads: scope %d, type %d", (int)info.scope, (int)info.type);
  }
}

static tenon_model* load(const char* path, const tenon_options* options, Bytes* bytes) {
  size_t size = 0;
  bytes->data = read_file(path, &size);
  bytes->size = size;
  static int progress = 0, lines = 0;
  tenon_source source = {.struct_size = sizeof source,
                         .kind = TENON_SOURCE_READER,
                         .name = "given",
                         .name_length = 5,
                         .size = size,
                         .read = read_bytes,
                         .user = bytes};
  tenon_callbacks callbacks = {.struct_size = sizeof callbacks,
                               .log_level = TENON_LOG_DEBUG,
                               .user = &lines,
                               .log = count_line};
  const tenon_source* sources[] = {&source};
  tenon_model* model = NULL;
  CHECK(tenon_model_load(sources, 1, options, &callbacks, &model));
  say("loaded, progress %d", progress >= 0 && lines >= 0);
  return model;
}

static void contents(const tenon_model* model) {
  tenon_model_info info = {.struct_size = sizeof info};
  CHECK(tenon_model_get_info(model, &info));
  say("%.*s, vocabulary %d, layers %d, backend %.*s", (int)info.architecture_length,
      info.architecture, (int)info.vocabulary, (int)info.layers, (int)info.backend_length,
      info.backend);
  tenon_memory memory = {.struct_size = sizeof memory};
  CHECK(tenon_model_memory(model, 256, &memory));
  say("memory: context %d, all there %d", (int)memory.context,
      memory.weights_bytes > 0 && memory.scratch_bytes > 0 && memory.kv_bytes > 0);
  tenon_execution execution = {.struct_size = sizeof execution};
  CHECK(tenon_model_execution(model, &execution));
  say("threads %d", (int)execution.threads);
  size_t index = 0;
  CHECK(tenon_model_find_metadata(model, "general.architecture", 20, &index));
  tenon_metadata metadata = {.struct_size = sizeof metadata};
  CHECK(tenon_model_metadata(model, index, &metadata));
  tenon_value value = {.struct_size = sizeof value};
  CHECK(tenon_model_metadata_value(model, index, 0, &value));
  say("%.*s = %.*s of %d", (int)metadata.key_length, metadata.key, (int)value.length, value.text,
      tenon_model_metadata_count(model) > 10);
  CHECK(tenon_model_find_tensor(model, "output_norm.weight", 18, &index));
  tenon_tensor tensor = {.struct_size = sizeof tensor};
  CHECK(tenon_model_tensor(model, index, &tensor));
  say("%.*s: %s, %d values of %d", (int)tensor.name_length, tensor.name, tensor.format,
      (int)tensor.shape[0], tenon_model_tensor_count(model) > 10);
}

static void tokens(const tenon_tokenizer* tokenizer) {
  tenon_token ids[32];
  size_t count = 0, length = 0;
  CHECK(tenon_tokenizer_encode(tokenizer, "Once upon a time", 16, 0, ids, COUNT(ids), &count));
  char text[64];
  CHECK(tenon_tokenizer_decode(tokenizer, ids, count, 0, text, sizeof text, &length));
  say("%d tokens: %.*s", (int)count, (int)length, text);
  tenon_token end = TENON_NO_TOKEN, found = TENON_NO_TOKEN;
  CHECK(tenon_tokenizer_special(tokenizer, TENON_SPECIAL_END, &end));
  CHECK(tenon_tokenizer_find(tokenizer, "<|im_end|>", 10, &found));
  tenon_token_info info = {.struct_size = sizeof info};
  CHECK(tenon_tokenizer_token_info(tokenizer, found, &info));
  say("%.*s: attributes %u, of %d, end %d", (int)info.spelling_length, info.spelling,
      (unsigned)info.attributes, (int)tenon_tokenizer_count(tokenizer), end >= 0);
}

static void alone(const char* path) {
  tenon_tokenizer* tokenizer = NULL;
  CHECK(tenon_tokenizer_open(path, &tokenizer));
  tokens(tokenizer);
  tenon_tokenizer_destroy(tokenizer);
  tenon_source source = {.struct_size = sizeof source,
                         .kind = TENON_SOURCE_PATH,
                         .name = path,
                         .name_length = TENON_NUL_TERMINATED};
  CHECK(tenon_tokenizer_load(&source, &tokenizer));
  say("loaded: %d", (int)tenon_tokenizer_count(tokenizer));
  tenon_tokenizer_destroy(tokenizer);
}

static void session(const tenon_model* model, const tenon_options* options, const char* folder) {
  tenon_session *session = NULL, *fork = NULL;
  CHECK(tenon_session_create(model, options, &session));
  CHECK(tenon_session_append_text(session, "Once upon a time", 16, TENON_ADD_SPECIAL));
  int calls = 0;
  CHECK(tenon_session_prefill(session, count_call, &calls));
  tenon_sampler* sampler = NULL;
  CHECK(tenon_sampler_create(options, &sampler));
  CHECK(tenon_session_generate(session, sampler, 8, print_piece, NULL));
  CHECK(tenon_session_fork(session, &fork));
  tenon_piece piece = {.struct_size = sizeof piece};
  CHECK(tenon_session_next(fork, sampler, &piece));
  print_piece(NULL, &piece);
  const char* held = NULL;
  size_t length = 0;
  CHECK(tenon_session_take_held(fork, &held, &length));
  const float* logits = NULL;
  size_t count = 0;
  CHECK(tenon_session_drawn_logits(fork, &logits, &count));
  tenon_token top[3];
  float logprobs[3], logprob = 0;
  CHECK(tenon_logprobs(logits, count, &piece.token, 1, &logprob, top, logprobs, COUNT(top)));
  say(" drawn the likeliest: %d", top[0] == piece.token && logprob == logprobs[0]);
  CHECK(tenon_session_logits(fork, &logits, &count));
  tenon_token drawn = TENON_NO_TOKEN;
  CHECK(tenon_sampler_sample(sampler, logits, count, NULL, 0, 5, &drawn));
  CHECK(tenon_sampler_roll_back(sampler, 1));
  say("drawn of %d: %d", (int)count, (int)drawn);

  uint32_t best = 9;
  CHECK(tenon_session_best_of(fork, sampler, 2, 4, print_candidate, NULL, &best));
  say("best is one of two: %d", best < 2);
  uint64_t position = 0, context = 0, rows = 0;
  CHECK(tenon_session_position(session, &position));
  CHECK(tenon_session_context(session, &context));
  const tenon_token* text = NULL;
  CHECK(tenon_session_tokens(session, &text, &count));
  say("position %d of %d, %d tokens", (int)position, (int)context, (int)count);
  CHECK(tenon_session_evaluate(fork, top, 2, count_rows, &rows));
  say("rows: %d", (int)rows);

  char path[4096];
  snprintf(path, sizeof path, "%s/past.session", folder);
  CHECK(tenon_session_save(session, path));
  size_t size = 0, written = 0;
  CHECK(tenon_session_save_buffer(session, NULL, 0, &size));
  char* buffer = malloc(size);
  CHECK(tenon_session_save_buffer(session, buffer, size, &written));
  CHECK(tenon_session_rewind(session, 2));
  CHECK(tenon_session_restore_buffer(session, buffer, written, 0));
  CHECK(tenon_session_rewind(session, 2));
  CHECK(tenon_session_restore(session, path, TENON_RESTORE_TEXT));
  free(buffer);
  remove(path);
  CHECK(tenon_session_generate(session, sampler, 4, print_piece, NULL));
  tenon_session_stats stats = {.struct_size = sizeof stats};
  CHECK(tenon_session_get_stats(session, &stats));
  say("prefilled %d, decoded %d", (int)stats.prefill_tokens, (int)stats.decode_tokens);
  CHECK(tenon_session_cancel(fork));
  CHECK(tenon_session_append_tokens(fork, top, 1));
  say("cancelled: %s", tenon_status_name(tenon_session_generate(fork, NULL, 4, NULL, NULL)));
  const tenon_token* continued[] = {top, top};
  const uint64_t lengths[] = {1, 3};
  uint64_t num_logprobs[] = {9, 9};
  tenon_continuations continuations = {.struct_size = sizeof continuations,
                                       .count = 2,
                                       .tokens = continued,
                                       .num_tokens = lengths,
                                       .num_logprobs = num_logprobs};
  float scores[4] = {1, 1, 1, 1};
  CHECK(tenon_session_score(session, &continuations, scores, COUNT(scores), &count));
  say("scores: %d of %d and %d, likely or not: %d", (int)count, (int)num_logprobs[0],
      (int)num_logprobs[1], scores[0] <= 0 && scores[1] <= 0 && scores[2] <= 0 && scores[3] <= 0);
  int64_t seed = -2, own = -2;
  CHECK(tenon_session_seed(session, &seed));
  CHECK(tenon_sampler_seed(sampler, &own));
  say("seeds: %d", seed >= 0 && seed == own);
  say("no encoder: %s %s", tenon_status_name(tenon_session_set_source_text(session, "a", 1, 0)),
      tenon_status_name(tenon_session_set_source_tokens(session, top, 1)));
  tenon_session_destroy(fork);
  tenon_session_destroy(session);
  tenon_sampler_destroy(sampler);
}

static void sampler(const tenon_tokenizer* tokenizer) {
  tenon_sampler* sampler = NULL;
  CHECK(tenon_sampler_create(NULL, &sampler));
  CHECK(tenon_sampler_set_int(sampler, "seed", 7));
  CHECK(tenon_sampler_set_float(sampler, "temperature", 0));
  CHECK(tenon_sampler_set_bias(sampler, 1, 9));
  CHECK(tenon_sampler_add_stop_token(sampler, 3));
  CHECK(tenon_sampler_add_dry_breaker(sampler, tokenizer, "\n", 1));
  const float logits[] = {1, 2, 3};
  tenon_token token = TENON_NO_TOKEN;
  CHECK(tenon_sampler_sample(sampler, logits, COUNT(logits), NULL, 0, 0, &token));
  CHECK(tenon_sampler_reset(sampler));
  say("biased: %d", (int)token);
  tenon_sampler_destroy(sampler);
}

static void backends(const tenon_options* options) {
  tenon_backends* backends = NULL;
  CHECK(tenon_backends_create(options, &backends));
  for (size_t i = 0; i < tenon_backends_count(backends); ++i) {
    tenon_backend_info info = {.struct_size = sizeof info};
    CHECK(tenon_backends_get_info(backends, i, &info));
    if (info.name_length == 3 && memcmp(info.name, "cpu", 3) == 0) say("cpu: %d", (int)info.status);
  }
  size_t cpus = 0;
  for (size_t i = 0; i < tenon_backends_count(backends); ++i) {
    for (size_t j = 0; j < tenon_backends_count_devices(backends, i); ++j) {
      tenon_backend_device device = {.struct_size = sizeof device};
      CHECK(tenon_backends_get_device(backends, i, j, &device));
      cpus += device.kind == TENON_DEVICE_KIND_CPU && device.unavailable_length == 0;
    }
  }
  say("a cpu: %d", cpus > 0);
  tenon_backends_destroy(backends);
}

static void engine(const tenon_model* model) {
  tenon_engine* engine = NULL;
  CHECK(tenon_engine_create(model, NULL, &engine));
  tenon_session* session = NULL;
  CHECK(tenon_engine_open_session(engine, NULL, &session));
  tenon_sampler* sampler = NULL;
  CHECK(tenon_sampler_create(NULL, &sampler));
  CHECK(tenon_sampler_set_float(sampler, "temperature", 0));
  CHECK(tenon_sampler_set_token_limit(sampler, 100));
  int notifications = 0, posts = 0;
  const tenon_token asked[] = {1, 2};
  tenon_submission submission = {.struct_size = sizeof submission,
                                 .flags = TENON_ADD_SPECIAL | TENON_LOGPROBS,
                                 .text = "Once upon a time",
                                 .text_length = 16,
                                 .sampler = sampler,
                                 .max_tokens = 4,
                                 .notify = count_notification,
                                 .user = &notifications,
                                 .num_top = 2,
                                 .logprob_tokens = asked,
                                 .num_logprob_tokens = COUNT(asked)};
  tenon_request* request = NULL;
  CHECK(tenon_session_submit(session, &submission, &request));
  tenon_piece piece = {.struct_size = sizeof piece};
  do {
    CHECK(tenon_request_wait(request, -1, &piece));
    print_piece(NULL, &piece);
    float logprob = 0, tops[2], others[2];
    tenon_token top[2];
    CHECK(tenon_request_logprobs(request, &logprob, top, tops, COUNT(top)));
    CHECK(tenon_request_logprobs_of(request, others, COUNT(others)));
    if (top[0] != piece.token || others[0] > 0) exit(1);
  } while (piece.finish == TENON_FINISH_NONE);
  tenon_request_stats stats = {.struct_size = sizeof stats};
  CHECK(tenon_request_get_stats(request, &stats));
  int64_t seed = -2;
  CHECK(tenon_request_seed(request, &seed));
  say("seed: %d", (int)(seed >= 0));
  CHECK(tenon_request_cancel(request));
  say("prompt of %d, reused %d, notified %d", (int)stats.prompt_tokens, (int)stats.reused_tokens,
      notifications > 0);
  tenon_request_destroy(request);
  int32_t worked = 9;
  CHECK(tenon_engine_step(engine, &worked));
  CHECK(tenon_engine_set_executor(engine, run_at_once, &posts));
  CHECK(tenon_engine_set_executor(engine, NULL, NULL));
  CHECK(tenon_engine_stop(engine));
  CHECK(tenon_engine_run(engine));
  tenon_engine_stats totals = {.struct_size = sizeof totals};
  CHECK(tenon_engine_get_stats(engine, &totals));
  size_t length = 0;
  CHECK(tenon_engine_stats_text(engine, NULL, 0, &length));
  say("worked %d, finished %d, text %d", (int)worked, (int)totals.finished, length > 100);
  tenon_session_destroy(session);
  tenon_sampler_destroy(sampler);
  tenon_engine_destroy(engine);
}

static void grammars(const tenon_model* model, const tenon_tokenizer* tokenizer) {
  tenon_grammar *grammar = NULL, *cached = NULL;
  tenon_grammar_cache* cache = NULL;
  CHECK(tenon_grammar_create(TENON_GRAMMAR_REGEX, "[0-9]{3}", 8, &grammar));
  CHECK(tenon_grammar_cache_create(1 << 20, &cache));
  CHECK(tenon_grammar_cache_get(cache, TENON_GRAMMAR_CHOICES, "[\"yes\", \"no\"]", 13, &cached));
  int32_t accepted = 9, allowed = 9, complete = 9, ended = 9;
  CHECK(tenon_grammar_accepts(grammar, "123", 3, &accepted));
  tenon_matcher *matcher = NULL, *fork = NULL;
  CHECK(tenon_matcher_create(cached, tokenizer, &matcher));
  CHECK(tenon_matcher_set_token_limit(matcher, 10));
  tenon_token y = TENON_NO_TOKEN;
  CHECK(tenon_tokenizer_find(tokenizer, "y", 1, &y));
  CHECK(tenon_matcher_allows(matcher, y, &allowed));
  CHECK(tenon_matcher_accept_token(matcher, y));
  CHECK(tenon_matcher_fork(matcher, &fork));
  char forced[16];
  size_t length = 0, words = 0;
  CHECK(tenon_matcher_forced_text(fork, forced, sizeof forced, &length));
  CHECK(tenon_matcher_mask(fork, NULL, 0, &words));
  CHECK(tenon_matcher_accept_text(fork, "es", 2, &accepted));
  CHECK(tenon_matcher_state(fork, &complete, &ended));
  CHECK(tenon_matcher_roll_back(fork, 1));
  CHECK(tenon_matcher_reset(matcher));
  say("allowed %d, forced %.*s, %d words, accepted %d, complete %d, ended %d", (int)allowed,
      (int)length, forced, (int)words, (int)accepted, (int)complete, (int)ended);
  tenon_matcher_destroy(fork);
  tenon_matcher_destroy(matcher);

  tenon_sampler* sampler = NULL;
  tenon_session* session = NULL;
  CHECK(tenon_sampler_create(NULL, &sampler));
  CHECK(tenon_sampler_set_float(sampler, "temperature", 0));
  CHECK(tenon_sampler_set_grammar(sampler, grammar, tokenizer));
  CHECK(tenon_session_create(model, NULL, &session));
  CHECK(tenon_session_append_text(session, "A number: ", 10, TENON_ADD_SPECIAL));
  CHECK(tenon_session_generate(session, sampler, 16, print_piece, NULL));
  tenon_session_destroy(session);
  tenon_sampler_destroy(sampler);
  tenon_grammar_destroy(cached);
  tenon_grammar_cache_destroy(cache);
  tenon_grammar_destroy(grammar);
}

static void print_delta(void* user, const tenon_chat_delta* delta) {
  (void)user;
  say("delta %d, call %d: %.*s", (int)delta->kind, (int)delta->call, (int)delta->length,
      delta->text);
}

static void chats(const tenon_model* model) {
  static const char kConversation[] =
      "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"tools\": [{\"type\": "
      "\"function\","
      " \"function\": {\"name\": \"look\", \"parameters\": {\"type\": \"object\"}}}],"
      " \"tool_choice\": \"required\", \"now\": \"2026-01-02T03:04:05\"}";
  const size_t size = sizeof kConversation - 1;
  tenon_chat* chat = NULL;
  CHECK(tenon_chat_create(model, NULL, &chat));
  const char *format = NULL, *message = NULL;
  CHECK(tenon_chat_format(chat, &format));
  size_t length = 0, count = 0;
  CHECK(tenon_chat_render(chat, kConversation, size, NULL, 0, &length));
  CHECK(tenon_chat_encode(chat, kConversation, size, NULL, 0, &count));
  say("%s: %d bytes, %d tokens", format, length > 100, count > 20);
  tenon_grammar* grammar = NULL;
  CHECK(tenon_chat_grammar(chat, kConversation, size, &grammar));
  tenon_sampler* sampler = NULL;
  CHECK(tenon_sampler_create(NULL, &sampler));
  int32_t constrained = 9;
  CHECK(tenon_chat_constrain(chat, kConversation, size, sampler, &constrained));
  tenon_chat_reply* reply = NULL;
  CHECK(tenon_chat_reply_create(chat, kConversation, size, &reply));
  static const char kAnswer[] =
      "<tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>";
  CHECK(tenon_chat_reply_push_text(reply, kAnswer, sizeof kAnswer - 1, print_delta, NULL));
  CHECK(tenon_chat_reply_push_token(reply, 32, NULL, NULL));
  CHECK(tenon_chat_reply_finish(reply, print_delta, NULL));
  CHECK(tenon_chat_reply_message(reply, &message, &length));
  say("grammar %d, constrained %d, calls %d", grammar != NULL, (int)constrained,
      strstr(message, "tool_calls") != NULL);
  tenon_chat_reply_destroy(reply);
  tenon_sampler_destroy(sampler);
  tenon_grammar_destroy(grammar);
  tenon_chat_destroy(chat);
}

static void answers(const tenon_model* model) {
  static const char kConversation[] =
      "{\"messages\": [{\"role\": \"user\", \"content\": \"What is the capital of Norway?\"}]}";
  const size_t size = sizeof kConversation - 1;
  tenon_chat* chat = NULL;
  CHECK(tenon_chat_create(model, NULL, &chat));
  tenon_session* session = NULL;
  CHECK(tenon_session_create(model, NULL, &session));
  tenon_sampler* sampler = NULL;
  CHECK(tenon_sampler_create(NULL, &sampler));
  CHECK(tenon_sampler_set_float(sampler, "temperature", 0));
  const char* message = NULL;
  size_t length = 0;
  int32_t finish = TENON_FINISH_NONE;
  CHECK(tenon_chat_answer(chat, session, kConversation, size, sampler, 32, TENON_DROP_OLDEST, NULL,
                          NULL, &message, &length, &finish));
  say("finish %d: %.*s", (int)finish, (int)length, message);

  tenon_chat_reply* reply = NULL;
  CHECK(tenon_chat_begin(chat, session, kConversation, size, sampler, 32, 0, &reply));
  tenon_piece piece = {.struct_size = sizeof piece};
  do {
    CHECK(tenon_session_next(session, sampler, &piece));
    CHECK(tenon_chat_reply_push_piece(reply, piece.token, piece.text, piece.length, NULL, NULL));
  } while (piece.finish == TENON_FINISH_NONE);
  CHECK(tenon_chat_reply_finish(reply, NULL, NULL));
  const char* again = NULL;
  CHECK(tenon_chat_reply_message(reply, &again, &length));
  say("begun: %.*s", (int)length, again);
  tenon_chat_reply_destroy(reply);
  tenon_sampler_destroy(sampler);
  tenon_session_destroy(session);
  tenon_chat_destroy(chat);
}

static void plan(const tenon_model* model) {
  tenon_hardware hardware = {.struct_size = sizeof hardware};
  CHECK(tenon_measure_hardware(model, 0, &hardware));
  hardware.memory_bytes = 1u << 30;
  tenon_plan plan = {.struct_size = sizeof plan};
  CHECK(tenon_model_plan(model, 256, 2, &hardware, &plan));
  say("fits %u, sessions %d, context %d", (unsigned)plan.fits, (int)plan.sessions,
      (int)plan.context);
  tenon_placement* placement = NULL;
  CHECK(tenon_placement_create(model, 256, 2, &hardware, &placement));
  for (size_t i = 0; i < tenon_placement_count(placement); ++i) {
    tenon_placed_device device = {.struct_size = sizeof device};
    CHECK(tenon_placement_get_device(placement, i, &device));
    say("on kind %d, %.*s: %d layers, fits %u", (int)device.kind, (int)device.backend_length,
        device.backend, (int)device.layers, (unsigned)device.fits);
  }
  tenon_placement_destroy(placement);
}

static void embeddings(const char* folder) {
  say("%s, %s", tenon_random_model_shape(0), tenon_random_model_format(0));
  char path[4096];
  snprintf(path, sizeof path, "%s/past.gguf", folder);
  int calls = 0;
  CHECK(tenon_random_model_write(path, "tiny-bert", "f32", 1, count_call, &calls));
  tenon_model* model = NULL;
  CHECK(tenon_model_open(path, NULL, &model));
  remove(path);
  tenon_embedder* embedder = NULL;
  CHECK(tenon_embedder_create(model, NULL, &embedder));
  tenon_embedder_info info = {.struct_size = sizeof info};
  CHECK(tenon_embedder_get_info(embedder, &info));
  const size_t width = tenon_embedder_dimensions(embedder);
  const tenon_token text[] = {1, 2, 3};
  const tenon_token* texts[] = {text, text};
  const uint64_t lengths[] = {3, 2};
  tenon_embedder_batch batch = {
      .struct_size = sizeof batch, .count = 2, .tokens = texts, .num_tokens = lengths};
  float* rows = calloc(2 * width, sizeof *rows);
  size_t count = 0;
  CHECK(tenon_embedder_embed(embedder, &batch, rows, 2 * width, &count));
  say("embedded: %d, pooling %d, labels %u", count == 2 * width && info.dimensions == width,
      (int)info.pooling, (unsigned)info.num_labels);
  float scores[2];
  CHECK(tenon_embedder_rank(embedder, "a", 1, &batch, scores, COUNT(scores), &count));
  const char* label = NULL;
  say("ranked %d; no label: %s", (int)count,
      tenon_status_name(tenon_embedder_label(embedder, 0, &label, &count)));
  CHECK(tenon_embedder_cancel(embedder));
  free(rows);
  tenon_embedder_destroy(embedder);
  tenon_model_destroy(model);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  versions();
  tenon_options* set = NULL;
  CHECK(tenon_options_create(&set));
  options(set);
  Bytes bytes;
  tenon_model* model = load(argv[1], set, &bytes);
  const tenon_tokenizer* tokenizer = NULL;
  CHECK(tenon_model_tokenizer(model, &tokenizer));
  contents(model);
  tokens(tokenizer);
  alone(argv[1]);
  tenon_model* missing = NULL;
  const tenon_status status = tenon_model_open("/none/none.gguf", NULL, &missing);
  say("missing: %s, number %d", tenon_status_name(status), (int)tenon_last_system_error());
  session(model, set, argv[2]);
  sampler(tokenizer);
  backends(set);
  engine(model);
  grammars(model, tokenizer);
  chats(model);
  answers(model);
  plan(model);
  embeddings(argv[2]);
  tenon_options_destroy(set);
  tenon_model_destroy(model);
  free((void*)bytes.data);
  say("done");
  return 0;
}
