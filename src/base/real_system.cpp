#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "base/control_groups.h"
#include "base/error.h"
#include "base/process_id.h"
#include "base/reserving_system.h"
#include "base/system.h"

namespace tenon {
namespace {

/// Reads a small kernel file into `out` and terminates it with a zero; false on failure.
bool read_kernel_file(const char* path, std::span<char> out) noexcept {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t size = 0;
  for (;;) {
    const ssize_t count = ::read(fd, out.data() + size, out.size() - 1 - size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    size += static_cast<size_t>(count);
  }
  ::close(fd);
  out[size] = '\0';
  return size > 0;
}

/// The path under which /proc shows an open file.
struct FdPath {
  explicit FdPath(int fd) { std::snprintf(text, sizeof text, "/proc/self/fd/%d", fd); }
  char text[32];
};

/// Limit of the files that the process writes, in bytes.
uint64_t file_size_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<uint64_t>::max();
  }
  return limit.rlim_cur;
}

uint64_t proc_available_bytes() noexcept {
  char text[2048];
  if (!read_kernel_file("/proc/meminfo", text)) return 0;
  const char* line = std::strstr(text, "MemAvailable:");
  unsigned long long kib = 0;
  if (line == nullptr || std::sscanf(line, "MemAvailable: %llu", &kib) != 1) return 0;
  return uint64_t{kib} * 1024;
}

/// Sums AnonHugePages of the mappings in /proc/self/smaps that overlap [begin, end).
int64_t sum_huge_pages(uintptr_t begin, uintptr_t end) noexcept {
  std::FILE* file = std::fopen("/proc/self/smaps", "re");
  if (file == nullptr) return -errno;
  char line[512];
  bool inside = false;
  int64_t total = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long long first = 0;
    unsigned long long last = 0;
    long long kib = 0;
    if (std::sscanf(line, "%llx-%llx ", &first, &last) == 2) {
      inside = first < end && last > begin;
    } else if (inside && std::sscanf(line, "AnonHugePages: %lld", &kib) == 1) {
      total += kib * 1024;
    }
  }
  std::fclose(file);
  // The kernel merges mappings of equal rights, so a mapping may be larger than the block.
  return std::min<int64_t>(total, static_cast<int64_t>(end - begin));
}

