#include "base/error.h"

#include <array>

namespace tenon {

const char* code_name(Code code) noexcept {
  static constexpr std::array kNames = {
      "OK",       "FORMAT", "UNSUPPORTED", "LIMIT",    "IO",     "NO_MEMORY", "ARGUMENT", "GRAMMAR",
      "TEMPLATE", "BUSY",   "CANCELLED",   "DEADLINE", "PLUGIN", "STATE",     "INTERNAL"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

}  // namespace tenon
