#include "arch/adapter/peft_config.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "arch/folder/folder_config.h"
#include "base/utf8.h"
#include "base/words.h"
#include "text/regex/pattern.h"
#include "text/regex/pattern_search.h"

namespace tenon {
namespace {

/// Keys without effect on the result of an adapter that was saved.
constexpr std::string_view kHarmlessPeftKeys =
    " auto_mapping base_model_name_or_path revision inference_mode lora_dropout exclude_modules "
    "layers_to_transform layers_pattern megatron_config megatron_core peft_version task_type "
    "qalora_group_size fan_in_fan_out runtime_config ";

/// Keys that are passed if they ask for nothing.
constexpr std::string_view kRefusedPeftKeys =
    " layer_replication use_qalora arrow_config corda_config eva_config lora_ga_config "
    "velora_config kasa_config monteclora_config use_bdlora loftq_config ";

constexpr uint64_t kMaxPeftRank = 65536;
constexpr size_t kMaxPeftWords = 65536;
constexpr size_t kMaxPeftPatterns = 256;  // beside plain names; each is tried for each module

bool asks_for_nothing(const JsonNode& value) {
  switch (value.kind) {
    case JsonNode::Kind::Null:
      return true;
    case JsonNode::Kind::Bool:
      return !value.flag;
    case JsonNode::Kind::Array:
    case JsonNode::Kind::Object:
      return value.items.empty();
    default:
      return false;
  }
}

/// PEFT's suffix match of a module's path.
bool ends_with_module(std::string_view path, std::string_view name) {
  if (!path.ends_with(name) || name.empty()) return false;
  return path.size() == name.size() || path[path.size() - name.size() - 1] == '.';
}

/// Whether a pattern is a module's name, in which only dots are special: they match any character.
bool is_plain_name(std::string_view pattern) {
  return !pattern.empty() && std::ranges::all_of(pattern, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.';
  });
}

/// Match of a plain name with the path, or with its end after a dot.
bool matches_plain(std::string_view path, std::string_view name) {
  if (path.size() < name.size()) return false;
  const size_t begin = path.size() - name.size();
  if (begin > 0 && path[begin - 1] != '.') return false;
  return std::ranges::equal(path.substr(begin), name,
                            [](char of_path, char c) { return of_path == c || c == '.'; });
}

}  // namespace

template <typename... Args>
void PeftConfig::refuse(Code code, std::string_view key, fmt::format_string<Args...> why,
                        Args&&... args) const {
  fail(code, "{}: key {} {}", place_, quoted(key), fmt::format(why, std::forward<Args>(args)...));
}

PeftConfig::PeftConfig(const JsonNode& root, std::string place) : place_(std::move(place)) {
  if (!root.is(JsonNode::Kind::Object)) fail(Code::Format, "{}: is no JSON object", place_);
  const JsonNode* type = root.find("peft_type");
  if (type == nullptr) {
    const bool is_mlx = root.find("lora_parameters") != nullptr;
    fail(Code::Unsupported, "{}: {}", place_,
         is_mlx ? "is an adapter of MLX, which is not read: save it with PEFT"
                : "has no key \"peft_type\"");
  }
  if (type->text != "LORA") {
    refuse(Code::Unsupported, "peft_type", "is {}; computed is \"LORA\"", json_text(*type));
  }
  for (size_t i = 0; i < root.items.size(); ++i) read_key(root.keys[i], root.items[i]);
  if (root.find("r") == nullptr) refuse(Code::Format, "r", "is missing");
  if (root.find("lora_alpha") == nullptr) refuse(Code::Format, "lora_alpha", "is missing");
}

