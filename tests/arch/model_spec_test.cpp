// Specifications read from metadata: range of each key, and consistency of keys.
#include "arch/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "arch/architectures.h"
#include "file/open.h"
#include "tests/base/expect_error.h"
#include "tests/engine/tiny_model.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Reads the tiny model after replacing or adding `key`.
template <typename T>
ModelSpec read_with(const std::string& key, T value, const TinyModel& tiny = {}) {
  OpenOptions options;
  if (!key.empty()) options.overrides.push_back({key, MetadataValue::of(value)});
  return read_model_spec(*open_model_file(tiny_source(tiny), std::move(options)));
}

ModelSpec read_tiny(const TinyModel& tiny = {}) { return read_with("", int64_t{0}, tiny); }

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ModelSpec, ReadsThemAll) {
  const ModelSpec model = read_tiny();
  EXPECT_EQ(model.architecture, "llama");
  ASSERT_EQ(model.layers.size(), 2u);
  const AttentionSpec& attention = model.layers[1].attention;
  EXPECT_EQ(model.width, 96u);
  EXPECT_EQ(attention.heads, 3u);
  EXPECT_EQ(attention.kv_heads, 1u);
  EXPECT_EQ(attention.key_dim, 32u);
  EXPECT_EQ(model.layers[1].feed_forward.width, 160u);
  EXPECT_EQ(model.vocab, 300u);
  EXPECT_EQ(model.trained_context, 256u);
  EXPECT_EQ(attention.rope.dimensions, 32u);
  EXPECT_EQ(attention.rope.scaling, RopeScaling::None);
  EXPECT_EQ(attention.window, 0u);
}

TEST(ModelSpec, DefaultsFollowTheOtherKeys) {
  TinyModel tiny;
  tiny.left_out = {"llama.attention.head_count_kv", "llama.attention.key_length",
                   "llama.attention.value_length", "llama.rope.freq_base"};
  const AttentionSpec attention = read_tiny(tiny).layers[1].attention;
  EXPECT_EQ(attention.kv_heads, 3u);
  EXPECT_EQ(attention.key_dim, 32u);
  EXPECT_EQ(attention.value_dim, 32u);
  EXPECT_EQ(attention.rope.theta, 10000.0);
}

TEST(ModelSpec, ValuesOfUntoldSizeShareTheWidthWhateverKeysDo) {
  TinyModel tiny;
  tiny.key_dim = 16;
  tiny.left_out = {"llama.attention.value_length"};
  const AttentionSpec attention = read_tiny(tiny).layers[0].attention;
  EXPECT_EQ(attention.key_dim, 16u);
  EXPECT_EQ(attention.value_dim, 32u);
}

TEST(ModelSpec, EpsilonMayHaveTheKeyOfTheOtherKindOfNorm) {
  TinyModel tiny;
  tiny.left_out = {"llama.attention.layer_norm_rms_epsilon"};
  tiny.more = [](GgufWriter& writer) { writer.add("llama.attention.layer_norm_epsilon", 0.125f); };
  EXPECT_EQ(read_tiny(tiny).output_norm.epsilon, 0.125f);
}

TEST(ModelSpec, RefusesNumbersOutOfRange) {
  const struct {
    const char* key;
    int64_t value;
  } kCases[] = {
      {"llama.block_count", 0},
      {"llama.block_count", 0xffffffff},
      {"llama.block_count", -1},
      {"llama.block_count", int64_t{1} << 32},
      {"llama.context_length", 0},
      {"llama.context_length", int64_t{1} << 31},
      {"llama.embedding_length", 0},
      {"llama.embedding_length", 0xffffffff},
      {"llama.feed_forward_length", 0},
      {"llama.attention.head_count", 0},
      {"llama.attention.head_count", 0xffffffff},
      {"llama.attention.head_count_kv", 0},
      {"llama.attention.head_count_kv", 6},
      {"llama.attention.head_count_kv", 2},
      {"llama.attention.key_length", 0},
      {"llama.attention.key_length", 999999},
      {"llama.attention.value_length", 0},
      {"llama.rope.dimension_count", 0},
      {"llama.rope.dimension_count", 31},
      {"llama.rope.dimension_count", 34},
      {"llama.rope.dimension_count", 999999},
      {"llama.attention.sliding_window", -1},
      {"llama.vocab_size", 299},
      {"llama.vocab_size", 0},
  };
  for (const auto& wrong : kCases) {
    SCOPED_TRACE(wrong.key);
    SCOPED_TRACE(wrong.value);
    expect_error(Code::Format, AllOf(HasSubstr("tiny.gguf"), HasSubstr(wrong.key)),
                 [&] { read_with(wrong.key, wrong.value); });
  }
}

