// Recurrences over the tokens of a sequence: causal convolution, selective scan, delta rule, wkv7,
// wkv6. Included by kernels_<isa>.cpp after vec.h.
//
// A call runs all tokens of a sequence in a step through one tile of the state, which stays in the
// first-level cache: decode reads and writes each state once, and a long prompt does not reread it
// per token. The arithmetic per token is the same, so no bit depends on how a prompt was cut. Sums
// go along the rows of a tile, one lane each. Rows alternate between kStateChains sums, because a
// single sum would wait for its last addition.
#pragma once

#include <type_traits>

#include "backends/cpu/kernels/kernel_rows.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr int kStateChains = 2;

/// Calls body(row, chain) for all rows; row i belongs to chain i mod kStateChains.
template <typename Body>
inline void each_state_row(uint64_t rows, Body body) {
  static_assert(kStateChains == 2);
  uint64_t i = 0;
  for (; i + 2 <= rows; i += 2) {
    body(i, std::integral_constant<int, 0>{});
    body(i + 1, std::integral_constant<int, 1>{});
  }
  if (i < rows) body(i, std::integral_constant<int, 0>{});
}

/// kVectors vectors of lanes; the last has fewer than 16 lanes if kPartial.
template <int kCount, bool kPartial>
struct StateLanes {
  static constexpr int kVectors = kCount;
  uint64_t last;  // lanes of the last vector
  explicit StateLanes(uint32_t width) : last(width - 16 * (kVectors - 1)) {}
  [[nodiscard]] F32x16 load(const float* p, int v) const {
    if (kPartial && v == kVectors - 1) return load_part(p + 16 * v, last);
    return TENON_CPU_ISA::load(p + 16 * v);
  }
  void store(float* p, int v, F32x16 x) const {
    if (kPartial && v == kVectors - 1) return store_part(p + 16 * v, x, last);
    TENON_CPU_ISA::store(p + 16 * v, x);
  }
};

/// Sums of a tile, per chain and vector.
template <int kVectors>
struct StateSums {
  F32x16 s[kStateChains][kVectors];
  StateSums() {
    for (auto& chain : s) {
      for (F32x16& sum : chain) sum = broadcast(0.0f);
    }
  }
  [[nodiscard]] F32x16 total(int v) const { return TENON_CPU_ISA::add(s[0][v], s[1][v]); }
};

/// Calls run(StateLanes) with the type for the width of a tile.
template <typename Run>
inline void with_state_lanes(uint32_t width, Run run) {
  static_assert(kStateLanes == 32);
  if (width == 32) {
    run(StateLanes<2, false>(width));
  } else if (width > 16) {
    run(StateLanes<2, true>(width));
  } else if (width == 16) {
    run(StateLanes<1, false>(width));
  } else {
    run(StateLanes<1, true>(width));
  }
}

inline void conv(const ConvArgs& args) noexcept {
  const uint64_t kept = args.taps - 1;
  // Row t of the kept rows followed by the tokens.
  const auto row = [&](uint64_t t) {
    return t < kept ? args.state + t * args.stride : args.x + (t - kept) * args.stride;
  };
  for (uint64_t t = 0; t < args.num_tokens; ++t) {
    float* out = args.out + t * args.stride;
    each_16(args.columns, [&](uint64_t c, uint64_t n) {
      F32x16 y = args.bias == nullptr ? broadcast(0.0f) : load_n(args.bias + c, n);
      for (uint64_t i = 0; i < args.taps; ++i) {
        y = fma(load_n(args.weight + i * args.stride + c, n), load_n(row(t + i) + c, n), y);
      }
      store_n(out + c, y, n);
    });
  }
  // Moves rows in place: each destination was read before.
  for (uint64_t i = 0; i < kept; ++i) {
    std::memcpy(args.state + i * args.stride, row(args.num_tokens + i),
                args.columns * sizeof(float));
  }
}

/// State before token t of a scan.
inline const float* state_before(const StateScan& scan, uint64_t t) {
  return t == 0 ? scan.before : scan.state;
}

