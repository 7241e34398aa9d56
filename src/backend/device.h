// A device of a backend and its options. Failures become Errors with the backend's text.
// executable.h has programs, device_buffer.h memory; tenon/backend.h is the plugin ABI.
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

/// A backend from the registry: its table, and the owner of its code.
struct Backend {
  const tenon_backend_api* api = nullptr;
  std::shared_ptr<const void> library;  ///< null for built-in backends
};

/// A device of a backend and the services it uses. Shared by the objects made from it.
class Device {
 public:
  using Options = std::vector<std::pair<std::string, std::string>>;

  /// Opens device `index` of the backend. Throws the backend's errors, and Plugin if it throws an
  /// exception.
  static std::shared_ptr<Device> create(Backend backend, std::unique_ptr<HostServices> host,
                                        const Options& options, uint32_t index = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const tenon_backend_api& api() const { return *backend_.api; }
  [[nodiscard]] tenon_device* get() const { return device_; }
  [[nodiscard]] HostServices& host() const { return *host_; }
  [[nodiscard]] std::string name() const { return backend_.api->name; }
  /// The device's description of itself. Texts are terminated within their arrays.
  [[nodiscard]] const tenon_device_info& info() const { return info_; }
  /// "AMD EPYC, avx2 kernels".
  [[nodiscard]] std::string description() const { return info_.description; }
  /// Index of the first operation the device cannot run, or num_ops.
  [[nodiscard]] uint32_t first_unsupported(const tenon_program& program) const;
  /// True if its table has poll(), which older tables lack and others may leave null.
  [[nodiscard]] bool can_poll() const;
  /// True if it is not linked in; its reports are not trusted.
  [[nodiscard]] bool is_plugin() const { return backend_.library != nullptr; }
  /// Throws Plugin: the backend broke a rule of its interface in `what`.
  [[noreturn]] void break_with(std::string_view what) const;

  /// Calls a function of the backend and stops exceptions, which the rules forbid.
  template <typename Function>
  auto guarded(const char* what, Function function) const -> decltype(function()) {
    try {
      return function();
    } catch (...) {
      fail_thrown(what);
    }
  }
  /// Calls a destroying function of the backend and logs exceptions.
  template <typename Function>
  void guarded_destroy(const char* what, Function function) const noexcept {
    try {
      function();
    } catch (...) {
      log_thrown(what);
    }
  }
  /// Calls a fallible function of the backend and throws Error for a status other than OK. `cancel`
  /// is the step's flag; Cancelled without it set breaks the rules.
  template <typename Function>
  void call(const char* what, Function function, const uint32_t* cancel = nullptr) const {
    check(guarded(what, function), what, cancel);
  }
  /// Calls a function that makes an object. Throws Plugin if it made none. Ignores the
  /// out-parameter of a failed call.
  template <typename Object, typename Function>
  Object* make(const char* what, const char* noun, Function function) const {
    Object* object = nullptr;
    call(what, [&] { return function(&object); });
    if (object == nullptr) break_with(std::string(what) + " gave no " + noun);
    return object;
  }
  /// Asks for a size. Throws Plugin for an impossible size.
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

/// An option of a backend.
struct DeviceOption {
  std::string key;
  std::string values;    ///< allowed values: "fixed or f32"
  std::string standard;  ///< default value
  std::string doc;
};
/// Options in the backend's order. Throws Plugin for a list that breaks the rules.
std::vector<DeviceOption> list_options(const Backend& backend);

/// Devices of a backend, including unusable ones (tenon_device_info.unavailable). Throws the
/// backend's error if it has none.
std::vector<tenon_device_info> list_devices(const Backend& backend, HostServices& host);

}  // namespace tenon
