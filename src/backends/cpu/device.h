// A CPU device: the host's services and the kernels chosen for this machine.
#pragma once

#include <cstdint>
#include <string>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/operation.h"
#include "tenon/backend.h"

namespace tenon::cpu {

struct Device {
  const tenon_host* host;
  Kernels kernels;
  bool fixed_f16_of_encoders;  ///< other programs multiply f16 weights with f32
};

/// Kernels for this machine, or those named; null if the machine lacks them or the name is unknown.
/// An empty name selects the best.
const Kernels* choose_kernels(const std::string& name);
/// Names that choose_kernels accepts on this machine, best first, joined by ", ".
std::string available_kernels();
/// The processor's model name, or the architecture.
std::string processor_name();

/// True if this backend can run operation `op`. Requires valid slots.
bool supports_op(const tenon_program& program, uint32_t op,
                 const OperationTable& operations = all_operations());

/// True if all entries that read the weight at an input see as many matrices in it as `op`: its
/// panels depend on that number. Plain forms read any panels.
bool matrices_supported(const OperationTable& operations, const tenon_program& program,
                        const tenon_op& op, uint32_t input) noexcept;

}  // namespace tenon::cpu
