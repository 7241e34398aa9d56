// Each key of each config.json of the tiny folders, changed, changes the result or is refused.
#include <gtest/gtest.h>

#include <set>

#include "engine/embedder.h"
#include "tests/model/shared_folders.h"

namespace tenon::folders {
namespace {

namespace fs = std::filesystem;

/// Keys that change no result: training, storage, and words for other programs.
const std::set<std::string> kNoResult = {
    "architectures",
    "attention_dropout",
    "attention_probs_dropout_prob",
    "bos_token_id",
    "classifier_activation",
    "classifier_bias",
    "classifier_dropout",
    "classifier_pooling",
    "chunk_size",
    "cls_token_id",
    "decoder_bias",
    "deterministic_flash_attn",
    "dtype",
    "embd_pdrop",
    "embedding_dropout",
    "hidden_dropout_prob",
    "id2label",
    "image_token_index",
    "initializer_cutoff_factor",
    "initializer_range",
    "label2id",
    "mamba_chunk_size",
    "mlp_dropout",
    "multimodal_projector_bias",
    "output_router_logits",
    "pad_token_id",
    "pretraining_tp",
    "projector_hidden_act",
    "rescale_prenorm_residual",
    "resid_pdrop",
    "residual_dropout",
    "residual_in_fp32",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "sep_token_id",
    "sparse_pred_ignore_index",
    "sparse_prediction",
    "spatial_merge_size",
    "time_step_floor",
    "time_step_max",
    "time_step_min",
    "time_step_rank",
    "torch_dtype",
    "transformers_version",
    "use_cache",
    "vision_config",
    "vision_feature_layer",
    // Parts of ropes.
    "mrope_interleaved",
    "mrope_section",
    // Decides nothing without the key that it belongs to.
    "max_window_layers",
    // Ignored where each weight says its own.
    "quantization",
    "quantization_config",
};

/// Lists of what decides nothing in one folder.
bool decides_nothing(const std::string& folder, const std::string& key, bool has_head) {
  if (kNoResult.contains(key)) return true;
  // The matrix is there, whatever the flag says.
  if (key == "tie_word_embeddings") {
    return has_head || folder == "bert" || folder == "modernbert" || folder == "xlmr_reranker" ||
           folder == "ministral3";
  }
  // Layers that see everything anyway, because of another key.
  if (key == "sliding_window" || key == "use_sliding_window") return folder.starts_with("qwen");
  // Blocks that predict further tokens are left out.
  if (key == "num_nextn_predict_layers") return true;
  // All layers have experts.
  if (key == "intermediate_size") return folder.starts_with("qwen3_moe");
  // Nothing rotates.
  if (key == "rope_theta") return folder == "granitemoehybrid";
  // For shorter texts; FolderModel reads phi3 so.
  return key == "short_factor";
}

/// far: a larger change of numbers; the ends of a ramp are rounded to pairs.
nlohmann::json changed(const nlohmann::json& value, bool far) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>() * (far ? 50 : 3) + 1;
  if (value.is_number()) return value.get<double>() * (far ? 0.01 : 0.25) + (far ? 0.0 : 0.125);
  if (value.is_string()) return value.get<std::string>() + "_x";
  if (value.is_null()) return 7;
  nlohmann::json copy = value;
  if (copy.empty()) return nlohmann::json::array({1});
  if (copy.is_array()) copy.at(0) = changed(copy.at(0), far);
  return copy;
}

/// Paths of all values: objects are entered, but for those of other parts.
void collect(const nlohmann::json& node, const std::string& at, std::vector<std::string>& out) {
  for (const auto& [key, value] : node.items()) {
    const std::string path = at + "/" + key;
    if (value.is_object() && !kNoResult.contains(key)) {
      collect(value, path, out);
    } else {
      out.push_back(path);
    }
  }
}

/// Anything that a caller sees of a model, as text.
std::string seen(const std::string& path) {
  const auto prompt = read_json(path + "/expected.json").at("prompt_ids").get<std::vector<Token>>();
  const auto model = Model::load(path, exact_options());
  std::vector<float> values;
  if (model->gives_rows()) {
    Embedder embedder(model, {});
    EmbedderText text;
    text.tokens = prompt;
    embedder.check(text, 0);
    values.resize(embedder.num_rows(text) * embedder.info().dimensions);
    embedder.embed(std::span(&text, 1), values.data(), UINT64_MAX);
  } else {
    Session session(Engine::create(model));
    values = evaluate_all(session, prompt);
  }
  std::string out(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  out += std::to_string(model->spec().trained_context);
  for (const Token end : model->tokenizer()->end_tokens()) out += " " + std::to_string(end);
  return out;
}

std::vector<std::string> shared_folders() {
  std::vector<std::string> names;
  const fs::path root = shared_folder("");
  if (!fs::exists(root)) return names;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(FolderKeys, ChangeTheResultOrAreRefused) {
  const std::vector<std::string> names = shared_folders();
  if (names.empty()) GTEST_SKIP() << shared_folder("") << " is absent";
  size_t num_keys = 0;
  for (const std::string& name : names) {
    std::string before;
    try {
      before = seen(shared_folder(name));
    } catch (const Error& error) {
      // Architectures that are not read, and ropes that change with the length.
      EXPECT_TRUE(name == "qwen2_dynamic") << name << ": " << error.what();
      continue;
    }
    const FolderCopy copy(name);
    const nlohmann::json config = read_json(shared_folder(name) + "/config.json");
    std::vector<std::string> paths;
    collect(config, "", paths);
    for (const std::string& path : paths) {
      const std::string key = path.substr(path.rfind('/') + 1);
      if (decides_nothing(name, key, copy.has("lm_head."))) continue;
      ++num_keys;
      const auto matters = [&](bool far) {
        nlohmann::json other = config;
        nlohmann::json& value = other.at(nlohmann::json::json_pointer(path));
        value = changed(value, far);
        copy.write("config.json", other.dump());
        try {
          return seen(copy.path()) != before;
        } catch (const Error&) {
          return true;
        }
      };
      EXPECT_TRUE(matters(false) || matters(true)) << name << ": " << path << " changes nothing";
    }
    // A key that nobody knows.
    nlohmann::json other = config;
    other["an_unknown_key"] = 1;
    copy.write("config.json", other.dump());
    try {
      (void)seen(copy.path());
      ADD_FAILURE() << name << " was opened with an unknown key";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("an_unknown_key"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_GE(num_keys, 500u);
}

}  // namespace
}  // namespace tenon::folders
