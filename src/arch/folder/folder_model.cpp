#include "arch/folder/folder_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "arch/architectures.h"
#include "arch/folder/folder_config.h"
#include "arch/folder/folder_form.h"
#include "arch/folder/folder_tensors.h"
#include "base/error.h"
#include "base/utf8.h"
#include "base/words.h"
#include "file/folder_keys.h"
#include "file/tensor_folder.h"
#include "json/json_tree.h"
#include "weights/foreign/quant_config.h"

namespace tenon {
namespace {

constexpr const char* kConfig = "config.json";
constexpr uint64_t kMaxSmallFileBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxPredicting = 64;
constexpr size_t kMaxEndTokens = 1024;
constexpr uint64_t kMaxTokenizerBytes = uint64_t{256} << 20;

/// Keys of a folder of several parts, whose text model is under "text_config".
constexpr std::string_view kWrapperKeys =
    "text_config~\nvision_config~\naudio_config~\nquantization_config~\nquantization~\n"
    "image_token_index~\nimage_token_id~\nvideo_token_id~\nvision_start_token_id~\n"
    "vision_end_token_id~\nboi_token_index~\neoi_token_index~\nmm_tokens_per_image~\n"
    "multimodal_projector_bias~\nprojector_hidden_act~\nspatial_merge_size~\n"
    "vision_feature_layer~\nvision_feature_select_strategy~\nboi_token_id~\neoi_token_id~\n"
    "boa_token_id~\neoa_token_id~\neoa_token_index~\naudio_token_id~\n"
    "vision_soft_tokens_per_image~\n";

constexpr std::string_view kDecoderTensors =
    "embed_tokens token_embd\n"
    "norm output_norm\n"
    "lm_head output\n"
    "layers.*.input_layernorm blk.*.attn_norm\n"
    "layers.*.post_attention_layernorm blk.*.ffn_norm\n"
    "layers.*.self_attn.q_proj blk.*.attn_q\n"
    "layers.*.self_attn.k_proj blk.*.attn_k\n"
    "layers.*.self_attn.v_proj blk.*.attn_v\n"
    "layers.*.self_attn.o_proj blk.*.attn_output\n"
    "layers.*.self_attn.q_norm blk.*.attn_q_norm\n"
    "layers.*.self_attn.k_norm blk.*.attn_k_norm\n"
    "layers.*.self_attn.rotary_emb -\n"
    "layers.*.mlp.gate_proj blk.*.ffn_gate\n"
    "layers.*.mlp.up_proj blk.*.ffn_up\n"
    "layers.*.mlp.down_proj blk.*.ffn_down\n"
    "layers.*.mlp.gate blk.*.ffn_gate_inp\n"
    "layers.*.mlp.experts.*.gate_proj blk.*.ffn_gate.*\n"
    "layers.*.mlp.experts.*.up_proj blk.*.ffn_up.*\n"
    "layers.*.mlp.experts.*.down_proj blk.*.ffn_down.*\n"
    "layers.*.mlp.experts.gate_up_proj blk.*.ffn_gate_up_exps.weight\n"
    "layers.*.mlp.experts.down_proj blk.*.ffn_down_exps.weight\n"
    "vision_tower -\n"
    "audio_tower -\n"
    "embed_vision -\n"
    "embed_audio -\n"
    "multi_modal_projector -\n";

/// Python writes infinity as a word, which is no JSON: null instead.
std::string without_infinity(std::string text) {
  constexpr std::string_view kWord = "Infinity";
  constexpr std::string_view kNull = "null";
  bool in_text = false;
  size_t kept = 0;  // kNull is shorter, so that the text may be written over
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_text = !in_text;
    if (in_text && text[i] == '\\' && i + 1 < text.size()) {
      text[kept++] = text[i++];
    } else if (!in_text && text.compare(i, kWord.size(), kWord) == 0) {
      kept = static_cast<size_t>(std::ranges::copy(kNull, text.begin() + kept).out - text.begin());
      i += kWord.size() - 1;
      continue;
    }
    text[kept++] = text[i];
  }
  text.resize(kept);
  return text;
}

class FolderOpener {
 public:
  FolderOpener(const std::shared_ptr<const FileFolder>& folder,
               const std::shared_ptr<System>& system)
      : folder_(folder), system_(system), config_place_(folder->name() + "/" + kConfig) {}

