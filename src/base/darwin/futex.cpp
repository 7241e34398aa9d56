#include "base/futex.h"

#include <cstddef>

#include "base/darwin/condition_futex.h"

// <os/os_sync_wait_on_address.h> of macOS 14.4; absent from older systems, where the addresses are
// null. Building needs the symbols of an SDK of that version (Xcode 15.3).
extern "C" {
__attribute__((weak_import)) int os_sync_wait_on_address(void* address, uint64_t value, size_t size,
                                                         uint32_t flags);
__attribute__((weak_import)) int os_sync_wait_on_address_with_timeout(void* address, uint64_t value,
                                                                      size_t size, uint32_t flags,
                                                                      uint32_t clock,
                                                                      uint64_t timeout_ns);
__attribute__((weak_import)) int os_sync_wake_by_address_all(void* address, size_t size,
                                                             uint32_t flags);
}

namespace tenon {
namespace {

constexpr uint32_t kOfThisProcess = 0;      // OS_SYNC_WAIT_ON_ADDRESS_NONE
constexpr uint32_t kMachAbsoluteTime = 32;  // OS_CLOCK_MACH_ABSOLUTE_TIME

bool has_os_sync() noexcept { return &os_sync_wait_on_address_with_timeout != nullptr; }

void* address_of(const std::atomic<uint32_t>& word) noexcept {
  return const_cast<std::atomic<uint32_t>*>(&word);
}

}  // namespace

void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, uint64_t timeout_ns) noexcept {
  if (timeout_ns == 0) return;  // an error of the calls below
  if (!has_os_sync()) return condition_wait(word, seen, timeout_ns);
  if (timeout_ns == kFutexForever) {
    (void)::os_sync_wait_on_address(address_of(word), seen, sizeof seen, kOfThisProcess);
  } else {
    (void)::os_sync_wait_on_address_with_timeout(address_of(word), seen, sizeof seen,
                                                 kOfThisProcess, kMachAbsoluteTime, timeout_ns);
  }
}

void futex_wake_all(const std::atomic<uint32_t>& word) noexcept {
  if (!has_os_sync()) return condition_wake_all(word);
  (void)::os_sync_wake_by_address_all(address_of(word), sizeof(uint32_t), kOfThisProcess);
}

}  // namespace tenon
