// From files to programs: tensors missing, extra, misshapen; the differences between architectures.
#include "arch/architectures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "arch/refused_architectures.h"
#include "file/open.h"
#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

BuiltProgram build(const TinyModel& tiny) {
  return build_program(*open_model_file(tiny_source(tiny)), {});
}

uint64_t count_ops(const Program& program, uint32_t kind) {
  return static_cast<uint64_t>(
      std::count_if(program.ops().begin(), program.ops().end(),
                    [kind](const tenon_op& op) { return op.kind == kind; }));
}

const tenon_op& first_op(const Program& program, uint32_t kind) {
  return *std::find_if(program.ops().begin(), program.ops().end(),
                       [kind](const tenon_op& op) { return op.kind == kind; });
}

TEST(Architectures, OfOneFamilyDifferInFewOperations) {
  for (const char* name : {"llama", "qwen2", "qwen2moe", "qwen3", "qwen3moe"}) {
    SCOPED_TRACE(name);
    TinyModel tiny;
    tiny.architecture = name;
    const BuiltProgram built = build(tiny);
    verify_program(built.program.view());
    EXPECT_EQ(built.weights.size(), open_model_file(tiny_source(tiny))->tensors().size());
    EXPECT_EQ(count_ops(built.program, TENON_OP_ATTENTION), 2u);
    EXPECT_EQ(count_ops(built.program, TENON_OP_KV_WRITE), 2u);
    ASSERT_EQ(built.program.groups().size(), 1u);
    EXPECT_EQ(built.program.groups()[0].layers, 2u);
    EXPECT_EQ(built.program.groups()[0].type, TENON_TYPE_F16);
    const bool adjacent = tiny.architecture == "llama";
    EXPECT_EQ(first_op(built.program, TENON_OP_ROPE).params.rope.style,
              adjacent ? TENON_ROPE_ADJACENT : TENON_ROPE_HALVES);
    // Two norms a layer and one at the end; qwen3 adds two for heads.
    const bool head_norms = tiny.architecture.starts_with("qwen3");
    EXPECT_EQ(count_ops(built.program, TENON_OP_RMS_NORM), head_norms ? 9u : 5u);
    const bool experts = tiny.num_experts() > 0;
    EXPECT_EQ(count_ops(built.program, TENON_OP_MOE_ROUTE), experts ? 2u : 0u);
    EXPECT_EQ(count_ops(built.program, TENON_OP_MOE_LINEAR), experts ? 6u : 0u);
    EXPECT_EQ(count_ops(built.program, TENON_OP_SIGMOID_GATE),
              tiny.architecture == "qwen2moe" ? 2u : 0u);
  }
}

TEST(Architectures, KnowsOnlyItsList) {
  TinyModel tiny;
  tiny.architecture = "qwen2mo";
  expect_error(Code::Unsupported,
               AllOf(HasSubstr("\"qwen2mo\" is not known; the nearest name is \"qwen2moe\""),
                     HasSubstr("; known are "), HasSubstr("llama, "),
                     HasSubstr("qwen2, qwen2moe, qwen2vl, qwen3, qwen35, ")),
               [&] { build(tiny); });
  tiny.architecture = std::string(2000, '-');
  expect_error(Code::Unsupported, HasSubstr("is not known; known are "), [&] { build(tiny); });
}

TEST(Architectures, SayWhyOthersDoNotRun) {
  TinyModel tiny;
  for (const RefusedArchitecture& one : kRefusedArchitectures) {
    tiny.architecture = one.name;
    const std::string why =
        fmt::format("architecture \"{}\" is not supported: {}", one.name, one.reason);
    expect_error(Code::Unsupported, HasSubstr(why), [&] { build(tiny); });
    for (const NamedArchitecture& runs : architectures()) EXPECT_NE(runs.name, one.name);
  }
}

TEST(Architectures, NamesTheFirstThreeMissingTensors) {
  TinyModel tiny;
  tiny.left_out = {"blk.1.ffn_up.weight", "blk.0.attn_norm.weight", "blk.0.attn_q.weight",
                   "output_norm.weight"};
  expect_error(Code::Format,
               AllOf(HasSubstr("4 tensors are missing: \"blk.0.attn_norm.weight\", "
                               "\"blk.0.attn_q.weight\", \"blk.1.ffn_up.weight\" and 1 more")),
               [&] { build(tiny); });
  tiny.left_out = {"blk.1.ffn_up.weight"};
  expect_error(Code::Format, AllOf(HasSubstr("\"blk.1.ffn_up.weight\""), Not(HasSubstr("more"))),
               [&] { build(tiny); });
}

