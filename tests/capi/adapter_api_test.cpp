// tenon_adapter_*, tenon_session_add_adapter and the C++ classes over them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <tenon/tenon.hpp>
#include <vector>

#include "handles.h"

namespace {

using namespace tenon_test;

constexpr const char* kBase = TENON_SHARED_DIR "/formats/folders/llama3";
constexpr const char* kAdapter = TENON_SHARED_DIR "/formats/adapters/llama3/all_linear";
constexpr const char* kDora = TENON_SHARED_DIR "/formats/adapters/llama3/dora";

class AdapterApi : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kAdapter)) GTEST_SKIP() << kAdapter << " is absent";
  }
  static tenon::Model model(const char* slots) {
    tenon::ModelOptions options;
    options.extra = {{"adapter_slots", slots}, {"adapter_rank", "8"}};
    return tenon::Model(kBase, options);
  }
  static std::vector<float> logits(tenon::Session& session) {
    session.append(std::vector<tenon::Token>{1, 40, 6, 75});
    const auto row = session.logits();
    return {row.begin(), row.end()};
  }
};

TEST_F(AdapterApi, ChangesASessionByItsScale) {
  const tenon::Model base = model("2");
  const auto adapter = tenon::Adapter::open(base, kAdapter);
  tenon::Session plain(base), none(base), whole(base);
  none.set_adapter(adapter, 0.0f);
  whole.set_adapter(adapter);
  const std::vector<float> expected = logits(plain);
  EXPECT_EQ(logits(none), expected);
  EXPECT_NE(logits(whole), expected);
}

TEST_F(AdapterApi, OutlivesItsHandle) {
  const tenon::Model base = model("1");
  tenon::Session session(base), later(base);
  session.set_adapter(tenon::Adapter::open(base, kAdapter));
  later.set_adapter(tenon::Adapter::open(base, kAdapter));
  EXPECT_EQ(logits(session), logits(later));
}

TEST_F(AdapterApi, ReportsWhatIsWrong) {
  const tenon::Model base = model("1");
  const tenon::Model other = model("1");
  const tenon::Model without = model("0");
  tenon_adapter* raw = nullptr;
  expect_failure(tenon_adapter_open(without.get(), kAdapter, &raw), TENON_ERROR_STATE,
                 "adapter_slots");
  expect_failure(tenon_adapter_open(base.get(), kDora, &raw), TENON_ERROR_UNSUPPORTED,
                 "merged_adapters");
  expect_failure(tenon_adapter_open(base.get(), "/no/such", &raw), TENON_ERROR_IO, "/no/such");
  expect_failure(tenon_adapter_open(nullptr, kAdapter, &raw), TENON_ERROR_ARGUMENT, "model");
  EXPECT_EQ(raw, nullptr);
  const auto adapter = tenon::Adapter::open(base, kAdapter);
  tenon::Session session(other);
  expect_failure(tenon_session_add_adapter(session.get(), adapter.get(), 1), TENON_ERROR_ARGUMENT,
                 "another model");
  tenon::Session own(base);
  expect_failure(tenon_session_add_adapter(own.get(), nullptr, 1), TENON_ERROR_ARGUMENT, "adapter");
  for (const double scale : {HUGE_VAL, 1e300, std::nan("")}) {
    expect_failure(tenon_session_add_adapter(own.get(), adapter.get(), scale), TENON_ERROR_ARGUMENT,
                   "scale");
  }
  EXPECT_EQ(tenon_session_add_adapter(own.get(), adapter.get(), 0.5), TENON_OK);
  EXPECT_EQ(tenon_session_clear_adapters(own.get()), TENON_OK);
  EXPECT_EQ(tenon_session_clear_adapters(own.get()), TENON_OK);
  const tenon::Session plain(without);
  expect_failure(tenon_session_clear_adapters(plain.get()), TENON_ERROR_STATE, "adapter_slots");
}

}  // namespace
