// Owners of a backend's objects: device, buffer, executable. Every failure becomes an Error with
// the backend's text. The plugin ABI itself is in tenon/backend.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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
  /// Not linked in: what it says of itself is not trusted.
  [[nodiscard]] bool is_plugin() const { return backend_.library != nullptr; }
  /// Throws Plugin: the backend broke a rule of its interface, in `what` it did.
  [[noreturn]] void break_with(std::string_view what) const;

  /// Calls a function of the backend. What it throws against the rules stops here.
  template <typename Function>
  auto guarded(const char* what, Function function) const -> decltype(function()) {
    try {
      return function();
    } catch (...) {
      fail_thrown(what);
    }
  }
  /// Calls a function that destroys: an exception of it is only logged.
  template <typename Function>
  void guarded_destroy(const char* what, Function function) const noexcept {
    try {
      function();
    } catch (...) {
      log_thrown(what);
    }
  }
  /// Calls a fallible function of the backend and throws Error for a status that is not OK.
  /// `cancel` is the flag that a step was given: without it set, Cancelled is a lie.
  template <typename Function>
  void call(const char* what, Function function, const uint32_t* cancel = nullptr) const {
    check(guarded(what, function), what, cancel);
  }
  /// Calls a function that makes an object, and throws Plugin when it made none. What a failed call
  /// left in its out-parameter is not looked at.
  template <typename Object, typename Function>
  Object* make(const char* what, const char* noun, Function function) const {
    Object* object = nullptr;
    call(what, [&] { return function(&object); });
    if (object == nullptr) break_with(std::string(what) + " gave no " + noun);
    return object;
  }
  /// Asks for a size, and throws Plugin for one that no machine has.
  template <typename Function>
  uint64_t size(const char* what, uint64_t least, Function function) const {
    return checked_size(what, least, guarded(what, function));
  }

 private:
  void check(tenon_status status, const char* what, const uint32_t* cancel) const;
  void check_info() const;
  [[nodiscard]] uint64_t checked_size(const char* what, uint64_t least, uint64_t size) const;
  [[noreturn]] void fail_thrown(const char* what) const;
  void log_thrown(const char* what) const noexcept;

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

/// A compiled program on a device. One call at a time, but for load_rows.
class Executable {
 public:
  Executable(std::shared_ptr<Device> device, const tenon_program& program);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  [[nodiscard]] Device& device() const { return *device_; }
  /// Asked once, in the constructor: pools and plans go by the same number.
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  [[nodiscard]] uint64_t row_granularity(uint32_t slot) const;
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks);
  void seal();
  /// Starts a step; its ticket. What the step binds and its flag stay valid until wait() returns.
  [[nodiscard]] uint64_t submit(const tenon_step& step);
  /// Returns when the step has ended. Once for each ticket, in their order. Throws Plugin when a
  /// plugin left results unwritten.
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
  struct Destroy {
    const Device* device;
    void operator()(tenon_executable* executable) const noexcept;
  };

  struct Result {
    uint32_t slot;
    uint32_t row_class;
    uint64_t columns;
  };
  struct Step {
    uint64_t ticket;
    const uint32_t* cancel;
    std::vector<std::span<uint32_t>> results;  // of plugins: marked until they are written
  };
  [[nodiscard]] std::vector<std::span<uint32_t>> results_of(const tenon_step& step) const;

  std::shared_ptr<Device> device_;
  std::unique_ptr<tenon_executable, Destroy> executable_;
  std::vector<uint64_t> block_bytes_;  // [groups]
  std::vector<Result> results_;
  std::vector<Step> steps_;  // under way
};

}  // namespace tenon
