#include "base/posix/posix_system.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <limits>
#include <memory>

#include "base/process_id.h"

namespace tenon {
namespace {

/// Limit of the files that the process writes, in bytes.
uint64_t file_size_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<uint64_t>::max();
  }
  return limit.rlim_cur;
}

uint64_t nanoseconds(const timespec& time) noexcept {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

/// Time of the last change of a file, a member of another name on macOS.
template <typename Stat>
int64_t modified_ns(const Stat& info) noexcept {
  if constexpr (requires { info.st_mtimespec; }) {
    return int64_t{info.st_mtimespec.tv_sec} * 1'000'000'000 + info.st_mtimespec.tv_nsec;
  } else {
    return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  }
}

/// Bytes of one read or write: macOS refuses more than INT_MAX, Linux transfers about as many.
constexpr uint64_t kMostTransferBytes = uint64_t{1} << 30;

}  // namespace

uint64_t PosixSystem::page_bytes() noexcept {
  return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void* PosixSystem::map_pages(uint64_t size_bytes) noexcept {
  const bool large = size_bytes >= kHugePageBytes;
  const uint64_t extra = large ? kHugePageBytes : 0;
  if (size_bytes == 0 || size_bytes > SIZE_MAX - extra - page_bytes()) return nullptr;
  const uint64_t size = round_up(size_bytes, page_bytes());
  void* pages = ::mmap(nullptr, size + extra, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | map_flags(), -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  // Unmap the parts before the first 2 MiB border and after the block.
  const auto begin = reinterpret_cast<uintptr_t>(pages);
  const uint64_t before = large ? round_up(begin, kHugePageBytes) - begin : 0;
  char* const aligned = static_cast<char*>(pages) + before;
  if (before > 0) ::munmap(pages, before);
  if (extra > before) ::munmap(aligned + size, extra - before);
  return aligned;
}

void PosixSystem::unmap_pages(void* pages, uint64_t size_bytes) noexcept {
  if (pages != nullptr) ::munmap(pages, round_up(size_bytes, page_bytes()));
}

int PosixSystem::duplicate(int fd) noexcept {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  return copy >= 0 ? copy : -errno;
}

int PosixSystem::stat(int fd, FileStat& out) noexcept {
  struct ::stat info;
  if (::fstat(fd, &info) != 0) return -errno;
  out.size_bytes = static_cast<uint64_t>(info.st_size);
  out.modified_ns = modified_ns(info);
  out.inode = info.st_ino;
  out.device = static_cast<uint64_t>(info.st_dev);
  out.is_regular = S_ISREG(info.st_mode);
  out.owner = info.st_uid;
  out.mode = info.st_mode & 07777u;
  return 0;
}

int64_t PosixSystem::read_at(int fd, void* buffer, uint64_t size_bytes, uint64_t offset) noexcept {
  if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return -EINVAL;
  const uint64_t size = std::min(size_bytes, kMostTransferBytes);
  const ssize_t count = ::pread(fd, buffer, size, static_cast<off_t>(offset));
  return count >= 0 ? count : -errno;
}

int PosixSystem::close(int fd) noexcept { return ::close(fd) == 0 ? 0 : -errno; }

int PosixSystem::create(const char* path) noexcept {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
  return fd >= 0 ? fd : -errno;
}

int64_t PosixSystem::write_at(int fd, const void* buffer, uint64_t size_bytes,
                              uint64_t offset) noexcept {
  if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return -EFBIG;
  // The host may change the limit at any time. A write that begins at it raises SIGXFSZ.
  const uint64_t limit = file_size_limit();
  if (size_bytes > 0 && offset >= limit) return -EFBIG;
  const uint64_t size = std::min({size_bytes, limit - offset, kMostTransferBytes});
  const ssize_t count = ::pwrite(fd, buffer, size, static_cast<off_t>(offset));
  return count >= 0 ? count : -errno;
}

int PosixSystem::sync(int fd) noexcept { return ::fsync(fd) == 0 ? 0 : -errno; }

int PosixSystem::rename(const char* from, const char* to) noexcept {
  return ::rename(from, to) == 0 ? 0 : -errno;
}

int64_t PosixSystem::read_link(const char* path, char* target, uint64_t size_bytes) noexcept {
  const ssize_t count = ::readlink(path, target, size_bytes);
  return count < 0 ? -errno : count;
}

int PosixSystem::remove(const char* path) noexcept { return ::unlink(path) == 0 ? 0 : -errno; }

int PosixSystem::open_private(const char* path) noexcept {
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const int fd = ::open(path, kFlags, 0600);
  return fd >= 0 ? fd : -errno;
}

int PosixSystem::make_folder(const char* path) noexcept {
  return ::mkdir(path, 0700) == 0 ? 0 : -errno;
}

int PosixSystem::try_lock(int fd) noexcept {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
}

int PosixSystem::unlock(int fd) noexcept { return ::flock(fd, LOCK_UN) == 0 ? 0 : -errno; }

int PosixSystem::touch(int fd) noexcept { return ::futimens(fd, nullptr) == 0 ? 0 : -errno; }

void* PosixSystem::map_file(int fd, uint64_t offset, uint64_t size_bytes, int& error) noexcept {
  error = -EINVAL;
  if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return nullptr;
  void* pages = ::mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
  error = pages == MAP_FAILED ? -errno : 0;
  return pages == MAP_FAILED ? nullptr : pages;
}

void PosixSystem::unmap_file(void* pages, uint64_t size_bytes) noexcept {
  ::munmap(pages, size_bytes);
}

int PosixSystem::list_directory(const char* path, void (*visit)(void* user, const char* name),
                                void* user) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path), ::closedir);
  if (directory == nullptr) return -errno;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) return -errno;
    visit(user, entry->d_name);
  }
}