TEST(Architectures, NamesTensorsThatDoNotBelong) {
  TinyModel tiny;
  const std::vector<float> values(4);
  tiny.more = [&values](GgufWriter& writer) {
    writer.add_tensor("blk.2.attn_norm.weight", {4}, values);
    writer.add_tensor("vision.weight", {4}, values);
  };
  expect_error(Code::Format,
               AllOf(HasSubstr("2 tensors"), HasSubstr("\"blk.2.attn_norm.weight\""),
                     HasSubstr("\"vision.weight\"")),
               [&] { build(tiny); });
}

TEST(Architectures, SaysBothShapesWhenTheyDiffer) {
  TinyModel tiny;
  tiny.left_out = {"blk.0.attn_q.weight"};
  const std::vector<float> values(96 * 64);
  tiny.more = [&values](GgufWriter& writer) {
    writer.add_tensor("blk.0.attn_q.weight", {64, 96}, values);
  };
  expect_error(
      Code::Format,
      AllOf(HasSubstr("\"blk.0.attn_q.weight\""), HasSubstr("[64, 96]"), HasSubstr("[96, 96]")),
      [&] { build(tiny); });
}

TEST(Architectures, RefusesFormatsThatAreNoWeights) {
  TinyModel tiny;
  tiny.left_out = {"output_norm.weight"};
  tiny.more = [](GgufWriter& writer) {
    const std::vector<std::byte> bytes(96 * 4);
    writer.add_tensor("output_norm.weight", {96}, Format::I32, bytes);
  };
  expect_error(Code::Unsupported, AllOf(HasSubstr("\"output_norm.weight\""), HasSubstr("i32")),
               [&] { build(tiny); });
}

TEST(Architectures, UsesItsOwnOutputWhereThereIsOne) {
  TinyModel tiny;
  const Program tied = build(tiny).program;
  tiny.tied = false;
  const Program untied = build(tiny).program;
  const auto output_weight = [](const Program& program) {
    return std::string(program.slots()[program.ops().back().inputs[1]].name);
  };
  EXPECT_EQ(output_weight(tied), "token_embd.weight");
  EXPECT_EQ(output_weight(untied), "output.weight");
}

TEST(Architectures, TakesOptionalBiasesOfLlama) {
  TinyModel tiny;
  const std::vector<float> values(96);
  tiny.more = [&values](GgufWriter& writer) {
    writer.add_tensor("blk.1.attn_q.bias", {96}, values);
    writer.add_tensor("blk.0.attn_output.bias", {96}, values);
    writer.add_tensor("blk.0.ffn_down.bias", {96}, values);
  };
  const Program program = build(tiny).program;
  uint64_t biased = 0;
  for (const tenon_op& op : program.ops()) {
    biased += op.kind == TENON_OP_LINEAR && op.num_inputs == 3 ? 1 : 0;
  }
  EXPECT_EQ(biased, 3u);
}

TEST(Architectures, Qwen2NeedsItsBiases) {
  TinyModel tiny;
  tiny.architecture = "qwen2";
  tiny.left_out = {"blk.1.attn_v.bias"};
  expect_error(Code::Format, HasSubstr("\"blk.1.attn_v.bias\""), [&] { build(tiny); });
}

/// The first moe_route of a tiny model of experts with `key` replaced or added.
template <typename T>
tenon_moe_route_params route_with(const TinyModel& tiny, const std::string& key, T value) {
  OpenOptions options;
  if (!key.empty()) {
    options.overrides.push_back({tiny.architecture + "." + key, MetadataValue::of(value)});
  }
  const auto file = open_model_file(tiny_source(tiny), std::move(options));
  return first_op(build_program(*file, {}).program, TENON_OP_MOE_ROUTE).params.moe_route;
}

TEST(Architectures, ExpertsAreWeighedAsTheArchitectureOrTheFileSays) {
  TinyModel tiny;
  tiny.experts = 4;
  for (const char* name : {"llama", "qwen3moe", "qwen2moe"}) {
    SCOPED_TRACE(name);
    tiny.architecture = name;
    const bool over_all = tiny.architecture == "qwen2moe";
    const auto told = route_with(tiny, "", 0.0);
    EXPECT_EQ(told.used, 2u);
    EXPECT_EQ(told.scale, 1.0f);
    EXPECT_EQ(told.scoring, over_all ? TENON_MOE_SOFTMAX_ALL : TENON_MOE_SOFTMAX_CHOSEN);
    const auto softmax = [&](const char* key, auto value) {
      return route_with(tiny, key, value).scoring;
    };
    EXPECT_EQ(softmax("expert_weights_norm", true), TENON_MOE_SOFTMAX_CHOSEN);
    EXPECT_EQ(softmax("expert_weights_norm", false), TENON_MOE_SOFTMAX_ALL);
    EXPECT_EQ(softmax("expert_gating_func", int64_t{3}), TENON_MOE_SOFTMAX_CHOSEN);
    EXPECT_EQ(route_with(tiny, "expert_weights_scale", 2.5).scale, 2.5f);
    EXPECT_EQ(route_with(tiny, "expert_weights_scale", 0.0).scale, 1.0f);
  }
}

