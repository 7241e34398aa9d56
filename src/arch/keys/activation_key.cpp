#include "arch/keys/activation_key.h"

#include <string>
#include <string_view>

#include "tenon/backend.h"

namespace tenon {
namespace {

struct NamedActivation {
  std::string_view name;
  uint32_t activation;
};

/// A gate's activation and the feed-forward named after it are synonyms.
constexpr NamedActivation kNamedActivations[] = {
    {"gelu", TENON_ACTIVATION_GELU_ERF},
    {"geglu", TENON_ACTIVATION_GELU_ERF},
    {"gelu_new", TENON_ACTIVATION_GELU_TANH},
    {"gelu_fast", TENON_ACTIVATION_GELU_TANH},
    {"gelu_pytorch_tanh", TENON_ACTIVATION_GELU_TANH},
    {"silu", TENON_ACTIVATION_SILU},
    {"swish", TENON_ACTIVATION_SILU},
    {"swiglu", TENON_ACTIVATION_SILU},
    {"relu", TENON_ACTIVATION_RELU},
    {"reglu", TENON_ACTIVATION_RELU},
    {"relu2", TENON_ACTIVATION_RELU_SQUARED},
};

}  // namespace

uint32_t read_activation(const Keys& keys, uint32_t fallback, bool gated) {
  const char* key = keys.contains("hidden_act") ? "hidden_act" : "hidden_activation";
  if (!keys.contains(key)) return fallback;
  const std::string_view name = keys.text_or(key, "");
  std::string known;
  for (const NamedActivation& one : kNamedActivations) {
    if (gated && one.activation == TENON_ACTIVATION_RELU_SQUARED) continue;
    if (one.name == name) return one.activation;
    known.append(known.empty() ? "" : ", ").append(one.name);
  }
  keys.refuse(Code::Unsupported, key, "is \"{}\"; known are {}", name.substr(0, 64), known);
}

}  // namespace tenon