class RealSystem : public System {
 public:
  void* map_pages(uint64_t size_bytes) noexcept override {
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

  void unmap_pages(void* pages, uint64_t size_bytes) noexcept override {
    if (pages != nullptr) ::munmap(pages, round_up(size_bytes, page_bytes()));
  }

  int advise_huge_pages(void* pages, uint64_t size_bytes) noexcept override {
    return ::madvise(pages, round_up(size_bytes, page_bytes()), MADV_HUGEPAGE) == 0 ? 0 : -errno;
  }

  int64_t huge_page_bytes(const void* pages, uint64_t size_bytes) noexcept override {
    const auto begin = reinterpret_cast<uintptr_t>(pages);
    return sum_huge_pages(begin, begin + size_bytes);
  }

  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override {
    void* memory = nullptr;
    const uint64_t least = std::max<uint64_t>(alignment, sizeof(void*));
    return ::posix_memalign(&memory, least, size_bytes) == 0 ? memory : nullptr;
  }

  void release(void* memory, uint64_t, uint64_t) noexcept override { std::free(memory); }

  uint64_t available_memory() noexcept override {
    uint64_t available = proc_available_bytes();
    if (available == 0) {
      available = static_cast<uint64_t>(std::max(1L, ::sysconf(_SC_PHYS_PAGES))) * page_bytes();
    }
    return std::max<uint64_t>(1, std::min(available, memory_limit_of_groups(*this)));
  }

  int open(const char* path, int flags) noexcept override {
    const int fd = ::open(path, flags);
    return fd >= 0 ? fd : -errno;
  }

  int duplicate(int fd) noexcept override {
    const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return copy >= 0 ? copy : -errno;
  }

  int stat(int fd, FileStat& out) noexcept override {
    struct ::stat info;
    if (::fstat(fd, &info) != 0) return -errno;
    out.size_bytes = static_cast<uint64_t>(info.st_size);
    out.modified_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
    out.inode = info.st_ino;
    out.device = info.st_dev;
    out.is_regular = S_ISREG(info.st_mode);
    out.owner = info.st_uid;
    out.mode = info.st_mode & 07777u;
    return 0;
  }

  int64_t read_at(int fd, void* buffer, uint64_t size_bytes, uint64_t offset) noexcept override {
    if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return -EINVAL;
    const uint64_t size = std::min<uint64_t>(size_bytes, SSIZE_MAX);
    const ssize_t count = ::pread(fd, buffer, size, static_cast<off_t>(offset));
    return count >= 0 ? count : -errno;
  }

  int close(int fd) noexcept override { return ::close(fd) == 0 ? 0 : -errno; }

  int create(const char* path) noexcept override {
    const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    return fd >= 0 ? fd : -errno;
  }

  int create_unnamed(const char* folder) noexcept override {
    const int fd = ::open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    // Kernels without O_TMPFILE report an attempt to write a folder.
    if (fd < 0) return errno == EISDIR || errno == EINVAL ? -EOPNOTSUPP : -errno;
    char target[1];
    if (::readlink(FdPath(fd).text, target, sizeof target) > 0) return fd;
    ::close(fd);  // /proc is not mounted: the file could never get a name
    return -EOPNOTSUPP;
  }

  int link_unnamed(int fd, const char* path) noexcept override {
    const int result = ::linkat(AT_FDCWD, FdPath(fd).text, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    return result == 0 ? 0 : -errno;
  }

  int64_t write_at(int fd, const void* buffer, uint64_t size_bytes,
                   uint64_t offset) noexcept override {
    if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return -EFBIG;
    // The host may change the limit at any time. A write that begins at it raises SIGXFSZ.
    const uint64_t limit = file_size_limit();
    if (size_bytes > 0 && offset >= limit) return -EFBIG;
    const uint64_t size = std::min({size_bytes, limit - offset, uint64_t{SSIZE_MAX}});
    const ssize_t count = ::pwrite(fd, buffer, size, static_cast<off_t>(offset));
    return count >= 0 ? count : -errno;
  }

  int sync(int fd) noexcept override { return ::fsync(fd) == 0 ? 0 : -errno; }

  int rename(const char* from, const char* to) noexcept override {
    return ::rename(from, to) == 0 ? 0 : -errno;
  }

  int64_t read_link(const char* path, char* target, uint64_t size_bytes) noexcept override {
    const ssize_t count = ::readlink(path, target, size_bytes);
    return count < 0 ? -errno : count;
  }

  int remove(const char* path) noexcept override { return ::unlink(path) == 0 ? 0 : -errno; }

  void* map_file(int fd, uint64_t offset, uint64_t size_bytes, int& error) noexcept override {
    error = -EINVAL;
    if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return nullptr;
    void* pages =
        ::mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
    error = pages == MAP_FAILED ? -errno : 0;
    return pages == MAP_FAILED ? nullptr : pages;
  }

  void unmap_file(void* pages, uint64_t size_bytes) noexcept override {
    ::munmap(pages, size_bytes);
  }

  int list_directory(const char* path, void (*visit)(void* user, const char* name),
                     void* user) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path), ::closedir);
    if (directory == nullptr) return -errno;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(directory.get());
      if (entry == nullptr) return -errno;
      visit(user, entry->d_name);
    }
  }

  void* load_library(const char* path, const char*& error) noexcept override {
    void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    error = library == nullptr ? ::dlerror() : nullptr;
    return library;
  }

  void unload_library(void* library) noexcept override { ::dlclose(library); }

  int start_thread(pthread_t& out, uint64_t stack_bytes, void* (*entry)(void*),
                   void* arg) noexcept override {
    pthread_attr_t attributes;
    int error = ::pthread_attr_init(&attributes);
    if (error != 0) return -error;
    ::pthread_attr_setstacksize(&attributes, std::max<uint64_t>(stack_bytes, PTHREAD_STACK_MIN));
    // A new thread inherits its creator's signal mask, so it never runs with signals unblocked.
    sigset_t all;
    sigset_t saved;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &saved);
    error = ::pthread_create(&out, &attributes, entry, arg);
    ::pthread_sigmask(SIG_SETMASK, &saved, nullptr);
    ::pthread_attr_destroy(&attributes);
    return -error;
  }

  void join_thread(pthread_t thread) noexcept override { ::pthread_join(thread, nullptr); }

  uint32_t num_usable_cpus() noexcept override {
    // The kernel refuses a set with fewer bits than it has CPUs.
    for (int bits = 1024; bits <= (1 << 20); bits *= 4) {
      cpu_set_t* const set = CPU_ALLOC(static_cast<size_t>(bits));
      if (set == nullptr) break;
      const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(bits));
      const int count = ::sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
      CPU_FREE(set);
      if (count > 0) return static_cast<uint32_t>(count);
    }
    return static_cast<uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  }

  uint64_t now_ns() noexcept override {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return nanoseconds(now);
  }
  int random_bytes(void* out, uint64_t size_bytes) noexcept override {
    auto* bytes = static_cast<unsigned char*>(out);
    for (uint64_t done = 0; done < size_bytes;) {
      const ssize_t count = ::getrandom(bytes + done, size_bytes - done, GRND_NONBLOCK);
      if (count > 0) {
        done += static_cast<uint64_t>(count);
      } else if (count == 0 || errno != EINTR) {
        return count == 0 ? -EIO : -errno;
      }
    }
    return 0;
  }
  uint64_t thread_time_ns() noexcept override {
    timespec used{};
    return ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0 ? nanoseconds(used) : now_ns();
  }

 protected:
  /// Extra flags for map_pages.
  [[nodiscard]] virtual int map_flags() const noexcept { return 0; }

 private:
  static uint64_t nanoseconds(const timespec& time) noexcept {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u +
           static_cast<uint64_t>(time.tv_nsec);
  }
  static uint64_t page_bytes() noexcept { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }
  static uint64_t round_up(uint64_t value, uint64_t alignment) noexcept {
    return (value + alignment - 1) & ~(alignment - 1);
  }
};

