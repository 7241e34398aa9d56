#include "backends/blas/blas_entry.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/blas/blas_products.h"
#include "backends/common/device_text.h"
#include "backends/common/entry.h"
#include "backends/common/plain/plain_executable.h"
#include "backends/common/plain/plain_operations.h"

namespace tenon::blas {
namespace {

/// Operations that profit from the library; the rest is plain.
constexpr Operation<Single> kProducts[] = {
    {TENON_OP_LINEAR, "linear", fits_linear, run_linear},
    {TENON_OP_LINEAR_HEADS, "linear_heads", fits_linear_heads, run_linear_heads},
    {TENON_OP_MOE_LINEAR, "moe_linear", fits_moe_linear, run_moe_linear},
    {TENON_OP_ATTENTION, "attention", fits_attention, run_attention},
};

constexpr plain::OperationTable<Single> kOperations = plain::operations<Single>(kProducts);

constexpr const char* kLibrary = "libblas.so.3";  // chosen by Debian's alternatives

constexpr tenon_backend_option_info kOptions[] = {
    {"library", "a path, or a name that the dynamic linker finds", kLibrary,
     "The library that multiplies: any with the cblas interface and integers of 32 bits."},
    {"library_threads", "1 or keep", "1",
     "Threads of OpenBLAS for a product, in the whole process; keep: what the host has set."},
};

struct Blas {
  static constexpr char kName[] = "blas";

  struct Device {
    const tenon_host* host;
    Single math;
  };
  using Executable = plain::Executable<Single>;

  static std::span<const tenon_backend_option_info> options() noexcept { return kOptions; }

  static tenon_device_info info(std::string_view library) {
    tenon_device_info info{};
    info.kind = TENON_DEVICE_CPU;
    backends::copy_text(info.name, kName);
    backends::copy_text(info.description, fmt::format("products in f32 by {}", library));
    // Not TENON_DEVICE_BATCH_INVARIANT: the library's order of addition depends on the shape.
    info.flags = TENON_DEVICE_DRAWS;
    info.precision_float = info.precision_bf16 = info.precision_blocks = TENON_PRECISION_F32;
    info.step_tokens = 512;
    info.step_outputs = 256;
    info.token_multiple = 1;
    info.block_tokens = 32;
    info.slab_bytes = uint64_t{8} << 20;
    info.steps_under_way = 1;
    return info;
  }
  /// Does not load the library, whose threads a mere listing must not start.
  static tenon_device_info info() { return info(kLibrary); }
  static tenon_device_info info(const Device& device) {
    return info(device.math.library.description());
  }

  static std::unique_ptr<Device> make_device(const tenon_host* host,
                                             std::span<const tenon_backend_option> options) {
    std::string library = kLibrary;
    std::string_view threads = "1";
    for (const tenon_backend_option& option : options) {
      const std::string_view key = option.key;
      if (key == "library") {
        library = option.value;
      } else if (key == "library_threads") {
        threads = option.value;
      } else {
        backends::refuse(TENON_BACKEND_ARGUMENT,
                         "unknown option \"{}\"; there are: library, library_threads", key);
      }
    }
    if (threads != "1" && threads != "keep") {
      backends::refuse(TENON_BACKEND_ARGUMENT, "library_threads: \"{}\" is not 1 or keep", threads);
    }
    auto device = std::make_unique<Device>(Device{host, {BlasLibrary(library)}});
    if (threads == "1") device->math.library.use_calling_thread();
    return device;
  }

  static bool supports(const tenon_program& program, uint32_t op) noexcept {
    return kOperations.fits(program, op);
  }

  static std::unique_ptr<Executable> compile(const Device& device, const tenon_program& program) {
    return std::make_unique<Executable>(device.host, program, kOperations, device.math);
  }
};

}  // namespace
}  // namespace tenon::blas

const tenon_backend_api* tenon_blas_backend_entry(uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::blas::Blas>(host_major);
}
