// Dense Hunyuan, and Hunyuan-VL's text model (general.architecture "hunyuan-dense", "hunyuan_vl").
#include <cmath>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// Tencent 2025: norms on query and key heads after the rotation, whose base grows with
/// rope.scaling.alpha ("NTK-aware"). Hunyuan-VL rotates by four parts of a position, which are
/// equal in a text.
ModelSpec read_hunyuan_dense(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  const double alpha = keys.scale_or("rope.scaling.alpha", 1.0);
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    attention.qk_norm = QkNorm::EachHead;
    attention.rope_before_norm = true;
    if (attention.key_dim > 2) {
      const double size = attention.key_dim;
      attention.rope.theta *= std::pow(alpha, size / (size - 2.0));
    }
  }
  return model;
}

constexpr KeyValue kHunyuanDenseExample[] = {{"rope.scaling.alpha", 1000.0f}};

}  // namespace

extern constexpr Architecture kHunyuanDense{.read = read_hunyuan_dense,
                                            .example = kHunyuanDenseExample};
extern constexpr Architecture kHunyuanVl{.read = read_hunyuan_dense,
                                         .example = kHunyuanDenseExample};

}  // namespace tenon
