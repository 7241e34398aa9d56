#include "backends/reference/reference_entry.h"

#include <memory>
#include <span>

#include "backends/common/device_text.h"
#include "backends/common/entry.h"
#include "backends/common/plain/plain_executable.h"
#include "backends/common/plain/plain_operations.h"

namespace tenon::reference {
namespace {

/// Computes in f64: results are exact up to the rounding of weights, cache and results.
struct Double {
  using Real = double;
};

constexpr plain::OperationTable<Double> kOperations = plain::operations<Double>();

struct Reference {
  static constexpr char kName[] = "reference";

  struct Device {
    const tenon_host* host;
    Double math;
  };
  using Executable = plain::Executable<Double>;

  static std::span<const tenon_backend_option_info> options() noexcept { return {}; }

  static tenon_device_info info() {
    tenon_device_info info{};
    info.kind = TENON_DEVICE_REFERENCE;
    backends::copy_text(info.name, kName);
    backends::copy_text(info.description, "every operation in double precision, for comparison");
    info.flags = TENON_DEVICE_BATCH_INVARIANT | TENON_DEVICE_DRAWS;
    info.precision_float = info.precision_bf16 = info.precision_blocks = TENON_PRECISION_F32;
    info.step_tokens = info.step_outputs = 256;
    info.token_multiple = 1;
    info.block_tokens = 32;
    info.slab_bytes = uint64_t{8} << 20;
    info.steps_under_way = 1;
    return info;
  }
  static tenon_device_info info(const Device&) { return info(); }

  static std::unique_ptr<Device> make_device(const tenon_host* host,
                                             std::span<const tenon_backend_option> options) {
    if (!options.empty()) {
      backends::refuse(TENON_BACKEND_ARGUMENT, "unknown option \"{}\"; it has none",
                       options[0].key);
    }
    return std::make_unique<Device>(Device{host, {}});
  }

  static bool supports(const tenon_program& program, uint32_t op) noexcept {
    return kOperations.fits(program, op);
  }

  static std::unique_ptr<Executable> compile(const Device& device, const tenon_program& program) {
    return std::make_unique<Executable>(device.host, program, kOperations, device.math);
  }
};

}  // namespace
}  // namespace tenon::reference

const tenon_backend_api* tenon_reference_backend_entry(uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::reference::Reference>(host_major);
}
