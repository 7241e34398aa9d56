// Ways to load the demo model, and its answer once loaded; for tests only.
#pragma once

#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <string>

#include "handles.h"

namespace tenon_test {

inline tenon_source make_source(int32_t kind) {
  auto source = sized<tenon_source>();
  source.kind = kind;
  return source;
}

inline tenon_callbacks make_callbacks(void* user) {
  auto callbacks = sized<tenon_callbacks>();
  callbacks.user = user;
  return callbacks;
}

/// Loads a source and returns the model's greedy answer, which proves a correct load.
inline std::string answer_of(const tenon_source& source,
                             const tenon_callbacks* callbacks = nullptr) {
  const tenon_source* sources[] = {&source};
  tenon_model* raw = nullptr;
  EXPECT_OK(tenon_model_load(sources, 1, nullptr, callbacks, &raw));
  if (raw == nullptr) return "";
  const ModelPtr model(raw);
  const SessionPtr session = make_session(model, 128);
  const SamplerPtr greedy = make_greedy();
  EXPECT_OK(tenon_session_append_text(session.get(), "Once upon a time", 16, 0));
  std::string answer;
  EXPECT_OK(tenon_session_generate(
      session.get(), greedy.get(), 12,
      [](void* user, const tenon_piece* piece) {
        static_cast<std::string*>(user)->append(piece->text, piece->length);
        return 0;
      },
      &answer));
  return answer;
}

inline std::string answer_of_path() {
  tenon_source source = make_source(TENON_SOURCE_PATH);
  source.name = TENON_DEMO_MODEL;
  source.name_length = TENON_NUL_TERMINATED;
  return answer_of(source);
}

inline tenon_status load_demo(const tenon_callbacks& callbacks, tenon_model** model) {
  tenon_source source = make_source(TENON_SOURCE_PATH);
  source.name = TENON_DEMO_MODEL;
  source.name_length = TENON_NUL_TERMINATED;
  const tenon_source* sources[] = {&source};
  return tenon_model_load(sources, 1, nullptr, &callbacks, model);
}

}  // namespace tenon_test
