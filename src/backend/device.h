// A device of a backend and its options. Every failure becomes an Error with the backend's text.
// Programs on it are in executable.h, its memory in device_buffer.h; the plugin ABI is tenon/backend.h.
#pragma once

#include <cstddef>
#include <memory>
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
  /// Whether its table has poll(): older ones end before it, and it may be NULL.
  [[nodiscard]] bool can_poll() const;
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

/// An option that a backend takes.
struct DeviceOption {
  std::string key;
  std::string values;    ///< what it may be: "fixed or f32"
  std::string standard;  ///< what it is unless given
  std::string doc;
};
/// In the backend's order. Throws Plugin for a list that breaks the rules.
std::vector<DeviceOption> list_options(const Backend& backend);

/// The devices of a backend, also those that cannot be used (tenon_device_info.unavailable). Throws
/// what the backend reports where there are none.
std::vector<tenon_device_info> list_devices(const Backend& backend, HostServices& host);

}  // namespace tenon
