#include "arch/folder/folder_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "arch/keys/keys.h"
#include "base/words.h"

namespace tenon {
namespace {

using Kind = JsonNode::Kind;

/// Keys of all folders that change no result.
constexpr std::string_view kHarmlessKeys =
    " initializer_range attention_dropout use_cache transformers_version torch_dtype dtype "
    "pretraining_tp output_router_logits router_aux_loss_coef router_jitter_noise "
    "output_attentions output_hidden_states return_dict _name_or_path auto_map "
    "chunk_size_feed_forward embd_pdrop resid_pdrop embedding_dropout residual_dropout "
    "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout torchscript "
    "gradient_checkpointing tokenizer_class task_specific_params problem_type id2label label2id "
    "unsloth_fixed unsloth_version _attn_implementation _attn_implementation_autoset "
    "bos_token_id pad_token_id architectures model_type use_mamba_kernels is_llama_config "
    "transformers.js_config neftune_noise_alpha attn_implementation cache_implementation "
    "init_method output_past directionality pooler_fc_size pooler_num_attention_heads "
    "pooler_num_fc_layers pooler_size_per_head pooler_type ";

constexpr std::string_view kDecoderKeys =
    "hidden_size!embedding_length\n"
    "num_hidden_layers!block_count\n"
    "num_attention_heads!attention.head_count\n"
    "num_key_value_heads>attention.head_count_kv\n"
    "intermediate_size!feed_forward_length\n"
    "max_position_embeddings!context_length\n"
    "head_dim>attention.key_length\n"
    "head_dim>attention.value_length\n"
    "is_encoder_decoder=false\n"
    "is_decoder=false\n"
    "add_cross_attention=false\n";

MetadataValue value_of(const JsonNode& node) {
  if (node.is(Kind::Bool)) return MetadataValue::of(node.flag);
  if (node.is(Kind::String)) return MetadataValue::of(node.text);
  if (node.is_count) return MetadataValue::of(node.count);
  return MetadataValue::of(node.number);
}

/// Whole values are numbers with a fraction, too: "1" for 1.0.
std::optional<double> number_of(const JsonNode& node) {
  if (!node.is(Kind::Number) || !std::isfinite(node.number)) return std::nullopt;
  return node.number;
}

double yarn_magnitude(double factor, double scale) {
  return factor <= 1.0 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
}

/// Reads one rope: "rope_parameters" or "rope_scaling", with the keys of older versions beside it.
class RopeReader {
 public:
  RopeReader(FolderConfig& config, FolderConfig& rope) : config_(config), rope_(rope) {}

  void read() {
    heads_ = config_.required_count("num_attention_heads");
    trained_ = static_cast<double>(config_.required_count("max_position_embeddings"));
    const uint64_t width = config_.required_count("hidden_size");
    if (heads_ == 0 || width == 0 || width > SpecLimits::kWidth) return;  // refused later
    head_dim_ = config_.count("head_dim").value_or(width / heads_);
    theta_ = either("rope_theta").value_or(config_.facts().theta);
    if (theta_ == 0.0) config_.refuse(Code::Format, "rope_theta", "is missing or 0");
    config_.put("rope.freq_base", theta_);
    if (rope_.text("rope_type") == "proportional") return read_proportional();
    rotated_ = head_dim_;
    if (const auto part = either("partial_rotary_factor")) {
      const double rotated = static_cast<double>(head_dim_) * *part;
      if (!(rotated >= 2.0 && rotated <= static_cast<double>(head_dim_))) {
        config_.refuse(Code::Format, "partial_rotary_factor", "is {}, which leaves {} of {} values",
                       *part, rotated, head_dim_);
      }
      rotated_ = static_cast<uint64_t>(rotated);
    }
    if (rotated_ > SpecLimits::kHeadDim) return;  // refused later
    config_.put("rope.dimension_count", rotated_);
    const auto original = either("original_max_position_embeddings");
    names_original_ = original.has_value();
    original_ = original.value_or(trained_);
    if (!(original_ >= 1.0 && original_ <= SpecLimits::kPositions)) {
      config_.refuse(Code::Format, "original_max_position_embeddings", "is {}", original_);
    }
    // Some wrappers repeat it.
    if (const auto again = rope_.number("max_position_embeddings");
        again && *again != original_ && *again != trained_) {
      rope_.refuse(Code::Unsupported, "max_position_embeddings", "is {}, not {}", *again,
                   original_);
    }
    read_type();
    rope_.finish();
  }

