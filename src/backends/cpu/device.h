// A CPU device: the host's services and the kernels chosen for this machine; and the buffers it
// makes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "backends/cpu/host_memory.h"
#include "backends/cpu/kernels.h"
#include "tenon/backend.h"

/// Memory for KV slabs; the opaque type of the plugin ABI.
struct tenon_buffer {
  const tenon_host* host;
  tenon::cpu::HostMemory memory;
};

namespace tenon::cpu {

/// First byte of a buffer.
inline uint8_t* buffer_data(const tenon_buffer* buffer) { return buffer->memory.data(); }

/// The kernels for this machine, or those that the name asks for; NULL when the machine lacks them
/// or there is no such name. An empty name: the best.
const Kernels* choose_kernels(const std::string& name);
/// The names choose_kernels would take on this machine, best first, separated by ", ".
std::string available_kernels();
/// The processor's own name, or the architecture.
std::string processor_name();

/// Operation `i`, which exists.
inline const tenon_op& op_at(const tenon_program& program, uint32_t i) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(program.ops);
  return *reinterpret_cast<const tenon_op*>(bytes + static_cast<uint64_t>(program.op_size) * i);
}

/// Whether this backend can run operation `op`; the slots it names exist.
bool supports_op(const tenon_program& program, const tenon_op& op);

}  // namespace tenon::cpu

/// The opaque type of the plugin ABI.
struct tenon_device {
  const tenon_host* host;
  tenon::cpu::Kernels kernels;
};
