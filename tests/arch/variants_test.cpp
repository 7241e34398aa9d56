// Keys about layers in some architectures, and refused variants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/architectures.h"
#include "file/open.h"
#include "random_model/random_model.h"
#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_model.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Windows of a model with four layers, a window of 8 and the keys written by `more`.
std::vector<uint32_t> windows(const std::function<void(GgufWriter&)>& more) {
  TinyModel tiny;
  tiny.architecture = "muse-glimmer";
  tiny.layers = 4;
  tiny.more = [&](GgufWriter& writer) {
    writer.add("muse-glimmer.attention.sliding_window", uint32_t{8});
    more(writer);
  };
  std::vector<uint32_t> all;
  for (const LayerSpec& layer : read_model_spec(*open_model_file(tiny_source(tiny))).layers) {
    all.push_back(layer.attention.window);
  }
  return all;
}

constexpr const char* kPattern = "muse-glimmer.attention.sliding_window_pattern";

TEST(Windows, ComeFromAPeriodOrAListOfNumbers) {
  EXPECT_THAT(windows([](GgufWriter&) {}), ElementsAre(8, 8, 8, 0));
  EXPECT_THAT(windows([](GgufWriter& writer) { writer.add(kPattern, uint32_t{2}); }),
              ElementsAre(8, 0, 8, 0));
  EXPECT_THAT(windows([](GgufWriter& writer) {
                writer.add(kPattern, std::vector<uint32_t>{0, 1, 1, 0});
              }),
              ElementsAre(0, 8, 8, 0));
}

TEST(Windows, ListsThatDoNotFitAreRefused) {
  const auto refused = [](std::vector<uint32_t> list) {
    expect_error(Code::Format, HasSubstr("sliding_window_pattern"),
                 [&] { (void)windows([&](GgufWriter& writer) { writer.add(kPattern, list); }); });
  };
  refused({1, 1, 1});
  refused({1, 1, 2, 0});
  expect_error(Code::Format, HasSubstr("sliding_window_pattern"),
               [] { (void)windows([](GgufWriter& w) { w.add(kPattern, uint32_t{0}); }); });
}

/// Specification of a small random model of `architecture` with a changed key.
ModelSpec changed_spec(const std::string& architecture, const std::string& key,
                       MetadataValue value) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  write_random_model(System::real(), path, "tiny-" + architecture, "f32");
  OpenOptions options;
  options.overrides.push_back({architecture + "." + key, std::move(value)});
  return read_model_spec(*open_model_file(path, std::move(options)));
}

void read_changed(const std::string& architecture, const std::string& key, MetadataValue value) {
  (void)changed_spec(architecture, key, std::move(value));
}

uint32_t activation_of(const std::string& architecture, const std::string& key,
                       const std::string& name) {
  const ModelSpec spec = changed_spec(architecture, key, MetadataValue::of(name));
  return spec.layers[0].feed_forward.activation;
}

TEST(Variants, ActivationsHaveTheNamesOfConfigurations) {
  EXPECT_EQ(activation_of("bert", "no_such_key", ""), TENON_ACTIVATION_GELU_ERF);
  EXPECT_EQ(activation_of("jina-bert-v3", "no_such_key", ""), TENON_ACTIVATION_GELU_TANH);
  EXPECT_EQ(activation_of("bert", "hidden_act", "gelu"), TENON_ACTIVATION_GELU_ERF);
  EXPECT_EQ(activation_of("bert", "hidden_act", "gelu_new"), TENON_ACTIVATION_GELU_TANH);
  EXPECT_EQ(activation_of("falcon", "hidden_act", "gelu"), TENON_ACTIVATION_GELU_ERF);
  EXPECT_EQ(activation_of("gpt2", "hidden_act", "relu2"), TENON_ACTIVATION_RELU_SQUARED);
  EXPECT_EQ(activation_of("modern-bert", "hidden_activation", "silu"), TENON_ACTIVATION_SILU);
  EXPECT_EQ(activation_of("jina-bert-v2", "hidden_act", "relu"), TENON_ACTIVATION_RELU);
  expect_error(Code::Unsupported,
               AllOf(HasSubstr("hidden_act\" is \"mish\""), HasSubstr("known are gelu")),
               [] { (void)activation_of("bert", "hidden_act", "mish"); });
  expect_error(Code::Unsupported, HasSubstr("hidden_activation\" is \"relu2\""),
               [] { (void)activation_of("modern-bert", "hidden_activation", "relu2"); });
}

TEST(Variants, BothSpellingsOfGraniteWithWindowsAreRead) {
  const TempFolder folder;
  for (const char* name : {"granite-swa", "granite_swa"}) {
    const std::string path = folder.path("m.gguf");
    write_random_model(System::real(), path, std::string("tiny-") + name, "f32");
    EXPECT_EQ(read_model_spec(*open_model_file(path)).architecture, name);
  }
}

TEST(Variants, ThatAreNotComputedAreRefusedWithTheReason) {
  expect_error(
      Code::Unsupported, AllOf(HasSubstr("temperature_length"), HasSubstr("capped scores")),
      [] { read_changed("grok", "attention.temperature_length", MetadataValue::of(int64_t{64})); });
  expect_error(
      Code::Unsupported, AllOf(HasSubstr("hidden_act"), HasSubstr("known are relu2, silu")),
      [] { read_changed("bitnet", "hidden_act", MetadataValue::of(std::string("gelu"))); });
  expect_error(Code::Unsupported, AllOf(HasSubstr("kda.safe_gate"), HasSubstr("lower bound")),
               [] { read_changed("bailingmoe3", "kda.safe_gate", MetadataValue::of(false)); });
}