  std::shared_ptr<const ModelFile> open(std::vector<MetadataOverride> overrides) {
    const JsonNode root = read_json(kConfig);
    if (!root.is(JsonNode::Kind::Object)) {
      fail(Code::Format, "{}: is no JSON object", config_place_);
    }
    const JsonNode* text = root.find("text_config");
    const bool is_wrapped = text != nullptr && text->is(JsonNode::Kind::Object);
    const FolderForm& form = choose(root, is_wrapped ? *text : root);
    tensors_ = TensorFolder::open(folder_, system_);
    facts_.rows_of = [this](std::string_view stem) { return rows_of_stem(*tensors_, stem); };
    facts_.metadata = Metadata(folder_->name());
    Metadata& metadata = facts_.metadata;
    metadata.add("general.architecture", MetadataValue::of(facts_.architecture));
    metadata.add("general.type", MetadataValue::of("model"));
    metadata.add("general.name", MetadataValue::of(base_name()));
    read_config(form, root, is_wrapped ? text : nullptr);
    read_tokenizer_files();
    read_pooling();
    apply_overrides(metadata, std::move(overrides));
    const auto quant = std::make_shared<const QuantConfig>(quant_config(root));
    std::string table;
    for (uint64_t i = 0; i < predicting_; ++i) table += fmt::format("layers.{} -\n", layers_ + i);
    table += tensor_table(form);
    const auto groups =
        metadata.get_or<uint64_t>(facts_.architecture + ".ssm.group_count", uint64_t{1});
    FolderTensors mapped =
        map_tensors(tensors_, quant, table, std::move(facts_.made), vocab_, groups);
    if (!form.encoder && !gives_rows_) check_head(mapped);
    std::vector<uint64_t> header_bytes;
    for (const auto& source : tensors_->sources()) header_bytes.push_back(header_of(*source));
    header_bytes.resize(mapped.sources.size(), 0);
    return std::make_shared<const ModelFile>(std::move(metadata), std::move(mapped.tensors),
                                             std::move(mapped.sources), std::move(header_bytes));
  }

 private:
  JsonNode read_json(const char* file) {
    return parse_json_tree(without_infinity(folder_->read_text(file, kMaxSmallFileBytes)),
                           folder_->name() + "/" + file);
  }

  /// Old folders have a file of their own for it.
  QuantConfig quant_config(const JsonNode& root) {
    const JsonNode* told = root.find("quantization_config");
    const bool is_old =
        (told == nullptr || told->is(JsonNode::Kind::Null)) &&
        (folder_->contains("quantize_config.json") || folder_->contains("quant_config.json"));
    return is_old ? read_quant_config(*folder_) : read_quant_config(root, config_place_);
  }

  [[nodiscard]] std::string base_name() const {
    std::string_view name = folder_->name();
    while (name.ends_with('/')) name.remove_suffix(1);
    return std::string(name.substr(name.rfind('/') + 1));
  }

  /// The form of the model's type. Sets the architecture.
  const FolderForm& choose(const JsonNode& root, const JsonNode& text) {
    const std::string_view type = text.text_of("model_type");
    std::string_view name;
    if (const JsonNode* classes = root.find("architectures")) {
      if (classes->items.size() == 1) name = classes->items[0].text;
    }
    std::string known;
    for (const NamedArchitecture& one : architectures()) {
      for (const FolderForm* form = one.architecture->folder; form != nullptr; form = form->next) {
        const bool is_type = has_word(form->types, type, ' ');
        if (is_type && (name.empty() || has_word(form->classes, name, ' '))) {
          facts_.architecture = one.name;
          facts_.theta = form->theta;
          return *form;
        }
        if (is_type) {
          fail(Code::Unsupported, "{}: \"architectures\" has {}; computed for \"{}\" are: {}",
               config_place_, quoted(name), type, form->classes);
        }
        known.append(known.empty() ? "" : " ").append(form->types);
      }
    }
    if (type.empty()) fail(Code::Format, "{}: \"model_type\" is missing", config_place_);
    fail(Code::Unsupported,
         "{}: folders of model_type {} are not read; known are: {}; convert the model to GGUF, as "
         "with llama.cpp's convert_hf_to_gguf.py, or fetch a GGUF file of it",
         config_place_, quoted(type), known);
  }

