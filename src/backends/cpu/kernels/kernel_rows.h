// Row kernels: normalisation, rope, gated activations, element-wise operations. Included by
// kernels_<isa>.cpp after vec.h.
#pragma once

#include <cmath>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/vec.h"
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

/// x times the weights of these lanes, if any.
inline F32x16 weighted(F32x16 x, const float* weight, uint64_t i, uint64_t m) {
  return weight == nullptr ? x : mul(x, load_n(weight + i, m));
}

inline float sum_of_squares(const float* x, uint64_t n) {
  F32x16 squares = broadcast(0.0f);
  each_16(n, [&](uint64_t i, uint64_t m) {
    const F32x16 v = load_n(x + i, m);
    squares = fma(v, v, squares);
  });
  return sum(squares);
}

inline void rms_norm(const float* x, const float* weight, float epsilon, float* y,
                     uint64_t n) noexcept {
  const float mean = sum_of_squares(x, n) / static_cast<float>(n);
  const F32x16 factor = broadcast(1.0f / std::sqrt(mean + epsilon));
  each_16(n, [&](uint64_t i, uint64_t m) {
    store_n(y + i, weighted(mul(load_n(x + i, m), factor), weight, i, m), m);
  });
}

inline void l2_norm(const float* x, float epsilon, float* y, uint64_t n) noexcept {
  const float length = std::sqrt(sum_of_squares(x, n));
  const F32x16 factor = broadcast(1.0f / (length > epsilon ? length : epsilon));
  each_16(n, [&](uint64_t i, uint64_t m) { store_n(y + i, mul(load_n(x + i, m), factor), m); });
}

inline float sum_row(const float* x, uint64_t n) noexcept {
  F32x16 total = broadcast(0.0f);
  each_16(n, [&](uint64_t i, uint64_t m) { total = add(total, load_n(x + i, m)); });
  return sum(total);
}

inline void layer_norm(const float* x, const float* weight, const float* bias, float epsilon,
                       float* y, uint64_t n) noexcept {
  const F32x16 mean = broadcast(sum_row(x, n) / static_cast<float>(n));
  F32x16 squares = broadcast(0.0f);
  each_16(n, [&](uint64_t i, uint64_t m) {
    float lanes[16];
    store(lanes, sub(load_n(x + i, m), mean));
    const F32x16 v = load_part(lanes, m);  // lanes past the end do not count
    squares = fma(v, v, squares);
  });
  const F32x16 factor = broadcast(1.0f / std::sqrt(sum(squares) / static_cast<float>(n) + epsilon));
  each_16(n, [&](uint64_t i, uint64_t m) {
    const F32x16 v = weighted(mul(sub(load_n(x + i, m), mean), factor), weight, i, m);
    store_n(y + i, bias == nullptr ? v : add(v, load_n(bias + i, m)), m);
  });
}

inline void add_rows(const float* x, const float* y, float* out, uint64_t n) noexcept {
  each_16(n, [&](uint64_t i, uint64_t m) {
    store_n(out + i, add(load_n(x + i, m), load_n(y + i, m)), m);
  });
}

