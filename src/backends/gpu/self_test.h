// What is computed on a device before a family of kernels (kernel_families.h) is relied on: small programs of which the
// family and the kernels that can take its place give the same bits. How they are run is device_self_test.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/gpu/kernel_families.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// A program of one operation and what it is given. It has at most one cache group, of f32.
struct SelfTestCase {
  std::vector<tenon_slot> slots;
  tenon_op op{};
  std::vector<tenon_cache_group> groups;
  uint32_t result = 0;  ///< a slot
  /// By slot: the rows of a weight, or of the input max_tokens rows.
  std::vector<std::vector<std::byte>> values;
  uint32_t past = 0;                  ///< positions in the cache, which has any numbers
  std::vector<uint32_t> step_tokens;  ///< of each step

  [[nodiscard]] uint32_t max_tokens() const;
  /// Points into this.
  [[nodiscard]] tenon_program program() const;
};

struct FamilyTest {
  Family family;
  const char* name;  ///< for the log
  /// Whether an operation of a program may be the family's to compute.
  bool (*serves)(const tenon_program& program, const tenon_op& op);
  SelfTestCase (*make)();
};

/// Of all families, each after those that it builds upon.
std::span<const FamilyTest> family_tests() noexcept;

/// Whether an operation of the program may be the family's to compute.
bool serves(const FamilyTest& test, const tenon_program& program);

/// Numbers from a seed: the same on every machine.
class SelfTestNumbers {
 public:
  explicit SelfTestNumbers(uint64_t seed) : state_(seed) {}
  /// 32 bits (PCG XSH RR: O'Neill 2014).
  uint32_t next() noexcept;
  /// Whole, from -most to most.
  int32_t whole(int32_t most) noexcept;
  /// In [-1, 1).
  float real() noexcept;

 private:
  uint64_t state_;
};

}  // namespace tenon::gpu
