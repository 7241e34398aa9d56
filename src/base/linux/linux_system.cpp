#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>

#include "base/control_groups.h"
#include "base/host_memory.h"
#include "base/loaded_code.h"
#include "base/posix/posix_system.h"
#include "base/reserving_system.h"
#include "base/sanitized.h"

/// Defined only by the shared library (capi/shared_only/shared_library.cpp).
extern "C" __attribute__((weak, visibility("hidden"))) const char tenon_is_shared_library;

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

int flags_of(OpenMode mode) noexcept {
  // O_NONBLOCK: opening a FIFO without a writer would block for ever. Regular files ignore the
  // flag.
  constexpr int kRead = O_RDONLY | O_NOCTTY | O_NONBLOCK;
  switch (mode) {
    case OpenMode::Read:
      return kRead;
    case OpenMode::ReadNoLink:
      return kRead | O_NOFOLLOW;
    // O_PATH opens nothing: it does not affect a device.
    case OpenMode::LookAt:
      return O_PATH;
    case OpenMode::LookAtLink:
      return O_PATH | O_NOFOLLOW;
    case OpenMode::LookAtFolder:
      return O_PATH | O_DIRECTORY;
    case OpenMode::Folder:
      return O_RDONLY | O_DIRECTORY;
  }
  return kRead;
}

/// The path under which /proc shows an open file.
struct FdPath {
  explicit FdPath(int fd) { std::snprintf(text, sizeof text, "/proc/self/fd/%d", fd); }
  char text[32];
};

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

class RealSystem : public PosixSystem {
 public:
  int advise_huge_pages(void* pages, uint64_t size_bytes) noexcept override {
    return ::madvise(pages, round_up(size_bytes, page_bytes()), MADV_HUGEPAGE) == 0 ? 0 : -errno;
  }

  int64_t huge_page_bytes(const void* pages, uint64_t size_bytes) noexcept override {
    const auto begin = reinterpret_cast<uintptr_t>(pages);
    return sum_huge_pages(begin, begin + size_bytes);
  }

  uint64_t available_memory() noexcept override {
    uint64_t available = proc_available_bytes();
    if (available == 0) {
      available = static_cast<uint64_t>(std::max(1L, ::sysconf(_SC_PHYS_PAGES))) * page_bytes();
    }
    return std::max<uint64_t>(1, std::min(available, memory_limit_of_groups(*this)));
  }

  int open(const char* path, OpenMode mode) noexcept override {
    const int fd = ::open(path, flags_of(mode) | O_CLOEXEC);
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
  return std::make_shared<HostMemory<RealSystem>>(allocator);
}

namespace {

#if TENON_ADDRESS_SANITIZED
/// Copies bytes among which are the sanitizer's zones, which no other code may read.
__attribute__((no_sanitize("address"))) void copy_with_zones(const std::byte* from, std::byte* to,
                                                             size_t size) noexcept {
  const auto* bytes = static_cast<const volatile std::byte*>(from);
  for (size_t i = 0; i < size; ++i) to[i] = bytes[i];
}

/// Reads a page of 64, since all of them take seconds in such a build.
Hash128 hash_code(const std::byte* bytes, size_t size, uint64_t seed) noexcept {
  std::array<std::byte, 4096> piece;
  Hash128 sum{seed, 0};
  for (size_t done = 0; done < size; done += 64 * piece.size()) {
    const size_t count = std::min(piece.size(), size - done);
    copy_with_zones(bytes + done, piece.data(), count);
    sum = hash_bytes(std::span(piece).first(count), sum.low);
  }
  return sum;
}
#else
Hash128 hash_code(const std::byte* bytes, size_t size, uint64_t seed) noexcept {
  return hash_bytes({bytes, size}, seed);
}
#endif

}  // namespace

Hash128 code_fingerprint(const void* address) noexcept {
  struct Search {
    uintptr_t address;
    Hash128 found;
  } search{reinterpret_cast<uintptr_t>(address), {}};
  // Segments that are not writable hold no relocated addresses, so every process has their bytes.
  const auto look = [](dl_phdr_info* info, size_t, void* arg) {
    auto& wanted = *static_cast<Search*>(arg);
    const std::span segments(info->dlpi_phdr, info->dlpi_phnum);
    const auto begin = [info](const ElfW(Phdr) & segment) {
      return info->dlpi_addr + segment.p_vaddr;
    };
    const bool is_it = std::ranges::any_of(segments, [&](const ElfW(Phdr) & segment) {
      return segment.p_type == PT_LOAD && wanted.address - begin(segment) < segment.p_memsz;
    });
    if (!is_it) return 0;
    for (const ElfW(Phdr) & segment : segments) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & (PF_R | PF_W)) != PF_R) continue;
      const auto* bytes = reinterpret_cast<const std::byte*>(begin(segment));
      const Hash128 sum = hash_code(bytes, segment.p_filesz, wanted.found.low);
      wanted.found = {sum.low, sum.high ^ wanted.found.high};
    }
    return 1;
  };
  ::dl_iterate_phdr(look, &search);
  return search.found;
}

OwnCode own_code() noexcept {
  OwnCode code;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_code), &info) != 0) code.file = info.dli_fname;
  code.is_shared = &tenon_is_shared_library != nullptr;
  code.is_secure = ::getauxval(AT_SECURE) != 0;
  return code;
}

}  // namespace tenon
