// Object of each kind in the C interface, with a call on it and its destroy function, for tests of
// all kinds.
#pragma once

#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <functional>
#include <string>
#include <vector>

#include "demo_adapter.h"
#include "handles.h"

namespace tenon_test {

struct Kind {
  const char* destroys;  ///< name of the destroy function
  std::function<void*()> make;
  std::function<tenon_status(void*)> call;  ///< takes a while if the kind has long calls
  std::function<void(void*)> destroy;
  bool any_thread;  ///< several threads may call at once
};

/// Objects and the kinds to make from them. One thread creates; calls and destruction may be on
/// others.
class EveryKind {
 public:
  static constexpr const char* kTalk = R"({"messages": [{"role": "user", "content": "hello"}]})";

  EveryKind() : model_(open_demo()) {
    const OptionsPtr options = make_options();
    EXPECT_OK(tenon_options_set_string(options.get(), "embeddings", "on", TENON_NUL_TERMINATED));
    tenon_model* encoder = nullptr;
    EXPECT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &encoder));
    encoder_.reset(encoder);
    EXPECT_OK(tenon_model_tokenizer(model_.get(), &tokenizer_));
    grammar_.reset(make_grammar());
    chat_.reset(make_chat());
    engine_.reset(make_engine());
    add_all();
  }

  [[nodiscard]] const std::vector<Kind>& all() const { return kinds_; }

 private:
  template <typename Handle>
  void add(const char* destroys, bool any_thread, void (*destroy)(Handle*),
           std::function<Handle*()> make, std::function<tenon_status(Handle*)> call) {
    kinds_.push_back({destroys, make, [call](void* it) { return call(static_cast<Handle*>(it)); },
                      [destroy](void* it) { destroy(static_cast<Handle*>(it)); }, any_thread});
  }
