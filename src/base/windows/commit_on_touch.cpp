#include "base/windows/commit_on_touch.h"

#include <map>
#include <new>

#include "base/windows/windows_api.h"

namespace tenon {
namespace {

/// Blocks by their last byte, so that lower_bound finds the block of an address.
struct Blocks {
  struct Block {
    uintptr_t begin;
    const CommitOnTouch* owner;
  };
  SRWLOCK lock = SRWLOCK_INIT;
  std::map<uintptr_t, Block> by_last;
};

Blocks& blocks() {
  static Blocks all;
  return all;
}

class Locked {
 public:
  Locked() { ::AcquireSRWLockExclusive(&blocks().lock); }
  ~Locked() { ::ReleaseSRWLockExclusive(&blocks().lock); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

LONG CALLBACK commit_touched(EXCEPTION_POINTERS* exception) {
  constexpr uintptr_t kStepBytes = uintptr_t{64} << 10;
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  if (record.ExceptionCode != EXCEPTION_ACCESS_VIOLATION || record.NumberParameters < 2) {
    return EXCEPTION_CONTINUE_SEARCH;
  }
  const auto address = static_cast<uintptr_t>(record.ExceptionInformation[1]);
  const Locked lock;
  const auto found = blocks().by_last.lower_bound(address);
  if (found == blocks().by_last.end() || address < found->second.begin) {
    return EXCEPTION_CONTINUE_SEARCH;
  }
  const uintptr_t begin = address & ~(kStepBytes - 1);
  const uintptr_t bytes = found->first - begin < kStepBytes ? found->first - begin + 1 : kStepBytes;
  return ::VirtualAlloc(reinterpret_cast<void*>(begin), bytes, MEM_COMMIT, PAGE_READWRITE) !=
                 nullptr
             ? EXCEPTION_CONTINUE_EXECUTION
             : EXCEPTION_CONTINUE_SEARCH;
}

/// Installs the handler with the first block. It stays, and so does this code: to remove it while
/// another thread is in it is not safe.
bool has_handler() {
  static const bool installed = [] {
    HMODULE module = nullptr;
    return ::GetModuleHandleExW(
               GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
               reinterpret_cast<LPCWSTR>(&commit_touched), &module) != 0 &&
           ::AddVectoredExceptionHandler(1, commit_touched) != nullptr;
  }();
  return installed;
}

}  // namespace

CommitOnTouch::~CommitOnTouch() {
  const Locked lock;
  std::erase_if(blocks().by_last, [this](const auto& block) { return block.second.owner == this; });
}

bool CommitOnTouch::add(void* pages, uint64_t size_bytes) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(pages);
  const Locked lock;
  try {
    blocks().by_last[begin + size_bytes - 1] = {begin, this};
  } catch (const std::bad_alloc&) {
    return false;
  }
  return has_handler();
}

void CommitOnTouch::remove(void* pages) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(pages);
  const Locked lock;
  const auto found = blocks().by_last.lower_bound(begin);
  if (found != blocks().by_last.end() && found->second.begin == begin) {
    blocks().by_last.erase(found);
  }
}

}  // namespace tenon