inline void mul_rows(const float* x, const float* y, float* out, uint64_t n) noexcept {
  each_16(n, [&](uint64_t i, uint64_t m) {
    store_n(out + i, mul(load_n(x + i, m), load_n(y + i, m)), m);
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
inline F32x16 relu_squared(F32x16 x) {
  const F32x16 v = relu(x);
  return mul(v, v);
}
inline F32x16 sigmoid(F32x16 x) {
  const F32x16 one = broadcast(1.0f);
  return div(one, add(one, exp(mul(x, broadcast(-1.0f)))));
}
/// Exact near zero, unlike 1 - 2 / (e^2x + 1).
inline F32x16 exact_tanh(F32x16 x) {
  float lanes[16];
  store(lanes, x);
  for (float& v : lanes) v = std::tanh(v);
  return load(lanes);
}

/// max(x, 0) + ln(1 + u) with u = e^-|x|. With s = u / (2 + u), at most 1/3, ln(1 + u) is
/// 2 (s + s^3/3 + s^5/5 + ...): the first term left out is below 1e-9.
inline F32x16 softplus(F32x16 x) {
  const F32x16 two = broadcast(2.0f);
  const F32x16 negative = mul(x, broadcast(-1.0f));
  const F32x16 u = exp(min(x, negative));
  const F32x16 s = div(u, add(two, u));
  const F32x16 square = mul(s, s);
  F32x16 p = broadcast(1.0f / 15);
  for (const int k : {13, 11, 9, 7, 5, 3, 1}) {
    p = fma(p, square, broadcast(1.0f / static_cast<float>(k)));
  }
  return fma(mul(two, s), p, relu(x));
}

/// e^x - 1 for x <= 0: above -0.34 the series up to x^7.
inline F32x16 expm1_of_negative(F32x16 x) {
  const F32x16 limit = broadcast(-0.34f);
  const F32x16 large = sub(exp(x), broadcast(1.0f));
  F32x16 p = broadcast(1.0f / 5040);
  for (const float divisor : {720.0f, 120.0f, 24.0f, 6.0f, 2.0f, 1.0f}) {
    p = fma(p, x, broadcast(1.0f / divisor));
  }
  const F32x16 series = zero_where_less(x, limit, mul(p, x));
  // `large` for x below the limit, else zero.
  return add(series, sub(large, zero_where_less(x, limit, large)));
}

inline F32x16 xielu(const tenon_activate_params& p, F32x16 x) {
  const F32x16 zero = broadcast(0.0f);
  const F32x16 above = max(zero, x);
  const F32x16 below = min(zero, x);
  const F32x16 bent = sub(expm1_of_negative(min(below, broadcast(p.epsilon))), below);
  const F32x16 negative = zero_where_less(zero, x, mul(broadcast(p.alpha_n), bent));
  const F32x16 curved = fma(mul(above, above), broadcast(p.alpha_p), negative);
  return fma(x, broadcast(p.beta), curved);
}

inline F32x16 signed_root(float epsilon, F32x16 x) {
  float values[16];
  store(values, x);
  for (float& value : values) {
    if (value == 0.0f) continue;
    const float size = std::fabs(value) < epsilon ? epsilon : std::fabs(value);
    value = std::copysign(std::sqrt(size), value);
  }
  return load(values);
}

template <typename F>
inline void map_row(const float* x, float* out, uint64_t n, F f) {
  each_16(n, [&](uint64_t i, uint64_t m) { store_n(out + i, f(load_n(x + i, m)), m); });
}
template <F32x16 (*kActivation)(F32x16)>
inline void activate_with(const float* x, float* out, uint64_t n) {
  map_row(x, out, n, [](F32x16 v) { return kActivation(v); });
}
inline void activate(const tenon_activate_params& params, const float* x, float* out,
                     uint64_t n) noexcept {
  switch (params.activation) {
    case TENON_ACTIVATION_SILU:
      return activate_with<silu>(x, out, n);
    case TENON_ACTIVATION_GELU_ERF:
      return activate_with<gelu_erf>(x, out, n);
    case TENON_ACTIVATION_GELU_TANH:
      return activate_with<gelu_tanh>(x, out, n);
    case TENON_ACTIVATION_RELU:
      return activate_with<relu>(x, out, n);
    case TENON_ACTIVATION_RELU_SQUARED:
      return activate_with<relu_squared>(x, out, n);
    case TENON_ACTIVATION_XIELU:
      return map_row(x, out, n, [&](F32x16 v) { return xielu(params, v); });
    case TENON_ACTIVATION_SIGNED_ROOT:
      return map_row(x, out, n, [&](F32x16 v) { return signed_root(params.epsilon, v); });
    case TENON_ACTIVATION_SIGMOID:
      return activate_with<sigmoid>(x, out, n);
    case TENON_ACTIVATION_TANH:
      return activate_with<exact_tanh>(x, out, n);
    case TENON_ACTIVATION_SOFTPLUS:
      return activate_with<softplus>(x, out, n);
    default:
      return activate_with<exp>(x, out, n);
  }
}

inline void gate_rows(const float* x, const float* g, float* out, uint64_t n) noexcept {
  each_16(n, [&](uint64_t i, uint64_t m) {
    store_n(out + i, mul(load_n(x + i, m), sigmoid(load_n(g + i, m))), m);
  });
}

template <F32x16 (*kActivation)(F32x16)>
inline void glu_with(const float* gate, const float* up, float* out, uint64_t n) {
  each_16(n, [&](uint64_t i, uint64_t m) {
    store_n(out + i, mul(kActivation(load_n(gate + i, m)), load_n(up + i, m)), m);
  });
}
/// General form with a limit, an offset or an alpha.
template <typename Activation>
inline void glu_general(const tenon_glu_params& p, const float* gate, const float* up, float* out,
                        uint64_t n, Activation activation) {
  const F32x16 limit = broadcast(p.limit > 0 ? p.limit : 3.4e38f);
  const F32x16 lowest = mul(limit, broadcast(-1.0f));
  const F32x16 before = p.limit_after == 0 ? limit : broadcast(3.4e38f);
  const F32x16 after = p.limit_after == 0 ? broadcast(3.4e38f) : limit;
  const F32x16 offset = broadcast(p.up_offset);
  each_16(n, [&](uint64_t i, uint64_t m) {
    const F32x16 clamped = max(lowest, min(limit, load_n(up + i, m)));
    const F32x16 g = min(after, activation(min(before, load_n(gate + i, m))));
    store_n(out + i, mul(g, add(clamped, offset)), m);
  });
}
inline void glu_general(const tenon_glu_params& p, const float* gate, const float* up, float* out,
                        uint64_t n) {
  const F32x16 alpha = broadcast(p.alpha == 0 ? 1.0f : p.alpha);
  switch (p.activation) {
    case TENON_ACTIVATION_SILU:
      return glu_general(p, gate, up, out, n,
                         [&](F32x16 x) { return mul(x, sigmoid(mul(x, alpha))); });
    case TENON_ACTIVATION_GELU_ERF:
      return glu_general(p, gate, up, out, n, [](F32x16 x) { return gelu_erf(x); });
    case TENON_ACTIVATION_GELU_TANH:
      return glu_general(p, gate, up, out, n, [](F32x16 x) { return gelu_tanh(x); });
    default:
      return glu_general(p, gate, up, out, n, [](F32x16 x) { return relu(x); });
  }
}
inline void glu(const tenon_glu_params& p, const float* gate, const float* up, float* out,
                uint64_t n) noexcept {
  const bool plain = (p.alpha == 0 || p.alpha == 1) && p.limit == 0 && p.up_offset == 0;
  if (!plain) return glu_general(p, gate, up, out, n);
  switch (p.activation) {
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
