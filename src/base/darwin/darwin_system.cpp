#include <dlfcn.h>
#include <fcntl.h>
#include <mach-o/loader.h>
#include <mach/mach.h>
#include <pthread.h>
#include <pthread/qos.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/darwin/system_numbers.h"
#include "base/host_memory.h"
#include "base/loaded_code.h"
#include "base/posix/posix_system.h"
#include "base/reserving_system.h"

namespace tenon {
namespace {

/// The image that holds this code: of the library, or of what it was linked into.
struct OwnImage {
  OwnImage() noexcept {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&own_code), &info) == 0) return;
    file = info.dli_fname;
    header = static_cast<const mach_header_64*>(info.dli_fbase);
  }
  const char* file = nullptr;
  const mach_header_64* header = nullptr;
};

/// Install name of a library; empty for programs and bundles.
std::string_view install_name(const mach_header_64* header) noexcept {
  if (header == nullptr || header->filetype != MH_DYLIB) return {};
  const char* at = reinterpret_cast<const char*>(header + 1);
  for (uint32_t i = 0; i < header->ncmds; ++i) {
    load_command command;
    std::memcpy(&command, at, sizeof command);
    if (command.cmd == LC_ID_DYLIB) {
      dylib_command name;
      std::memcpy(&name, at, sizeof name);
      return at + name.dylib.name.offset;
    }
    at += command.cmdsize;
  }
  return {};
}

/// Keeps the image until the process ends: a model's threads outlive a host's dlclose. The linker
/// has no flag for it.
void keep_own_image() noexcept {
  const OwnImage own;
  if (own.header == nullptr || own.header->filetype == MH_EXECUTE) return;
  static void* const kept = ::dlopen(own.file, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  (void)kept;
}

/// Opens what a file is known by, without reading it. Devices and FIFOs would notice that they are
/// opened: the null device, no regular file either, stands for them.
int open_to_look(const char* path, bool at_link) noexcept {
  struct ::stat info;
  if ((at_link ? ::lstat(path, &info) : ::stat(path, &info)) != 0) return -errno;
  int flags = O_EVTONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  if (S_ISLNK(info.st_mode)) {
    flags |= O_SYMLINK;
  } else if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    path = "/dev/null";
  } else if (at_link) {
    flags |= O_NOFOLLOW;
  }
  const int fd = ::open(path, flags);
  return fd >= 0 ? fd : -errno;
}

class DarwinSystem : public PosixSystem {
 public:
  // The kernel chooses sizes of pages by itself.
  int advise_huge_pages(void*, uint64_t) noexcept override { return 0; }
  int64_t huge_page_bytes(const void*, uint64_t) noexcept override { return 0; }

  uint64_t available_memory() noexcept override {
    vm_statistics64_data_t pages{};
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    const mach_port_t host = ::mach_host_self();
    const kern_return_t result =
        ::host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count);
    ::mach_port_deallocate(::mach_task_self(), host);
    if (result != KERN_SUCCESS) {
      return std::max<uint64_t>(1, static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_bytes());
    }
    // Pages that hold files, or what their owner can do without, are given up under pressure.
    // Pages that were read ahead count as free and as of files.
    const uint64_t without_swapping = uint64_t{pages.free_count} -
                                      std::min(pages.free_count, pages.speculative_count) +
                                      pages.external_page_count + pages.purgeable_count;
    return std::max<uint64_t>(1, without_swapping * page_bytes());
  }

  int open(const char* path, OpenMode mode) noexcept override {
    // O_NONBLOCK: opening a FIFO without a writer would block for ever.
    int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
    switch (mode) {
      case OpenMode::Read:
        break;
      case OpenMode::ReadNoLink:
        flags |= O_NOFOLLOW;
        break;
      case OpenMode::LookAt:
        return open_to_look(path, false);
      case OpenMode::LookAtLink:
        return open_to_look(path, true);
      case OpenMode::LookAtFolder:
      case OpenMode::Folder:
        flags |= O_DIRECTORY;
        break;
    }
    const int fd = ::open(path, flags);
    return fd >= 0 ? fd : -errno;
  }

  int create_unnamed(const char*) noexcept override { return -EOPNOTSUPP; }
  int link_unnamed(int, const char*) noexcept override { return -EOPNOTSUPP; }

  /// fsync leaves the bytes in the drive's cache. Some file systems know nothing more.
  int sync(int fd) noexcept override {
    if (::fcntl(fd, F_FULLFSYNC) == 0) return 0;
    if (errno == EINTR || errno == EIO || errno == ENOSPC || errno == EDQUOT) return -errno;
    return PosixSystem::sync(fd);
  }

  uint32_t num_usable_cpus() noexcept override {
    const uint32_t logical = kernel_number("hw.logicalcpu");
    if (logical > 0) return logical;
    return static_cast<uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  }

  int random_bytes(void* out, uint64_t size_bytes) noexcept override {
    ::arc4random_buf(out, size_bytes);
    return 0;
  }

 protected:
  /// Performance cores are for threads of a class at which somebody waits. The class is the
  /// creator's, so that work in the background stays there, but never that of the user interface.
  void prepare_thread(pthread_attr_t& attributes) noexcept override {
    keep_own_image();
    const qos_class_t creator = ::qos_class_self();
    const bool is_lower = creator == QOS_CLASS_UTILITY || creator == QOS_CLASS_BACKGROUND;
    (void)::pthread_attr_set_qos_class_np(&attributes,
                                          is_lower ? creator : QOS_CLASS_USER_INITIATED, 0);
  }
};

class ReservingSystem : public DarwinSystem {
 protected:
  [[nodiscard]] int map_flags() const noexcept override { return MAP_NORESERVE; }
};

}  // namespace

std::shared_ptr<System> reserving_system() { return std::make_shared<ReservingSystem>(); }

uint64_t resident_memory() noexcept {
  mach_task_basic_info_data_t info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  const kern_return_t result = ::task_info(::mach_task_self(), MACH_TASK_BASIC_INFO,
                                           reinterpret_cast<task_info_t>(&info), &count);
  return result == KERN_SUCCESS ? info.resident_size : 0;
}

std::shared_ptr<System> System::real() { return std::make_shared<DarwinSystem>(); }

std::shared_ptr<System> System::with_allocator(const HostAllocator& allocator) {
  return std::make_shared<HostMemory<DarwinSystem>>(allocator);
}

/// Load commands hold the identifier of the build and the sizes of its parts.
Hash128 code_fingerprint(const void* address) noexcept {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fbase == nullptr) return {};
  const auto* header = static_cast<const mach_header_64*>(info.dli_fbase);
  const auto* commands = reinterpret_cast<const std::byte*>(header + 1);
  return hash_bytes({commands, header->sizeofcmds});
}

OwnCode own_code() noexcept {
  const OwnImage own;
  const std::string_view name = install_name(own.header);
  OwnCode code;
  code.file = own.file;
  code.is_shared = name.substr(name.rfind('/') + 1).starts_with("libtenon.");
  code.is_secure = ::issetugid() != 0;
  return code;
}

}  // namespace tenon
