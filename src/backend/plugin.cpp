#include "backend/plugin.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "backend/library_file.h"
#include "base/path.h"
#include "base/process_id.h"

namespace tenon {
namespace {

/// Permission bits, as of chmod.
constexpr uint32_t kGroupMayWrite = 0020;
constexpr uint32_t kOthersMayWrite = 0002;
constexpr uint32_t kSticky = 01000;

/// A file descriptor, closed on scope exit; -errno if opening failed.
class File final : public LibraryBytes {
 public:
  File(System& system, const char* path, OpenMode mode)
      : system_(system), fd_(system.open(path, mode)) {}
  ~File() override {
    if (fd_ >= 0) system_.close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Returns false if the file is not open or the system refuses.
  bool stat(FileStat& out) const { return fd_ >= 0 && system_.stat(fd_, out) == 0; }
  [[nodiscard]] bool read_at(uint64_t offset, std::span<std::byte> out) const override {
    return system_.read_at(fd_, out.data(), out.size(), offset) == static_cast<int64_t>(out.size());
  }

 private:
  System& system_;
  int fd_;
};

/// A directory that others may write to is safe only if it protects each owner's files (sticky).
bool unsafe_directory(System& system, const std::string& path) {
  const File directory(system, std::string(folder_part(path)).c_str(), OpenMode::LookAtFolder);
  FileStat info;
  if (!directory.stat(info)) return true;
  return (info.mode & kOthersMayWrite) != 0 && (info.mode & kSticky) == 0;
}

/// Checks before any code of the file runs.
PluginReason check_file(const std::string& path, System& system) {
  if (!is_absolute_path(path)) return PluginReason::NotAbsolute;
  const File file(system, path.c_str(), OpenMode::Read);
  FileStat info;
  if (!file.stat(info)) return PluginReason::NotFound;
  if (!info.is_regular) return PluginReason::NotRegular;
  if (info.owner != 0 && info.owner != effective_user()) return PluginReason::UnsafeOwner;
  if ((info.mode & (kGroupMayWrite | kOthersMayWrite)) != 0 || unsafe_directory(system, path)) {
    return PluginReason::Writable;
  }
  if (!is_whole_library(kOwnLibraryFormat, file, info.size_bytes)) return PluginReason::NotALibrary;
  return PluginReason::None;
}

/// True if messages, options and lists can hold the name unchanged.
bool is_name(const char* name) {
  constexpr size_t kMostBytes = 63;
  const size_t length = ::strnlen(name, kMostBytes + 1);
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return length >= 1 && length <= kMostBytes && std::all_of(name, name + length, allowed);
}

Plugin refuse(Plugin plugin, PluginReason reason, const std::string& detail = {}) {
  plugin.reason = reason;
  plugin.text = reason_text(reason);
  if (!detail.empty()) plugin.text += ": " + detail;
  plugin.backend = {};
  return plugin;
}

/// Size of the table in version 2.0 of the plugin ABI: later versions only add to it.
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
    case PluginReason::BadName:
      return "its name is not 1 to 63 letters, digits, '-' and '_'";
    case PluginReason::NameTaken:
      return "another backend has its name";
  }
  return "unknown reason";
}

PluginReason check_table(const tenon_backend_api* api) {
  if (api == nullptr) return PluginReason::Declined;
  if (api->magic != TENON_BACKEND_MAGIC) return PluginReason::WrongMagic;
  if (api->major != TENON_BACKEND_MAJOR) return PluginReason::OtherMajor;
  if (api->struct_size < kFirstTableBytes) return PluginReason::TooSmall;
  const bool complete =
      api->name != nullptr && api->list_devices != nullptr && api->list_options != nullptr &&
      api->create_device != nullptr && api->destroy_device != nullptr && api->describe != nullptr &&
      api->supports != nullptr && api->buffer_create != nullptr && api->buffer_destroy != nullptr &&
      api->buffer_read != nullptr && api->buffer_write != nullptr && api->buffer_copy != nullptr &&
      api->compile != nullptr && api->destroy_executable != nullptr &&
      api->block_bytes != nullptr && api->row_granularity != nullptr && api->load_rows != nullptr &&
      api->seal != nullptr && api->run != nullptr && api->wait != nullptr &&
      api->memory_bytes != nullptr;
  if (!complete) return PluginReason::MissingFunction;
  return is_name(api->name) ? PluginReason::None : PluginReason::BadName;
}

Plugin load_plugin(const std::string& path, const std::shared_ptr<System>& system) {
  Plugin plugin;
  plugin.path = path;
  if (const PluginReason reason = check_file(path, *system); reason != PluginReason::None) {
    return refuse(std::move(plugin), reason);
  }
  const char* error = nullptr;
  void* handle = system->load_library(path.c_str(), error);
  if (handle == nullptr) {
    return refuse(std::move(plugin), PluginReason::NotALibrary, error == nullptr ? "" : error);
  }
  plugin.backend.library = std::shared_ptr<const void>(handle, [system](const void* library) {
    system->unload_library(const_cast<void*>(library));
  });
  const auto entry =
      reinterpret_cast<tenon_backend_entry_fn>(system->find_symbol(handle, TENON_BACKEND_ENTRY));
  if (entry == nullptr) return refuse(std::move(plugin), PluginReason::NoEntry);
  // Exceptions may be code of the plugin and must be destroyed before it is unloaded.
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
  // Threads of the plugin or of a driver may outlive all its objects.
  system->keep_library(path.c_str());
  return plugin;
}

}  // namespace tenon
