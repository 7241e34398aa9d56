// Operations that the CPU has no entry for, in their plain forms (backends/common/plain): in f32, over the
// weights and activations of an Executable. A plain form runs beside the phases, since it uses the
// threads of the host itself.
#pragma once

#include <cstdint>
#include <memory>

#include "tenon/backend.h"

namespace tenon::cpu {

class Executable;

/// Whether the plain form of operation `op` can be run as given.
bool fits_plain(const tenon_program& program, uint32_t op) noexcept;

/// Bytes of a block of a cache group of positions that plain forms read and write.
uint64_t plain_block_bytes(const tenon_cache_group& group);

class PlainPhases {
 public:
  /// Of the plain phases of an executable whose memory is allocated; it must outlive the object.
  explicit PlainPhases(const Executable& executable);
  ~PlainPhases();
  PlainPhases(const PlainPhases&) = delete;
  PlainPhases& operator=(const PlainPhases&) = delete;

  /// Throws Failure: CANCELLED, or what the operation refuses. May throw std::bad_alloc.
  void run(const tenon_op& op, const tenon_step& step);
  [[nodiscard]] uint64_t memory_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::cpu
