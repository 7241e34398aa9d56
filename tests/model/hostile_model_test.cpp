// Files that open as GGUF but are invalid models: each is refused with a message that names the key
// or tensor, without leaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Fault {
  const char* name;
  Code code;
  std::vector<std::string> says;
  std::function<void(TinyModel&)> make;
};

/// Replaces a key by another value.
template <typename T>
std::function<void(TinyModel&)> with_key(const std::string& key, T value) {
  return [key, value](TinyModel& tiny) {
    tiny.left_out.insert(key);
    tiny.more = [key, value](GgufWriter& writer) { writer.add(key, value); };
  };
}

std::function<void(TinyModel&)> without(std::set<std::string> names) {
  return [names](TinyModel& tiny) { tiny.left_out = names; };
}

std::vector<std::string> spm_tokens(size_t count) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(fmt::format("<0x{:02X}>", byte));
  while (tokens.size() < count) tokens.push_back("t" + std::to_string(tokens.size()));
  return tokens;
}

std::vector<std::string> tokens_with(size_t index, std::string text) {
  std::vector<std::string> tokens = spm_tokens(300);
  tokens[index] = std::move(text);
  return tokens;
}

/// A byte-level BPE vocabulary. It lacks the 256 letters for bytes, but the pre-tokenizer is
/// checked first.
std::function<void(TinyModel&)> gpt2_with_pre(const std::string& pre) {
  return [pre](TinyModel& tiny) {
    tiny.left_out = {"tokenizer.ggml.model"};
    tiny.more = [pre](GgufWriter& writer) {
      writer.add("tokenizer.ggml.model", std::string("gpt2"));
      writer.add("tokenizer.ggml.pre", pre);
      writer.add("tokenizer.ggml.merges", std::vector<std::string>{});
    };
  };
}

std::vector<Fault> hyper_parameter_faults() {
  return {
      {"no heads",
       Code::Format,
       {"head_count", "0"},
       with_key("llama.attention.head_count", uint32_t{0})},
      {"more KV heads than heads",
       Code::Format,
       {"head_count_kv", "6"},
       with_key("llama.attention.head_count_kv", uint32_t{6})},
      {"all layers there can be",
       Code::Format,
       {"block_count", "4294967295"},
       with_key("llama.block_count", 0xffffffffu)},
      {"more layers than tensors",
       Code::Format,
       {"missing", "blk.2.attn_norm.weight"},
       with_key("llama.block_count", uint32_t{40})},
      {"fewer layers than tensors",
       Code::Format,
       {"do not belong", "blk.1."},
       with_key("llama.block_count", uint32_t{1})},
      {"no context",
       Code::Format,
       {"context_length", "0"},
       with_key("llama.context_length", uint32_t{0})},
      {"a context of 2^31",
       Code::Format,
       {"context_length", "2147483648"},
       with_key("llama.context_length", 0x80000000u)},
      {"epsilon is no number",
       Code::Format,
       {"layer_norm_rms_epsilon", "nan"},
       with_key("llama.attention.layer_norm_rms_epsilon", kNan)},
      {"epsilon is text",
       Code::Format,
       {"layer_norm_rms_epsilon", "string"},
       with_key("llama.attention.layer_norm_rms_epsilon", std::string("1e-5"))},
      {"rope beyond the head",
       Code::Format,
       {"rope.dimension_count", "999999"},
       with_key("llama.rope.dimension_count", uint32_t{999999})},
      {"rope base is no number",
       Code::Format,
       {"rope.freq_base", "nan"},
       with_key("llama.rope.freq_base", kNan)},
      {"a width that no tensor has",
       Code::Format,
       {"token_embd.weight", "[300, 96]"},
       with_key("llama.embedding_length", uint32_t{97})},
      {"heads of another size",
       Code::Format,
       {"attn_q.weight", "[96, 96]", "[192, 96]"},
       with_key("llama.attention.key_length", uint32_t{64})},
      {"experts of which none is used",
       Code::Format,
       {"expert_used_count", "missing"},
       with_key("llama.expert_count", uint32_t{8})},
      {"an unknown architecture",
       Code::Unsupported,
       {"\"mamba9\"", "the nearest name is \"mamba\"", "known are",
        "qwen2, qwen2moe, qwen2vl, qwen3"},
       with_key("general.architecture", std::string("mamba9"))},
      {"no architecture",
       Code::Format,
       {"general.architecture"},
       without({"general.architecture"})},
      {"an architecture that is a number",
       Code::Format,
       {"general.architecture", "u32"},
       with_key("general.architecture", uint32_t{1})},
      {"a tensor missing",
       Code::Format,
       {"missing", "blk.1.ffn_up.weight"},
       without({"blk.1.ffn_up.weight"})},
      {"no embedding", Code::Format, {"token_embd.weight"}, without({"token_embd.weight"})},
  };
}

