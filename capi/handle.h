// Common part of all handles of the C interface: the magic word that identifies a live handle of
// the right kind, the owning process, and the running calls. The objects behind the handles live
// elsewhere.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/process_id.h"

namespace tenon::capi {

/// First word of every handle. A destroyed handle holds kDead until its memory is reused.
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
  Adapter = 0x70646174u,
};

/// Beginning of every handle. Counts the running calls: destruction waits for the last of them, and
/// later calls fail. The memory of destroyed handles is reused late (handle.cpp), so that a call
/// with a stale handle usually reads kDead.
class HandleBase {
 public:
  HandleBase(const HandleBase&) = delete;
  HandleBase& operator=(const HandleBase&) = delete;

  [[nodiscard]] bool is(Magic magic) const noexcept { return magic_.load() == magic; }
  /// False in a process forked after creation: its locks may be held by threads the child does not
  /// have. The child must not touch the object.
  [[nodiscard]] bool is_of_this_process() const noexcept { return owner_pid_ == process_id(); }

  /// Begins a call; false if the handle is destroyed. A part of another handle keeps the whole
  /// alive.
  [[nodiscard]] bool begin_use() const noexcept;
  void end_use() const noexcept;
  /// Refuses calls from now on; false if that was already so. Call during a use: the end of the
  /// last use deletes the handle.
  [[nodiscard]] bool doom() const noexcept { return (uses_.fetch_or(kDoomed) & kDoomed) == 0; }

  static void* operator new(size_t size);
  static void operator delete(void* memory) noexcept;

 protected:
  using Delete = void (*)(const HandleBase* handle) noexcept;
  HandleBase(Magic magic, Delete deletes) noexcept
      : magic_(magic), owner_pid_(process_id()), delete_(deletes) {}
  ~HandleBase() { magic_.store(Magic::Dead); }

  /// Makes this handle a part of `whole`, which is in use while the part is.
  void be_part_of(const HandleBase& whole) noexcept { whole_ = &whole; }

 private:
  static constexpr uint32_t kDoomed = 1u << 31;

  std::atomic<Magic> magic_;
  int owner_pid_;
  mutable std::atomic<uint32_t> uses_{0};  ///< number of running calls, and kDoomed
  Delete delete_;
  const HandleBase* whole_ = nullptr;
};

/// Base of the structs behind the handles. Derived has its magic word in kMagic and its name for
/// messages in kName. A Derived with long calls has interrupt(), which ends them.
template <typename Derived>
class Handle : public HandleBase {
 public:
  Handle() noexcept
      : HandleBase(Derived::kMagic, [](const HandleBase* handle) noexcept {
          delete static_cast<const Derived*>(handle);
        }) {}
};

/// Handles in use by a call of the C interface on this thread. fence() makes the list, checked()
/// adds to it.
class HandlesInUse {
 public:
  HandlesInUse() noexcept;
  ~HandlesInUse();
  HandlesInUse(const HandlesInUse&) = delete;
  HandlesInUse& operator=(const HandlesInUse&) = delete;

  /// Adds a handle to the innermost call; false if the handle is destroyed.
  [[nodiscard]] static bool add(const HandleBase& handle) noexcept;

 private:
  /// Exceeds the number of different handles that a function takes.
  static constexpr size_t kMost = 8;

  std::array<const HandleBase*, kMost> handles_{};
  size_t count_ = 0;
  HandlesInUse* outer_;  ///< enclosing call, whose callback made this call
};

/// Object behind a handle, in use until the call ends. Throws Argument for NULL and for anything
/// but a live handle of T, State for a handle of another process.
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

/// Variant for functions that cannot fail: returns null on errors. Requires an enclosing
/// HandlesInUse.
template <typename T>
T* live_or_null(T* handle) noexcept {
  const bool usable = handle != nullptr && handle->is(T::kMagic) && handle->is_of_this_process() &&
                      HandlesInUse::add(*handle);
  return usable ? handle : nullptr;
}

/// Destroys a handle now, or when its running calls return. Ignores NULL, invalid handles and
/// handles of another process.
template <typename T>
void destroy(T* handle) noexcept {
  const HandlesInUse call;
  T* const live = live_or_null(handle);
  if (live == nullptr || !live->doom()) return;
  if constexpr (requires { live->interrupt(); }) live->interrupt();
}

/// Checks an out-parameter. Throws Argument naming the parameter if it is NULL.
template <typename T>
T& checked_out(T* out, const char* parameter) {
  if (out == nullptr) fail(Code::Argument, "{} is NULL", parameter);
  return *out;
}

}  // namespace tenon::capi