void PeftConfig::read_key(std::string_view key, const JsonNode& value) {
  if (key == "peft_type" || has_word(kHarmlessPeftKeys, key, ' ')) return;
  if (key == "r") {
    rank_ = number(key, value);
    if (rank_ < 1 || rank_ > kMaxPeftRank) {
      refuse(Code::Format, key, "is {}, not in 1..{}", rank_, kMaxPeftRank);
    }
  } else if (key == "lora_alpha") {
    alpha_ = number(key, value);
  } else if (key == "use_rslora") {
    rs_ = flag(key, value);
  } else if (key == "use_dora") {
    dora_ = flag(key, value);
  } else if (key == "lora_bias") {
    lora_bias_ = flag(key, value);
  } else if (key == "ensure_weight_tying") {
    ties_ = flag(key, value);
  } else if (key == "rank_pattern") {
    ranks_ = pattern(key, value);
  } else if (key == "alpha_pattern") {
    alphas_ = pattern(key, value);
  } else if (key == "modules_to_save") {
    saved_ = words(key, value);
  } else if (key == "target_modules") {
    // A text is a pattern; the tensors show what it matched.
    if (!value.is(JsonNode::Kind::String)) targets_ = words(key, value);
  } else if (key == "target_parameters") {
    parameters_ = words(key, value);
  } else if (key == "trainable_token_indices") {
    read_tokens(value);
  } else if (key == "alora_invocation_tokens") {
    for (const uint64_t id : ids(key, value)) invocation_.push_back(static_cast<int32_t>(id));
  } else if (key == "bias") {
    if (value.text != "none" && value.text != "all" && value.text != "lora_only") {
      refuse(Code::Unsupported, key, "is {}; computed are none, all and lora_only",
             json_text(value));
    }
    saves_biases_ = value.text != "none";
  } else if (key == "init_lora_weights") {
    read_initialisation(value);
  } else if (!asks_for_nothing(value)) {
    const bool is_known = has_word(kRefusedPeftKeys, key, ' ') || key == "invocation_string";
    refuse(Code::Unsupported, key, "is {}, {}", json_text(value),
           is_known ? "which is not computed" : "and is not known here");
  }
}

/// Some ways change the base model, too.
void PeftConfig::read_initialisation(const JsonNode& value) const {
  const bool is_plain = value.is(JsonNode::Kind::Bool) || value.is(JsonNode::Kind::Null) ||
                        value.text == "gaussian" || value.text == "orthogonal";
  if (is_plain) return;
  refuse(Code::Unsupported, "init_lora_weights",
         "is {}: training began from another base model; save the adapter converted to plain LoRA "
         "(PEFT: path_initial_model_for_weight_conversion)",
         json_text(value));
}

void PeftConfig::read_tokens(const JsonNode& value) {
  constexpr std::string_view kKey = "trainable_token_indices";
  if (!value.is(JsonNode::Kind::Object)) {
    if (auto tokens = ids(kKey, value); !tokens.empty()) {
      tokens_.emplace_back("", std::move(tokens));
    }
    return;
  }
  for (size_t i = 0; i < value.items.size(); ++i) {
    tokens_.emplace_back(value.keys[i], ids(kKey, value.items[i]));
  }
}

bool PeftConfig::flag(std::string_view key, const JsonNode& value) const {
  if (value.is(JsonNode::Kind::Null)) return false;
  if (!value.is(JsonNode::Kind::Bool)) {
    refuse(Code::Format, key, "is {}, not true or false", json_text(value));
  }
  return value.flag;
}

double PeftConfig::number(std::string_view key, const JsonNode& value) const {
  if (!value.is(JsonNode::Kind::Number) || !std::isfinite(value.number)) {
    refuse(Code::Format, key, "is {}, not a number", json_text(value));
  }
  return value.number;
}

std::vector<std::string> PeftConfig::words(std::string_view key, const JsonNode& value) const {
  std::vector<std::string> words;
  if (value.is(JsonNode::Kind::Null)) return words;
  if (value.is(JsonNode::Kind::String)) return {value.text};
  if (!value.is(JsonNode::Kind::Array)) {
    refuse(Code::Format, key, "is {}, not a list of texts", json_text(value));
  }
  if (value.items.size() > kMaxPeftWords) {
    refuse(Code::Limit, key, "has more than {} entries", kMaxPeftWords);
  }
  for (const JsonNode& one : value.items) {
    if (!one.is(JsonNode::Kind::String) || one.text.empty()) {
      refuse(Code::Format, key, "has {}, not a text", json_text(one));
    }
    words.push_back(one.text);
  }
  return words;
}

