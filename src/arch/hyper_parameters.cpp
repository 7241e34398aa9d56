// Reading hyper-parameters: every key with its range, then what they say about each other.
#include "arch/hyper_parameters.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

// Far above every published model, and low enough that products of two fit 64 bits and the sizes of
// a program 32.
constexpr uint32_t kMaxLayers = 1024;
constexpr uint32_t kMaxWidth = 1u << 20;
constexpr uint32_t kMaxHeads = 1u << 14;
constexpr uint32_t kMaxHeadDim = 1u << 14;
constexpr uint32_t kMaxVocab = 1u << 24;
constexpr uint32_t kMaxPositions = 0x7fffffff;
constexpr uint32_t kMaxExperts = 4096;

/// The keys of one architecture: reads "<architecture>.<name>" and checks the range.
class Keys {
 public:
  explicit Keys(const Metadata& metadata)
      : metadata_(metadata), prefix_(metadata.get_string("general.architecture")) {}

  [[nodiscard]] const std::string& architecture() const { return prefix_; }
  [[nodiscard]] std::string key(std::string_view name) const {
    return fmt::format("{}.{}", prefix_, name);
  }

  [[nodiscard]] uint32_t count(std::string_view name, uint32_t low, uint32_t high) const {
    return in_range(name, metadata_.get<uint32_t>(key(name)), low, high);
  }
  [[nodiscard]] uint32_t count_or(std::string_view name, uint32_t fallback, uint32_t low,
                                  uint32_t high) const {
    const auto value = metadata_.find<uint32_t>(key(name));
    return value ? in_range(name, *value, low, high) : fallback;
  }
  /// The same for a number that files may give for each layer; all must be equal.
  [[nodiscard]] std::optional<uint32_t> count_of_layers(std::string_view name, uint32_t layers,
                                                        uint32_t low, uint32_t high) const {
    if (!metadata_.contains(key(name))) return std::nullopt;
    const std::vector<uint32_t> values = metadata_.get_u32_each(key(name), layers);
    for (const uint32_t value : values) {
      in_range(name, value, low, high);
      if (value != values.front()) {
        fail(Code::Unsupported, "{}: key \"{}\" differs from layer to layer ({} and {})",
             metadata_.file_name(), key(name), values.front(), value);
      }
    }
    return values.front();
  }
  /// low <= value <= high, which NaN is not.
  [[nodiscard]] double number(std::string_view name, std::optional<double> fallback, double low,
                              double high) const {
    const auto found = metadata_.find<double>(key(name));
    if (!found && fallback) return *fallback;
    const double value = found ? *found : metadata_.get<double>(key(name));
    if (!(value >= low && value <= high)) {
      fail(Code::Format, "{}: key \"{}\" is {}, not in {}..{}", metadata_.file_name(), key(name),
           value, low, high);
    }
    return value;
  }
  [[nodiscard]] std::string_view text_or(std::string_view name, std::string_view fallback) const {
    return metadata_.get_or<std::string_view>(key(name), fallback);
  }
  [[nodiscard]] bool contains(std::string_view name) const { return metadata_.contains(key(name)); }
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const {
    return metadata_.find<bool>(key(name));
  }
  [[nodiscard]] const std::string& file_name() const { return metadata_.file_name(); }

 private:
  uint32_t in_range(std::string_view name, uint32_t value, uint32_t low, uint32_t high) const {
    if (!(value >= low && value <= high)) {
      fail(Code::Format, "{}: key \"{}\" is {}, not in {}..{}", metadata_.file_name(), key(name),
           value, low, high);
    }
    return value;
  }

  const Metadata& metadata_;
  std::string prefix_;
};

