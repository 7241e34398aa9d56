// Owners of a backend's objects: device, buffer, executable. Every failure becomes an Error with
// the backend's text. The plugin ABI itself is in tenon/backend.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/host_services.h"
#include "base/error.h"
#include "tenon/backend.h"

namespace tenon {

/// A backend as the registry gives it: the table, and what keeps its code loaded.
struct Backend {
  const tenon_backend_api* api = nullptr;
  std::shared_ptr<const void> library;  ///< null for built-in ones
};

/// Calls into a backend. What it throws against the rules stops here.
template <typename Function>
auto guarded(const char* what, Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const Error&) {
    throw;
  } catch (...) {
    fail(Code::Plugin, "backend: {}: it threw an exception", what);
  }
}

/// A device of a backend, with the services it uses. Shared by what was made from it.
class Device {
 public:
  using Options = std::vector<std::pair<std::string, std::string>>;

  /// Device `index` of the backend. Throws what the backend reports, Plugin when it throws.
  static std::shared_ptr<Device> create(Backend backend, std::unique_ptr<HostServices> host,
                                        const Options& options, uint32_t index = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const tenon_backend_api& api() const { return *backend_.api; }
  [[nodiscard]] tenon_device* get() const { return device_; }
  [[nodiscard]] HostServices& host() const { return *host_; }
  [[nodiscard]] std::string name() const { return backend_.api->name; }
  /// What the device says about itself. Texts end within their arrays.
  [[nodiscard]] const tenon_device_info& info() const { return info_; }
  /// "AMD EPYC, avx2 kernels".
  [[nodiscard]] std::string description() const { return info_.description; }
  /// The number of the first operation the device cannot run, or num_ops.
  [[nodiscard]] uint32_t first_unsupported(const tenon_program& program) const;
  /// Throws Error for a status that is not OK: `what` says what was being done.
  void check(tenon_status status, const char* what) const;
  /// Calls a fallible function of the backend and checks its status.
  template <typename Function>
  void call(const char* what, Function function) const {
    check(guarded(what, function), what);
  }

 private:
  Device(Backend backend, std::unique_ptr<HostServices> host)
      : backend_(std::move(backend)), host_(std::move(host)) {}

  Backend backend_;
  std::unique_ptr<HostServices> host_;
  tenon_device* device_ = nullptr;
  tenon_device_info info_{};
};

/// The devices of a backend, also those that cannot be used (tenon_device_info.unavailable). Throws
/// what the backend reports where there are none.
std::vector<tenon_device_info> list_devices(const Backend& backend, HostServices& host);

/// The options that create_device of the backend takes.
std::vector<tenon_backend_option_info> list_options(const Backend& backend);

/// A compiled program on a device. One call at a time, but for load_rows.
class Executable {
 public:
  Executable(std::shared_ptr<Device> device, const tenon_program& program);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  [[nodiscard]] Device& device() const { return *device_; }
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const;
  [[nodiscard]] uint64_t row_granularity(uint32_t slot) const;
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks);
  void seal();
  /// Starts a step; its ticket. What the step binds stays valid until wait() returns.
  [[nodiscard]] uint64_t submit(const tenon_step& step);
  /// Returns when the step has ended. Once for each ticket, in their order.
  void wait(uint64_t ticket);
  /// A step from its start to its end.
  void run(const tenon_step& step) { wait(submit(step)); }

  /// Memory that steps use (cache slabs); destroy_buffer gives it back.
  tenon_buffer* create_buffer(uint64_t size_bytes, uint32_t purpose);
  void destroy_buffer(tenon_buffer* buffer) noexcept;
  void copy_buffer(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                   uint64_t from_offset, uint64_t size_bytes);
  void read_buffer(tenon_buffer* buffer, uint64_t offset, void* out, uint64_t size_bytes);
  void write_buffer(tenon_buffer* buffer, uint64_t offset, const void* in, uint64_t size_bytes);

 private:
  std::shared_ptr<Device> device_;
  tenon_executable* executable_ = nullptr;
};

}  // namespace tenon
