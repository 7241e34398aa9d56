// adapter_config.json of a PEFT folder. Every key is used, harmless or refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "json/json_tree.h"
#include "text/regex/pattern.h"

namespace tenon {

class PeftConfig {
 public:
  /// place: of the file, for messages. Throws Format for a value of another type or range,
  /// Unsupported for a key, or a value, that changes the result and is not computed.
  PeftConfig(const JsonNode& root, std::string place);

  /// Factor of a module's change: alpha / rank, or alpha / sqrt(rank).
  ///   module  path in the base model: "model.layers.0.self_attn.q_proj"
  /// Throws Format if the rank is not the one that the file says.
  [[nodiscard]] float scale_of(std::string_view module, uint64_t rank) const;
  [[nodiscard]] bool is_dora() const { return dora_; }
  [[nodiscard]] bool has_lora_bias() const { return lora_bias_; }
  /// Whether biases of the base model were trained, too.
  [[nodiscard]] bool saves_biases() const { return saves_biases_; }
  [[nodiscard]] bool ties_weights() const { return ties_; }
  /// Whether the module, or a part of it, is saved whole.
  [[nodiscard]] bool saves(std::string_view module) const;
  /// Last words of the parameters of a stack of experts, the inner one first.
  [[nodiscard]] std::vector<std::string> parameters_of(std::string_view module) const;
  /// Tokens whose rows a module replaces.
  [[nodiscard]] const std::vector<uint64_t>& tokens_of(std::string_view module) const;
  [[nodiscard]] const std::vector<int32_t>& invocation() const { return invocation_; }
  /// Throws Format for a target that none of the modules [sorted] belongs to.
  void expect_targets(const std::vector<std::string>& modules) const;
  [[nodiscard]] const std::string& place() const { return place_; }

 private:
  /// A number for the modules whose path, or its end after a dot, matches.
  struct ModuleNumber {
    std::string name;
    double number;
    std::optional<Pattern> pattern;  ///< none if dots are all that is special in the name
  };
  using Numbers = std::vector<ModuleNumber>;

  template <typename... Args>
  [[noreturn]] void refuse(Code code, std::string_view key, fmt::format_string<Args...> why,
                           Args&&... args) const;
  void read_key(std::string_view key, const JsonNode& value);
  void read_tokens(const JsonNode& value);
  void read_initialisation(const JsonNode& value) const;
  [[nodiscard]] bool flag(std::string_view key, const JsonNode& value) const;
  [[nodiscard]] double number(std::string_view key, const JsonNode& value) const;
  [[nodiscard]] std::vector<std::string> words(std::string_view key, const JsonNode& value) const;
  [[nodiscard]] std::vector<uint64_t> ids(std::string_view key, const JsonNode& value) const;
  [[nodiscard]] Numbers pattern(std::string_view key, const JsonNode& value) const;
  [[nodiscard]] static double by_pattern(const Numbers& numbers, std::string_view module,
                                         double otherwise);

  std::string place_;
  double rank_ = 8;
  double alpha_ = 8;
  Numbers ranks_;
  Numbers alphas_;
  bool rs_ = false;
  bool dora_ = false;
  bool lora_bias_ = false;
  bool saves_biases_ = false;
  bool ties_ = false;
  std::vector<std::string> saved_;
  std::vector<std::string> targets_;
  std::vector<std::string> parameters_;
  /// By the end of the module's name.
  std::vector<std::pair<std::string, std::vector<uint64_t>>> tokens_;
  std::vector<int32_t> invocation_;
};

}  // namespace tenon
