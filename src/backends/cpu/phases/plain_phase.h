// Runs operations without a CPU entry in their plain forms (backends/common/plain): in f32, on the
// weights and activations of an Executable. Plain forms run outside the phases, because they use
// the host's threads themselves.
#pragma once

#include <cstdint>
#include <memory>

#include "tenon/backend.h"

namespace tenon::cpu {

class Executable;

/// True if the plain form of operation `op` can run as given.
bool fits_plain(const tenon_program& program, uint32_t op) noexcept;

/// Bytes of a block in a cache group of positions that plain forms use.
uint64_t plain_block_bytes(const tenon_cache_group& group);

class PlainPhases {
 public:
  /// Requires an executable with allocated memory, which must outlive the object.
  explicit PlainPhases(const Executable& executable);
  ~PlainPhases();
  PlainPhases(const PlainPhases&) = delete;
  PlainPhases& operator=(const PlainPhases&) = delete;

  /// Runs an operation. Throws Failure: CANCELLED, or a refusal of the operation. May throw
  /// std::bad_alloc.
  void run(const tenon_op& op, const tenon_step& step);
  [[nodiscard]] uint64_t memory_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::cpu
