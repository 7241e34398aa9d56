#include "base/futex.h"

#include <algorithm>

#include "base/windows/windows_api.h"

namespace tenon {

void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, uint64_t timeout_ns) noexcept {
  constexpr uint64_t kMillisecondNs = 1'000'000;
  DWORD milliseconds = INFINITE;
  if (timeout_ns != kFutexForever) {
    const uint64_t rounded = timeout_ns / kMillisecondNs + (timeout_ns % kMillisecondNs != 0);
    milliseconds = static_cast<DWORD>(std::min<uint64_t>(rounded, INFINITE - 1));
  }
  auto* const address = const_cast<std::atomic<uint32_t>*>(&word);
  (void)::WaitOnAddress(address, &seen, sizeof seen, milliseconds);
}

void futex_wake_all(const std::atomic<uint32_t>& word) noexcept {
  ::WakeByAddressAll(const_cast<std::atomic<uint32_t>*>(&word));
}

}  // namespace tenon
