// Interface to the operating system: memory, files, threads and the clock. Calls are virtual, so
// that a test can make the N-th fail. Contains no policy about models or formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

/// Size of a huge page; large blocks are aligned to it.
inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

/// A host's own allocator. `allocate` returns null on failure. Both may be called from any thread.
struct HostAllocator {
  void* user = nullptr;
  void* (*allocate)(void* user, size_t size_bytes, size_t alignment) = nullptr;
  void (*release)(void* user, void* memory, size_t size_bytes, size_t alignment) = nullptr;
};

/// Cheap identity of a file's contents: the file has changed if any field has.
struct FileIdentity {
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;
  uint64_t inode = 0;
  uint64_t device = 0;
  bool is_regular = false;
  bool operator==(const FileIdentity&) const = default;
};

/// A file's identity and who may write it.
struct FileStat : FileIdentity {
  uint32_t owner = 0;  ///< user id
  uint32_t mode = 0;   ///< permission bits, as of chmod
};

/// Purposes of opening a file. No mode blocks, and no child process inherits the descriptor.
enum class OpenMode {
  Read,          ///< read a file
  ReadNoLink,    ///< the same, and refuse a symbolic link (-ELOOP)
  LookAt,        ///< stat only; needs no permission for the file
  LookAtLink,    ///< the same, for a symbolic link itself
  LookAtFolder,  ///< stat a folder
  Folder         ///< sync a folder
};

/// A thread of start_thread.
using ThreadHandle = uintptr_t;

/// Each call is one call of the operating system (or of the host's allocator) and returns its
/// failure as a value: a negative errno or null. The functions below apply the engine's rules and
/// throw. Injected where needed, never global; safe from any thread.
class System {
 public:
  virtual ~System() = default;

  /// The operating system itself.
  static std::shared_ptr<System> real();
  /// The real system with memory from the host. Throws Argument if a callback is missing.
  static std::shared_ptr<System> with_allocator(const HostAllocator& allocator);

  // Memory. Pages are zero, and aligned to 2 MiB for blocks of that size or more; null on failure.
  virtual void* map_pages(uint64_t size_bytes) noexcept = 0;
  virtual void unmap_pages(void* pages, uint64_t size_bytes) noexcept = 0;
  /// Asks for huge pages: 0 or -errno.
  virtual int advise_huge_pages(void* pages, uint64_t size_bytes) noexcept = 0;
  /// Bytes of the touched pages in [pages, pages + size_bytes) that lie on huge pages, or -errno.
  virtual int64_t huge_page_bytes(const void* pages, uint64_t size_bytes) noexcept = 0;
  /// Uninitialised bytes; null on failure. alignment: a power of two.
  virtual void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept = 0;
  virtual void release(void* memory, uint64_t size_bytes, uint64_t alignment) noexcept = 0;
  /// Bytes that can be allocated and touched without swapping, as the system estimates; never 0.
  virtual uint64_t available_memory() noexcept = 0;

