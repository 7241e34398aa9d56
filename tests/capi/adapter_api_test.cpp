// tenon_adapter_*, tenon_session_add_adapter and the C++ classes over them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <tenon/tenon.hpp>
#include <vector>

#include "base/temp_folder.h"
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

TEST_F(AdapterApi, ASumTakesOneSlot) {
  const tenon::Model base = model("1");
  const auto adapter = tenon::Adapter::open(base, kAdapter);
  const auto other = tenon::Adapter::open(base, kAdapter);
  tenon::Session whole(base), none(base), plain(base);
  whole.set_adapter(adapter, 0.75f);
  const std::vector<float> expected = logits(whole);
  whole = tenon::Session(base);
  {
    const tenon::ScaledAdapter halves[] = {{&adapter, 0.25f}, {&other, 0.5f}};
    tenon::Session summed(base);
    summed.set_adapters(halves);
    const std::vector<float> got = logits(summed);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-3) << i;
  }
  const tenon::ScaledAdapter zeros[] = {{&adapter, 0.0f}, {&other, 0.0f}};
  none.set_adapters(zeros);
  EXPECT_EQ(logits(none), logits(plain));

  tenon_adapter* raw = nullptr;
  const auto sum = [&](const tenon_adapter* one, double scale, const tenon_adapter* two) {
    return tenon_adapter_sum(one, scale, two, 1, &raw);
  };
  const tenon::Model elsewhere = model("1");
  const auto foreign = tenon::Adapter::open(elsewhere, kAdapter);
  expect_failure(sum(adapter.get(), 1, foreign.get()), TENON_ERROR_ARGUMENT, "different models");
  expect_failure(sum(adapter.get(), HUGE_VAL, other.get()), TENON_ERROR_ARGUMENT, "scale");
  expect_failure(sum(nullptr, 1, other.get()), TENON_ERROR_ARGUMENT, "adapter");
  const tenon::ScaledAdapter two[] = {{&adapter, 1.0f}, {&other, 1.0f}};
  const auto both = tenon::Adapter::sum(two);
  expect_failure(sum(both.get(), 1, other.get()), TENON_ERROR_LIMIT, "rank");
  EXPECT_EQ(raw, nullptr);
}

TEST_F(AdapterApi, WritesGguf) {
  const tenon::TempFolder folder;
  const std::string path = folder.path("adapter.gguf");
  tenon::convert_adapter(kAdapter, kBase, path);
  const tenon::Model base = model("2");
  tenon::Session peft(base), gguf(base);
  peft.set_adapter(tenon::Adapter::open(base, kAdapter));
  gguf.set_adapter(tenon::Adapter::open(base, path));
  EXPECT_EQ(logits(gguf), logits(peft));
  const std::string other = folder.path("other.gguf");
  expect_failure(tenon_adapter_convert(kDora, kBase, other.c_str()), TENON_ERROR_UNSUPPORTED,
                 "DoRA");
  expect_failure(tenon_adapter_convert("/no/such", kBase, other.c_str()), TENON_ERROR_IO,
                 "/no/such");
  expect_failure(tenon_adapter_convert(kAdapter, nullptr, other.c_str()), TENON_ERROR_ARGUMENT,
                 "model");
  EXPECT_FALSE(std::filesystem::exists(other));
}

}  // namespace