/// Pages and buffers come from the host's callbacks, everything else from the system.
class HostMemorySystem : public RealSystem {
 public:
  explicit HostMemorySystem(const HostAllocator& allocator) : allocator_(allocator) {}

  void* map_pages(uint64_t size_bytes) noexcept override {
    void* pages = allocate(size_bytes, page_alignment(size_bytes));
    if (pages != nullptr) std::memset(pages, 0, size_bytes);
    return pages;
  }
  void unmap_pages(void* pages, uint64_t size_bytes) noexcept override {
    if (pages != nullptr) release(pages, size_bytes, page_alignment(size_bytes));
  }
  // The host's pages may be shared with other data: do not advise on them.
  int advise_huge_pages(void*, uint64_t) noexcept override { return -ENOTSUP; }

  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override {
    if (size_bytes > SIZE_MAX) return nullptr;
    return allocator_.allocate(allocator_.user, size_bytes, alignment);
  }
  void release(void* memory, uint64_t size_bytes, uint64_t alignment) noexcept override {
    allocator_.release(allocator_.user, memory, size_bytes, alignment);
  }
  // The limit is unknown: only a refusal shows that the host has no more memory.
  uint64_t available_memory() noexcept override { return std::numeric_limits<uint64_t>::max(); }

 private:
  static uint64_t page_alignment(uint64_t size_bytes) noexcept {
    return size_bytes >= kHugePageBytes ? kHugePageBytes : 4096;
  }
  HostAllocator allocator_;
};

class ReservingSystem : public RealSystem {
 protected:
  [[nodiscard]] int map_flags() const noexcept override { return MAP_NORESERVE; }
};

}  // namespace

std::shared_ptr<System> reserving_system() { return std::make_shared<ReservingSystem>(); }

uint64_t resident_memory() noexcept {
  char text[128];
  unsigned long long pages = 0;
  if (!read_kernel_file("/proc/self/statm", text)) return 0;
  if (std::sscanf(text, "%*u %llu", &pages) != 1) return 0;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::shared_ptr<System> System::real() { return std::make_shared<RealSystem>(); }

std::shared_ptr<System> System::with_allocator(const HostAllocator& allocator) {
  if (allocator.allocate == nullptr || allocator.release == nullptr) {
    fail(Code::Argument, "a host allocator needs both allocate and release");
  }
  return std::make_shared<HostMemorySystem>(allocator);
}

int process_id() noexcept { return ::getpid(); }

}  // namespace tenon
