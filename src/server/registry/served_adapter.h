// Adapters of a served model, which requests name in place of the model or choose by number.
#pragma once

#include <cstdint>
#include <string>

namespace tenon_http {

/// Adapter of a model, as the registry lists it.
struct ServedAdapter {
  uint32_t id = 0;  ///< number within its model; never given again
  std::string name;
  std::string path;
  double scale = 1;       ///< in requests whose model is the adapter
  double base_scale = 0;  ///< in requests whose model is the model itself and that choose none
  int64_t created = 0;    ///< seconds since 1970
};

/// Member of a request's "lora", or of an order about all requests.
struct AdapterChoice {
  uint32_t id = 0;
  double scale = 0;
};

}  // namespace tenon_http