std::vector<Fault> vocabulary_faults() {
  const auto scores = [](size_t count) { return std::vector<float>(count); };
  std::vector<float> broken_scores(300);
  broken_scores[290] = kNan;
  return {
      {"no tokenizer", Code::Format, {"tokenizer.ggml.model"}, without({"tokenizer.ggml.model"})},
      {"no tokens",
       Code::Format,
       {"tokenizer.ggml.tokens", "missing"},
       without({"tokenizer.ggml.tokens"})},
      {"empty tokens",
       Code::Format,
       {"tokenizer.ggml"},
       with_key("tokenizer.ggml.tokens", std::vector<std::string>{})},
      {"more tokens than any model",
       Code::Limit,
       {"tokenizer.ggml.tokens", "1048577", "1048576"},
       with_key("tokenizer.ggml.tokens", std::vector<std::string>((1u << 20) + 1))},
      {"more merges than any model",
       Code::Limit,
       {"tokenizer.ggml.merges", "1048577"},
       with_key("tokenizer.ggml.merges", std::vector<std::string>((1u << 20) + 1))},
      {"tokens are numbers",
       Code::Format,
       {"tokenizer.ggml.tokens"},
       with_key("tokenizer.ggml.tokens", std::vector<int32_t>(300))},
      {"byte token of -1",
       Code::Format,
       {"tokenizer.ggml.token", "<0x-1>"},
       with_key("tokenizer.ggml.tokens", tokens_with(5, "<0x-1>"))},
      {"scores too short",
       Code::Format,
       {"tokenizer.ggml.scores", "299", "300"},
       with_key("tokenizer.ggml.scores", scores(299))},
      {"scores are bytes",
       Code::Format,
       {"tokenizer.ggml.scores", "i8"},
       with_key("tokenizer.ggml.scores", std::vector<int8_t>(300))},
      {"a score that is no number",
       Code::Format,
       {"tokenizer.ggml.scores", "290"},
       with_key("tokenizer.ggml.scores", broken_scores)},
      {"types too long",
       Code::Format,
       {"tokenizer.ggml.token_type", "301", "300"},
       with_key("tokenizer.ggml.token_type", std::vector<int32_t>(301, 1))},
      {"types are text",
       Code::Format,
       {"tokenizer.ggml.token_type", "string"},
       with_key("tokenizer.ggml.token_type", std::string("normal"))},
      {"a type that is none",
       Code::Format,
       {"tokenizer.ggml.token_type", "99"},
       with_key("tokenizer.ggml.token_type", std::vector<int32_t>(300, 99))},
      {"a tokenizer that is not known",
       Code::Unsupported,
       {"tokenizer.ggml.model", "\"wordless\""},
       with_key("tokenizer.ggml.model", std::string("wordless"))},
      {"a pre-tokenizer that is not known",
       Code::Unsupported,
       {"tokenizer.ggml.pre", "\"xyz\""},
       gpt2_with_pre("xyz")},
      {"more tokens than the embedding has rows",
       Code::Format,
       {"tokenizer.ggml.tokens", "300 entries", "token_embd.weight", "280 rows"},
       [](TinyModel& tiny) {
         tiny.left_out = {"token_embd.weight"};
         tiny.more = [](GgufWriter& writer) {
           const std::vector<float> values(280 * 96);
           writer.add_tensor("token_embd.weight", {280, 96}, values);
         };
       }},
  };
}

void expect_refused(const Fault& fault) {
  SCOPED_TRACE(fault.name);
  const auto system = std::make_shared<FaultySystem>();
  {
    TinyModel tiny;
    fault.make(tiny);
    ModelOptions options;
    options.system = system;
    const auto source = tiny_source(tiny);
    try {
      load_source(source, std::move(options));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(code_name(error.code()), code_name(fault.code)) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("tiny.gguf"));
      for (const std::string& part : fault.says) EXPECT_THAT(error.what(), HasSubstr(part));
    }
  }
  EXPECT_TRUE(system->all_released());
}

TEST(HostileModels, HyperParametersAreRefused) {
  for (const Fault& fault : hyper_parameter_faults()) expect_refused(fault);
}

TEST(HostileModels, VocabulariesAreRefused) {
  for (const Fault& fault : vocabulary_faults()) expect_refused(fault);
}

}  // namespace
}  // namespace tenon
