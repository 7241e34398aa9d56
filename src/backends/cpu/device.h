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

/// The kernels for this machine, or those that the name asks for; NULL when the machine lacks them
/// or there is no such name. An empty name: the best.
const Kernels* choose_kernels(const std::string& name);
/// The names choose_kernels would take on this machine, best first, separated by ", ".
std::string available_kernels();
/// The processor's own name, or the architecture.
std::string processor_name();

/// Whether this backend can run operation `op`; the slots it names exist.
bool supports_op(const tenon_program& program, uint32_t op,
                 const OperationTable& operations = all_operations());

/// Whether all who multiply with the weight at an input see as many matrices in it as `op` does, since
/// its panels depend on that.
bool matrices_supported(const tenon_program& program, const tenon_op& op, uint32_t input) noexcept;

}  // namespace tenon::cpu
