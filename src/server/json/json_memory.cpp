#include "server/json/json_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace tenon_http {
namespace {

/// Enough for trees of four million values: the vector doubles and moves.
constexpr size_t kReserveBytes = size_t{128} << 20;
constexpr size_t kAlignment = 16;

/// Cuts pieces off both ends in turn. A growing vector has at most two pieces, so each end is free
/// again for the next cut.
///
/// The lock names the process that holds it: a child of fork() takes it over from a thread that
/// does not run there.
class Reserve {
 public:
  Reserve()
      : begin_(
            static_cast<std::byte*>(::mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Reserve() { ::munmap(begin_, kReserveBytes); }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  void* take(size_t bytes) {
    if (num_mine == 0) lock();
    ++num_mine;
    const size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (size > kReserveBytes - low_.used - high_.used) {
      leave();
      throw std::bad_alloc();
    }
    End& end = low_.num_pieces <= high_.num_pieces ? low_ : high_;
    ++end.num_pieces;
    end.used += size;
    return &end == &low_ ? begin_ + end.used - size : begin_ + kReserveBytes - end.used;
  }
  [[nodiscard]] bool owns(const void* memory) const {
    const auto* const at = static_cast<const std::byte*>(memory);
    return at >= begin_ && at < begin_ + kReserveBytes;
  }
  void give_back(const void* memory) noexcept {
    End& end = static_cast<const std::byte*>(memory) < begin_ + low_.used ? low_ : high_;
    if (--end.num_pieces == 0) end.used = 0;
    leave();
  }

 private:
  struct End {
    size_t used = 0;
    size_t num_pieces = 0;
  };

  void lock() noexcept {
    const pid_t mine = ::getpid();
    pid_t holder = kNobody;
    while (!holder_.compare_exchange_weak(holder, mine, std::memory_order_acquire)) {
      if (holder == mine) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        holder = kNobody;
      }
    }
    if (holder != kNobody) low_ = high_ = {};  // pieces of a thread of the parent
  }
  void leave() noexcept {
    if (--num_mine > 0) return;
    ::madvise(begin_, kReserveBytes, MADV_DONTNEED);
    holder_.store(kNobody, std::memory_order_release);
  }

  std::byte* begin_;
  End low_;
  End high_;
  static constexpr pid_t kNobody = 0;
  std::atomic<pid_t> holder_ = kNobody;
  static inline thread_local size_t num_mine = 0;  ///< pieces held by this thread
};

/// Never freed: trees may outlive the last server. No once_flag, which a fork() during the first
/// call would leave held in the child.
std::atomic<Reserve*> the_reserve = nullptr;

}  // namespace

void reserve_json_memory() {
  if (the_reserve != nullptr) return;
  auto made = std::make_unique<Reserve>();
  Reserve* none = nullptr;
  if (the_reserve.compare_exchange_strong(none, made.get())) (void)made.release();
}

void* take_json_memory(size_t bytes) {
  if (void* const memory = ::operator new(bytes, std::nothrow)) return memory;
  Reserve* const reserve = the_reserve;
  if (reserve == nullptr) throw std::bad_alloc();
  return reserve->take(bytes);
}

void free_json_memory(void* memory) noexcept {
  if (Reserve* const reserve = the_reserve; reserve != nullptr && reserve->owns(memory)) {
    return reserve->give_back(memory);
  }
  ::operator delete(memory);
}

}  // namespace tenon_http