TEST(Architectures, OnlySomeHaveExperts) {
  TinyModel tiny;
  tiny.experts = 4;
  for (const char* name : {"qwen2", "qwen3"}) {
    tiny.architecture = name;
    expect_error(Code::Unsupported, AllOf(HasSubstr("expert_count"), HasSubstr("has no experts")),
                 [&] { build(tiny); });
  }
  tiny.architecture = "qwen3moe";
  tiny.left_out = {"qwen3moe.expert_count"};
  expect_error(Code::Format, AllOf(HasSubstr("\"qwen3moe.expert_count\" is 0 or missing")),
               [&] { build(tiny); });
}

TEST(Architectures, ExpertsWithoutTheirTensors) {
  TinyModel tiny;
  tiny.architecture = "qwen2moe";
  tiny.left_out = {"blk.1.ffn_gate_inp.weight", "blk.0.ffn_up_exps.weight",
                   "blk.0.ffn_gate_inp_shexp.weight"};
  expect_error(Code::Format,
               AllOf(HasSubstr("3 tensors are missing"), HasSubstr("\"blk.0.ffn_up_exps.weight\""),
                     HasSubstr("\"blk.0.ffn_gate_inp_shexp.weight\""),
                     HasSubstr("\"blk.1.ffn_gate_inp.weight\"")),
               [&] { build(tiny); });
}

TEST(Architectures, ExpertsOfAnotherShape) {
  struct Shape {
    const char* name;
    std::vector<uint64_t> shape;
    const char* asked;
  };
  const Shape kShapes[] = {
      {"blk.0.ffn_gate_inp.weight", {4, 96}, "ask for [5, 96]"},
      {"blk.0.ffn_gate_inp.weight", {5, 95}, "ask for [5, 96]"},
      {"blk.0.ffn_up_exps.weight", {4, 160, 96}, "ask for [5, 160, 96]"},
      {"blk.0.ffn_up_exps.weight", {160, 5, 96}, "ask for [5, 160, 96]"},
      {"blk.0.ffn_up_exps.weight", {800, 96}, "ask for [5, 160, 96]"},
      {"blk.0.ffn_down_exps.weight", {5, 160, 96}, "ask for [5, 96, 160]"},
  };
  for (const Shape& one : kShapes) {
    TinyModel tiny;
    tiny.architecture = "qwen3moe";
    tiny.left_out = {one.name};
    uint64_t count = 1;
    for (const uint64_t size : one.shape) count *= size;
    const std::vector<float> values(count);
    tiny.more = [&](GgufWriter& writer) { writer.add_tensor(one.name, one.shape, values); };
    expect_error(Code::Format, AllOf(HasSubstr(one.name), HasSubstr(one.asked)),
                 [&] { build(tiny); });
  }
}

TEST(Architectures, PutsRopeDivisorsIntoTheFrequencies) {
  TinyModel tiny;
  std::vector<float> divisors(16, 1.0f);
  divisors[3] = 8.0f;
  tiny.more = [&divisors](GgufWriter& writer) {
    writer.add_tensor("rope_freqs.weight", {16}, divisors);
  };
  const Program scaled = build(tiny).program;
  const Program plain = build({}).program;
  const auto frequencies = [](const Program& program) {
    const tenon_op& op = first_op(program, TENON_OP_ROPE_ANGLES);
    return static_cast<const double*>(program.slots()[op.inputs[0]].data);
  };
  EXPECT_EQ(frequencies(scaled)[2], frequencies(plain)[2]);
  EXPECT_DOUBLE_EQ(frequencies(scaled)[3], frequencies(plain)[3] / 8.0);
  for (const float bad : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity()}) {
    divisors[5] = bad;
    expect_error(Code::Format, AllOf(HasSubstr("\"rope_freqs.weight\""), HasSubstr("value 5")),
                 [&] { build(tiny); });
  }
}

std::vector<float> logits_of(const std::shared_ptr<const ByteSource>& source, const char* backend) {
  ModelOptions options;
  options.backend = backend;
  options.cache_type = CacheType::F32;
  Session session(Engine::create(load_source(source, std::move(options))));
  return evaluate_all(session, make_tokens(40));
}

