#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "handles.h"

namespace {

using namespace tenon_test;

std::vector<tenon_option_info> all_options() {
  std::vector<tenon_option_info> list(tenon_option_count());
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].struct_size = sizeof(tenon_option_info);
    EXPECT_OK(tenon_option_get_info(i, &list[i]));
  }
  return list;
}

tenon_option_info option_named(const std::string& name) {
  for (const tenon_option_info& option : all_options()) {
    if (option.name == name) return option;
  }
  ADD_FAILURE() << "no option " << name;
  return {};
}

TEST(Options, ListIsCompleteAndConsistent) {
  const auto list = all_options();
  std::set<std::string> names;
  for (const tenon_option_info& option : list) {
    SCOPED_TRACE(option.name);
    EXPECT_TRUE(names.insert(option.name).second) << "twice";
    EXPECT_GT(std::string(option.doc).size(), 20u);
    EXPECT_GE(option.scope, TENON_SCOPE_MODEL);
    EXPECT_LE(option.scope, TENON_SCOPE_EMBEDDER);
    EXPECT_LE(option.int_minimum, option.int_default);
    EXPECT_LE(option.int_default, option.int_maximum);
    EXPECT_LE(option.float_minimum, option.float_default);
    EXPECT_LE(option.float_default, option.float_maximum);
    ASSERT_NE(option.string_default, nullptr);
    ASSERT_NE(option.string_choices, nullptr);
  }
  for (const char* name :
       {"backend", "threads", "cache_type", "slice", "context", "temperature", "top_k", "top_p",
        "min_p", "typical_p", "repeat_penalty", "presence_penalty", "frequency_penalty", "seed"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(Options, EveryDefaultCanBeSet) {
  const OptionsPtr options = make_options();
  for (const tenon_option_info& option : all_options()) {
    SCOPED_TRACE(option.name);
    switch (option.type) {
      case TENON_OPTION_INT:
        EXPECT_OK(tenon_options_set_int(options.get(), option.name, option.int_default));
        break;
      case TENON_OPTION_FLOAT:
        EXPECT_OK(tenon_options_set_float(options.get(), option.name, option.float_default));
        break;
      case TENON_OPTION_BOOL:
        EXPECT_OK(tenon_options_set_bool(options.get(), option.name, 1));
        break;
      case TENON_OPTION_STRING:
        EXPECT_OK(tenon_options_set_string(options.get(), option.name, option.string_default,
                                           TENON_NUL_TERMINATED));
        break;
      default:
        EXPECT_EQ(option.type, TENON_OPTION_STRING_LIST);
    }
  }
}

TEST(Options, ThoseOfABackendAreTakenAsTheyAre) {
  const OptionsPtr options = make_options();
  EXPECT_OK(tenon_options_set_string(options.get(), "backend.anything", "1", 1));
  EXPECT_OK(tenon_options_parse(options.get(), "backend.anything", "2", 1));
  expect_failure(tenon_options_set_string(options.get(), "backend.", "1", 1), TENON_ERROR_ARGUMENT,
                 "a key of 0 bytes");
  expect_failure(
      tenon_options_set_string(options.get(), ("backend." + std::string(65, 'x')).c_str(), "", 0),
      TENON_ERROR_ARGUMENT, "a key of 65 bytes");
  expect_failure(tenon_options_set_int(options.get(), "backend.isa", 1), TENON_ERROR_ARGUMENT,
                 "of type string");
  expect_failure(tenon_options_set_string(options.get(), "backend.isa", "a\0b", 3),
                 TENON_ERROR_ARGUMENT, "NUL");
  expect_failure(tenon_options_set_string(options.get(), "backends", "1", 1), TENON_ERROR_ARGUMENT,
                 "\"backend\"");
  for (int i = 1; i < 1000; ++i) {
    EXPECT_OK(
        tenon_options_set_string(options.get(), ("backend.k" + std::to_string(i)).c_str(), "", 0));
  }
  expect_failure(tenon_options_set_string(options.get(), "backend.one_more", "", 0),
                 TENON_ERROR_LIMIT, "1001");
}

TEST(Options, RangesAreEnforcedOnBothSides) {
  const OptionsPtr options = make_options();
  for (const tenon_option_info& option : all_options()) {
    SCOPED_TRACE(option.name);
    if (option.type == TENON_OPTION_INT) {
      EXPECT_OK(tenon_options_set_int(options.get(), option.name, option.int_minimum));
      EXPECT_OK(tenon_options_set_int(options.get(), option.name, option.int_maximum));
      expect_failure(tenon_options_set_int(options.get(), option.name, option.int_minimum - 1),
                     TENON_ERROR_ARGUMENT, option.name);
      if (option.int_maximum < std::numeric_limits<int64_t>::max()) {
        expect_failure(tenon_options_set_int(options.get(), option.name, option.int_maximum + 1),
                       TENON_ERROR_ARGUMENT, option.name);
      }
    }
    if (option.type == TENON_OPTION_FLOAT) {
      EXPECT_OK(tenon_options_set_float(options.get(), option.name, option.float_minimum));
      EXPECT_OK(tenon_options_set_float(options.get(), option.name, option.float_maximum));
      for (const double bad : {std::nextafter(option.float_minimum, -1e300),
                               std::nextafter(option.float_maximum, 1e300), double{NAN},
                               double{INFINITY}, -double{INFINITY}}) {
        expect_failure(tenon_options_set_float(options.get(), option.name, bad),
                       TENON_ERROR_ARGUMENT, option.name);
      }
    }
  }
}

TEST(Options, UnknownKeyNamesTheNearest) {
  const OptionsPtr options = make_options();
  expect_failure(tenon_options_set_int(options.get(), "contxt", 8), TENON_ERROR_ARGUMENT,
                 "\"contxt\"; the nearest name is \"context\"");
  expect_failure(tenon_options_set_float(options.get(), "temprature", 1), TENON_ERROR_ARGUMENT,
                 "\"temperature\"");
  expect_failure(tenon_options_set_int(options.get(), "", 8), TENON_ERROR_ARGUMENT, "no option");
  // A long name takes no time and is truncated in the message.
  const std::string enormous(1 << 20, 'x');
  expect_failure(tenon_options_set_int(options.get(), enormous.c_str(), 8), TENON_ERROR_ARGUMENT,
                 "no option");
  EXPECT_LT(std::string(tenon_last_error()).size(), 200u);
}

TEST(Options, WordsOfOtherLibrariesAreKnown) {
  const OptionsPtr options = make_options();
  const std::pair<const char*, const char*> known[] = {
      {"n_ctx", "called \"context\""},
      {"n_gpu_layers", "called \"gpu_layers\""},
      {"nGpuLayers", "called \"gpu_layers\""},
      {"n_threads", "called \"threads\""},
      {"temp", "called \"temperature\""},
      {"repetition_penalty", "called \"repeat_penalty\""},
      {"cache-type-k", "called \"cache_type\""},
      {"max_new_tokens", "it is \"max_tokens\" of a generation"},
      {"num_predict", "it is \"max_tokens\" of a generation"},
      {"max_tokens", "it is \"max_tokens\" of a generation"},
      {"ignore_eos", "it is \"ignore_end\" of a generation"},
  };
  for (const auto& [word, says] : known) {
    expect_failure(tenon_options_set_int(options.get(), word, 8), TENON_ERROR_ARGUMENT, says);
  }
  // A distant name gets no suggestion.
  for (const char* far : {"qqqqq", "flash_attn", "Q9", "use_mlock"}) {
    expect_failure(tenon_options_set_int(options.get(), far, 8), TENON_ERROR_ARGUMENT, far);
    EXPECT_TRUE(std::string(tenon_last_error()).ends_with("\"")) << tenon_last_error();
    EXPECT_EQ(std::string(tenon_last_error()).find(';'), std::string::npos) << tenon_last_error();
  }
}

TEST(Options, TypesAreEnforced) {
  const OptionsPtr options = make_options();
  tenon_options* raw = options.get();
  expect_failure(tenon_options_set_float(raw, "threads", 2.0), TENON_ERROR_ARGUMENT,
                 "\"threads\" is of type int, not float");
  expect_failure(tenon_options_set_string(raw, "threads", "2", 1), TENON_ERROR_ARGUMENT, "string");
  expect_failure(tenon_options_set_bool(raw, "threads", 1), TENON_ERROR_ARGUMENT, "bool");
  expect_failure(tenon_options_set_int(raw, "backend", 1), TENON_ERROR_ARGUMENT, "int");
  expect_failure(tenon_options_set_int(raw, "check_weights", 1), TENON_ERROR_ARGUMENT, "int");
  expect_failure(tenon_options_add_string(raw, "backend", "cpu", 3), TENON_ERROR_ARGUMENT, "list");
  EXPECT_OK(tenon_options_set_int(raw, "temperature", 1));
}

TEST(Options, ChoicesAreEnforced) {
  const OptionsPtr options = make_options();
  EXPECT_OK(tenon_options_set_string(options.get(), "cache_type", "f32", 3));
  for (const std::string bad : {"f64", "", "f16|f32", "f", "f16 "}) {
    expect_failure(tenon_options_set_string(options.get(), "cache_type", bad.data(), bad.size()),
                   TENON_ERROR_ARGUMENT, "not one of f16|f32|int8|q4");
  }
  EXPECT_STREQ(option_named("cache_type").string_choices, "f16|f32|int8|q4");
}

TEST(Options, OverridesAreCheckedWhenSet) {
  const OptionsPtr options = make_options();
  const std::string good = "llama.rope.freq_base=float:500000";
  EXPECT_OK(tenon_options_add_string(options.get(), "override", good.data(), good.size()));
  for (const std::string bad : {"", "=int:1", "key", "key=1", "key=int:x", "key=double:1"}) {
    expect_failure(tenon_options_add_string(options.get(), "override", bad.data(), bad.size()),
                   TENON_ERROR_ARGUMENT, "override");
  }
}

TEST(Options, ListsAreLimitedWhenAdded) {
  struct Limits {
    const char* key;
    size_t texts, text_bytes, total_bytes;
  };
  for (const Limits& limits :
       {Limits{"stop", 1000, 65536, 65536}, Limits{"banned_strings", 1000, 128, 65536},
        Limits{"plugin", 1000, size_t{1} << 24, size_t{1} << 24}}) {
    SCOPED_TRACE(limits.key);
    const auto add = [&](const OptionsPtr& options, size_t bytes) {
      const std::string text(bytes, 'a');
      return tenon_options_add_string(options.get(), limits.key, text.data(), text.size());
    };
    const OptionsPtr many = make_options();
    for (size_t i = 0; i < limits.texts; ++i) ASSERT_OK(add(many, 1));
    expect_failure(add(many, 1), TENON_ERROR_LIMIT, "1001 texts, the limit is 1000");
    const OptionsPtr large = make_options();
    expect_failure(add(large, limits.text_bytes + 1), TENON_ERROR_LIMIT,
                   "the limit is " + std::to_string(limits.text_bytes));
    for (size_t sum = 0; sum < limits.total_bytes; sum += limits.text_bytes) {
      ASSERT_OK(add(large, limits.text_bytes));
    }
    expect_failure(add(large, 1), TENON_ERROR_LIMIT,
                   "more than " + std::to_string(limits.total_bytes) + " bytes");
    // Setting the list replaces it and restarts its limits.
    ASSERT_OK(tenon_options_set_string(large.get(), limits.key, "a", 1));
    EXPECT_OK(add(large, 1));
    const std::string long_text(limits.text_bytes + 1, 'a');
    expect_failure(
        tenon_options_set_string(large.get(), limits.key, long_text.data(), long_text.size()),
        TENON_ERROR_LIMIT, "the limit is");
  }
}

TEST(Options, TextsAreParsedByType) {
  const OptionsPtr options = make_options();
  const auto parse = [&](const char* key, const std::string& text) {
    return tenon_options_parse(options.get(), key, text.data(), text.size());
  };
  EXPECT_OK(parse("threads", "8"));
  EXPECT_OK(parse("temperature", "0.7"));
  EXPECT_OK(parse("temperature", "1"));
  EXPECT_OK(parse("check_weights", "true"));
  EXPECT_OK(parse("check_weights", "0"));
  EXPECT_OK(parse("backend", "reference"));
  EXPECT_OK(parse("plugin", "/a/b.so"));
  for (const char* bad : {"", " 8", "8 ", "8x", "0x8", "1e1", "99999999999999999999"}) {
    expect_failure(parse("threads", bad), TENON_ERROR_ARGUMENT, "threads");
  }
  for (const char* bad : {"", "warm", "1.0x", "nan", "inf", "1e999"}) {
    expect_failure(parse("temperature", bad), TENON_ERROR_ARGUMENT, "temperature");
  }
  expect_failure(parse("check_weights", "yes"), TENON_ERROR_ARGUMENT, "true or false");
  expect_failure(parse("backend", std::string("a\0b", 3)), TENON_ERROR_ARGUMENT, "NUL");
}

TEST(Options, AFailedCallChangesNothing) {
  const OptionsPtr options = make_options();
  EXPECT_OK(tenon_options_set_float(options.get(), "temperature", 0));
  EXPECT_NE(tenon_options_set_float(options.get(), "temperature", -1), TENON_OK);
  // The temperature is still 0: greedy at every position.
  tenon_sampler* raw = nullptr;
  ASSERT_OK(tenon_sampler_create(options.get(), &raw));
  const SamplerPtr sampler(raw);
  const std::vector<float> logits{0.0f, 0.1f, 0.05f, 0.09f};
  for (uint64_t position = 0; position < 50; ++position) {
    tenon_token token = TENON_NO_TOKEN;
    ASSERT_OK(tenon_sampler_sample(sampler.get(), logits.data(), logits.size(), nullptr, 0,
                                   position, &token));
    EXPECT_EQ(token, 1);
  }
}

TEST(Errors, MessageIsOfThisThreadAndStays) {
  const OptionsPtr options = make_options();
  EXPECT_NE(tenon_options_set_int(options.get(), "first_thread", 1), TENON_OK);
  const char* const message = tenon_last_error();
  const std::string copy = message;
  std::thread([&] {
    EXPECT_STREQ(tenon_last_error(), "");
    EXPECT_NE(tenon_options_set_int(options.get(), "second_thread", 1), TENON_OK);
    EXPECT_NE(std::string(tenon_last_error()).find("second_thread"), std::string::npos);
  }).join();
  // A successful call does not change the last error.
  EXPECT_OK(tenon_options_set_int(options.get(), "threads", 1));
  EXPECT_EQ(tenon_last_error(), message);
  EXPECT_EQ(message, copy);
}

TEST(Errors, NamesOfStatuses) {
  EXPECT_STREQ(tenon_status_name(TENON_OK), "OK");
  EXPECT_STREQ(tenon_status_name(TENON_ERROR_NO_MEMORY), "NO_MEMORY");
  EXPECT_STREQ(tenon_status_name(TENON_ERROR_INTERNAL), "INTERNAL");
  for (const int32_t bad : {-1, 15, INT32_MAX, INT32_MIN}) {
    EXPECT_STREQ(tenon_status_name(bad), "UNKNOWN");
  }
}

TEST(Version, NumberAndTextAgree) {
  EXPECT_EQ(tenon_version(),
            TENON_VERSION_MAJOR * 1000000u + TENON_VERSION_MINOR * 1000u + TENON_VERSION_PATCH);
  const std::string text = std::to_string(TENON_VERSION_MAJOR) + "." +
                           std::to_string(TENON_VERSION_MINOR) + "." +
                           std::to_string(TENON_VERSION_PATCH);
  EXPECT_EQ(tenon_version_text(), text);
}

}  // namespace
