// Small test programs that a device runs before it uses a kernel family (kernel_families.h): the
// family and its replacements must give the same bits. device_self_test.h runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/gpu/kernel_families.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// A program of one operation and its inputs. It has at most one cache group, of f32.
struct SelfTestCase {
  std::vector<tenon_slot> slots;
  tenon_op op{};
  std::vector<tenon_cache_group> groups;
  uint32_t result = 0;  ///< a slot
  /// [slots] Rows of a weight, or max_tokens rows of an input.
  std::vector<std::vector<std::byte>> values;
  uint32_t past = 0;                  ///< positions in the cache, filled with arbitrary numbers
  std::vector<uint32_t> step_tokens;  ///< per step

  [[nodiscard]] uint32_t max_tokens() const;
  /// A view into this object.
  [[nodiscard]] tenon_program program() const;
};

struct FamilyTest {
  Family family;
  const char* name;  ///< for the log
  /// True if the family may compute an operation of a program.
  bool (*serves)(const tenon_program& program, const tenon_op& op);
  SelfTestCase (*make)();
};

/// Tests of all families, each after those that it builds upon.
std::span<const FamilyTest> family_tests() noexcept;

/// True if the family may compute an operation of the program.
bool serves(const FamilyTest& test, const tenon_program& program);

/// Numbers from a seed, equal on every machine.
class SelfTestNumbers {
 public:
  explicit SelfTestNumbers(uint64_t seed) : state_(seed) {}
  /// 32 bits (PCG XSH RR: O'Neill 2014).
  uint32_t next() noexcept;
  /// A whole number from -most to most.
  int32_t whole(int32_t most) noexcept;
  /// A number in [-1, 1).
  float real() noexcept;

 private:
  uint64_t state_;
};

}  // namespace tenon::gpu
