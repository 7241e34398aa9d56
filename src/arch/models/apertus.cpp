// Apertus (general.architecture "apertus").
#include <cmath>

#include "arch/architecture.h"

namespace tenon {
namespace {

double softplus_of(double x) { return std::log1p(std::exp(x)); }

/// Swiss AI 2025, arXiv 2509.14233: norms on query and key heads, a feed-forward with xIELU and no
/// gate. Files store its parameters as trained.
ModelSpec read_apertus(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  const auto layers = static_cast<uint32_t>(model.layers.size());
  // Missing parameters have their initial values of training.
  const auto numbers = [&](std::string_view name, double first) {
    return keys.numbers_or(name, first, layers, -100.0, 100.0);
  };
  const double first_alpha = std::log(std::expm1(0.8));
  const std::vector<double> alpha_p = numbers("xielu.alpha_p", first_alpha);
  const std::vector<double> alpha_n = numbers("xielu.alpha_n", first_alpha);
  const std::vector<double> beta = numbers("xielu.beta", 0.5);
  const std::vector<double> epsilon = numbers("xielu.eps", -1e-6);
  for (uint32_t i = 0; i < layers; ++i) {
    LayerSpec& layer = model.layers[i];
    layer.attention.qk_norm = QkNorm::EachHead;
    layer.feed_forward.kind = FeedForwardKind::Plain;
    layer.feed_forward.activation = TENON_ACTIVATION_XIELU;
    layer.feed_forward.xielu = {.alpha_p = static_cast<float>(softplus_of(alpha_p[i])),
                                .alpha_n = static_cast<float>(beta[i] + softplus_of(alpha_n[i])),
                                .beta = static_cast<float>(beta[i]),
                                .epsilon = static_cast<float>(epsilon[i])};
  }
  return model;
}

}  // namespace

extern constexpr Architecture kApertus{.read = read_apertus};

}  // namespace tenon
