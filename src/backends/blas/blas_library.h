// The BLAS library: any with the cblas interface, loaded by name when a device is made.
#pragma once

#include <cblas.h>

#include <string>

namespace tenon::blas {

/// A library stays loaded, since it may have threads. Copies share it.
class BlasLibrary {
 public:
  /// Throws UNSUPPORTED with the linker's reason if the library cannot be loaded or lacks a
  /// function.
  explicit BlasLibrary(const std::string& name);

  /// Makes OpenBLAS compute each product in the calling thread; a process-wide setting. Does
  /// nothing for other libraries.
  void use_calling_thread() const;

  /// The library's description of itself, else its name: "OpenBLAS 0.3.21 ... Zen MAX_THREADS=64".
  [[nodiscard]] const std::string& description() const { return description_; }

  decltype(&::cblas_sgemm) sgemm = nullptr;
  decltype(&::cblas_sgemv) sgemv = nullptr;

 private:
  template <typename Function>
  void find(const char* name, Function*& function) const;

  void* handle_ = nullptr;
  std::string description_;
};

}  // namespace tenon::blas