 private:
  /// A key of the rope, else of the whole configuration.
  std::optional<double> either(std::string_view key) {
    const auto inner = rope_.number(key);
    const auto outer = config_.number(key);
    if (inner && outer && *inner != *outer) {
      config_.refuse(Code::Format, key, "is {}, but {} in the rope's own keys", *outer, *inner);
    }
    return inner ? inner : outer;
  }

  void read_type() {
    std::string_view type = rope_.text("rope_type");
    const std::string_view old = rope_.text("type");
    if (type.empty()) type = old;
    if (type.empty() || type == "default" || type == "mrope") return read_sections();
    if (type == "linear") return read_linear();
    if (type == "llama3") return read_llama3();
    if (type == "yarn") return read_yarn();
    if (type == "longrope" || type == "su") return read_longrope();
    rope_.refuse(
        Code::Unsupported, "rope_type",
        "is {}; computed are default, linear, llama3, longrope and yarn{}", quoted(type),
        type == "dynamic" ? ": a rope that changes with the length of the text is not" : "");
  }

  /// The first pairs of the whole head turn, by its own frequencies.
  void read_proportional() {
    const uint64_t pairs = full_head_dim(config_).value_or(head_dim_) / 2;
    const auto told = rope_.number("partial_rotary_factor");
    if (!told) rope_.refuse(Code::Format, "partial_rotary_factor", "is missing");
    const double part = *told;
    const double divisor = rope_.number("factor").value_or(1.0);
    if (!(part >= 0.0 && part <= 1.0) || !(divisor >= 1e-3 && divisor <= 1e6) ||
        pairs > SpecLimits::kHeadDim) {
      rope_.refuse(Code::Format, "partial_rotary_factor", "is {}, with a factor of {}", part,
                   divisor);
    }
    constexpr float kStill = 1e30f;  // a divisor, as in GGUF files
    MadeTensor made{"rope_freqs.weight", std::vector<float>(pairs, kStill)};
    const auto turning = static_cast<uint64_t>(part * static_cast<double>(pairs));
    std::fill_n(made.values.begin(), turning, static_cast<float>(divisor));
    config_.facts().made.push_back(std::move(made));
    rope_.finish();
  }

  /// Parts of a position are equal in texts.
  void read_sections() {
    (void)rope_.take("mrope_section");
    (void)rope_.take("mrope_interleaved");
  }

  double factor() {
    const double factor = rope_.number("factor").value_or(trained_ / original_);
    if (!(factor >= 1e-3 && factor <= 1e6)) {
      rope_.refuse(Code::Format, "factor", "is {}, not in 0.001..1000000", factor);
    }
    return factor;
  }
  void put_scaling(const char* type, double factor) {
    config_.put("rope.scaling.type", MetadataValue::of(type));
    config_.put("rope.scaling.factor", factor);
  }

  void read_linear() { put_scaling("linear", factor()); }

  void read_llama3() {
    const double factor = this->factor();
    const double low = rope_.number("low_freq_factor").value_or(1.0);
    const double high = rope_.number("high_freq_factor").value_or(4.0);
    if (!(low > 0.0 && high > low)) {
      rope_.refuse(Code::Format, "high_freq_factor", "is {}, not above the {} of low_freq_factor",
                   high, low);
    }
    MadeTensor made{"rope_freqs.weight", {}};
    for (uint64_t i = 0; i + 1 < rotated_; i += 2) {
      const double turn = std::pow(theta_, -static_cast<double>(i) / static_cast<double>(rotated_));
      const double turns = original_ * turn / (2.0 * std::numbers::pi);
      const double share = std::clamp((turns - low) / (high - low), 0.0, 1.0);
      made.values.push_back(static_cast<float>(1.0 / ((1.0 - share) / factor + share)));
    }
    config_.facts().made.push_back(std::move(made));
  }