std::vector<uint64_t> PeftConfig::ids(std::string_view key, const JsonNode& value) const {
  std::vector<uint64_t> ids;
  if (value.is(JsonNode::Kind::Null)) return ids;
  if (!value.is(JsonNode::Kind::Array)) {
    refuse(Code::Format, key, "is {}, not a list of tokens", json_text(value));
  }
  for (const JsonNode& one : value.items) {
    if (!one.is_count || one.count > std::numeric_limits<int32_t>::max()) {
      refuse(Code::Format, key, "has {}, not a token", json_text(one));
    }
    ids.push_back(one.count);
  }
  return ids;
}

PeftConfig::Numbers PeftConfig::pattern(std::string_view key, const JsonNode& value) const {
  Numbers numbers;
  if (value.is(JsonNode::Kind::Null)) return numbers;
  if (!value.is(JsonNode::Kind::Object)) {
    refuse(Code::Format, key, "is {}, not an object", json_text(value));
  }
  if (value.items.size() > kMaxPeftWords) {
    refuse(Code::Limit, key, "has more than {} entries", kMaxPeftWords);
  }
  size_t num_patterns = 0;
  for (size_t i = 0; i < value.items.size(); ++i) {
    const std::string& name = value.keys[i];
    numbers.push_back({name, number(key, value.items[i]), std::nullopt});
    if (is_plain_name(name)) continue;
    if (++num_patterns > kMaxPeftPatterns) {
      refuse(Code::Limit, key, "has more than {} patterns", kMaxPeftPatterns);
    }
    try {
      numbers.back().pattern.emplace("\\A(?:.*\\.)?(?:" + name + ")\\z");
    } catch (const Error& error) {
      refuse(error.code(), key, "has the pattern {}: {}", quoted(name), error.what());
    }
  }
  return numbers;
}

/// The first entry counts.
double PeftConfig::by_pattern(const Numbers& numbers, std::string_view module, double otherwise) {
  for (const ModuleNumber& one : numbers) {
    if (!one.pattern) {
      if (matches_plain(module, one.name)) return one.number;
      continue;
    }
    PatternSearch search(*one.pattern);
    search.begin(module);
    PatternMatch match;
    if (search.next(match)) return one.number;
  }
  return otherwise;
}

float PeftConfig::scale_of(std::string_view module, uint64_t rank) const {
  const double told = by_pattern(ranks_, module, rank_);
  if (static_cast<double>(rank) != told) {
    fail(Code::Format, "{}: says rank {} for {}, but its tensors have {}", place_, told,
         quoted(module), rank);
  }
  const double alpha = by_pattern(alphas_, module, alpha_);
  const auto size = static_cast<double>(rank);
  return static_cast<float>(alpha / (rs_ ? std::sqrt(size) : size));
}

bool PeftConfig::saves(std::string_view module) const {
  return std::ranges::any_of(saved_, [&](std::string_view one) {
    if (ends_with_module(module, one)) return true;
    // "norm" matches modules whose last word ends with it.
    return module.ends_with(one) || module.find(fmt::format("{}.", one)) != module.npos;
  });
}

std::vector<std::string> PeftConfig::parameters_of(std::string_view module) const {
  std::vector<std::string> found;
  for (const std::string& one : parameters_) {
    const size_t dot = one.rfind('.');
    if (dot == one.npos || !ends_with_module(module, std::string_view(one).substr(0, dot))) {
      continue;
    }
    const std::string parameter = one.substr(dot + 1);
    if (std::ranges::find(found, parameter) == found.end()) found.push_back(parameter);
  }
  std::ranges::sort(found, std::greater{});  // gate_up_proj is the inner one
  return found;
}

const std::vector<uint64_t>& PeftConfig::tokens_of(std::string_view module) const {
  for (const auto& [name, tokens] : tokens_) {
    if (name.empty() || ends_with_module(module, name)) return tokens;
  }
  fail(Code::Format, "{}: key \"trainable_token_indices\" has no tokens of {}", place_,
       quoted(module));
}

void PeftConfig::expect_targets(const std::vector<std::string>& modules) const {
  for (const std::string& target : targets_) {
    const bool is_there = std::ranges::any_of(
        modules, [&](std::string_view module) { return ends_with_module(module, target); });
    if (!is_there) {
      refuse(Code::Format, "target_modules", "has {}, of which there is no tensor", quoted(target));
    }
  }
}

}  // namespace tenon
