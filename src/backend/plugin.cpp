#include "backend/plugin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace tenon {
namespace {

/// A file descriptor, closed at the end.
class File {
 public:
  explicit File(const char* path)
      : fd_(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}  // a FIFO must not hang us
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

bool writable_by_others(const struct stat& info) {
  return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/// A directory that everyone may write to is safe only if it protects each owner's files (sticky).
bool unsafe_directory(const std::string& path) {
  struct stat info {};
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  if (::stat(directory.c_str(), &info) != 0) return true;
  return (info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0;
}

/// Fills `out` from an offset of the file; false when the file ends before.
template <typename T>
bool read_at(int fd, uint64_t offset, T& out) {
  return ::pread(fd, &out, sizeof(out), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(sizeof(out));
}

/// Whether the file is an ELF library with all it says to load. The dynamic loader does not look:
/// the process dies at the first page that a copy broken off in the middle lacks.
bool whole_library(int fd, uint64_t size) {
  ElfW(Ehdr) header{};
  if (!read_at(fd, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(ElfW(Phdr))) return false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    uint64_t offset = 0;
    if (__builtin_add_overflow(header.e_phoff, i * sizeof(segment), &offset) || offset > size ||
        !read_at(fd, offset, segment)) {
      return false;
    }
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) return false;
  }
  return true;
}

/// What can be told before any code of the file runs.
PluginReason check_file(const std::string& path) {
  if (path.empty() || path.front() != '/') return PluginReason::NotAbsolute;
  const File file(path.c_str());
  struct stat info {};
  if (file.fd() < 0 || ::fstat(file.fd(), &info) != 0) return PluginReason::NotFound;
  if (!S_ISREG(info.st_mode)) return PluginReason::NotRegular;
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) return PluginReason::UnsafeOwner;
  if (writable_by_others(info) || unsafe_directory(path)) return PluginReason::Writable;
  if (!whole_library(file.fd(), static_cast<uint64_t>(info.st_size))) {
    return PluginReason::NotALibrary;
  }
  return PluginReason::None;
}

Plugin refuse(Plugin plugin, PluginReason reason, const std::string& detail = {}) {
  plugin.reason = reason;
  plugin.text = reason_text(reason);
  if (!detail.empty()) plugin.text += ": " + detail;
  plugin.backend = {};
  return plugin;
}

/// Size of the table in version 1.0 of the plugin ABI: later versions only add to it.
constexpr uint32_t kFirstTableBytes =
    offsetof(tenon_backend_api, memory_bytes) + sizeof(tenon_backend_api::memory_bytes);

}  // namespace

const char* reason_text(PluginReason reason) noexcept {
  switch (reason) {
    case PluginReason::None:
      return "in use";
    case PluginReason::NotAbsolute:
      return "the path is not absolute";
    case PluginReason::NotFound:
      return "the file cannot be opened";
    case PluginReason::NotRegular:
      return "not a regular file";
    case PluginReason::UnsafeOwner:
      return "owned by neither root nor the user of this process";
    case PluginReason::Writable:
      return "the file or its directory can be written by others";
    case PluginReason::NotALibrary:
      return "not a library that can be loaded";
    case PluginReason::NoEntry:
      return "no symbol tenon_backend_entry";
    case PluginReason::EntryThrew:
      return "its entry threw an exception";
    case PluginReason::Declined:
      return "it cannot run on this machine";
    case PluginReason::WrongMagic:
      return "its table does not begin with the magic number";
    case PluginReason::OtherMajor:
      return "written for another major version of the plugin ABI";
    case PluginReason::TooSmall:
      return "its table is too small";
    case PluginReason::MissingFunction:
      return "a function is missing from its table";
  }
  return "unknown reason";
}

PluginReason check_table(const tenon_backend_api* api) {
  if (api == nullptr) return PluginReason::Declined;
  if (api->magic != TENON_BACKEND_MAGIC) return PluginReason::WrongMagic;
  if (api->major != TENON_BACKEND_MAJOR) return PluginReason::OtherMajor;
  if (api->struct_size < kFirstTableBytes) return PluginReason::TooSmall;
  const bool complete =
      api->name != nullptr && api->create_device != nullptr && api->destroy_device != nullptr &&
      api->describe != nullptr && api->supports != nullptr && api->buffer_create != nullptr &&
      api->buffer_destroy != nullptr && api->buffer_read != nullptr &&
      api->buffer_write != nullptr && api->buffer_copy != nullptr && api->compile != nullptr &&
      api->destroy_executable != nullptr && api->kv_block_bytes != nullptr &&
      api->row_granularity != nullptr && api->load_rows != nullptr && api->seal != nullptr &&
      api->run != nullptr && api->wait != nullptr && api->memory_bytes != nullptr;
  return complete ? PluginReason::None : PluginReason::MissingFunction;
}

Plugin load_plugin(const std::string& path) {
  Plugin plugin;
  plugin.path = path;
  if (const PluginReason reason = check_file(path); reason != PluginReason::None) {
    return refuse(std::move(plugin), reason);
  }
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* detail = ::dlerror();
    return refuse(std::move(plugin), PluginReason::NotALibrary, detail == nullptr ? "" : detail);
  }
  plugin.backend.library =
      std::shared_ptr<const void>(handle, [](const void* h) { ::dlclose(const_cast<void*>(h)); });
  const auto entry = reinterpret_cast<tenon_backend_entry_fn>(::dlsym(handle, TENON_BACKEND_ENTRY));
  if (entry == nullptr) return refuse(std::move(plugin), PluginReason::NoEntry);
  // What it throws may be code of the plugin's: it must be gone before the plugin is.
  bool threw = false;
  try {
    plugin.backend.api = entry(TENON_BACKEND_MAJOR, TENON_BACKEND_MINOR);
  } catch (...) {
    threw = true;
  }
  if (threw) return refuse(std::move(plugin), PluginReason::EntryThrew);
  if (const PluginReason reason = check_table(plugin.backend.api); reason != PluginReason::None) {
    return refuse(std::move(plugin), reason);
  }
  return plugin;
}

}  // namespace tenon