  void read_config(const FolderForm& form, const JsonNode& root, const JsonNode* text) {
    FolderConfig outer(root, config_place_, facts_);
    if (text != nullptr) {
      if (const std::string_view type = root.text_of("model_type");
          !has_word(form.wrappers, type, ' ')) {
        fail(Code::Unsupported, "{}: model_type {} around \"{}\" is not known", config_place_,
             quoted(type), form.types);
      }
      outer.read_table(kWrapperKeys);
      take_common(outer);
      outer.finish();
    }
    FolderConfig config(text != nullptr ? *text : root,
                        text != nullptr ? config_place_ + ": text_config" : config_place_, facts_);
    config.read_table(form.keys);
    if (form.decoder) read_decoder_config(config);
    if (form.derive != nullptr) form.derive(config);
    vocab_ = config.count("vocab_size").value_or(0);
    layers_ = config.count("num_hidden_layers").value_or(0);
    // Blocks after the last layer, which predict further tokens, are left out.
    predicting_ = config.count("num_nextn_predict_layers").value_or(0);
    if (predicting_ > kMaxPredicting) {
      config.refuse(Code::Limit, "num_nextn_predict_layers", "is {}, the limit is {}", predicting_,
                    kMaxPredicting);
    }
    config.read_table("quantization_config~\nquantization~\n");
    take_common(config);
    config.finish();
  }

  /// Keys that the text model has, or the whole.
  void take_common(FolderConfig& config) {
    if (const auto flag = config.flag("tie_word_embeddings")) tied_ = flag;
    if (const JsonNode* ends = config.take("eos_token_id")) {
      add_ends(*ends, config_place_);
    }
  }

  void add_ends(const JsonNode& ends, const std::string& place) {
    const auto add = [&](const JsonNode& one) {
      if (!one.is_count || one.count > INT32_MAX) {
        fail(Code::Format, "{}: eos_token_id is {}, expected the number of a token", place,
             json_text(one));
      }
      if (ends_.size() >= kMaxEndTokens) {
        fail(Code::Limit, "{}: eos_token_id has more than {} tokens", place, kMaxEndTokens);
      }
      const auto token = static_cast<int32_t>(one.count);
      if (std::ranges::find(ends_, token) == ends_.end()) ends_.push_back(token);
    };
    if (!ends.is(JsonNode::Kind::Array)) return add(ends);
    for (const JsonNode& one : ends.items) add(one);
  }

  void add_text(std::string_view key, std::string text) {
    if (!text.empty()) facts_.metadata.set(std::string(key), MetadataValue::of(std::move(text)));
  }

  void read_tokenizer_files() {
    if (folder_->contains("generation_config.json")) {
      const JsonNode generation = read_json("generation_config.json");
      const JsonNode* ends = generation.find("eos_token_id");
      if (ends != nullptr && !ends->is(JsonNode::Kind::Null)) {
        add_ends(*ends, folder_->name() + "/generation_config.json");
      }
    }
    if (!ends_.empty()) {
      facts_.metadata.set(std::string(kEndTokensKey),
                          MetadataValue::of(std::span<const int32_t>(ends_)));
    }
    if (!folder_->contains("tokenizer.json")) {
      fail(Code::Unsupported,
           "{}: has no tokenizer.json; other kinds of tokenizers (tokenizer.model, tekken.json, "
           "tiktoken files) are not read: fetch a folder with one, or a GGUF file of the model",
           folder_->name());
    }
    add_text(kTokenizerJsonKey, folder_->read_text("tokenizer.json", kMaxTokenizerBytes));
    if (folder_->contains("tokenizer_config.json")) read_tokenizer_config();
    constexpr const char* kTemplateFile = "chat_template.jinja";
    if (folder_->contains(kTemplateFile)) {
      add_text("tokenizer.chat_template", folder_->read_text(kTemplateFile, kMaxSmallFileBytes));
    }
  }