#define TENON_ADD_KIND(kind, any_thread, ...) \
  add<tenon_##kind>("tenon_" #kind "_destroy", any_thread, tenon_##kind##_destroy, __VA_ARGS__)

  /// Handle that a function with an out-parameter creates.
  template <typename Handle, typename Create>
  static Handle* made(Create create) {
    Handle* handle = nullptr;
    EXPECT_OK(create(&handle));
    return handle;
  }

  tenon_grammar* make_grammar() {
    return made<tenon_grammar>([](tenon_grammar** out) {
      return tenon_grammar_create(TENON_GRAMMAR_REGEX, "[a-z ]+", TENON_NUL_TERMINATED, out);
    });
  }
  tenon_chat* make_chat() {
    return made<tenon_chat>(
        [&](tenon_chat** out) { return tenon_chat_create(model_.get(), nullptr, out); });
  }
  tenon_engine* make_engine() {
    return made<tenon_engine>(
        [&](tenon_engine** out) { return tenon_engine_create(model_.get(), nullptr, out); });
  }
  tenon_session* make_session_of_engine() {
    return made<tenon_session>([&](tenon_session** out) {
      return tenon_engine_open_session(engine_.get(), nullptr, out);
    });
  }
  /// Running request, in a session that lives as long as this object.
  tenon_request* make_request() {
    sessions_.emplace_back(make_session_of_engine());
    auto what = sized<tenon_submission>();
    what.text = "Once upon a time";
    what.text_length = 16;
    what.flags = TENON_IGNORE_END;
    what.max_tokens = 200;
    return made<tenon_request>([&](tenon_request** out) {
      return tenon_session_submit(sessions_.back().get(), &what, out);
    });
  }

  void add_all() {
    TENON_ADD_KIND(
        options, false, [] { return make_options().release(); },
        [](tenon_options* it) { return tenon_options_set_int(it, "threads", 1); });
    TENON_ADD_KIND(
        model, true, [] { return open_demo().release(); },
        [](tenon_model* it) {
          auto info = sized<tenon_model_info>();
          return tenon_model_get_info(it, &info);
        });
    TENON_ADD_KIND(
        tokenizer, true,
        [] {
          return made<tenon_tokenizer>(
              [](tenon_tokenizer** out) { return tenon_tokenizer_open(TENON_DEMO_MODEL, out); });
        },
        [](tenon_tokenizer* it) {
          size_t count = 0;
          return tenon_tokenizer_encode(it, "a fox", 5, 0, nullptr, 0, &count);
        });
    TENON_ADD_KIND(
        session, false, [this] { return make_session_of_engine(); },
        [](tenon_session* it) {
          tenon_status status = tenon_session_append_text(it, "a fox and", 9, 0);
          if (status == TENON_OK) status = tenon_session_generate(it, nullptr, 3, nullptr, nullptr);
          return status == TENON_OK ? tenon_session_rewind(it, 0) : status;
        });
    TENON_ADD_KIND(
        sampler, false, [] { return make_greedy().release(); },
        [](tenon_sampler* it) {
          const float logits[] = {0, 1, 0};
          tenon_token token = 0;
          return tenon_sampler_sample(it, logits, 3, nullptr, 0, 0, &token);
        });
    TENON_ADD_KIND(
        backends, false,
        [] {
          return made<tenon_backends>(
              [](tenon_backends** out) { return tenon_backends_create(nullptr, out); });
        },
        [](tenon_backends* it) {
          auto info = sized<tenon_backend_info>();
          return tenon_backends_get_info(it, 0, &info);
        });
    TENON_ADD_KIND(
        engine, true, [this] { return make_engine(); },
        [](tenon_engine* it) {
          int32_t worked = 0;
          return tenon_engine_step(it, &worked);
        });
    TENON_ADD_KIND(
        request, false, [this] { return make_request(); },
        [](tenon_request* it) {
          auto piece = sized<tenon_piece>();
          return tenon_request_wait(it, 0.001, &piece);
        });
    TENON_ADD_KIND(
        grammar, true, [this] { return make_grammar(); },
        [](tenon_grammar* it) {
          int32_t accepted = 0;
          return tenon_grammar_accepts(it, "abab", 4, &accepted);
        });
    TENON_ADD_KIND(
        grammar_cache, true,
        [] {
          return made<tenon_grammar_cache>(
              [](tenon_grammar_cache** out) { return tenon_grammar_cache_create(1 << 20, out); });
        },
        [](tenon_grammar_cache* it) {
          tenon_grammar* grammar = nullptr;
          const tenon_status status =
              tenon_grammar_cache_get(it, TENON_GRAMMAR_REGEX, "[ab]+", 5, &grammar);
          tenon_grammar_destroy(grammar);
          return status;
        });
    TENON_ADD_KIND(
        matcher, false,
        [this] {
          return made<tenon_matcher>([&](tenon_matcher** out) {
            return tenon_matcher_create(grammar_.get(), tokenizer_, out);
          });
        },
        [](tenon_matcher* it) {
          size_t words = 0;
          return tenon_matcher_mask(it, nullptr, 0, &words);
        });
    TENON_ADD_KIND(
        chat, true, [this] { return make_chat(); },
        [](tenon_chat* it) {
          size_t needed = 0;
          return tenon_chat_render(it, kTalk, TENON_NUL_TERMINATED, nullptr, 0, &needed);
        });
    TENON_ADD_KIND(
        chat_reply, false,
        [this] {
          return made<tenon_chat_reply>([&](tenon_chat_reply** out) {
            return tenon_chat_reply_create(chat_.get(), kTalk, TENON_NUL_TERMINATED, out);
          });
        },
        [](tenon_chat_reply* it) {
          const char* json = nullptr;
          size_t length = 0;
          return tenon_chat_reply_message(it, &json, &length);
        });
    TENON_ADD_KIND(
        embedder, true,
        [this] {
          return made<tenon_embedder>([&](tenon_embedder** out) {
            return tenon_embedder_create(encoder_.get(), nullptr, out);
          });
        },
        [](tenon_embedder* it) {
          const char* const texts[] = {"a fox", "the sea"};
          auto batch = sized<tenon_embedder_batch>();
          batch.count = 2;
          batch.texts = texts;
          std::vector<float> rows(2 * tenon_embedder_dimensions(it));
          size_t needed = 0;
          return tenon_embedder_embed(it, &batch, rows.data(), rows.size(), &needed);
        });
    TENON_ADD_KIND(
        placement, false,
        [this] {
          auto hardware = sized<tenon_hardware>();
          hardware.threads = 1;
          return made<tenon_placement>([&](tenon_placement** out) {
            return tenon_placement_create(model_.get(), 0, 0, &hardware, out);
          });
        },
        [](tenon_placement* it) {
          auto device = sized<tenon_placed_device>();
          return tenon_placement_get_device(it, 0, &device);
        });
    tenon_session* adapted = nullptr;
    EXPECT_OK(tenon_session_create(adapter_.model(), nullptr, &adapted));
    sessions_.emplace_back(adapted);
    TENON_ADD_KIND(
        adapter, false, [this] { return adapter_.open(); },
        [adapted](tenon_adapter* it) {
          const tenon_status cleared = tenon_session_clear_adapters(adapted);
          return cleared != TENON_OK ? cleared : tenon_session_add_adapter(adapted, it, 1);
        });
  }
#undef TENON_ADD_KIND

  ModelPtr model_;
  ModelPtr encoder_;  // opened for embeddings
  DemoAdapter adapter_;
  const tenon_tokenizer* tokenizer_ = nullptr;
  GrammarPtr grammar_;
  ChatPtr chat_;
  EnginePtr engine_;
  std::vector<SessionPtr> sessions_;
  std::vector<Kind> kinds_;
};

}  // namespace tenon_test