void* PosixSystem::load_library(const char* path, const char*& error) noexcept {
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  error = library == nullptr ? ::dlerror() : nullptr;
  return library;
}

void PosixSystem::unload_library(void* library) noexcept { ::dlclose(library); }

int PosixSystem::start_thread(ThreadHandle& out, uint64_t stack_bytes, void* (*entry)(void*),
                              void* arg) noexcept {
  pthread_t thread{};
  pthread_attr_t attributes;
  int error = ::pthread_attr_init(&attributes);
  if (error != 0) return -error;
  // Whole pages, or the size is refused.
  ::pthread_attr_setstacksize(
      &attributes, round_up(std::max<uint64_t>(stack_bytes, PTHREAD_STACK_MIN), page_bytes()));
  prepare_thread(attributes);
  // A new thread inherits its creator's signal mask, so it never runs with signals unblocked.
  sigset_t all;
  sigset_t saved;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &saved);
  error = ::pthread_create(&thread, &attributes, entry, arg);
  ::pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (error == 0) out = std::bit_cast<ThreadHandle>(thread);
  return -error;
}

void PosixSystem::join_thread(ThreadHandle thread) noexcept {
  ::pthread_join(std::bit_cast<pthread_t>(thread), nullptr);
}

uint64_t PosixSystem::now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}

uint64_t PosixSystem::thread_time_ns() noexcept {
  timespec used{};
  return ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0 ? nanoseconds(used) : now_ns();
}

void* PosixSystem::allocate(uint64_t size_bytes, uint64_t alignment) noexcept {
  void* memory = nullptr;
  const uint64_t least = std::max<uint64_t>(alignment, sizeof(void*));
  return ::posix_memalign(&memory, least, size_bytes) == 0 ? memory : nullptr;
}

void PosixSystem::release(void* memory, uint64_t, uint64_t) noexcept { std::free(memory); }

void* PosixSystem::find_symbol(void* library, const char* name) noexcept {
  return ::dlsym(library, name);
}

void PosixSystem::keep_library(const char* path) noexcept {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  if (library != nullptr) ::dlclose(library);
}

int process_id() noexcept { return ::getpid(); }

uint32_t effective_user() noexcept { return ::geteuid(); }

}  // namespace tenon
