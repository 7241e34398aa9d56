// What all handles of the C interface share: the magic word that tells a live handle of the right
// kind from anything else. The objects behind the handles live elsewhere.
#pragma once

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
};

/// Base of the structs behind the handles. Derived says which magic word is its own in kMagic and
/// what messages call it in kName.
template <typename Derived>
class Handle {
 public:
  Handle() : magic_(Derived::kMagic) {}
  ~Handle() { magic_.store(Magic::Dead); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[nodiscard]] bool is_live() const { return magic_.load() == Derived::kMagic; }

 private:
  std::atomic<Magic> magic_;
};

/// The object behind a handle. Throws Argument for NULL and for what is not a live handle of T.
template <typename T>
T& checked(T* handle) {
  if (handle == nullptr) fail(Code::Argument, "{} handle is NULL", T::kName);
  if (!handle->is_live()) {
    fail(Code::Argument, "{} handle is destroyed or of another kind", T::kName);
  }
  return *handle;
}

/// The same for functions that cannot fail: null instead of an error.
template <typename T>
T* live_or_null(T* handle) noexcept {
  return handle != nullptr && handle->is_live() ? handle : nullptr;
}

/// Where a result goes. Throws Argument naming the parameter when it is NULL.
template <typename T>
T& checked_out(T* out, const char* parameter) {
  if (out == nullptr) fail(Code::Argument, "{} is NULL", parameter);
  return *out;
}

}  // namespace tenon::capi
