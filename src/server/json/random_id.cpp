#include "server/json/random_id.h"

#include <random>

namespace tenon_http {

uint64_t random_number() {
  thread_local std::mt19937_64 generator((uint64_t{std::random_device{}()} << 32) |
                                         std::random_device{}());
  return generator();
}

std::string random_id(std::string_view prefix) {
  constexpr std::string_view kLetters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string id(prefix);
  for (int part = 0; part < 3; ++part) {
    uint64_t bits = random_number();
    for (int i = 0; i < 8; ++i, bits /= kLetters.size()) id += kLetters[bits % kLetters.size()];
  }
  return id;
}

}  // namespace tenon_http
