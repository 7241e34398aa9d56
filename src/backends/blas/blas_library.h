// The library that multiplies: any with the cblas interface, loaded by name when a device is made. What
// is multiplied is said in blas_products.h.
#pragma once

#include <cblas.h>

#include <string>

namespace tenon::blas {

/// Once loaded, a library stays in the process, since it may have threads. Copies are the same one.
class BlasLibrary {
 public:
  /// UNSUPPORTED with the linker's reason where it cannot be loaded or lacks a function.
  explicit BlasLibrary(const std::string& name);

  /// Has an OpenBLAS compute each product in the thread that asks for it. It knows one number for the
  /// whole process only. Nothing for other libraries.
  void use_calling_thread() const;

  /// Its own words where it has some, else its name: "OpenBLAS 0.3.21 ... Zen MAX_THREADS=64".
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