TEST(ModelSpec, RefusesRealsOutOfRange) {
  for (const char* key : {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base",
                          "llama.rope.scaling.factor"}) {
    for (const double value : {kNan, kInf, -kInf, -1.0, 1e300}) {
      SCOPED_TRACE(key);
      SCOPED_TRACE(value);
      expect_error(Code::Format, HasSubstr(key), [&] { read_with(key, value); });
    }
  }
  expect_error(Code::Format, HasSubstr("layer_norm_rms_epsilon"),
               [] { read_with("llama.attention.layer_norm_rms_epsilon", 0.0); });
  expect_error(Code::Format, HasSubstr("freq_base"),
               [] { read_with("llama.rope.freq_base", 0.0); });
}

TEST(ModelSpec, RefusesWrongTypes) {
  for (const char* key :
       {"llama.block_count", "llama.context_length", "llama.embedding_length",
        "llama.feed_forward_length", "llama.attention.head_count", "llama.attention.head_count_kv",
        "llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base",
        "llama.rope.scaling.factor", "llama.attention.sliding_window", "llama.vocab_size"}) {
    SCOPED_TRACE(key);
    expect_error(Code::Format, HasSubstr(key), [&] { read_with(key, std::string("32")); });
    expect_error(Code::Format, HasSubstr(key), [&] { read_with(key, true); });
  }
  expect_error(Code::Format, HasSubstr("general.architecture"),
               [] { read_with("general.architecture", int64_t{1}); });
  expect_error(Code::Format, HasSubstr("rope.scaling.type"),
               [] { read_with("llama.rope.scaling.type", int64_t{1}); });
}

