#include "base/huge_pages.h"

#include <cstdint>

namespace tenon {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kLargeBytes = size_t{4} << 20;

}  // namespace

void ask_for_huge_pages(System& system, void* data, size_t size_bytes) {
  if (size_bytes < kLargeBytes) return;
  const size_t skipped = (kPageBytes - reinterpret_cast<uintptr_t>(data) % kPageBytes) % kPageBytes;
  (void)system.advise_huge_pages(static_cast<std::byte*>(data) + skipped,
                                 (size_bytes - skipped) / kPageBytes * kPageBytes);
}

std::string string_with_room(System& system, size_t size_bytes) {
  std::string out;
  out.reserve(size_bytes);
  ask_for_huge_pages(system, out.data(), out.capacity());
  return out;
}

}  // namespace tenon