/// The vocabulary is as large as the embedding has rows; a key may repeat it.
uint32_t read_vocab(const ModelFile& file, const Keys& keys) {
  const TensorInfo* table = file.find("token_embd.weight");
  if (table == nullptr) {
    fail(Code::Format, "{}: tensor \"token_embd.weight\" is missing", keys.file_name());
  }
  const uint64_t rows = table->num_values() / table->row_values();
  if (!(rows >= 1 && rows <= kMaxVocab)) {
    fail(Code::Format, "{}: tensor \"token_embd.weight\" has {} rows, not 1..{}", keys.file_name(),
         rows, kMaxVocab);
  }
  const auto vocab = static_cast<uint32_t>(rows);
  const uint32_t stated = keys.count_or("vocab_size", vocab, 1, kMaxVocab);
  if (stated != vocab) {
    fail(Code::Format, "{}: key \"{}\" is {}, but tensor \"token_embd.weight\" has {} rows",
         keys.file_name(), keys.key("vocab_size"), stated, vocab);
  }
  return vocab;
}

void read_heads(const Keys& keys, HyperParameters& model) {
  const auto heads = keys.count_of_layers("attention.head_count", model.layers, 1, kMaxHeads);
  model.heads = heads ? *heads : keys.count("attention.head_count", 1, kMaxHeads);
  model.kv_heads = keys.count_of_layers("attention.head_count_kv", model.layers, 1, kMaxHeads)
                       .value_or(model.heads);
  if (model.kv_heads > model.heads || model.heads % model.kv_heads != 0) {
    fail(Code::Format, "{}: key \"{}\" is {}, which does not divide the {} heads of \"{}\"",
         keys.file_name(), keys.key("attention.head_count_kv"), model.kv_heads, model.heads,
         keys.key("attention.head_count"));
  }
  const bool told =
      keys.contains("attention.key_length") && keys.contains("attention.value_length");
  if (!told && model.width % model.heads != 0) {
    fail(Code::Format, "{}: key \"{}\" is {}, which {} heads do not divide, and there is no \"{}\"",
         keys.file_name(), keys.key("embedding_length"), model.width, model.heads,
         keys.key("attention.key_length"));
  }
  const uint32_t even_share = model.width / model.heads;
  model.key_dim = keys.count_or("attention.key_length", even_share, 1, kMaxHeadDim);
  model.value_dim = keys.count_or("attention.value_length", even_share, 1, kMaxHeadDim);
}

RopeScaling read_scaling(const Keys& keys, bool has_factor) {
  constexpr std::pair<std::string_view, RopeScaling> kKnown[] = {
      {"none", RopeScaling::None}, {"linear", RopeScaling::Linear}, {"yarn", RopeScaling::Yarn}};
  // Files older than the type state a factor alone.
  const std::string_view type = keys.text_or("rope.scaling.type", has_factor ? "linear" : "none");
  for (const auto& [name, scaling] : kKnown) {
    if (type == name) return scaling;
  }
  fail(Code::Unsupported, "{}: key \"{}\" is \"{}\"; known are none, linear, yarn",
       keys.file_name(), keys.key("rope.scaling.type"), type.substr(0, 64));
}

void read_rope(const Keys& keys, HyperParameters& model) {
  RopeParameters& rope = model.rope;
  rope.dimensions = keys.count_or("rope.dimension_count", model.key_dim, 2, kMaxHeadDim);
  if (rope.dimensions > model.key_dim || rope.dimensions % 2 != 0) {
    fail(Code::Format,
         "{}: {} dimensions of each head are to be rotated (\"{}\"), not an even number "
         "up to its size {}",
         keys.file_name(), rope.dimensions, keys.key("rope.dimension_count"), model.key_dim);
  }
  rope.theta = keys.number("rope.freq_base", 10000.0, 2.0, 1e15);
  const bool has_factor = keys.contains("rope.scaling.factor");
  const std::string_view factor_key = has_factor ? "rope.scaling.factor" : "rope.scale_linear";
  rope.factor = keys.number(factor_key, 1.0, 0.0, 1e6);
  if (rope.factor == 0.0) rope.factor = 1.0;  // occurs, and means that nothing is scaled
  if (rope.factor < 1e-3) {
    fail(Code::Format, "{}: key \"{}\" is {}, not 0 or in 0.001..1000000", keys.file_name(),
         keys.key(factor_key), rope.factor);
  }
  rope.scaling = read_scaling(keys, has_factor || keys.contains("rope.scale_linear"));
  if (rope.scaling != RopeScaling::Yarn) return;
  rope.original_context = keys.count_or("rope.scaling.original_context_length",
                                        model.trained_context, 1, kMaxPositions);
  rope.attention_factor = keys.number("rope.scaling.attn_factor", 1.0, 1e-6, 1e3);
  rope.beta_fast = keys.number("rope.scaling.yarn_beta_fast", 32.0, 1e-3, 1e6);
  rope.beta_slow = keys.number("rope.scaling.yarn_beta_slow", 1.0, 1e-3, 1e6);
  // Negative stands for "not set".
  const double extrapolation = keys.number("rope.scaling.yarn_ext_factor", -1.0, -1.0, 1.0);
  rope.extrapolation = extrapolation < 0.0 ? 1.0 : extrapolation;
}