TEST(Architectures, LayersOfAnotherGeometryHaveAKvGroupOfTheirOwn) {
  TinyModel tiny;
  tiny.layers = 3;
  tiny.formats = {Format::F32};
  tiny.left_out = {"llama.attention.head_count_kv", "blk.1.attn_k.weight", "blk.1.attn_v.weight"};
  tiny.more = [](GgufWriter& writer) {
    writer.add("llama.attention.head_count_kv", std::vector<uint32_t>{1, 3, 1});
    std::vector<float> values(96 * 96);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.2f * std::sin(float(i));
    writer.add_tensor("blk.1.attn_k.weight", {96, 96}, values);
    writer.add_tensor("blk.1.attn_v.weight", {96, 96}, values);
  };
  const Program program = build(tiny).program;
  ASSERT_EQ(program.groups().size(), 2u);
  EXPECT_EQ(program.groups()[0].layers, 2u);
  EXPECT_EQ(program.groups()[1].layers, 1u);
  EXPECT_EQ(program.groups()[1].kv_heads, 3u);
  EXPECT_EQ(count_ops(program, TENON_OP_ROPE_ANGLES), 1u);
  const std::vector<float> expected = logits_of(tiny_source(tiny), "reference");
  const std::vector<float> actual = logits_of(tiny_source(tiny), "cpu");
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-3);
}

TEST(Architectures, RowsBeyondTheVocabularyAreNotThere) {
  TinyModel tiny;
  tiny.formats = {Format::F32};
  tiny.tied = false;
  const auto plain = open_model_file(tiny_source(tiny));
  TinyModel padded = tiny;
  for (const TensorInfo& tensor : plain->tensors()) padded.left_out.insert(tensor.name);
  padded.more = [&plain](GgufWriter& writer) {
    for (const TensorInfo& tensor : plain->tensors()) {
      std::vector<float> values(tensor.num_values());
      plain->read(tensor, 0, std::as_writable_bytes(std::span(values)));
      std::vector<uint64_t> shape(tensor.shape.begin(), tensor.shape.begin() + tensor.rank);
      if (shape[0] == 300) {
        shape[0] = 320;
        values.resize(320 * 96, std::numeric_limits<float>::infinity());
      }
      writer.add_tensor(tensor.name, shape, values);
    }
  };
  for (const char* backend : {"reference", "cpu"}) {
    const std::vector<float> expected = logits_of(tiny_source(tiny), backend);
    EXPECT_EQ(expected.size(), 40u * 300);
    EXPECT_TRUE(same_bits(logits_of(tiny_source(padded), backend), expected));
  }
}

TEST(Architectures, WantWhatTheirFilesHold) {
  TinyModel tiny;
  tiny.architecture = "qwen3moe";
  const auto file = open_model_file(tiny_source(tiny));
  Metadata metadata("made up");
  metadata.add("qwen3moe.vocab_size", MetadataValue::of(uint64_t{300}));
  for (const Metadata::Entry& entry : file->metadata().entries()) {
    if (entry.value.type == ValueType::Array) continue;
    MetadataValue value;
    value.type = entry.value.type;
    value.integer = entry.value.integer;
    value.real = entry.value.real;
    value.text = entry.value.text;
    metadata.add(entry.key, std::move(value));
  }
  size_t required = 0;
  for (const WantedTensor& wanted : wanted_tensors(metadata)) {
    if (!wanted.required) continue;
    ++required;
    const TensorInfo* found = file->find(wanted.name);
    ASSERT_NE(found, nullptr) << wanted.name;
    EXPECT_EQ(std::vector<uint64_t>(found->shape.begin(), found->shape.begin() + found->rank),
              wanted.shape);
  }
  EXPECT_EQ(required, file->tensors().size());
}

TEST(Architectures, PatternsOfIgnoredTensors) {
  EXPECT_TRUE(matches_pattern("blk.3.nextn.enorm.weight", "blk.*.nextn.*"));
  EXPECT_TRUE(matches_pattern("a", "a"));
  EXPECT_TRUE(matches_pattern("abab", "*ab"));
  EXPECT_FALSE(matches_pattern("abac", "*ab"));
  EXPECT_FALSE(matches_pattern("blk.3.attn_q.weight", "blk.*.nextn.*"));
  EXPECT_FALSE(matches_pattern("ab", "a"));
}

TEST(Architectures, WindowReachesTheAttention) {
  OpenOptions options;
  options.overrides.push_back({"llama.attention.sliding_window", MetadataValue::of(int64_t{16})});
  const auto file = open_model_file(tiny_source(), std::move(options));
  const BuiltProgram built = build_program(*file, {});
  EXPECT_EQ(first_op(built.program, TENON_OP_ATTENTION).params.attention.window, 16u);
}

}  // namespace
}  // namespace tenon
