// Damaged folders: a sentence each that names the folder, and no death.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/base/expect_error.h"
#include "tests/model/shared_folders.h"

namespace tenon::folders {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The refusal of a folder; empty if it opens.
std::string refusal_of(const std::string& path) {
  try {
    (void)Model::load(path, exact_options());
    return {};
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(path), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
}

std::string with(const std::string& name, const std::string& key, const nlohmann::json& value) {
  nlohmann::json config = read_json(shared_folder(name) + "/config.json");
  config[key] = value;
  return config.dump();
}

struct Damage {
  const char* says;  ///< part of the refusal
  std::function<void(const FolderCopy& folder)> make;
};

Damage of_config(const char* says, const char* key, const nlohmann::json& value) {
  return {says, [key, value](const FolderCopy& folder) {
            folder.write("config.json", with("qwen3", key, value));
          }};
}

Damage of_file(const char* says, const char* file, const std::string& text) {
  return {says, [file, text](const FolderCopy& folder) { folder.write(file, text); }};
}

/// Renames in the header of model.safetensors, keeping its length.
Damage of_header(const char* says, const std::string& from, const std::string& to) {
  return {says, [from, to](const FolderCopy& folder) {
            std::string bytes = folder.read("model.safetensors");
            const size_t at = bytes.find(from);
            ASSERT_NE(at, std::string::npos) << from;
            bytes.replace(at, from.size(), to);
            folder.write("model.safetensors", bytes);
          }};
}

nlohmann::json numbers_below(int count) {
  nlohmann::json numbers = nlohmann::json::array();
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

std::vector<Damage> damages() {
  return {
      {"tokenizer.json", [](const FolderCopy& folder) { folder.remove("tokenizer.json"); }},
      {"safetensors", [](const FolderCopy& folder) { folder.remove("model.safetensors"); }},
      of_file("not JSON", "config.json", ""),
      of_file("not JSON", "config.json", "{"),
      of_file("is no JSON object", "config.json", "[]"),
      of_file("is no JSON object", "config.json", "7"),
      of_file("model_type", "config.json", "{}"),
      of_file("twice", "config.json", R"({"model_type": "qwen3", "model_type": "qwen3"})"),
      of_file("is missing", "config.json", R"({"model_type": "qwen3"})"),
      of_file("not JSON", "generation_config.json", "{"),
      of_file("eos_token_id", "generation_config.json", R"({"eos_token_id": "x"})"),
      of_file("eos_token_id", "generation_config.json", R"({"eos_token_id": [1.5]})"),
      of_file("eos_token_id", "generation_config.json", R"({"eos_token_id": -1})"),
      of_file("not JSON", "tokenizer_config.json", "{,}"),
      of_file("is no token", "tokenizer_config.json", R"({"eos_token": "no such token"})"),
      of_file("tokenizer.json", "tokenizer.json", "{"),
      of_file("tokenizer.json", "tokenizer.json", "[]"),
      of_file("header", "model.safetensors", "12345678{}"),
      of_file("weight_map", "model.safetensors.index.json", "{}"),
      of_file("missing.safetensors", "model.safetensors.index.json",
              R"({"weight_map": {"a": "missing.safetensors"}})"),
      of_file("leaves the folder", "model.safetensors.index.json",
              R"({"weight_map": {"a": "../x.safetensors"}})"),
      of_config("model_type", "model_type", "unheard"),
      of_config("architectures", "architectures", {"Qwen3ForSequenceClassification"}),
      of_config("hidden_size", "hidden_size", "64"),
      of_config("hidden_size", "hidden_size", -64),
      of_config("hidden_size", "hidden_size", 1e18),
      of_config("hidden_size", "hidden_size", nullptr),
      of_config("embedding_length", "hidden_size", 0),
      of_config("tensor", "hidden_size", 128),
      of_config("num_hidden_layers", "num_hidden_layers", nlohmann::json::array()),
      of_config("layer_types", "num_hidden_layers", 4),
      of_config("block_count", "num_hidden_layers", 4000000000u),
      of_config("layer_types", "layer_types", {"full_attention"}),
      of_config("layer_types", "layer_types",
                {"full_attention", "chunked_attention", "full_attention"}),
      of_config("layer_types", "layer_types", {"full_attention", 7, "full_attention"}),
      of_config("layer_types", "layer_types",
                {"full_attention", "sliding_attention", "full_attention"}),
      of_config("attention.head_count", "num_attention_heads", 0),
      of_config("head_count", "num_key_value_heads", 3),
      of_config("head_dim", "head_dim", 2.5),
      of_config("tensor", "head_dim", 34),
      of_config("vocab_size", "vocab_size", 1),
      of_config("hidden_act", "hidden_act", "gelu"),
      of_config("hidden_act", "hidden_act", 7),
      of_config("rms_norm_eps", "rms_norm_eps", "x"),
      of_config("epsilon", "rms_norm_eps", 2.0),
      of_config("attention_bias", "attention_bias", true),
      of_config("attention_bias", "attention_bias", 0),
      of_config("tie_word_embeddings", "tie_word_embeddings", false),
      of_config("tie_word_embeddings", "tie_word_embeddings", "yes"),
      of_config("rope_parameters", "rope_parameters", 7),
      of_config("rope_theta", "rope_parameters", nlohmann::json::object()),
      of_config("rope_theta", "rope_parameters", {{"rope_theta", "x"}}),
      of_config("dynamic", "rope_parameters", {{"rope_theta", 1e4}, {"rope_type", "dynamic"}}),
      of_config("rope_type", "rope_parameters", {{"rope_theta", 1e4}, {"rope_type", "new"}}),
      of_config("factor", "rope_parameters",
                {{"rope_theta", 1e4}, {"rope_type", "linear"}, {"factor", 0}}),
      of_config("beta_fast", "rope_parameters",
                {{"rope_theta", 1e4}, {"rope_type", "linear"}, {"factor", 2}, {"beta_fast", 1}}),
      of_config("high_freq_factor", "rope_parameters",
                {{"rope_theta", 1e4},
                 {"rope_type", "llama3"},
                 {"factor", 2},
                 {"low_freq_factor", 4},
                 {"high_freq_factor", 1}}),
      of_config("short_factor", "rope_parameters",
                {{"rope_theta", 1e4},
                 {"rope_type", "longrope"},
                 {"original_max_position_embeddings", 64},
                 {"short_factor", {1, 2}}}),
      of_config("beside", "rope_scaling", {{"rope_type", "linear"}, {"factor", 2}}),
      of_config("partial_rotary_factor", "partial_rotary_factor", 0),
      of_config("partial_rotary_factor", "partial_rotary_factor", 2),
      of_config("no_such_key", "no_such_key", 1),
      of_config("max_position_embeddings", "max_position_embeddings", "many"),
      of_config("sliding_window", "sliding_window", "wide"),
      of_config("use_sliding_window", "use_sliding_window", 1),
      of_config("eos_token_id", "eos_token_id", {{"a", 1}}),
      of_config("extra end tokens", "eos_token_id", 100000),
      of_config("more than 1024 tokens", "eos_token_id", numbers_below(1025)),
      of_config("use_sliding_window", "layer_types",
                {"full_attention", "sliding_attention", "full_attention"}),
      of_config("original_max_position_embeddings", "rope_parameters",
                {{"rope_theta", 1e4},
                 {"rope_type", "yarn"},
                 {"factor", 2},
                 {"original_max_position_embeddings", -1}}),
      of_config("original_max_position_embeddings", "rope_parameters",
                {{"rope_theta", 1e4}, {"rope_type", "longrope"}, {"short_factor", {1, 2}}}),
      of_header("is not known here", "model.norm.weight", "model.nurm.weight"),
      of_header("is no known part", "model.norm.weight", "model.norm.wheel."),
      of_header("is not known here", "self_attn.q_norm", "self_attn.q_nurm"),
      of_header("no known scheme", "\"F16\"", "\"I16\""),
      of_header("dtype", "\"F16\"", "\"F17\""),
  };
}

TEST(DamagedModelFolders, AreRefusedWithASentence) {
  if (!std::filesystem::exists(shared_folder("qwen3"))) GTEST_SKIP() << "no shared folders";
  const std::vector<Damage> all = damages();
  EXPECT_GE(all.size(), 50u);
  for (const Damage& damage : all) {
    const FolderCopy folder("qwen3");
    damage.make(folder);
    EXPECT_THAT(refusal_of(folder.path()), HasSubstr(damage.says));
  }
}

TEST(DamagedModelFolders, OpenOrAreRefusedForAnyValueOfAnyKey) {
  if (!std::filesystem::exists(shared_folder("qwen3"))) GTEST_SKIP() << "no shared folders";
  size_t refused = 0;
  for (const char* name :
       {"llama3", "gemma3", "gpt_oss", "phi3", "deepseek_v3", "lfm2", "mamba2"}) {
    const FolderCopy folder(name);
    const nlohmann::json config = read_json(shared_folder(name) + "/config.json");
    for (const auto& [key, old] : config.items()) {
      for (const nlohmann::json& value :
           {nlohmann::json("text"), nlohmann::json(-1), nlohmann::json(0), nlohmann::json(1e30),
            nlohmann::json(4294967295u), nlohmann::json::array({nullptr}),
            nlohmann::json::object()}) {
        folder.write("config.json", with(name, key, value));
        if (!refusal_of(folder.path()).empty()) ++refused;
      }
    }
  }
  EXPECT_GE(refused, 500u);
}

TEST(ModelFolders, OpenByAnyOfTheirPathsAndFromMemory) {
  const std::string path = shared_folder("llama3");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  const auto logits = [](const std::shared_ptr<const Model>& model) {
    Session session(Engine::create(model));
    session.append(make_tokens(20));
    return last_logits(session);
  };
  const auto first = Model::load(path, exact_options());
  const std::vector<float> expected = logits(first);
  for (const char* file : {"/", "/config.json", "/model.safetensors.index.json",
                           "/model-00002-of-00003.safetensors"}) {
    const auto other = Model::load(path + file, exact_options());
    EXPECT_TRUE(same_bits(logits(other), expected)) << file;
    EXPECT_EQ(other->fingerprint(), first->fingerprint());
  }
  std::vector<std::shared_ptr<const ByteSource>> sources;
  const FolderCopy copy("llama3");
  std::vector<std::string> texts;
  texts.reserve(20);
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string file = entry.path().filename().string();
    texts.push_back(copy.read(file));
    sources.push_back(
        ByteSource::from_memory(std::as_bytes(std::span(texts.back())), "my/model/" + file));
  }
  EXPECT_TRUE(same_bits(logits(Model::load(sources, exact_options())), expected));
  // Another weight is another model.
  std::string shard = copy.read("model-00001-of-00003.safetensors");
  shard[shard.size() - 1000] = static_cast<char>(shard[shard.size() - 1000] ^ 1);
  copy.write("model-00001-of-00003.safetensors", shard);
  EXPECT_NE(Model::load(copy.path(), exact_options())->fingerprint(), first->fingerprint());
}

TEST(ModelFolders, DoNotGuessMissingKeys) {
  if (!std::filesystem::exists(shared_folder("mistral"))) GTEST_SKIP() << "no shared folders";
  const auto without = [](const char* name, const char* key) {
    const FolderCopy folder(name);
    nlohmann::json config = read_json(shared_folder(name) + "/config.json");
    EXPECT_EQ(config.erase(key), 1u) << name << " " << key;
    folder.write("config.json", config.dump());
    return refusal_of(folder.path());
  };
  for (const auto& [name, key] :
       {std::pair("gemma2", "sliding_window"), std::pair("gemma2", "query_pre_attn_scalar"),
        std::pair("gpt_oss", "head_dim"), std::pair("qwen3", "head_dim"),
        std::pair("mistral", "num_key_value_heads"), std::pair("qwen3_moe", "norm_topk_prob")}) {
    EXPECT_THAT(without(name, key), AllOf(HasSubstr(key), HasSubstr("is missing")));
  }
  EXPECT_EQ(without("mistral", "sliding_window"), "");  // 4096, as in transformers
  EXPECT_EQ(without("llama3", "hidden_act"), "");
}

TEST(ModelFolders, ReadInfinityOfPython) {
  if (!std::filesystem::exists(shared_folder("mamba2"))) GTEST_SKIP() << "no shared folders";
  const FolderCopy folder("mamba2");
  std::string config = folder.read("config.json");
  nlohmann::json tree = nlohmann::json::parse(config);
  tree["time_step_limit"] = {0.0, "HERE"};
  config = tree.dump();
  config.replace(config.find("\"HERE\""), 6, "Infinity");
  folder.write("config.json", config);
  EXPECT_EQ(refusal_of(folder.path()), "");
  // Long texts in linear time.
  std::string many = "{\"x\": [Infinity";
  for (int i = 0; i < 1'000'000; ++i) many += ",Infinity";
  folder.write("config.json", many + "]}");
  EXPECT_NE(refusal_of(folder.path()), "");
  tree["time_step_limit"] = {0.0, 0.1};
  folder.write("config.json", tree.dump());
  EXPECT_THAT(refusal_of(folder.path()), HasSubstr("time_step_limit"));
}

/// Mistral and Mixtral decide by "sliding_window" alone; Qwen needs a flag, and layers from 28 on.
TEST(ModelFolders, HaveTheWindowsOfTransformers) {
  if (!std::filesystem::exists(shared_folder("mistral"))) GTEST_SKIP() << "no shared folders";
  const auto windows = [](const char* name, const nlohmann::json& changes) {
    const FolderCopy folder(name);
    nlohmann::json config = read_json(shared_folder(name) + "/config.json");
    for (const auto& [key, value] : changes.items()) {
      if (value.is_null()) {
        config.erase(key);
      } else {
        config[key] = value;
      }
    }
    folder.write("config.json", config.dump());
    const auto model = Model::load(folder.path(), exact_options());
    std::vector<uint32_t> all;
    for (const LayerSpec& layer : model->spec().layers) all.push_back(layer.attention.window);
    return all;
  };
  const auto layers = windows("qwen3", {{"layer_types", nullptr}}).size();
  const std::vector<uint32_t> none(layers, 0);
  EXPECT_EQ(
      windows("qwen3",
              {{"layer_types", nullptr}, {"sliding_window", 8}, {"use_sliding_window", nullptr}}),
      none);
  EXPECT_EQ(windows("qwen3", {{"layer_types", nullptr},
                              {"sliding_window", 8},
                              {"use_sliding_window", true},
                              {"max_window_layers", nullptr}}),
            none);
  std::vector<uint32_t> later(layers, 8);
  later[0] = 0;
  EXPECT_EQ(windows("qwen3", {{"layer_types", nullptr},
                              {"sliding_window", 8},
                              {"use_sliding_window", true},
                              {"max_window_layers", 1}}),
            later);
  for (const uint32_t window :
       windows("qwen3_moe", {{"sliding_window", 8}, {"use_sliding_window", true}})) {
    EXPECT_EQ(window, 8u);
  }
  const FolderCopy mistral("mistral");
  nlohmann::json config = read_json(shared_folder("mistral") + "/config.json");
  config["sliding_window"] = 8;
  config["layer_types"] =
      std::vector<std::string>(config["num_hidden_layers"].get<size_t>(), "full_attention");
  mistral.write("config.json", config.dump());
  EXPECT_THAT(refusal_of(mistral.path()), HasSubstr("layer_types"));
}

TEST(ModelFolders, AreRefusedWithAdviceIfTheirArchitectureIsNotRead) {
  if (!std::filesystem::exists(shared_folder("qwen2_dynamic"))) GTEST_SKIP() << "no folders";
  EXPECT_THAT(refusal_of(shared_folder("qwen2_dynamic")), HasSubstr("dynamic"));
  const FolderCopy folder("qwen3");
  folder.write("config.json", with("qwen3", "model_type", "phi4flash"));
  EXPECT_THAT(refusal_of(folder.path()), HasSubstr("fetch a GGUF file"));
}

}  // namespace
}  // namespace tenon::folders
