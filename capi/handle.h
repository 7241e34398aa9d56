// What all handles of the C interface share: the magic word that tells a live handle of the right
// kind from anything else, and the process that a handle belongs to. The objects behind the handles
// live elsewhere.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/error.h"

namespace tenon::capi {

/// First word of every handle. A destroyed one holds kDead until its memory is used again.
enum class Magic : uint32_t {
  Dead = 0x64616564u,
  Options = 0x74706f74u,
  Model = 0x646f6d74u,
  Tokenizer = 0x6b6f7474u,
  Session = 0x73657374u,
  Sampler = 0x706d7374u,
  Backends = 0x736b6274u,
  Engine = 0x676e6574u,
  Request = 0x71657274u,
  Grammar = 0x6d726774u,
  GrammarCache = 0x63726774u,
  Matcher = 0x74616d74u,
  Chat = 0x74686374u,
  ChatReply = 0x70726374u,
  Embedder = 0x64626d65u,
};

/// Base of the structs behind the handles. Derived says which magic word is its own in kMagic and
/// what messages call it in kName.
template <typename Derived>
class Handle {
 public:
  Handle() : magic_(Derived::kMagic), owner_pid_(::getpid()) {}
  ~Handle() { magic_.store(Magic::Dead); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[nodiscard]] bool is_live() const { return magic_.load() == Derived::kMagic; }
  /// False in the child of a fork that came after it was made: any lock of what is behind it may be
  /// held there by a thread that does not exist, so nothing of it is touched.
  [[nodiscard]] bool is_of_this_process() const { return owner_pid_ == ::getpid(); }

 private:
  std::atomic<Magic> magic_;
  int owner_pid_;
};

/// The object behind a handle. Throws Argument for NULL and for what is not a live handle of T,
/// State for one of another process.
template <typename T>
T& checked(T* handle) {
  if (handle == nullptr) fail(Code::Argument, "{} handle is NULL", T::kName);
  if (!handle->is_live()) {
    fail(Code::Argument, "{} handle is destroyed or of another kind", T::kName);
  }
  if (!handle->is_of_this_process()) {
    fail(Code::State, "{} handle was made before fork(), it is of no use in the child", T::kName);
  }
  return *handle;
}

/// The same for functions that cannot fail: null instead of an error. So a handle of another process
/// is not destroyed but left alone.
template <typename T>
T* live_or_null(T* handle) noexcept {
  const bool usable = handle != nullptr && handle->is_live() && handle->is_of_this_process();
  return usable ? handle : nullptr;
}

/// Where a result goes. Throws Argument naming the parameter when it is NULL.
template <typename T>
T& checked_out(T* out, const char* parameter) {
  if (out == nullptr) fail(Code::Argument, "{} is NULL", parameter);
  return *out;
}

}  // namespace tenon::capi