TEST(Variants, OfDeepSeek4ThatDoNotFitAreRefused) {
  const auto refused = [](Code code, const char* key, uint64_t value, const char* text) {
    expect_error(code, AllOf(HasSubstr(key), HasSubstr(text)),
                 [&] { read_changed("deepseek4", key, MetadataValue::of(value)); });
  };
  refused(Code::Format, "attention.output_group_count", 3, "does not divide the 4 heads");
  refused(Code::Format, "attention.head_count_kv", 2, "all heads share one row");
  refused(Code::Format, "attention.sliding_window", 0, "not in 1..");
  refused(Code::Format, "attention.indexer.key_length", 8, "not in 16..");
  refused(Code::Format, "hash_layer_count", 5, "not in 0..4");
  refused(Code::Unsupported, "expert_group_count", 2, "a table tells the experts");
  expect_error(Code::Format,
               AllOf(HasSubstr("attention.compress_ratios"), HasSubstr("fewer than 4")), [] {
                 constexpr int32_t kThree[] = {4, 0, 4};
                 read_changed("deepseek4", "attention.compress_ratios",
                              MetadataValue::of(std::span<const int32_t>(kThree)));
               });
}

TEST(Variants, OfDeepSeek41ThatDoNotFitAreRefused) {
  const auto refused = [](Code code, const char* key, MetadataValue value, const char* text) {
    expect_error(code, AllOf(HasSubstr(key), HasSubstr(text)),
                 [&] { read_changed("deepseek41", key, std::move(value)); });
  };
  const auto list = [](const std::vector<int32_t>& values) { return MetadataValue::of(values); };
  const std::vector<int32_t> late = {2, 3}, one = {1, 4}, other = {0, 2, 1, 1, 1},
                             none = {0, 2, 2, 0, 1};
  const std::vector<int32_t> wide = {0, 100, 100, 1, 1};
  refused(Code::Format, "attention.kv_source_layer_ids", list(late), "has no layer up to 1");
  refused(Code::Format, "attention.index_source_layer_ids", list(one), "lacks layer 3");
  refused(Code::Format, "attention.compress_ratios", list(other), "is 1 in layer 2");
  refused(Code::Format, "attention.compress_ratios", list(none), "is 0 in layer 3");
  refused(Code::Unsupported, "attention.compress_ratios", list(wide), "is 100, more than 64");
  refused(Code::Format, "attention.candidate_source_layer_id", MetadataValue::of(int64_t{2}),
          "a layer without an index");
  expect_error(Code::Format,
               AllOf(HasSubstr("attention.compress_ratios"), HasSubstr("candidates of pools of 2")),
               [] {
                 read_changed("deepseek41", "attention.candidate_source_layer_id",
                              MetadataValue::of(int64_t{1}));
               });
  refused(Code::Format, "attention.candidate_block_size", MetadataValue::of(int64_t{1} << 18),
          "not in 1..");
  refused(Code::Format, "engram.multipliers", list(one), "has 2 entries, not 6");
  refused(Code::Format, "engram.token_map", list(late), "has 2 entries for 512 tokens");
}

/// Sizes of a small Nanbeige with two blocks.
struct Looped {
  size_t weights;
  uint32_t layers;
};
Looped looped(int64_t loops) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  write_random_model(System::real(), path, "tiny-nanbeige", "f32");
  OpenOptions options;
  options.overrides.push_back({"nanbeige.num_loops", MetadataValue::of(loops)});
  const auto file = open_model_file(path, std::move(options));
  const BuiltProgram built = build_program(*file, {});
  return {built.weights.size(), built.program.groups()[0].layers};
}

TEST(Variants, BlocksThatAreRepeatedAreLoadedOnceAndKeepACacheEachTime) {
  const Looped once = looped(1);
  const Looped thrice = looped(3);
  EXPECT_EQ(thrice.weights, once.weights);
  EXPECT_EQ(thrice.layers, 3 * once.layers);
}

TEST(Variants, ThatContradictThemselvesAreRefused) {
  expect_error(Code::Format, HasSubstr("not in -1000"),
               [] { read_changed("bailingmoe3", "kda.gate_lower_bound", MetadataValue::of(0.0)); });
  const auto qwen4exp = [](const char* key, MetadataValue value, const char* why) {
    expect_error(Code::Format, AllOf(HasSubstr(key), HasSubstr(why)),
                 [&] { read_changed("qwen4exp", key, std::move(value)); });
  };
  const std::vector<int32_t> attention = {3};
  const std::vector<int32_t> two = {5, 7};
  const std::vector<int32_t> none = {97, 0, 103, 107};
  qwen4exp("attention.indexer.top_k", MetadataValue::of(int64_t{15}), "not whole blocks of 4");
  qwen4exp("ple.layers", MetadataValue::of(attention), "names a layer of attention");
  qwen4exp("ple.layer_multipliers", MetadataValue::of(two), "has 2 entries, not 3");
  qwen4exp("ple.head_vocab_sizes", MetadataValue::of(none), "is 0, not in 1");
  expect_error(Code::Format, HasSubstr("queries, keys and values are to be alike"), [] {
    read_changed("neo-bert", "attention.head_count_kv", MetadataValue::of(int64_t{2}));
  });
  expect_error(Code::Format, HasSubstr("not an even number"), [] {
    read_changed("laguna", "rope.dimension_count_swa", MetadataValue::of(int64_t{33}));
  });
  expect_error(Code::Format, AllOf(HasSubstr("block_count"), HasSubstr("2 high cycles of 3")),
               [] { read_changed("hrm_text", "block_count", MetadataValue::of(int64_t{7})); });
  expect_error(Code::Format, HasSubstr("altup.active_idx"),
               [] { read_changed("gemma3n", "altup.active_idx", MetadataValue::of(int64_t{4})); });
}

}  // namespace
}  // namespace tenon
