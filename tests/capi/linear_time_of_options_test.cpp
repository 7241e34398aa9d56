// Linear time: options, samplers, models.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "handles.h"
#include "linear_time.h"

namespace {

using namespace tenon_test;

void add_texts(const char* key, size_t n, const std::string& each) {
  const OptionsPtr options = make_options();
  for (size_t i = 0; i < n; ++i) {
    const std::string text = numbered(each, 1) + std::to_string(i);
    expect_answer(tenon_options_add_string(options.get(), key, text.data(), text.size()));
  }
  tenon_sampler* sampler = nullptr;
  expect_answer(tenon_sampler_create(options.get(), &sampler));
  tenon_sampler_destroy(sampler);
}

void bias(size_t n, const std::function<int32_t(int32_t)>& token_of) {
  tenon_sampler* made = nullptr;
  ASSERT_OK(tenon_sampler_create(nullptr, &made));
  const SamplerPtr sampler(made);
  const auto count = static_cast<int32_t>(n);
  for (int32_t i = 0; i < count; ++i) {
    EXPECT_OK(tenon_sampler_set_bias(made, token_of(i), 1));
  }
  const std::vector<float> logits(n);
  tenon_token token = 0;
  EXPECT_OK(tenon_sampler_sample(made, logits.data(), n, nullptr, 0, 0, &token));
  for (int32_t i = 0; i < count; ++i) {
    EXPECT_OK(tenon_sampler_set_bias(made, token_of(i), 0));
  }
}

TEST(LinearTime, OptionsAndSamplers) {
  expect_linear({
      {"stop", 5'000, [](size_t n) { add_texts("stop", n, "s"); }},
      {"long stops", 300, [](size_t n) { add_texts("stop", n, repeated("s", 1'000)); }},
      {"banned_strings", 5'000, [](size_t n) { add_texts("banned_strings", n, "s"); }},
      {"override", 5'000, [](size_t n) { add_texts("override", n, "k#=int:"); }},
      {"plugin", 5'000, [](size_t n) { add_texts("plugin", n, "/nowhere/"); }},
      {"template", 1'000'000,
       [](size_t n) {
         const OptionsPtr options = make_options();
         const std::string text = repeated("a", n);
         EXPECT_OK(tenon_options_set_string(options.get(), "template", text.data(), text.size()));
       }},
      {"options", 5'000,
       [](size_t n) {
         const OptionsPtr options = make_options();
         tenon_option_info option = sized<tenon_option_info>();
         for (size_t i = 0; i < n; ++i) {
           ASSERT_OK(tenon_option_get_info(i % tenon_option_count(), &option));
           expect_answer(tenon_options_parse(options.get(), option.name, "1", 1));
         }
       }},
      {"rising biases", 20'000, [](size_t n) { bias(n, [](int32_t i) { return i; }); }},
      {"falling biases", 20'000,
       [](size_t n) {
         bias(n, [last = static_cast<int32_t>(n) - 1](int32_t i) { return last - i; });
       }},
      {"stop tokens", 5'000,
       [](size_t n) {
         tenon_sampler* made = nullptr;
         ASSERT_OK(tenon_sampler_create(nullptr, &made));
         const SamplerPtr sampler(made);
         for (size_t i = n; i-- > 0;) {
           expect_answer(tenon_sampler_add_stop_token(made, static_cast<tenon_token>(i)));
         }
       }},
      {"a history", 30'000,
       [](size_t n) {
         tenon_sampler* made = nullptr;
         ASSERT_OK(tenon_sampler_create(nullptr, &made));
         const SamplerPtr sampler(made);
         EXPECT_OK(tenon_sampler_set_float(made, "dry_multiplier", 1));
         EXPECT_OK(tenon_sampler_set_float(made, "repeat_penalty", 1.1));
         EXPECT_OK(tenon_sampler_set_int(made, "repeat_last_n", -1));
         const std::vector<tenon_token> history(n);
         const std::vector<float> logits(n);
         tenon_token token = 0;
         EXPECT_OK(tenon_sampler_sample(made, logits.data(), n, history.data(), n, 0, &token));
       }},
  });
}

/// GGUF file with these counts. body: keys, then the directory.
std::string gguf(uint64_t tensors, uint64_t keys, const std::string& body) {
  std::string out = "GGUF";
  const uint32_t version = 3;
  out.append(reinterpret_cast<const char*>(&version), 4);
  out.append(reinterpret_cast<const char*>(&tensors), 8);
  out.append(reinterpret_cast<const char*>(&keys), 8);
  out += body;
  out.resize((out.size() + 31) / 32 * 32);
  return out;
}
template <typename T>
std::string number(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string counted(std::string_view text) {
  return number<uint64_t>(text.size()) + std::string(text);
}

void load_model(const std::string& file, size_t times = 1, const tenon_options* options = nullptr) {
  tenon_source source = sized<tenon_source>();
  source.kind = TENON_SOURCE_MEMORY;
  source.data = file.data();
  source.size = file.size();
  const std::vector<const tenon_source*> sources(times, &source);
  tenon_model* model = nullptr;
  expect_answer(tenon_model_load(sources.data(), sources.size(), options, nullptr, &model));
  tenon_model_destroy(model);
}

TEST(LinearTime, ModelFiles) {
  constexpr uint32_t kU32 = 4, kString = 8, kArray = 9, kF32 = 0;
  expect_linear({
      {"keys", 5'000,
       [](size_t n) {
         std::string body;
         for (size_t i = 0; i < n; ++i) {
           body += counted("k" + std::to_string(i)) + number(kU32) + number<uint32_t>(1);
         }
         load_model(gguf(0, n, body));
       }},
      {"tensors", 5'000,
       [](size_t n) {
         std::string body;
         for (size_t i = 0; i < n; ++i) {
           body += counted("t" + std::to_string(i)) + number<uint32_t>(1) + number<uint64_t>(8) +
                   number(kF32) + number<uint64_t>(i * 32);
         }
         load_model(gguf(n, 0, body) + std::string(n * 32, '\0'));
       }},
      {"an array of texts", 50'000,
       [](size_t n) {
         std::string body = counted("a") + number(kArray) + number(kString) + number<uint64_t>(n);
         for (size_t i = 0; i < n; ++i) body += counted("t" + std::to_string(i));
         load_model(gguf(0, 1, body));
       }},
      {"a text", 1'000'000,
       [](size_t n) {
         load_model(gguf(0, 1, counted("a") + number(kString) + counted(repeated("a", n))));
       }},
      {"parts", 500, [](size_t n) { load_model(gguf(0, 0, ""), n); }},
  });
}

}  // namespace
