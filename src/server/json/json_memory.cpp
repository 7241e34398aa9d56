#include "server/json/json_memory.h"

#include <sys/mman.h>

#include <mutex>

namespace tenon_http {
namespace {

/// Enough for trees of four million values: the vector doubles and moves.
constexpr size_t kReserveBytes = size_t{128} << 20;
constexpr size_t kAlignment = 16;

/// Cuts pieces off both ends in turn. A growing vector has at most two pieces, so each end is free
/// again for the next cut.
class Reserve {
 public:
  Reserve()
      : begin_(
            static_cast<std::byte*>(::mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
  }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  void* take(size_t bytes) {
    if (num_mine == 0) mutex_.lock();
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

  void leave() noexcept {
    if (--num_mine > 0) return;
    ::madvise(begin_, kReserveBytes, MADV_DONTNEED);
    mutex_.unlock();
  }

  std::byte* begin_;
  End low_;
  End high_;
  std::mutex mutex_;
  static inline thread_local size_t num_mine = 0;  ///< pieces held by this thread
};

/// Never freed: trees may outlive the last server.
Reserve* the_reserve = nullptr;
std::once_flag is_reserved;

}  // namespace

void reserve_json_memory() {
  std::call_once(is_reserved, [] { the_reserve = new Reserve(); });
}

void* take_json_memory(size_t bytes) {
  if (void* const memory = ::operator new(bytes, std::nothrow)) return memory;
  if (the_reserve == nullptr) throw std::bad_alloc();
  return the_reserve->take(bytes);
}

void free_json_memory(void* memory) noexcept {
  if (the_reserve != nullptr && the_reserve->owns(memory)) {
    return the_reserve->give_back(memory);
  }
  ::operator delete(memory);
}

}  // namespace tenon_http