  void read_yarn() {
    const double factor = this->factor();
    put_scaling("yarn", factor);
    config_.put("rope.scaling.original_context_length", static_cast<uint64_t>(original_));
    config_.put("rope.scaling.yarn_beta_fast", rope_.number("beta_fast").value_or(32.0));
    config_.put("rope.scaling.yarn_beta_slow", rope_.number("beta_slow").value_or(1.0));
    config_.put("rope.scaling.yarn_truncate",
                MetadataValue::of(rope_.flag("truncate").value_or(true)));
    const double scale = rope_.number("mscale").value_or(0.0);
    const double all = rope_.number("mscale_all_dim").value_or(0.0);
    double magnitude = yarn_magnitude(factor, 1.0);
    if (scale != 0.0 && all != 0.0) {
      magnitude = yarn_magnitude(factor, scale) / yarn_magnitude(factor, all);
    }
    magnitude = rope_.number("attention_factor").value_or(magnitude);
    if (config_.facts().metadata.contains(config_.facts().architecture +
                                          ".attention.kv_lora_rank")) {
      // Latent attention scales its scores instead.
      config_.put("rope.scaling.yarn_log_multiplier", 0.1 * all);
      if (all == 0.0) magnitude /= yarn_magnitude(factor, 1.0);
    } else {
      magnitude /= yarn_magnitude(factor, 1.0);
    }
    config_.put("rope.scaling.attn_factor", magnitude);
    if (const auto beta = rope_.number("llama_4_scaling_beta")) {
      config_.put("attention.temperature_scale", *beta);
      config_.put("attention.temperature_length", static_cast<uint64_t>(original_));
    }
  }

  void read_longrope() {
    if (!names_original_) {
      config_.refuse(Code::Format, "original_max_position_embeddings", "is missing");
    }
    const double factor = this->factor();
    const double magnitude =
        factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(factor) / std::log(original_));
    config_.put("rope.scaling.type", MetadataValue::of("longrope"));
    config_.put("rope.scaling.original_context_length", static_cast<uint64_t>(original_));
    config_.put("rope.scaling.attn_factor", rope_.number("attention_factor").value_or(magnitude));
    for (const auto& [key, name] : {std::pair("short_factor", "rope_factors_short.weight"),
                                    std::pair("long_factor", "rope_factors_long.weight")}) {
      const std::vector<double> factors = rope_.numbers(key);
      if (factors.size() != rotated_ / 2) {
        rope_.refuse(Code::Format, key, "has {} numbers, not one for each of {} pairs",
                     factors.size(), rotated_ / 2);
      }
      config_.facts().made.push_back({name, {factors.begin(), factors.end()}});
    }
  }

  FolderConfig& config_;
  FolderConfig& rope_;
  uint64_t heads_ = 0;
  uint64_t head_dim_ = 0;
  uint64_t rotated_ = 0;
  double theta_ = 0;
  double trained_ = 0;
  double original_ = 0;
  bool names_original_ = false;
};

/// A rope per kind of layer: only full attention may be scaled.
void read_window_rope_config(FolderConfig& config, FolderConfig& rope) {
  std::string_view type = rope.text("rope_type");
  if (!type.empty() && type != "default") {
    rope.refuse(Code::Unsupported, "rope_type", "is {}; layers with a window have a plain rope",
                quoted(type));
  }
  if (const auto theta = rope.number("rope_theta")) config.put("rope.freq_base_swa", *theta);
  rope.finish();
}

void read_ropes(FolderConfig& config) {
  const JsonNode none;
  FolderConfig empty(none, "", config.facts());
  auto rope = config.object("rope_parameters");
  auto old = config.object("rope_scaling");
  if (rope && old) {
    config.refuse(Code::Unsupported, "rope_scaling", "is there beside rope_parameters");
  }
  FolderConfig& chosen = rope ? *rope : old ? *old : empty;
  if (const auto theta = config.number("rope_local_base_freq")) {
    config.put("rope.freq_base_swa", *theta);
  }
  auto full = chosen.object("full_attention");
  auto windowed = chosen.object("sliding_attention");
  if (!full && !windowed) return RopeReader(config, chosen).read();
  chosen.finish();
  RopeReader(config, full ? *full : empty).read();
  if (windowed) read_window_rope_config(config, *windowed);
}

}  // namespace