/// kOneDecay: all rows of a lane share a decay.
template <bool kOneDecay, typename Lanes>
inline void ssm_scan_tile(const SsmScanArgs& args, const Lanes& lanes) {
  constexpr int kVectors = Lanes::kVectors;
  const StateScan& scan = args.scan;
  const auto of_lanes = [&](const float* p, int v) {
    return args.channels ? lanes.load(p, v) : broadcast(*p);
  };
  for (uint64_t t = 0; t < scan.num_tokens; ++t) {
    const float* const before = state_before(scan, t);
    const float* x = args.x + t * scan.out_stride;
    const float* b = args.b + t * args.b_stride;
    const float* c = args.c + t * args.b_stride;
    F32x16 dt[kVectors], added[kVectors], kept[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      dt[v] = of_lanes(args.dt + t * args.dt_stride, v);
      added[v] = mul(dt[v], lanes.load(x, v));
      if constexpr (kOneDecay) kept[v] = exp(mul(dt[v], of_lanes(args.a, v)));
    }
    StateSums<kVectors> y;
    each_state_row(scan.rows, [&](uint64_t i, auto chain) {
      float* row = scan.state + i * scan.width;
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (!kOneDecay) {
          kept[v] = exp(mul(dt[v], of_lanes(args.a + i * args.a_stride, v)));
        }
        const F32x16 s =
            fma(broadcast(b[i]), added[v], mul(kept[v], lanes.load(before + i * scan.width, v)));
        lanes.store(row, v, s);
        y.s[chain][v] = fma(s, broadcast(c[i]), y.s[chain][v]);
      }
    });
    for (int v = 0; v < kVectors; ++v) {
      F32x16 result = y.total(v);
      if (args.skip != nullptr) result = fma(of_lanes(args.skip, v), lanes.load(x, v), result);
      lanes.store(scan.out + t * scan.out_stride, v, result);
    }
  }
}

inline void ssm_scan(const SsmScanArgs& args) noexcept {
  with_state_lanes(args.scan.width, [&](const auto& lanes) {
    if (args.one_decay) {
      ssm_scan_tile<true>(args, lanes);
    } else {
      ssm_scan_tile<false>(args, lanes);
    }
  });
}

template <bool kPerRow, typename Lanes>
inline void delta_rule_tile(const DeltaRuleArgs& args, const Lanes& lanes) {
  constexpr int kVectors = Lanes::kVectors;
  const StateScan& scan = args.scan;
  float* const kept_rows = args.scratch;              // [rows] e^decay
  float* const kept_keys = args.scratch + scan.rows;  // [rows] e^decay times k
  for (uint64_t t = 0; t < scan.num_tokens; ++t) {
    const float* const before = state_before(scan, t);
    const float* q = args.q + t * args.key_stride;
    const float* k = args.k + t * args.key_stride;
    const float* decay = args.decay + t * args.decay_stride;
    F32x16 kept = broadcast(1.0f);
    if constexpr (kPerRow) {
      each_16(scan.rows, [&](uint64_t i, uint64_t n) {
        const F32x16 e = exp(load_n(decay + i, n));
        store_n(kept_rows + i, e, n);
        store_n(kept_keys + i, mul(e, load_n(k + i, n)), n);
      });
    } else {
      kept = exp(broadcast(*decay));
    }
    StateSums<kVectors> read;
    each_state_row(scan.rows, [&](uint64_t i, auto chain) {
      const F32x16 key = broadcast(kPerRow ? kept_keys[i] : k[i]);
      for (int v = 0; v < kVectors; ++v) {
        const F32x16 s = lanes.load(before + i * scan.width, v);
        read.s[chain][v] = fma(s, key, read.s[chain][v]);
      }
    });
    const F32x16 beta = broadcast(args.beta[t * args.beta_stride]);
    F32x16 change[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const F32x16 was = kPerRow ? read.total(v) : mul(kept, read.total(v));
      change[v] = mul(beta, sub(lanes.load(args.v + t * scan.out_stride, v), was));
    }
    StateSums<kVectors> y;
    each_state_row(scan.rows, [&](uint64_t i, auto chain) {
      float* row = scan.state + i * scan.width;
      const F32x16 key = broadcast(k[i]);
      const F32x16 query = broadcast(q[i]);
      if constexpr (kPerRow) kept = broadcast(kept_rows[i]);
      for (int v = 0; v < kVectors; ++v) {
        const F32x16 s = fma(key, change[v], mul(kept, lanes.load(before + i * scan.width, v)));
        lanes.store(row, v, s);
        y.s[chain][v] = fma(s, query, y.s[chain][v]);
      }
    });
    for (int v = 0; v < kVectors; ++v) {
      lanes.store(scan.out + t * scan.out_stride, v, mul(broadcast(args.scale), y.total(v)));
    }
  }
}