  /// The pooling of sentence-transformers.
  void read_pooling() {
    if (!folder_->contains("modules.json")) return;
    const JsonNode modules = read_json("modules.json");
    std::string file;
    for (const JsonNode& module : modules.items) {
      const std::string_view type = module.text_of("type");
      if (type.ends_with(".Pooling")) {
        file = std::string(module.text_of("path")) + "/config.json";
      }
      if (type.ends_with(".Transformer") || type.ends_with(".Pooling") ||
          type.ends_with(".Normalize")) {
        continue;
      }
      fail(Code::Unsupported, "{}/modules.json: module {} is not computed", folder_->name(),
           quoted(type));
    }
    if (file.empty()) return;
    const JsonNode pooling = read_json(file.c_str());
    const std::string_view mode = pooling.text_of("pooling_mode");
    uint64_t number = mode == "mean" ? 1 : mode == "cls" ? 2 : mode == "lasttoken" ? 3 : 0;
    for (size_t i = 0; i < pooling.items.size(); ++i) {
      const std::string& key = pooling.keys[i];
      if (!key.starts_with("pooling_mode_") || !pooling.items[i].flag) continue;
      const uint64_t one = key == "pooling_mode_mean_tokens" ? 1
                           : key == "pooling_mode_cls_token" ? 2
                           : key == "pooling_mode_lasttoken" ? 3
                                                             : 0;
      if (one == 0 || number != 0) {
        fail(Code::Unsupported, "{}/{}: key {} is not computed{}", folder_->name(), file,
             quoted(key), number != 0 ? " beside another pooling" : "");
      }
      number = one;
    }
    if (number == 0) fail(Code::Unsupported, "{}/{}: names no pooling", folder_->name(), file);
    facts_.metadata.set(facts_.architecture + ".pooling_type", MetadataValue::of(number));
    gives_rows_ = true;
  }

  void read_tokenizer_config() {
    const JsonNode config = read_json("tokenizer_config.json");
    for (const auto& [key, name] :
         {std::pair(kBosTextKey, "bos_token"), std::pair(kEosTextKey, "eos_token"),
          std::pair(kPaddingTextKey, "pad_token"), std::pair(kUnknownTextKey, "unk_token")}) {
      const JsonNode* token = config.find(name);
      if (token == nullptr) continue;
      add_text(key, std::string(token->is(JsonNode::Kind::Object) ? token->text_of("content")
                                                                  : config.text_of(name)));
    }
    const JsonNode* templates = config.find("chat_template");
    if (templates == nullptr) return;
    add_text("tokenizer.chat_template", templates->text);
    for (const JsonNode& one : templates->items) {
      const std::string_view name = one.text_of("name");
      if (name.empty()) continue;
      add_text(name == "default" ? "tokenizer.chat_template"
                                 : "tokenizer.chat_template." + std::string(name),
               std::string(one.text_of("template")));
    }
  }

  /// A missing output matrix means the embedding, unless the folder says otherwise.
  void check_head(const FolderTensors& mapped) const {
    const bool has_head = std::ranges::any_of(
        mapped.tensors, [](const TensorInfo& one) { return one.name == "output.weight"; });
    const bool has_table = std::ranges::any_of(
        mapped.tensors, [](const TensorInfo& one) { return one.name == "token_embd.weight"; });
    if (has_head || !has_table || tied_ != false) return;
    fail(Code::Format, "{}: tensor \"lm_head.weight\" is missing, but tie_word_embeddings is false",
         folder_->name());
  }

  static uint64_t header_of(const ByteSource& source) {
    uint64_t length = 0;
    source.read(0, std::as_writable_bytes(std::span(&length, 1)));
    return sizeof length + length;
  }

  std::shared_ptr<const FileFolder> folder_;
  std::shared_ptr<System> system_;
  std::string config_place_;
  std::shared_ptr<const TensorFolder> tensors_;
  FolderFacts facts_;
  std::optional<bool> tied_;
  std::vector<int32_t> ends_;
  uint64_t vocab_ = 0;
  uint64_t layers_ = 0;
  uint64_t predicting_ = 0;
  bool gives_rows_ = false;
};

}  // namespace

std::string tensor_table(const FolderForm& form) {
  std::string table(form.tensors);
  if (form.decoder) table += kDecoderTensors;
  return table;
}

std::shared_ptr<const ModelFile> open_model_folder(const std::shared_ptr<const FileFolder>& folder,
                                                   const std::shared_ptr<System>& system,
                                                   std::vector<MetadataOverride> overrides) {
  return FolderOpener(folder, system).open(std::move(overrides));
}

}  // namespace tenon