std::string json_text(const JsonNode& node) {
  switch (node.kind) {
    case Kind::Null:
      return "null";
    case Kind::Bool:
      return node.flag ? "true" : "false";
    case Kind::Number:
      return node.is_count ? std::to_string(node.count) : fmt::format("{}", node.number);
    case Kind::String:
      return quoted(node.text);
    case Kind::Array:
      return node.items.empty() ? "[]" : "a list";
    case Kind::Object:
      break;
  }
  return "an object";
}

const JsonNode* FolderConfig::take(std::string_view key) {
  const JsonNode* node = object_.find(key);
  if (node == nullptr) return nullptr;
  used_[static_cast<size_t>(node - object_.items.data())] = true;
  return node->is(Kind::Null) ? nullptr : node;
}

std::optional<uint64_t> FolderConfig::count(std::string_view key) {
  const JsonNode* node = take(key);
  if (node == nullptr) return std::nullopt;
  // As large as any size that a reader multiplies with another.
  if (!node->is_count || node->count > std::numeric_limits<uint32_t>::max()) {
    refuse(Code::Format, key, "is {}, expected a whole number below 2^32", json_text(*node));
  }
  return node->count;
}

std::optional<double> FolderConfig::number(std::string_view key) {
  const JsonNode* node = take(key);
  if (node == nullptr) return std::nullopt;
  const auto number = number_of(*node);
  if (!number) refuse(Code::Format, key, "is {}, expected a finite number", json_text(*node));
  return number;
}

std::optional<bool> FolderConfig::flag(std::string_view key) {
  const JsonNode* node = take(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is(Kind::Bool)) {
    refuse(Code::Format, key, "is {}, expected true or false", json_text(*node));
  }
  return node->flag;
}

std::string_view FolderConfig::text(std::string_view key) {
  const JsonNode* node = take(key);
  if (node == nullptr) return {};
  if (!node->is(Kind::String)) {
    refuse(Code::Format, key, "is {}, expected a text", json_text(*node));
  }
  return node->text;
}

std::vector<double> FolderConfig::numbers(std::string_view key) {
  const JsonNode* node = take(key);
  std::vector<double> out;
  if (node == nullptr) return out;
  for (const JsonNode& item : node->items) {
    const auto number = number_of(item);
    if (!number) refuse(Code::Format, key, "has {}, expected finite numbers", json_text(item));
    out.push_back(*number);
  }
  return out;
}

std::optional<FolderConfig> FolderConfig::object(std::string_view key) {
  const JsonNode* node = take(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is(Kind::Object)) {
    refuse(Code::Format, key, "is {}, expected an object", json_text(*node));
  }
  return FolderConfig(*node, fmt::format("{}: {}", place_, key), facts_);
}

uint64_t FolderConfig::required_count(std::string_view key) {
  const auto value = count(key);
  if (!value) refuse(Code::Format, key, "is missing");
  return *value;
}

void FolderConfig::put(std::string_view name, MetadataValue value) {
  facts_.metadata.set(fmt::format("{}.{}", facts_.architecture, name), std::move(value));
}

void FolderConfig::read_table(std::string_view table) {
  for_each_line(table, [&](std::string_view line) {
    const size_t at = line.find_first_of(">!%$=?#~");
    read_entry(line.substr(0, at), line[at], line.substr(at + 1));
  });
}

