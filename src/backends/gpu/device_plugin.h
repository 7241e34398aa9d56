// Common part of GPU plugin entries (backends/common/entry.h): devices with a context, and objects
// made on them. The plugin lists and describes its devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "backends/gpu/device_buffer.h"
#include "backends/gpu/device_executable.h"
#include "backends/gpu/device_options.h"
#include "backends/gpu/device_self_test.h"
#include "backends/gpu/stage_operations.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// A plugin adds kName, list() and info().
///   Types  its types (device_executable.h)
template <typename Types>
struct DevicePlugin {
  struct Device {
    Device(const tenon_host* services, uint32_t number, uint64_t memory_limit)
        : host(services), index(number), context(services, number, memory_limit) {}
    const tenon_host* host;
    uint32_t index;
    mutable typename Types::Context context;  // executables share it
    mutable SelfTests<Types> self_tests;
  };
  using Executable = DeviceExecutable<Types>;
  using Buffer = DeviceBuffer<Types>;

  static std::span<const tenon_backend_option_info> options() noexcept { return kDeviceOptions; }

  static std::unique_ptr<Device> make_device(const tenon_host* host, uint32_t index,
                                             std::span<const tenon_backend_option> options) {
    return std::make_unique<Device>(host, index, read_memory_limit(options));
  }

  static bool supports(const Device& device, const tenon_program& program, uint32_t op) noexcept {
    return fits_device(program, op, Types::shared_bytes(device.context));
  }

  static std::unique_ptr<Buffer> make_buffer(Device& device, uint64_t size, uint32_t) {
    return std::make_unique<Buffer>(device.context, size);
  }

  static bool is_lost(const Device& device) noexcept { return device.context.is_lost(); }

  static std::unique_ptr<Executable> compile(const Device& device, const tenon_program& program) {
    const bool plans = (program.flags & TENON_PROGRAM_PLAN) != 0;
    const Families families = plans ? device.self_tests.believed(device.context)
                                    : device.self_tests.usable(device.context, program);
    const Planning planning(device.context, plans);
    return std::make_unique<Executable>(device.context, program, families);
  }

 private:
  /// Puts the context into planning mode for its own lifetime: compiled programs only report sizes
  /// (TENON_PROGRAM_PLAN).
  class Planning {
   public:
    Planning(typename Types::Context& context, bool plans) : context_(context) {
      context.set_plans(plans);
    }
    ~Planning() { context_.set_plans(false); }
    Planning(const Planning&) = delete;
    Planning& operator=(const Planning&) = delete;

   private:
    typename Types::Context& context_;
  };
};

}  // namespace tenon::gpu
