// What all handles of the C interface share: the magic word that tells a live handle of the right
// kind from anything else, the process that a handle belongs to, and the calls that are under way on it.
// The objects behind the handles live elsewhere.
#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
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
  Placement = 0x63616c70u,
};

/// What every handle begins with. It counts the calls that are under way on it: destroying is put off until
/// the last of them returns, and calls that come later are told. Its memory is not used again at once
/// (handle.cpp), so that a call with a handle of the past reads kDead there rather than what came after.
class HandleBase {
 public:
  HandleBase(const HandleBase&) = delete;
  HandleBase& operator=(const HandleBase&) = delete;

  [[nodiscard]] bool is(Magic magic) const noexcept { return magic_.load() == magic; }
  /// False in the child of a fork that came after it was made: any lock of what is behind it may be
  /// held there by a thread that does not exist, so nothing of it is touched.
  [[nodiscard]] bool is_of_this_process() const noexcept { return owner_pid_ == ::getpid(); }

  /// Begins a call; false when it is destroyed. A part of another handle keeps that one.
  [[nodiscard]] bool begin_use() const noexcept;
  void end_use() const noexcept;
  /// No call begins from now on; false when that was so already. During a use, whose end, or that of the
  /// last other one, deletes it.
  [[nodiscard]] bool doom() const noexcept { return (uses_.fetch_or(kDoomed) & kDoomed) == 0; }

  static void* operator new(size_t size);
  static void operator delete(void* memory) noexcept;

 protected:
  using Delete = void (*)(const HandleBase* handle) noexcept;
  HandleBase(Magic magic, Delete deletes) noexcept
      : magic_(magic), owner_pid_(::getpid()), delete_(deletes) {}
  ~HandleBase() { magic_.store(Magic::Dead); }

  /// It is part of `whole`, and in use when this is.
  void be_part_of(const HandleBase& whole) noexcept { whole_ = &whole; }

 private:
  static constexpr uint32_t kDoomed = 1u << 31;

  std::atomic<Magic> magic_;
  int owner_pid_;
  mutable std::atomic<uint32_t> uses_{0};  ///< calls under way, and kDoomed
  Delete delete_;
  const HandleBase* whole_ = nullptr;
};

/// Base of the structs behind the handles. Derived says which magic word is its own in kMagic and
/// what messages call it in kName. One whose calls may last has interrupt(), which ends them.
template <typename Derived>
class Handle : public HandleBase {
 public:
  Handle() noexcept
      : HandleBase(Derived::kMagic, [](const HandleBase* handle) noexcept {
          delete static_cast<const Derived*>(handle);
        }) {}
};

/// The handles in use by a call of the C interface on this thread: fence() makes one, checked() adds to it.
class HandlesInUse {
 public:
  HandlesInUse() noexcept;
  ~HandlesInUse();
  HandlesInUse(const HandlesInUse&) = delete;
  HandlesInUse& operator=(const HandlesInUse&) = delete;

  /// Adds a handle to the innermost call; false when it is destroyed.
  [[nodiscard]] static bool add(const HandleBase& handle) noexcept;

 private:
  static constexpr size_t kMost =
      8;  ///< different handles that a function takes, with room to spare

  std::array<const HandleBase*, kMost> handles_{};
  size_t count_ = 0;
  HandlesInUse* outer_;  ///< the call whose callback makes this one
};

/// The object behind a handle, in use until the call ends. Throws Argument for NULL and for what is not a
/// live handle of T, State for one of another process.
template <typename T>
T& checked(T* handle) {
  if (handle == nullptr) fail(Code::Argument, "{} handle is NULL", T::kName);
  const bool is_live = handle->is(T::kMagic);
  if (is_live && !handle->is_of_this_process()) {
    fail(Code::State, "{} handle was made before fork(), it is of no use in the child", T::kName);
  }
  if (!is_live || !HandlesInUse::add(*handle)) {
    fail(Code::Argument, "{} handle is destroyed or of another kind", T::kName);
  }
  return *handle;
}

/// The same for functions that cannot fail: null instead of an error. To be called within a HandlesInUse.
template <typename T>
T* live_or_null(T* handle) noexcept {
  const bool usable = handle != nullptr && handle->is(T::kMagic) && handle->is_of_this_process() &&
                      HandlesInUse::add(*handle);
  return usable ? handle : nullptr;
}

/// Destroys a handle, now or when the calls under way on it return. NULL, what is no handle and what is of
/// another process is left alone.
template <typename T>
void destroy(T* handle) noexcept {
  const HandlesInUse call;
  T* const live = live_or_null(handle);
  if (live == nullptr || !live->doom()) return;
  if constexpr (requires { live->interrupt(); }) live->interrupt();
}

/// Where a result goes. Throws Argument naming the parameter when it is NULL.
template <typename T>
T& checked_out(T* out, const char* parameter) {
  if (out == nullptr) fail(Code::Argument, "{} is NULL", parameter);
  return *out;
}

}  // namespace tenon::capi