void FolderConfig::read_entry(std::string_view name, char kind, std::string_view rest) {
  const JsonNode* node = take(name);
  if ((kind == '!' || kind == '$') && node == nullptr) refuse(Code::Format, name, "is missing");
  if (node == nullptr || kind == '~' || (kind == '!' && rest.empty())) return;
  if (kind == '=') {
    const std::string value = node->is(Kind::String) ? node->text : json_text(*node);
    if (!has_word(rest, value, '|')) {
      refuse(Code::Unsupported, name, "is {}; \"{}\" is computed with {} only", json_text(*node),
             facts_.architecture, rest.empty() ? "null" : rest);
    }
  } else if (kind == '?') {
    const bool is_there = facts_.rows_of(rest).has_value();
    if (flag(name) != is_there) {
      refuse(Code::Format, name, "is {}, but tensor {} is {}", json_text(*node), quoted(rest),
             is_there ? "there" : "missing");
    }
  } else if (kind == '#') {
    const auto rows = facts_.rows_of(rest);
    if (rows && count(name) != rows) {
      refuse(Code::Format, name, "is {}, but tensor {} has {} rows", json_text(*node), quoted(rest),
             *rows);
    }
  } else if (kind == '%' || kind == '$') {
    put(rest, *number(name));
  } else {
    if (node->is(Kind::Array) || node->is(Kind::Object)) {
      refuse(Code::Format, name, "is {}, expected one value", json_text(*node));
    }
    if (node->is_count) (void)count(name);
    put(rest, value_of(*node));
  }
}

void FolderConfig::finish() const {
  for (size_t i = 0; i < used_.size(); ++i) {
    if (used_[i] || has_word(kHarmlessKeys, object_.keys[i], ' ')) continue;
    // Without a value, as unset.
    if (object_.items[i].is(Kind::Null)) continue;
    refuse(
        Code::Unsupported, object_.keys[i],
        "({}) is not known for \"{}\": it may change the result; convert the model to GGUF, or a "
        "newer version of Tenon may know it",
        json_text(object_.items[i]), facts_.architecture);
  }
}

void read_window_layers(FolderConfig& config, bool (*windowed)(uint64_t layer),
                        const WindowDefaults& defaults) {
  const uint64_t layers = config.required_count("num_hidden_layers");
  const JsonNode* types = config.take("layer_types");
  const auto window = config.count("sliding_window");
  const auto flag = config.flag("use_sliding_window");
  const bool used = flag.value_or(defaults.used);
  const uint64_t first = config.count("max_window_layers").value_or(defaults.first);
  const bool by_number = flag.has_value() || !defaults.used;
  if (layers > SpecLimits::kLayers) return;  // refused later
  if (types != nullptr && types->items.size() != layers) {
    config.refuse(Code::Format, "layer_types", "has {} entries, not one for each of {} layers",
                  types->items.size(), layers);
  }
  std::vector<int32_t> pattern;
  bool any = false;
  for (uint64_t i = 0; i < layers; ++i) {
    bool is_windowed = used && window && (by_number ? i >= first : windowed(i));
    if (types != nullptr) {
      const std::string_view type = types->items[i].text;
      is_windowed = type == "sliding_attention";
      if (!is_windowed && type != "full_attention") {
        config.refuse(Code::Unsupported, "layer_types",
                      "has {}; computed are full_attention and sliding_attention",
                      json_text(types->items[i]));
      }
      if (is_windowed && !used) {
        config.refuse(Code::Unsupported, "layer_types",
                      "has windows, but use_sliding_window is not true");
      }
      if (is_windowed && !window) {
        config.refuse(Code::Format, "layer_types", "has windows, but there is no sliding_window");
      }
    }
    any = any || is_windowed;
    pattern.push_back(is_windowed ? 1 : 0);
  }
  if (!any) return;
  config.put("attention.sliding_window", *window);
  config.put("attention.sliding_window_pattern",
             MetadataValue::of(std::span<const int32_t>(pattern)));
}

