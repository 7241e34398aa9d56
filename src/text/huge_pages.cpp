#include "text/huge_pages.h"

#include <cstdint>

#include "base/system.h"

namespace tenon {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kLargeBytes = size_t{4} << 20;

}  // namespace

void ask_for_huge_pages(void* data, size_t size_bytes) {
  if (size_bytes < kLargeBytes) return;
  const size_t skipped = (kPageBytes - reinterpret_cast<uintptr_t>(data) % kPageBytes) % kPageBytes;
  (void)System::real()->advise_huge_pages(static_cast<std::byte*>(data) + skipped,
                                          (size_bytes - skipped) / kPageBytes * kPageBytes);
}

std::string string_with_room(size_t size_bytes) {
  std::string out;
  out.reserve(size_bytes);
  ask_for_huge_pages(out.data(), out.capacity());
  return out;
}

}  // namespace tenon