TEST(ModelSpec, NamesMissingKeys) {
  for (const char* key : {"general.architecture", "llama.block_count", "llama.context_length",
                          "llama.embedding_length", "llama.feed_forward_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    SCOPED_TRACE(key);
    TinyModel tiny;
    tiny.left_out = {key};
    expect_error(Code::Format, AllOf(HasSubstr(key), HasSubstr("missing")),
                 [&] { read_tiny(tiny); });
  }
  TinyModel tiny;
  tiny.left_out = {"token_embd.weight"};
  expect_error(Code::Format, HasSubstr("token_embd.weight"), [&] { read_tiny(tiny); });
}

/// The tiny model with an embedding of `rows` for its 300 tokens.
TinyModel with_table(uint64_t rows) {
  TinyModel tiny;
  tiny.left_out = {"token_embd.weight"};
  tiny.more = [rows](GgufWriter& writer) {
    writer.add_tensor("token_embd.weight", {rows, 96}, std::vector<float>(rows * 96));
  };
  return tiny;
}

TEST(ModelSpec, TheVocabularyMayBeShorterThanTheEmbedding) {
  const ModelSpec model = read_tiny(with_table(320));
  EXPECT_EQ(model.vocab, 300u);
  EXPECT_EQ(model.vocab_rows, 320u);
  EXPECT_EQ(read_with("llama.vocab_size", int64_t{320}, with_table(320)).vocab, 300u);
  EXPECT_EQ(read_with("llama.vocab_size", int64_t{300}, with_table(320)).vocab, 300u);
  expect_error(Code::Format, AllOf(HasSubstr("llama.vocab_size"), HasSubstr("310")),
               [] { read_with("llama.vocab_size", int64_t{310}, with_table(320)); });
  expect_error(Code::Format, AllOf(HasSubstr("300 entries"), HasSubstr("299 rows")),
               [] { read_tiny(with_table(299)); });
}

TEST(ModelSpec, WidthMustDivideWhenHeadSizesAreNotTold) {
  TinyModel tiny;
  tiny.left_out = {"llama.attention.key_length", "llama.attention.value_length"};
  tiny.heads = 5;
  expect_error(Code::Format, HasSubstr("embedding_length"), [&] { read_tiny(tiny); });
}

const RopeSpec& rope_of(const ModelSpec& model) { return model.layers[0].attention.rope; }

TEST(ModelSpec, ReadsRopeScalings) {
  EXPECT_EQ(rope_of(read_with("llama.rope.scaling.factor", 4.0)).scaling, RopeScaling::Linear);
  EXPECT_EQ(rope_of(read_with("llama.rope.scale_linear", 4.0)).scaling, RopeScaling::Linear);
  EXPECT_EQ(rope_of(read_with("llama.rope.scale_linear", 4.0)).factor, 4.0);
  EXPECT_EQ(rope_of(read_with("llama.rope.scaling.factor", 0.0)).factor, 1.0);
  EXPECT_EQ(rope_of(read_with("llama.rope.scaling.type", std::string("none"))).scaling,
            RopeScaling::None);
  TinyModel tiny;
  tiny.more = [](GgufWriter& writer) {
    writer.add("llama.rope.scaling.type", std::string("yarn"));
    writer.add("llama.rope.scaling.factor", 8.0f);
    writer.add("llama.rope.scaling.original_context_length", uint32_t{64});
    writer.add("llama.rope.scaling.attn_factor", 0.75f);
  };
  const RopeSpec rope = rope_of(read_tiny(tiny));
  EXPECT_EQ(rope.scaling, RopeScaling::Yarn);
  EXPECT_EQ(rope.factor, 8.0);
  EXPECT_EQ(rope.original_context, 64u);
  EXPECT_EQ(rope.magnitude, 0.75);
  EXPECT_EQ(rope.extrapolation, 1.0);
  tiny.more = nullptr;
  expect_error(Code::Unsupported, HasSubstr("\"longrope\"; known are none, linear, yarn"),
               [] { read_with("llama.rope.scaling.type", std::string("longrope")); });
}

TEST(ModelSpec, SaysWhatIsNotSupported) {
  expect_error(Code::Unsupported, HasSubstr("attention.causal"),
               [] { read_with("llama.attention.causal", false); });
}

const ExpertSpec& experts_of(const ModelSpec& model) {
  return model.layers[1].feed_forward.experts;
}

TEST(ModelSpec, ReadsExperts) {
  EXPECT_EQ(experts_of(read_with("llama.expert_count", int64_t{0})).count, 0u);
  TinyModel tiny;
  tiny.experts = 4;
  tiny.left_out = {"llama.expert_feed_forward_length", "llama.expert_shared_feed_forward_length"};
  const ExpertSpec experts = experts_of(read_tiny(tiny));
  EXPECT_EQ(experts.count, 4u);
  EXPECT_EQ(experts.used, 2u);
  EXPECT_EQ(experts.width, 160u);
  EXPECT_EQ(experts.shared_width, 0u);
  EXPECT_TRUE(experts.normalised);
  EXPECT_EQ(experts.scale, 1.0f);
}

TEST(ModelSpec, RefusesExpertsOutOfRange) {
  TinyModel tiny;
  tiny.experts = 4;
  const auto refused = [&](const char* key, auto value) {
    SCOPED_TRACE(testing::Message() << key << " " << value);
    expect_error(Code::Format, AllOf(HasSubstr("tiny.gguf"), HasSubstr(key)),
                 [&] { read_with(std::string("llama.") + key, value, tiny); });
  };
  for (const int64_t count : {int64_t{-1}, int64_t{1}, int64_t{4097}, int64_t{0xffffffff}}) {
    refused("expert_count", count);
  }
  for (const int64_t used : {int64_t{-1}, int64_t{0}, int64_t{5}, int64_t{0xffffffff}}) {
    refused("expert_used_count", used);
  }
  for (const int64_t length : {int64_t{0}, int64_t{0xffffffff}}) {
    refused("expert_feed_forward_length", length);
    TinyModel shared;
    shared.architecture = "qwen2moe";
    expect_error(Code::Format, HasSubstr("expert_shared_feed_forward_length"),
                 [&] { read_with("qwen2moe.expert_shared_feed_forward_length", length, shared); });
  }
  for (const double scale : {kNan, kInf, -1.0, 1e300}) refused("expert_weights_scale", scale);
  refused("expert_weights_norm", std::string("true"));
  refused("expert_gating_func", std::string("1"));
  refused("expert_count", std::string("4"));
  tiny.left_out = {"llama.expert_used_count"};
  expect_error(Code::Format, AllOf(HasSubstr("expert_used_count"), HasSubstr("missing")),
               [&] { read_tiny(tiny); });
}

TEST(ModelSpec, SaysWhichWaysToChooseExpertsAreKnown) {
  TinyModel tiny;
  tiny.experts = 4;
  expect_error(Code::Unsupported, AllOf(HasSubstr("expert_gating_func\" is 5"), HasSubstr("known")),
               [&] { read_with("llama.expert_gating_func", int64_t{5}, tiny); });
}

TEST(ModelSpec, TakesANumberForEachLayer) {
  TinyModel tiny;
  tiny.left_out = {"llama.feed_forward_length"};
  tiny.more = [](GgufWriter& writer) {
    writer.add("llama.feed_forward_length", std::vector<uint32_t>{160, 160});
  };
  EXPECT_EQ(read_tiny(tiny).layers[1].feed_forward.width, 160u);
  tiny.more = [](GgufWriter& writer) {
    writer.add("llama.feed_forward_length", std::vector<uint32_t>{160, 128});
  };
  EXPECT_EQ(read_tiny(tiny).layers[0].feed_forward.width, 160u);
  EXPECT_EQ(read_tiny(tiny).layers[1].feed_forward.width, 128u);
  tiny.more = [](GgufWriter& writer) {
    writer.add("llama.feed_forward_length", std::vector<uint32_t>{160, 160, 160});
  };
  expect_error(Code::Format, HasSubstr("feed_forward_length"), [&] { read_tiny(tiny); });
}

}  // namespace
}  // namespace tenon
