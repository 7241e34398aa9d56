// Owners of C handles for tests, and shortcuts to a model; the calls under test stay visible.
#pragma once

#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <memory>
#include <string>

namespace tenon_test {

struct Destroy {
  void operator()(tenon_options* handle) const { tenon_options_destroy(handle); }
  void operator()(tenon_model* handle) const { tenon_model_destroy(handle); }
  void operator()(tenon_session* handle) const { tenon_session_destroy(handle); }
  void operator()(tenon_sampler* handle) const { tenon_sampler_destroy(handle); }
  void operator()(tenon_backends* handle) const { tenon_backends_destroy(handle); }
  void operator()(tenon_placement* handle) const { tenon_placement_destroy(handle); }
  void operator()(tenon_engine* handle) const { tenon_engine_destroy(handle); }
  void operator()(tenon_request* handle) const { tenon_request_destroy(handle); }
  void operator()(tenon_embedder* handle) const { tenon_embedder_destroy(handle); }
  void operator()(tenon_grammar* handle) const { tenon_grammar_destroy(handle); }
  void operator()(tenon_tokenizer* handle) const { tenon_tokenizer_destroy(handle); }
  void operator()(tenon_chat* handle) const { tenon_chat_destroy(handle); }
  void operator()(tenon_chat_reply* handle) const { tenon_chat_reply_destroy(handle); }
};
using OptionsPtr = std::unique_ptr<tenon_options, Destroy>;
using ModelPtr = std::unique_ptr<tenon_model, Destroy>;
using SessionPtr = std::unique_ptr<tenon_session, Destroy>;
using SamplerPtr = std::unique_ptr<tenon_sampler, Destroy>;
using EnginePtr = std::unique_ptr<tenon_engine, Destroy>;
using RequestPtr = std::unique_ptr<tenon_request, Destroy>;
using EmbedderPtr = std::unique_ptr<tenon_embedder, Destroy>;
using GrammarPtr = std::unique_ptr<tenon_grammar, Destroy>;
using TokenizerPtr = std::unique_ptr<tenon_tokenizer, Destroy>;
using ChatPtr = std::unique_ptr<tenon_chat, Destroy>;
using ReplyPtr = std::unique_ptr<tenon_chat_reply, Destroy>;
using BackendsPtr = std::unique_ptr<tenon_backends, Destroy>;
using PlacementPtr = std::unique_ptr<tenon_placement, Destroy>;

/// Expects a status, and a text in tenon_last_error().
inline void expect_failure(tenon_status status, tenon_status expected, const std::string& text) {
  EXPECT_STREQ(tenon_status_name(status), tenon_status_name(expected)) << tenon_last_error();
  EXPECT_NE(std::string(tenon_last_error()).find(text), std::string::npos) << tenon_last_error();
}

#define ASSERT_OK(call) ASSERT_EQ((call), TENON_OK) << tenon_last_error()
#define EXPECT_OK(call) EXPECT_EQ((call), TENON_OK) << tenon_last_error()

inline OptionsPtr make_options() {
  tenon_options* options = nullptr;
  EXPECT_OK(tenon_options_create(&options));
  return OptionsPtr(options);
}

/// Struct initialised as a caller does.
template <typename T>
T sized() {
  T value{};
  value.struct_size = sizeof value;
  return value;
}

/// Demo model with two threads.
inline ModelPtr open_demo() {
  const OptionsPtr options = make_options();
  EXPECT_OK(tenon_options_set_int(options.get(), "threads", 2));
  tenon_model* model = nullptr;
  EXPECT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &model));
  return ModelPtr(model);
}

inline SessionPtr make_session(const ModelPtr& model, int64_t context = 0) {
  const OptionsPtr options = make_options();
  EXPECT_OK(tenon_options_set_int(options.get(), "context", context));
  tenon_session* session = nullptr;
  EXPECT_OK(tenon_session_create(model.get(), options.get(), &session));
  return SessionPtr(session);
}

/// Sampler that always takes the likeliest token.
inline SamplerPtr make_greedy() {
  const OptionsPtr options = make_options();
  EXPECT_OK(tenon_options_set_float(options.get(), "temperature", 0));
  tenon_sampler* sampler = nullptr;
  EXPECT_OK(tenon_sampler_create(options.get(), &sampler));
  return SamplerPtr(sampler);
}

}  // namespace tenon_test