void read_attention_layers(FolderConfig& config, std::string_view recurrent,
                           std::string_view attention) {
  const uint64_t layers = config.required_count("num_hidden_layers");
  const uint64_t kv_heads = config.required_count("num_key_value_heads");
  const JsonNode* types = config.take("layer_types");
  if (types == nullptr || types->items.size() != layers) {
    config.refuse(Code::Format, "layer_types", "has {} entries, not one for each of {} layers",
                  types == nullptr ? 0 : types->items.size(), layers);
  }
  std::vector<int32_t> heads;
  for (const JsonNode& type : types->items) {
    const bool attends = has_word(attention, type.text, ' ');
    if (!attends && !has_word(recurrent, type.text, ' ')) {
      config.refuse(Code::Unsupported, "layer_types", "has {}; computed are{}and{}",
                    json_text(type), recurrent, attention);
    }
    heads.push_back(attends ? static_cast<int32_t>(std::min<uint64_t>(kv_heads, INT32_MAX)) : 0);
  }
  config.put("attention.head_count_kv", MetadataValue::of(std::span<const int32_t>(heads)));
}

void read_state_space_config(FolderConfig& config, std::string_view heads,
                             std::string_view head_dim, std::string_view expand) {
  const uint64_t count = config.required_count(heads);
  const uint64_t width = config.required_count("hidden_size");
  const double inner = config.number(expand).value_or(2.0) * static_cast<double>(width);
  const JsonNode* dim = config.take(head_dim);
  const bool is_auto = dim != nullptr && dim->text == "auto";
  if (dim != nullptr && !is_auto &&
      static_cast<double>(count * config.required_count(head_dim)) != inner) {
    config.refuse(Code::Format, head_dim, "is {}, but {} heads share {} values", json_text(*dim),
                  count, inner);
  }
  if (!(inner >= 1.0 && inner <= SpecLimits::kWidth)) {
    config.refuse(Code::Format, expand, "makes {} values", inner);
  }
  config.put("ssm.time_step_rank", count);
  config.put("ssm.inner_size", static_cast<uint64_t>(inner));
  // [0, infinity]; JSON has no number for infinity.
  const JsonNode* limit = config.take("time_step_limit");
  if (limit == nullptr) return;
  const bool is_open = limit->items.size() == 2 && limit->items[0].is(Kind::Number) &&
                       limit->items[0].number == 0.0 && !limit->items[1].is(Kind::Number);
  if (!is_open) {
    config.refuse(Code::Unsupported, "time_step_limit", "limits time steps, which is not computed");
  }
}

std::optional<uint64_t> full_head_dim(FolderConfig& config) {
  const auto whole = config.count("global_head_dim");
  auto layers = config.object("per_layer_config");
  const JsonNode* types = config.take("layer_types");
  if (!layers || types == nullptr) return whole;
  if (types->items.size() > SpecLimits::kLayers) {
    config.refuse(Code::Limit, "layer_types", "has {} entries, the limit is {}",
                  types->items.size(), SpecLimits::kLayers);
  }
  std::optional<uint64_t> found;
  for (size_t i = 0; i < types->items.size(); ++i) {
    // Numbers may have zeros before them, so that all have the same length.
    std::string key = std::to_string(i);
    for (int digits = 2; !layers->has(key) && digits <= 4; ++digits) {
      key = fmt::format("{:0{}}", i, digits);
    }
    auto layer = layers->object(key);
    const bool is_full = types->items[i].text == "full_attention";
    const auto dim = layer ? layer->count("head_dim") : std::nullopt;
    if (layer) layer->finish();
    if (is_full != dim.has_value() || (found && dim && *found != *dim)) {
      config.refuse(Code::Unsupported, "per_layer_config",
                    "has layer {}; computed with one head_dim for all layers of full_attention", i);
    }
    if (dim) found = dim;
  }
  layers->finish();
  return found;
}

void read_windows_of_all(FolderConfig& config) {
  read_window_layers(config, [](uint64_t) { return true; });
}

void read_windows_of_qwen(FolderConfig& config) {
  read_window_layers(config, [](uint64_t) { return true; }, {.used = false, .first = 28});
}

void read_decoder_config(FolderConfig& config) {
  config.read_table(kDecoderKeys);
  read_ropes(config);
  // Pairs are half a head apart, as in all folders; GGUF files of some architectures reorder rows.
  config.put("rope.halves", MetadataValue::of(true));
}

}  // namespace tenon