inline void delta_rule(const DeltaRuleArgs& args) noexcept {
  with_state_lanes(args.scan.width, [&](const auto& lanes) {
    if (args.decay_per_row) {
      delta_rule_tile<true>(args, lanes);
    } else {
      delta_rule_tile<false>(args, lanes);
    }
  });
}

template <typename Lanes>
inline void wkv7_tile(const Wkv7Args& args, const Lanes& lanes) {
  constexpr int kVectors = Lanes::kVectors;
  const StateScan& scan = args.scan;
  for (uint64_t t = 0; t < scan.num_tokens; ++t) {
    const float* const before = state_before(scan, t);
    const uint64_t at = t * scan.out_stride;
    StateSums<kVectors> read;
    each_state_row(scan.rows, [&](uint64_t i, auto chain) {
      const F32x16 a = broadcast(args.a[at + i]);
      for (int v = 0; v < kVectors; ++v) {
        const F32x16 s = lanes.load(before + i * scan.width, v);
        read.s[chain][v] = fma(s, a, read.s[chain][v]);
      }
    });
    F32x16 was[kVectors], value[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      was[v] = read.total(v);
      value[v] = lanes.load(args.v + at, v);
    }
    StateSums<kVectors> y;
    each_state_row(scan.rows, [&](uint64_t i, auto chain) {
      float* row = scan.state + i * scan.width;
      const F32x16 w = broadcast(args.w[at + i]);
      const F32x16 b = broadcast(args.b[at + i]);
      const F32x16 k = broadcast(args.k[at + i]);
      const F32x16 r = broadcast(args.r[at + i]);
      for (int v = 0; v < kVectors; ++v) {
        const F32x16 s =
            fma(value[v], k, fma(was[v], b, mul(lanes.load(before + i * scan.width, v), w)));
        lanes.store(row, v, s);
        y.s[chain][v] = fma(s, r, y.s[chain][v]);
      }
    });
    for (int v = 0; v < kVectors; ++v) lanes.store(scan.out + at, v, y.total(v));
  }
}

inline void wkv7(const Wkv7Args& args) noexcept {
  with_state_lanes(args.scan.width, [&](const auto& lanes) { wkv7_tile(args, lanes); });
}

/// kBonus: the token reads the state before it plus itself, weighted by u.
template <bool kBonus, typename Lanes>
inline void wkv6_tile(const Wkv6Args& args, const Lanes& lanes) {
  constexpr int kVectors = Lanes::kVectors;
  const StateScan& scan = args.scan;
  for (uint64_t t = 0; t < scan.num_tokens; ++t) {
    const float* const before = state_before(scan, t);
    const uint64_t at = t * scan.out_stride;
    F32x16 value[kVectors];
    for (int v = 0; v < kVectors; ++v) value[v] = lanes.load(args.v + at, v);
    StateSums<kVectors> y;
    each_state_row(scan.rows, [&](uint64_t i, auto chain) {
      float* row = scan.state + i * scan.width;
      const F32x16 w = broadcast(args.w[at + i]);
      const F32x16 k = broadcast(args.k[at + i]);
      const F32x16 r = broadcast(args.r[at + i]);
      for (int v = 0; v < kVectors; ++v) {
        const F32x16 added = mul(k, value[v]);
        const F32x16 kept = lanes.load(before + i * scan.width, v);
        const F32x16 next = fma(kept, w, added);
        lanes.store(row, v, next);
        F32x16 read = next;
        if constexpr (kBonus) read = fma(broadcast(args.u[i]), added, kept);
        y.s[chain][v] = fma(read, r, y.s[chain][v]);
      }
    });
    for (int v = 0; v < kVectors; ++v) lanes.store(scan.out + at, v, y.total(v));
  }
}

inline void wkv6(const Wkv6Args& args) noexcept {
  with_state_lanes(args.scan.width, [&](const auto& lanes) {
    if (args.u != nullptr) {
      wkv6_tile<true>(args, lanes);
    } else {
      wkv6_tile<false>(args, lanes);
    }
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
