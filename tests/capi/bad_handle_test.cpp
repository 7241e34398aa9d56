// NULL, foreign and invalid handles: every function reports them, none crashes.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "handles.h"

namespace {

using namespace tenon_test;

/// Calls every fallible function that takes a handle with `handle` in its place. All other
/// arguments are valid, and every out-parameter holds `untouched`.
class EveryCall {
 public:
  explicit EveryCall(void* handle) : handle_(handle) {}

  std::vector<std::pair<const char*, std::function<tenon_status()>>> calls() {
    auto* options = static_cast<tenon_options*>(handle_);
    auto* model = static_cast<tenon_model*>(handle_);
    auto* tokenizer = static_cast<tenon_tokenizer*>(handle_);
    auto* session = static_cast<tenon_session*>(handle_);
    auto* sampler = static_cast<tenon_sampler*>(handle_);
    auto* backends = static_cast<tenon_backends*>(handle_);
    auto* placement = static_cast<tenon_placement*>(handle_);
    auto* engine = static_cast<tenon_engine*>(handle_);
    auto* request = static_cast<tenon_request*>(handle_);
    auto* embedder = static_cast<tenon_embedder*>(handle_);
    return {
        {"options_set_int", [=] { return tenon_options_set_int(options, "threads", 1); }},
        {"options_set_float", [=] { return tenon_options_set_float(options, "top_p", 1); }},
        {"options_set_bool", [=] { return tenon_options_set_bool(options, "inspect", 1); }},
        {"options_set_string",
         [=] { return tenon_options_set_string(options, "backend", "cpu", 3); }},
        {"options_add_string", [=] { return tenon_options_add_string(options, "plugin", "a", 1); }},
        {"options_parse", [=] { return tenon_options_parse(options, "threads", "1", 1); }},
        {"model_get_info", [=, this] { return tenon_model_get_info(model, &model_info_); }},
        {"model_memory", [=, this] { return tenon_model_memory(model, 0, &memory_); }},
        {"model_metadata", [=, this] { return tenon_model_metadata(model, 0, &metadata_); }},
        {"model_metadata_value",
         [=, this] { return tenon_model_metadata_value(model, 0, 0, &value_); }},
        {"model_find_metadata",
         [=, this] { return tenon_model_find_metadata(model, "a", 1, &size_); }},
        {"model_tensor", [=, this] { return tenon_model_tensor(model, 0, &tensor_); }},
        {"model_find_tensor", [=, this] { return tenon_model_find_tensor(model, "a", 1, &size_); }},
        {"model_tokenizer", [=, this] { return tenon_model_tokenizer(model, &tokenizer_); }},
        {"tokenizer_encode",
         [=, this] { return tenon_tokenizer_encode(tokenizer, "a", 1, 0, nullptr, 0, &size_); }},
        {"tokenizer_decode",
         [=, this] {
           return tenon_tokenizer_decode(tokenizer, nullptr, 0, 0, nullptr, 0, &size_);
         }},
        {"tokenizer_token_info",
         [=, this] { return tenon_tokenizer_token_info(tokenizer, 0, &token_info_); }},
        {"tokenizer_find", [=, this] { return tenon_tokenizer_find(tokenizer, "a", 1, &token_); }},
        {"tokenizer_special",
         [=, this] { return tenon_tokenizer_special(tokenizer, TENON_SPECIAL_END, &token_); }},
        {"session_create", [=, this] { return tenon_session_create(model, nullptr, &session_); }},
        {"adapter_open", [=, this] { return tenon_adapter_open(model, "a", &adapter_); }},
        {"session_add_adapter", [=] { return tenon_session_add_adapter(session, nullptr, 1); }},
        {"session_clear_adapters", [=] { return tenon_session_clear_adapters(session); }},
        {"session_append_text", [=] { return tenon_session_append_text(session, "a", 1, 0); }},
        {"session_append_tokens", [=] { return tenon_session_append_tokens(session, nullptr, 0); }},
        {"session_generate",
         [=] { return tenon_session_generate(session, nullptr, 1, nullptr, nullptr); }},
        {"session_prefill", [=] { return tenon_session_prefill(session, nullptr, nullptr); }},
        {"session_next", [=, this] { return tenon_session_next(session, nullptr, &piece_); }},
        {"session_logits", [=, this] { return tenon_session_logits(session, &logits_, &size_); }},
        {"session_score",
         [=, this] { return tenon_session_score(session, &continuations_, nullptr, 0, &size_); }},
        {"session_evaluate",
         [=] {
           return tenon_session_evaluate(
               session, nullptr, 0, [](void*, uint64_t, const float*, uint64_t) { return 0; },
               nullptr);
         }},
        {"session_fork", [=, this] { return tenon_session_fork(session, &session_); }},
        {"session_rewind", [=] { return tenon_session_rewind(session, 0); }},
        {"session_position", [=, this] { return tenon_session_position(session, &number_); }},
        {"session_context", [=, this] { return tenon_session_context(session, &number_); }},
        {"session_tokens", [=, this] { return tenon_session_tokens(session, &tokens_, &size_); }},
        {"session_cancel", [=] { return tenon_session_cancel(session); }},
        {"session_get_stats",
         [=, this] { return tenon_session_get_stats(session, &session_stats_); }},
        {"sampler_set_int", [=] { return tenon_sampler_set_int(sampler, "seed", 1); }},
        {"sampler_set_float", [=] { return tenon_sampler_set_float(sampler, "top_p", 1); }},
        {"sampler_set_bias", [=] { return tenon_sampler_set_bias(sampler, 0, 1); }},
        {"sampler_reset", [=] { return tenon_sampler_reset(sampler); }},
        {"sampler_roll_back", [=] { return tenon_sampler_roll_back(sampler, 0); }},
        {"sampler_sample",
         [=, this] { return tenon_sampler_sample(sampler, &one_, 1, nullptr, 0, 0, &token_); }},
        {"session_submit",
         [=, this] { return tenon_session_submit(session, &submission_, &request_); }},
        {"engine_create", [=, this] { return tenon_engine_create(model, nullptr, &engine_); }},
        {"engine_open_session",
         [=, this] { return tenon_engine_open_session(engine, nullptr, &session_); }},
        {"engine_step", [=, this] { return tenon_engine_step(engine, &worked_); }},
        {"engine_run", [=] { return tenon_engine_run(engine); }},
        {"engine_stop", [=] { return tenon_engine_stop(engine); }},
        {"engine_set_executor",
         [=] { return tenon_engine_set_executor(engine, nullptr, nullptr); }},
        {"engine_get_stats", [=, this] { return tenon_engine_get_stats(engine, &engine_stats_); }},
        {"engine_stats_text",
         [=, this] { return tenon_engine_stats_text(engine, nullptr, 0, &size_); }},
        {"request_wait", [=, this] { return tenon_request_wait(request, 0, &piece_); }},
        {"request_logprobs_of", [=] { return tenon_request_logprobs_of(request, nullptr, 0); }},
        {"request_cancel", [=] { return tenon_request_cancel(request); }},
        {"request_get_stats",
         [=, this] { return tenon_request_get_stats(request, &request_stats_); }},
        {"backends_get_device",
         [=, this] { return tenon_backends_get_device(backends, 0, 0, &backend_device_); }},
        {"placement_get_device",
         [=, this] { return tenon_placement_get_device(placement, 0, &placed_device_); }},
        {"backends_get_info",
         [=, this] { return tenon_backends_get_info(backends, 0, &backend_info_); }},
        {"embedder_create",
         [=, this] { return tenon_embedder_create(model, nullptr, &embedder_); }},
        {"embedder_get_info",
         [=, this] { return tenon_embedder_get_info(embedder, &embedder_info_); }},
        {"embedder_label",
         [=, this] { return tenon_embedder_label(embedder, 0, &label_, &size_); }},
        {"embedder_embed",
         [=, this] { return tenon_embedder_embed(embedder, &batch_, nullptr, 0, &size_); }},
        {"embedder_rank",
         [=, this] { return tenon_embedder_rank(embedder, "a", 1, &batch_, nullptr, 0, &size_); }},
        {"embedder_cancel", [=] { return tenon_embedder_cancel(embedder); }},
    };
  }

