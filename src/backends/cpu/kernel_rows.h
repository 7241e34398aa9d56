// Row kernels: normalisation, rope, gated activations, element-wise operations. Included by
// kernels_<isa>.cpp after vec.h.
#pragma once

#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/vec.h"
#include "quant/half.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Calls f(i, n) for each 16 lanes of n values; the last call may have fewer.
template <typename F>
inline void each_16(uint64_t n, F f) {
  for (uint64_t i = 0; i < n; i += 16) f(i, n - i < 16 ? n - i : 16);
}
inline F32x16 load_n(const float* p, uint64_t n) { return n == 16 ? load(p) : load_part(p, n); }
inline void store_n(float* p, F32x16 x, uint64_t n) {
  if (n == 16) {
    store(p, x);
  } else {
    store_part(p, x, n);
  }
}

inline void rms_norm(const float* x, const float* weight, float epsilon, float* y,
                     uint64_t n) noexcept {
  F32x16 squares = broadcast(0.0f);
  each_16(n, [&](uint64_t i, uint64_t m) {
    const F32x16 v = load_n(x + i, m);
    squares = fma(v, v, squares);
  });
  const F32x16 factor = broadcast(1.0f / std::sqrt(sum(squares) / static_cast<float>(n) + epsilon));
  each_16(n, [&](uint64_t i, uint64_t m) {
    store_n(y + i, mul(mul(load_n(x + i, m), factor), load_n(weight + i, m)), m);
  });
}

inline void layer_norm(const float* x, const float* weight, const float* bias, float epsilon,
                       float* y, uint64_t n) noexcept {
  F32x16 total = broadcast(0.0f);
  each_16(n, [&](uint64_t i, uint64_t m) { total = add(total, load_n(x + i, m)); });
  const F32x16 mean = broadcast(sum(total) / static_cast<float>(n));
  F32x16 squares = broadcast(0.0f);
  each_16(n, [&](uint64_t i, uint64_t m) {
    float lanes[16];
    store(lanes, sub(load_n(x + i, m), mean));
    const F32x16 v = load_part(lanes, m);  // the lanes past the end are no part of the sum
    squares = fma(v, v, squares);
  });
  const F32x16 factor = broadcast(1.0f / std::sqrt(sum(squares) / static_cast<float>(n) + epsilon));
  each_16(n, [&](uint64_t i, uint64_t m) {
    const F32x16 v = mul(mul(sub(load_n(x + i, m), mean), factor), load_n(weight + i, m));
    store_n(y + i, bias == nullptr ? v : add(v, load_n(bias + i, m)), m);
  });
}

inline void add_rows(const float* x, const float* y, float* out, uint64_t n) noexcept {
  each_16(n, [&](uint64_t i, uint64_t m) {
    store_n(out + i, add(load_n(x + i, m), load_n(y + i, m)), m);
  });
}

inline void scale_row(const float* x, float factor, float* out, uint64_t n) noexcept {
  const F32x16 f = broadcast(factor);
  each_16(n, [&](uint64_t i, uint64_t m) { store_n(out + i, mul(load_n(x + i, m), f), m); });
}

/// 1 - 2 / (e^2x + 1)
inline F32x16 tanh(F32x16 x) {
  const F32x16 one = broadcast(1.0f);
  const F32x16 two = broadcast(2.0f);
  return sub(one, div(two, add(exp(mul(two, x)), one)));
}

inline void soft_cap_row(const float* x, float cap, float* out, uint64_t n) noexcept {
  const F32x16 c = broadcast(cap);
  each_16(n, [&](uint64_t i, uint64_t m) {
    store_n(out + i, mul(c, tanh(div(load_n(x + i, m), c))), m);
  });
}

inline F32x16 silu(F32x16 x) { return div(x, add(broadcast(1.0f), exp(mul(x, broadcast(-1.0f))))); }
inline F32x16 gelu_tanh(F32x16 x) {
  const F32x16 cube = mul(mul(x, x), x);
  const F32x16 inner = mul(broadcast(0.7978845608028654f), fma(broadcast(0.044715f), cube, x));
  return mul(mul(broadcast(0.5f), x), add(broadcast(1.0f), tanh(inner)));
}
inline F32x16 gelu_erf(F32x16 x) {
  float lanes[16];
  store(lanes, x);
  for (float& v : lanes) v = 0.5f * v * (1.0f + std::erf(v * 0.70710678118654752f));
  return load(lanes);
}
inline F32x16 relu(F32x16 x) { return max(broadcast(0.0f), x); }

template <F32x16 (*kActivation)(F32x16)>
inline void glu_with(const float* gate, const float* up, float* out, uint64_t n) {
  each_16(n, [&](uint64_t i, uint64_t m) {
    store_n(out + i, mul(kActivation(load_n(gate + i, m)), load_n(up + i, m)), m);
  });
}
inline void glu(uint32_t activation, const float* gate, const float* up, float* out,
                uint64_t n) noexcept {
  switch (activation) {
    case TENON_ACTIVATION_SILU:
      return glu_with<silu>(gate, up, out, n);
    case TENON_ACTIVATION_GELU_ERF:
      return glu_with<gelu_erf>(gate, up, out, n);
    case TENON_ACTIVATION_GELU_TANH:
      return glu_with<gelu_tanh>(gate, up, out, n);
    default:
      return glu_with<relu>(gate, up, out, n);
  }
}

inline void rope(uint32_t style, const float* x, const float* angles, uint32_t pairs, float* y,
                 uint32_t head_dim) noexcept {
  const float* cosines = angles;
  const float* sines = angles + pairs;
  const uint32_t step = style == TENON_ROPE_ADJACENT ? 2 : 1;
  const uint32_t second = style == TENON_ROPE_ADJACENT ? 1 : pairs;
  for (uint32_t i = 0; i < pairs; ++i) {
    const float a = x[step * i];
    const float b = x[step * i + second];
    y[step * i] = a * cosines[i] - b * sines[i];
    y[step * i + second] = a * sines[i] + b * cosines[i];
  }
  for (uint32_t i = 2 * pairs; i < head_dim; ++i) y[i] = x[i];
}

}  // namespace tenon::cpu::TENON_CPU_ISA