/// expert_gating_func: how the weights of experts come from the router's logits.
void read_gating(const Keys& keys, ExpertParameters& experts) {
  constexpr uint32_t kSoftmax = 1, kSoftmaxOfChosen = 3;  // as llama.cpp counts them
  const uint32_t gating = keys.count_or("expert_gating_func", kSoftmax, 0, 0xffffffffu);
  if (gating == kSoftmaxOfChosen) {
    experts.normalised = true;
  } else if (gating > kSoftmax) {
    fail(Code::Unsupported,
         "{}: key \"{}\" is {}; known are 1 (softmax), 3 (softmax of the chosen)", keys.file_name(),
         keys.key("expert_gating_func"), gating);
  }
}

void read_experts(const Keys& keys, HyperParameters& model) {
  ExpertParameters& experts = model.experts;
  experts.count = keys.count_or("expert_count", 0, 0, kMaxExperts);
  if (experts.count == 0) return;
  experts.used = keys.count("expert_used_count", 1, kMaxExperts);
  if (experts.used > experts.count) {
    fail(Code::Format, "{}: key \"{}\" is {}, more than the {} experts of \"{}\"", keys.file_name(),
         keys.key("expert_used_count"), experts.used, experts.count, keys.key("expert_count"));
  }
  experts.feed_forward =
      keys.count_or("expert_feed_forward_length", model.feed_forward, 1, kMaxWidth);
  experts.shared_feed_forward =
      keys.count_or("expert_shared_feed_forward_length", model.feed_forward, 1, kMaxWidth);
  experts.normalised = keys.flag("expert_weights_norm");
  read_gating(keys, experts);
  experts.scale = static_cast<float>(keys.number("expert_weights_scale", 1.0, 0.0, 1e6));
  if (experts.scale == 0.0f) experts.scale = 1.0f;  // occurs, and means that nothing is scaled
}

void refuse_unsupported(const Keys& keys) {
  if (!keys.flag("attention.causal").value_or(true)) {
    fail(Code::Unsupported, "{}: key \"{}\" is false: only causal models are supported",
         keys.file_name(), keys.key("attention.causal"));
  }
}

}  // namespace

HyperParameters read_hyper_parameters(const ModelFile& file) {
  const Keys keys(file.metadata());
  refuse_unsupported(keys);
  HyperParameters model;
  model.architecture = keys.architecture();
  model.layers = keys.count("block_count", 1, kMaxLayers);
  model.width = keys.count("embedding_length", 1, kMaxWidth);
  model.trained_context = keys.count("context_length", 1, kMaxPositions);
  model.vocab = read_vocab(file, keys);
  read_heads(keys, model);
  const auto feed_forward = keys.count_of_layers("feed_forward_length", model.layers, 1, kMaxWidth);
  model.feed_forward =
      feed_forward ? *feed_forward : keys.count("feed_forward_length", 1, kMaxWidth);
  model.epsilon =
      static_cast<float>(keys.number("attention.layer_norm_rms_epsilon", std::nullopt, 1e-12, 1.0));
  model.window = keys.count_or("attention.sliding_window", 0, 0, kMaxPositions);
  read_rope(keys, model);
  read_experts(keys, model);
  return model;
}

}  // namespace tenon
