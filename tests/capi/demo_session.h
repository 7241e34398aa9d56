// Fixture for tests of sessions: the demo model, and a recorder of generations.
#pragma once

#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <string>
#include <vector>

#include "handles.h"

namespace tenon_test {

inline constexpr const char* kQuestion =
    "<|im_start|>user\nWhat is the capital of Norway?<|im_end|>\n<|im_start|>assistant\n";

/// Recorded calls of generate's callback.
struct Seen {
  std::string text;
  std::vector<tenon_token> tokens;
  std::vector<int32_t> finishes;
  size_t stop_after = SIZE_MAX;
};

inline int32_t record(void* user, const tenon_piece* piece) {
  auto* seen = static_cast<Seen*>(user);
  EXPECT_EQ(piece->struct_size, sizeof(tenon_piece));
  seen->text.append(piece->text, piece->length);
  seen->tokens.push_back(piece->token);
  seen->finishes.push_back(piece->finish);
  return seen->tokens.size() >= seen->stop_after;
}

/// Fixture that loads the model once per suite.
class DemoSession : public testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = new ModelPtr(open_demo()); }
  static void TearDownTestSuite() {
    delete model_;
    model_ = nullptr;
  }

  SessionPtr session(const std::string& text = "", int64_t context = 256) {
    SessionPtr result = make_session(*model_, context);
    EXPECT_OK(
        tenon_session_append_text(result.get(), text.data(), text.size(), TENON_PARSE_SPECIAL));
    return result;
  }

  Seen generate(const SessionPtr& of, uint64_t max_tokens) {
    Seen seen;
    EXPECT_OK(tenon_session_generate(of.get(), greedy_.get(), max_tokens, record, &seen));
    return seen;
  }

  static inline ModelPtr* model_ = nullptr;
  SamplerPtr greedy_ = make_greedy();
};

}  // namespace tenon_test
