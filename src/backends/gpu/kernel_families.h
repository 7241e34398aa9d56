// Sets of optional kernels, by family: others compute the same results.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "quant/formats.h"

namespace tenon::gpu {

/// Families; each has a row in the table of self_test.h.
enum class Family : uint32_t {
  UnitsF16,  ///< products with weights in units (weight_units.h), by layout; also for bf16
  UnitsQ8_0,
  UnitsQ4_K,
  UnitsQ6_K,
  WarpgroupsF16,  ///< for many rows of x: warps multiply in groups of four
  WarpgroupsQ8_0,
  WarpgroupsQ4_K,
  WarpgroupsQ6_K,
  SharedAttention,  ///< attention whose positions are shared by several groups
};

class Families {
 public:
  constexpr Families() = default;
  constexpr Families(std::initializer_list<Family> families) {
    for (const Family family : families) bits_ |= bit(family);
  }
  [[nodiscard]] constexpr bool has(Family family) const { return (bits_ & bit(family)) != 0; }
  [[nodiscard]] constexpr Families with(Family family) const {
    return Families(bits_ | bit(family));
  }
  [[nodiscard]] constexpr Families without(Families other) const {
    return Families(bits_ & ~other.bits_);
  }
  bool operator==(const Families&) const = default;

 private:
  constexpr explicit Families(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(Family family) { return 1u << static_cast<uint32_t>(family); }
  uint32_t bits_ = 0;
};

/// Family that multiplies weights of a format in units; empty if the format has none.
constexpr std::optional<Family> units_family(Format format) noexcept {
  switch (format) {
    case Format::F16:
    case Format::BF16:
      return Family::UnitsF16;
    case Format::Q8_0:
      return Family::UnitsQ8_0;
    case Format::Q4_K:
      return Family::UnitsQ4_K;
    case Format::Q6_K:
      return Family::UnitsQ6_K;
    default:
      return std::nullopt;
  }
}

/// Warpgroup family of a format; empty if the format has no units.
constexpr std::optional<Family> warpgroups_family(Format format) noexcept {
  const std::optional<Family> units = units_family(format);
  if (!units) return std::nullopt;
  const uint32_t variant = static_cast<uint32_t>(*units) - static_cast<uint32_t>(Family::UnitsF16);
  return static_cast<Family>(static_cast<uint32_t>(Family::WarpgroupsF16) + variant);
}

}  // namespace tenon::gpu
