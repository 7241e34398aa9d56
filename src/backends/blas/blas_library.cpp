#include "backends/blas/blas_library.h"

#include "abi/failure.h"
#include "backends/common/driver_library.h"

namespace tenon::blas {
namespace {

// OpenBLAS only (its README, "Usage").
using SetNumThreads = void(int);
using GetConfig = char*();

}  // namespace

/// Null if the library and its dependencies lack the function.
template <typename Function>
void BlasLibrary::find(const char* name, Function*& function) const {
  function = reinterpret_cast<Function*>(backends::driver_symbol(handle_, name));
}

BlasLibrary::BlasLibrary(const std::string& name)
    : handle_(backends::open_driver(name, true)), description_(name) {
  if (handle_ == nullptr) {
    const std::string reason = backends::driver_error();
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "the BLAS library cannot be loaded: {}",
                     reason.empty() ? name : reason);
  }
  find("cblas_sgemm", sgemm);
  find("cblas_sgemv", sgemv);
  if (sgemm == nullptr || sgemv == nullptr) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "{} has no {}: it is no BLAS with cblas", name,
                     sgemm == nullptr ? "cblas_sgemm" : "cblas_sgemv");
  }
  GetConfig* config = nullptr;
  find("openblas_get_config", config);
  if (config != nullptr) description_ = config();
}

void BlasLibrary::use_calling_thread() const {
  SetNumThreads* set_num_threads = nullptr;
  find("openblas_set_num_threads", set_num_threads);
  if (set_num_threads != nullptr) set_num_threads(1);
}

}  // namespace tenon::blas