  // Files. Each returns a value >= 0 or -errno.
  virtual int open(const char* path, OpenMode mode) noexcept = 0;
  virtual int duplicate(int fd) noexcept = 0;
  virtual int stat(int fd, FileStat& out) noexcept = 0;
  virtual int64_t read_at(int fd, void* buffer, uint64_t size_bytes, uint64_t offset) noexcept = 0;
  virtual int close(int fd) noexcept = 0;
  /// Creates a file that must not exist yet and opens it for writing.
  virtual int create(const char* path) noexcept = 0;
  /// Opens a new unnamed file in a folder for writing; it vanishes on close unless it is linked.
  /// -EOPNOTSUPP if the file system cannot do so, or if link_unnamed would fail.
  virtual int create_unnamed(const char* folder) noexcept = 0;
  /// Links an unnamed file under a free name (-EEXIST if taken): 0 or -errno.
  virtual int link_unnamed(int fd, const char* path) noexcept = 0;
  /// Writes up to size_bytes. At or beyond the process's file size limit returns -EFBIG, without
  /// raising SIGXFSZ; just before it, may write fewer bytes.
  virtual int64_t write_at(int fd, const void* buffer, uint64_t size_bytes,
                           uint64_t offset) noexcept = 0;
  /// Returns when the file's bytes, or a folder's entries, are on the disk.
  virtual int sync(int fd) noexcept = 0;
  virtual int rename(const char* from, const char* to) noexcept = 0;
  /// Copies the target of a symbolic link as stored, without a terminating zero, at most
  /// size_bytes. Returns its length; -EINVAL if `path` is no link.
  virtual int64_t read_link(const char* path, char* target, uint64_t size_bytes) noexcept = 0;
  virtual int remove(const char* path) noexcept = 0;
  /// Opens a file for reading and writing that only this user may open, and creates it if it is
  /// missing. Refuses a symbolic link (-ELOOP).
  virtual int open_private(const char* path) noexcept = 0;
  /// Makes a folder that only this user may open: 0 or -errno (-EEXIST if the path is taken).
  virtual int make_folder(const char* path) noexcept = 0;
  /// Takes the lock of a file, which one open file of all processes has at a time: 0, or
  /// -EWOULDBLOCK. It ends with unlock(), when the descriptor is closed, and with the process.
  virtual int try_lock(int fd) noexcept = 0;
  virtual int unlock(int fd) noexcept = 0;
  /// Sets the time of a file's last change to now: 0 or -errno.
  virtual int touch(int fd) noexcept = 0;
  /// Maps bytes read-only; offset is a multiple of 64 KiB. On failure null, with -errno in `error`.
  virtual void* map_file(int fd, uint64_t offset, uint64_t size_bytes, int& error) noexcept = 0;
  virtual void unmap_file(void* pages, uint64_t size_bytes) noexcept = 0;
  /// Calls visit(user, name) for each entry of a directory, in no order: 0 or -errno.
  virtual int list_directory(const char* path, void (*visit)(void* user, const char* name),
                             void* user) = 0;
  /// Loads a library with all symbols resolved and not exported. On failure null, with the dynamic
  /// loader's text in `error` (valid until the thread's next call).
  virtual void* load_library(const char* path, const char*& error) noexcept = 0;
  virtual void unload_library(void* library) noexcept = 0;
  /// Address of a function in a loaded library, or null.
  virtual void* find_symbol(void* library, const char* name) noexcept = 0;
  /// Keeps a loaded library until the process ends.
  virtual void keep_library(const char* path) noexcept = 0;

  // Threads and time.
  /// Starts a thread with every signal blocked and a stack of stack_bytes: 0 or -errno.
  virtual int start_thread(ThreadHandle& out, uint64_t stack_bytes, void* (*entry)(void*),
                           void* arg) noexcept = 0;
  virtual void join_thread(ThreadHandle thread) noexcept = 0;
  /// CPUs that this process may run on; at least 1.
  virtual uint32_t num_usable_cpus() noexcept = 0;
  /// Monotonic nanoseconds.
  virtual uint64_t now_ns() noexcept = 0;
  /// Fills memory with unpredictable bytes, without waiting for entropy: 0 or -errno.
  virtual int random_bytes(void* out, uint64_t size_bytes) noexcept = 0;
  /// Processor time of the calling thread in nanoseconds, for work limits that do not shrink on a
  /// busy machine. Falls back to now_ns().
  virtual uint64_t thread_time_ns() noexcept = 0;
};

/// Opens a regular file for reading and returns its descriptor; never blocks. Throws Io naming
/// `path` for directories, FIFOs, devices, sockets and files made up by the kernel.
int open_regular_file(System& system, const std::string& path);

/// Fills `out` from `offset`, repeating interrupted and partial reads. Returns the number of bytes
/// read, less than out.size() only at the end of the file; throws Io naming `name` on an error.
uint64_t read_fully(System& system, int fd, uint64_t offset, std::span<std::byte> out,
                    std::string_view name);

/// A number that differs between calls and processes; for seeds, not for secrets. Uses the clock if
/// the system has no random bytes.
uint64_t random_number(System& system) noexcept;

/// The text of an errno value, without locale and without a shared buffer.
std::string errno_text(int error);

/// Throws NoMemory: "<what>: needs N bytes, about M are available".
[[noreturn]] void fail_no_memory(System& system, std::string_view what, uint64_t needed_bytes);

}  // namespace tenon