  void expect_untouched() const {
    EXPECT_EQ(size_, kSize);
    EXPECT_EQ(number_, kSize);
    EXPECT_EQ(token_, 77);
    EXPECT_EQ(tokenizer_, nullptr);
    EXPECT_EQ(session_, nullptr);
    EXPECT_EQ(engine_, nullptr);
    EXPECT_EQ(request_, nullptr);
    EXPECT_EQ(embedder_, nullptr);
    EXPECT_EQ(label_, nullptr);
    EXPECT_EQ(embedder_info_.dimensions, 0u);
    EXPECT_EQ(worked_, 77);
    EXPECT_EQ(logits_, &one_);
    EXPECT_EQ(tokens_, &token_);
    EXPECT_EQ(piece_.token, 0);
    EXPECT_EQ(model_info_.layers, 0u);
  }

 private:
  static constexpr size_t kSize = 123456;
  void* handle_;
  float one_ = 1;
  size_t size_ = kSize;
  uint64_t number_ = kSize;
  tenon_token token_ = 77;
  const tenon_tokenizer* tokenizer_ = nullptr;
  tenon_session* session_ = nullptr;
  tenon_adapter* adapter_ = nullptr;
  tenon_engine* engine_ = nullptr;
  tenon_request* request_ = nullptr;
  tenon_embedder* embedder_ = nullptr;
  const char* label_ = nullptr;
  tenon_embedder_info embedder_info_ = sized<tenon_embedder_info>();
  tenon_embedder_batch batch_ = sized<tenon_embedder_batch>();
  int32_t worked_ = 77;
  tenon_submission submission_ = sized<tenon_submission>();
  tenon_continuations continuations_ = sized<tenon_continuations>();
  tenon_engine_stats engine_stats_ = sized<tenon_engine_stats>();
  tenon_request_stats request_stats_ = sized<tenon_request_stats>();
  const float* logits_ = &one_;
  const tenon_token* tokens_ = &token_;
  tenon_model_info model_info_ = sized<tenon_model_info>();
  tenon_memory memory_ = sized<tenon_memory>();
  tenon_metadata metadata_ = sized<tenon_metadata>();
  tenon_value value_ = sized<tenon_value>();
  tenon_tensor tensor_ = sized<tenon_tensor>();
  tenon_token_info token_info_ = sized<tenon_token_info>();
  tenon_piece piece_ = sized<tenon_piece>();
  tenon_session_stats session_stats_ = sized<tenon_session_stats>();
  tenon_backend_info backend_info_ = sized<tenon_backend_info>();
  tenon_backend_device backend_device_ = sized<tenon_backend_device>();
  tenon_placed_device placed_device_ = sized<tenon_placed_device>();
};

TEST(BadHandle, NullIsAnArgumentErrorEverywhere) {
  EveryCall every(nullptr);
  for (const auto& [name, call] : every.calls()) {
    SCOPED_TRACE(name);
    expect_failure(call(), TENON_ERROR_ARGUMENT, "handle is NULL");
  }
  every.expect_untouched();
}

TEST(BadHandle, MemoryThatIsNoHandleIsAnArgumentErrorEverywhere) {
  alignas(64) unsigned char zeros[4096] = {};
  EveryCall every(zeros);
  for (const auto& [name, call] : every.calls()) {
    SCOPED_TRACE(name);
    expect_failure(call(), TENON_ERROR_ARGUMENT, "of another kind");
  }
  every.expect_untouched();
}

TEST(BadHandle, AHandleOfAnotherKindIsAnArgumentError) {
  const OptionsPtr options = make_options();
  EveryCall every(options.get());
  for (const auto& [name, call] : every.calls()) {
    if (std::string(name).rfind("options_", 0) == 0) continue;
    SCOPED_TRACE(name);
    expect_failure(call(), TENON_ERROR_ARGUMENT, "of another kind");
  }
  every.expect_untouched();
}

TEST(BadHandle, DestroyAndCountTakeAnything) {
  tenon_options_destroy(nullptr);
  tenon_model_destroy(nullptr);
  tenon_session_destroy(nullptr);
  tenon_sampler_destroy(nullptr);
  tenon_backends_destroy(nullptr);
  tenon_placement_destroy(nullptr);
  tenon_engine_destroy(nullptr);
  tenon_request_destroy(nullptr);
  tenon_embedder_destroy(nullptr);
  EXPECT_EQ(tenon_embedder_dimensions(nullptr), 0u);
  EXPECT_EQ(tenon_model_metadata_count(nullptr), 0u);
  EXPECT_EQ(tenon_model_tensor_count(nullptr), 0u);
  EXPECT_EQ(tenon_tokenizer_count(nullptr), 0u);
  EXPECT_EQ(tenon_backends_count(nullptr), 0u);
  EXPECT_EQ(tenon_backends_count_devices(nullptr, 0), 0u);
  EXPECT_EQ(tenon_placement_count(nullptr), 0u);
  // A wrong handle is ignored instead of freed.
  const OptionsPtr options = make_options();
  tenon_model_destroy(reinterpret_cast<tenon_model*>(options.get()));
  tenon_session_destroy(reinterpret_cast<tenon_session*>(options.get()));
  EXPECT_EQ(tenon_model_tensor_count(reinterpret_cast<tenon_model*>(options.get())), 0u);
  EXPECT_OK(tenon_options_set_int(options.get(), "threads", 1));
}

TEST(BadHandle, OutParametersMustBeThere) {
  expect_failure(tenon_options_create(nullptr), TENON_ERROR_ARGUMENT, "options is NULL");
  expect_failure(tenon_model_open(TENON_DEMO_MODEL, nullptr, nullptr), TENON_ERROR_ARGUMENT,
                 "model is NULL");
  expect_failure(tenon_sampler_create(nullptr, nullptr), TENON_ERROR_ARGUMENT, "sampler is NULL");
  expect_failure(tenon_backends_create(nullptr, nullptr), TENON_ERROR_ARGUMENT, "backends is NULL");
  expect_failure(tenon_option_get_info(0, nullptr), TENON_ERROR_ARGUMENT,
                 "tenon_option_info is NULL");
}

TEST(BadHandle, TextsMustBeThere) {
  const OptionsPtr options = make_options();
  expect_failure(tenon_options_set_int(options.get(), nullptr, 1), TENON_ERROR_ARGUMENT,
                 "key is NULL");
  expect_failure(tenon_options_set_string(options.get(), "backend", nullptr, 3),
                 TENON_ERROR_ARGUMENT, "value is NULL");
  expect_failure(tenon_options_set_string(options.get(), "backend", nullptr, TENON_NUL_TERMINATED),
                 TENON_ERROR_ARGUMENT, "value is NULL");
  tenon_model* model = nullptr;
  expect_failure(tenon_model_open(nullptr, nullptr, &model), TENON_ERROR_ARGUMENT, "path is NULL");
  EXPECT_EQ(model, nullptr);
}

}  // namespace
