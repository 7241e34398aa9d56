// Read access to the plugin ABI's arrays, whose elements may be larger or smaller than this side's
// structure. Owns nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tenon/backend.h"

namespace tenon {

/// `size` elements of type T, `stride` bytes apart.
template <typename T>
class Strided {
 public:
  Strided(const T* first, uint32_t size, uint32_t stride)
      : first_(reinterpret_cast<const std::byte*>(first)), size_(size), stride_(stride) {}

  [[nodiscard]] uint32_t size() const { return size_; }
  const T& operator[](uint32_t index) const {
    return *reinterpret_cast<const T*>(first_ + uint64_t{index} * stride_);
  }
  /// Copies all elements, as far as both sides know them; the rest is zero.
  [[nodiscard]] std::vector<T> copies() const {
    std::vector<T> all(size_);
    for (uint32_t i = 0; i < size_; ++i) {
      std::memcpy(&all[i], first_ + uint64_t{i} * stride_, std::min<size_t>(sizeof(T), stride_));
    }
    return all;
  }

 private:
  const std::byte* first_;
  uint32_t size_;
  uint32_t stride_;
};

/// Copies a structure with a struct_size, as far as both sides know it; the rest is zero.
template <typename T>
T known_part(const T& from) {
  T copy{};
  std::memcpy(&copy, &from, std::min<size_t>(sizeof(T), from.struct_size));
  return copy;
}
/// Sizes of the structures in their first version.
inline constexpr uint32_t kFirstProgramBytes = offsetof(tenon_program, token_history);
inline constexpr uint32_t kFirstStepBytes = offsetof(tenon_step, earlier_tokens);
inline constexpr uint32_t kFirstHostBytes = offsetof(tenon_host, cache_get);

inline Strided<tenon_slot> slots_of(const tenon_program& program) {
  return {program.slots, program.num_slots, program.slot_size};
}
inline Strided<tenon_op> ops_of(const tenon_program& program) {
  return {program.ops, program.num_ops, program.op_size};
}
inline Strided<tenon_cache_group> groups_of(const tenon_program& program) {
  return {program.groups, program.num_groups, program.group_size};
}
inline Strided<tenon_step_sequence> sequences_of(const tenon_step& step) {
  return {step.sequences, step.num_sequences, step.sequence_size};
}
inline Strided<tenon_binding> bindings_of(const tenon_step& step) {
  return {step.bindings, step.num_bindings, step.binding_size};
}

}  // namespace tenon
