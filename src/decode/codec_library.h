// Codecs of the system, opened by name when a file needs one; they stay loaded.
#pragma once

#include <initializer_list>

#include "base/error.h"
#include "base/system.h"

namespace tenon::decoding {

class CodecLibrary {
 public:
  /// Throws Unsupported, naming the package, if none of the names opens.
  ///   what  that needs it: "PNG pictures"
  CodecLibrary(std::initializer_list<const char*> names, const char* what, const char* package)
      : what_(what), package_(package) {
    const char* error = nullptr;
    for (const char* name : names) {
      library_ = system_->load_library(name, error);
      if (library_ != nullptr) return;
    }
    fail(Code::Unsupported, "{} need a library that is not here (Debian: {}): {}", what, package,
         error == nullptr ? "not found" : error);
  }

  template <typename Function>
  void find(const char* name, Function& into) const {
    into = reinterpret_cast<Function>(system_->find_symbol(library_, name));
    if (into == nullptr) {
      fail(Code::Unsupported, "{} need another version of a library (Debian: {}): it lacks {}",
           what_, package_, name);
    }
  }

 private:
  std::shared_ptr<System> system_ = System::real();
  void* library_ = nullptr;
  const char* what_;
  const char* package_;
};

}  // namespace tenon::decoding
