// Backends that can run models on this machine, and why a plugin was refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/error.hpp>
#include <tenon/options.hpp>
#include <vector>

namespace tenon {
inline namespace v1 {

/// A device; the option `devices` takes BACKEND:NAME or BACKEND:INDEX.
struct BackendDevice {
  int32_t kind = 0;  ///< TENON_DEVICE_KIND_*
  std::string name{};
  std::string description{};
  std::string unavailable{};  ///< empty, or why it cannot be used
  uint64_t memory_total = 0;  ///< bytes; 0: unknown
  uint64_t memory_available = 0;
};

struct Backend {
  Code status = Code::Ok;  ///< Ok: usable
  std::string name{};
  std::string origin{};       ///< "built in", or the path of the plugin
  std::string description{};  ///< of its device, or why it was refused
  std::string options{};      ///< lines of key, values, default and meaning, separated by tabs
  std::vector<BackendDevice> devices{};
};

/// All backends. plugins: absolute paths to load besides the folder `tenon` beside the library.
inline std::vector<Backend> backends(const std::vector<std::string>& plugins = {}) {
  struct Destroy {
    void operator()(tenon_backends* raw) const noexcept { tenon_backends_destroy(raw); }
  };
  ModelOptions options;
  options.plugins = plugins;
  tenon_backends* raw = nullptr;
  check(tenon_backends_create(Options(options).get(), &raw));
  const std::unique_ptr<tenon_backends, Destroy> list(raw);
  std::vector<Backend> result;
  for (size_t i = 0; i < tenon_backends_count(raw); ++i) {
    tenon_backend_info backend{};
    backend.struct_size = sizeof backend;
    check(tenon_backends_get_info(raw, i, &backend));
    result.push_back({static_cast<Code>(backend.status),
                      std::string(backend.name, backend.name_length),
                      std::string(backend.origin, backend.origin_length),
                      std::string(backend.description, backend.description_length),
                      std::string(backend.options, backend.options_length),
                      {}});
    for (size_t device = 0; device < tenon_backends_count_devices(raw, i); ++device) {
      tenon_backend_device info{};
      info.struct_size = sizeof info;
      check(tenon_backends_get_device(raw, i, device, &info));
      result.back().devices.push_back({info.kind, std::string(info.name, info.name_length),
                                       std::string(info.description, info.description_length),
                                       std::string(info.unavailable, info.unavailable_length),
                                       info.memory_total, info.memory_available});
    }
  }
  return result;
}

}  // namespace v1
}  // namespace tenon
