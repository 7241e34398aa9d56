// Libraries of the system that are opened at run time, when something needs them; they stay loaded.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "base/system.h"

namespace tenon {

class SystemLibrary {
 public:
  /// Opens the first of the names that opens; throws Unsupported if none does.
  ///   need  what is not possible without it, for messages; outlives the object:
  ///         "PNG pictures need libspng (Debian: libspng0)"
  SystemLibrary(System& system, std::initializer_list<const char*> names, std::string_view need)
      : system_(system), need_(need) {
    const char* error = nullptr;
    for (const char* name : names) {
      library_ = system.load_library(name, error);
      if (library_ != nullptr) return;
    }
    fail(Code::Unsupported, "{}: {}", need, error == nullptr ? "not found" : error);
  }

  /// Sets `into` to a function of the library; throws Unsupported if it has none of that name.
  template <typename Function>
  void find(const char* name, Function& into) const {
    into = reinterpret_cast<Function>(system_.find_symbol(library_, name));
    if (into == nullptr) {
      fail(Code::Unsupported, "{}: the version that was found lacks {}", need_, name);
    }
  }

 private:
  System& system_;
  std::string_view need_;
  void* library_ = nullptr;
};

}  // namespace tenon
