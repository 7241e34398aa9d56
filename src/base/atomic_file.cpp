#include "base/atomic_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/path.h"
#include "base/system_error.h"

namespace tenon {
namespace {

constexpr int kAttempts = 16;
/// Suffix of a file that is about to replace another.
constexpr std::string_view kNewName = ".tenon-new";
/// Age since the last write; the sync after it may take minutes.
constexpr int64_t kStaleNs = int64_t{3600} * 1'000'000'000;
/// Linux follows as many links.
constexpr int kMostLinks = 40;
constexpr size_t kMostLinkBytes = 4096;

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of(kPathSeparators);
  return slash == std::string::npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
}

[[noreturn]] void fail_to_name(const std::string& path, int error) {
  fail_system(-error, "{}: cannot give the file its name: {}", path, errno_text(-error));
}

}  // namespace

AtomicFile::AtomicFile(std::shared_ptr<System> system, std::string path)
    : system_(std::move(system)), path_(std::move(path)) {
  if (path_.empty() || path_.find('\0') != std::string::npos) {
    fail(Code::Argument, "a file path must not be empty or hold a zero byte");
  }
  follow_links();
  create();
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) system_->close(fd_);
  if (!unfinished_.empty()) system_->remove(unfinished_.c_str());
}

/// Returns the file at `path`, if any.
std::optional<FileStat> AtomicFile::look_at(const std::string& path, OpenMode mode) const {
  const int fd = system_->open(path.c_str(), mode);
  if (fd == -ENOENT) return std::nullopt;
  if (fd < 0) fail_system(-fd, "{}: cannot write: {}", path_, errno_text(-fd));
  FileStat stat;
  const int error = system_->stat(fd, stat);
  system_->close(fd);
  if (error != 0) fail_system(-error, "{}: cannot look at the file: {}", path_, errno_text(-error));
  return stat;
}

// A rename would replace a device or a link, so only regular files pass.
void AtomicFile::follow_links() {
  const std::optional<FileStat> meant = look_at(path_, OpenMode::LookAt);
  if (meant && !meant->is_regular) fail(Code::Io, "{}: is not a regular file", path_);
  target_ = path_;
  std::array<char, kMostLinkBytes> text;
  for (int links = 0;; ++links) {
    const int64_t size = system_->read_link(target_.c_str(), text.data(), text.size());
    if (size == -EINVAL || size == -ENOENT) break;
    if (size < 0) {
      fail_system(static_cast<int>(-size), "{}: cannot follow the link: {}", path_,
                  errno_text(static_cast<int>(-size)));
    }
    if (links == kMostLinks) fail_system(ELOOP, "{}: {}", path_, errno_text(ELOOP));
    const std::string_view next(text.data(), static_cast<size_t>(size));
    target_ = is_absolute_path(next) ? next : folder_of(target_) + "/" + std::string(next);
  }
  if (target_ == path_) return;
  // Links in /proc may not spell their target: one to a deleted file may name another file.
  const std::optional<FileStat> found = look_at(target_, OpenMode::LookAtLink);
  if (found != meant) fail(Code::Io, "{}: the link does not tell where it leads", path_);
}

void AtomicFile::create() {
  int fd = -EINTR;
  while (fd == -EINTR) fd = system_->create_unnamed(folder_of(target_).c_str());
  if (fd == -EOPNOTSUPP) return create_named();
  if (fd < 0) fail_system(-fd, "{}: cannot create: {}", path_, errno_text(-fd));
  fd_ = fd;
}

void AtomicFile::create_named() {
  int fd = -EEXIST;
  std::string name;
  for (int i = 0; i < kAttempts && (fd == -EEXIST || fd == -EINTR); ++i) {
    name = fmt::format("{}.{:08x}.tmp", target_, static_cast<uint32_t>(system_->now_ns()) + i);
    fd = system_->create(name.c_str());
  }
  if (fd < 0) fail_system(-fd, "{}: cannot create: {}", path_, errno_text(-fd));
  fd_ = fd;
  unfinished_ = std::move(name);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t count = system_->write_at(fd_, bytes.data(), bytes.size(), size_bytes_);
    if (count == -EINTR) continue;
    if (count <= 0) {
      fail_system(count < 0 ? static_cast<int>(-count) : ENOSPC,
                  "{}: cannot write {} bytes at {}: {}", path_, bytes.size(), size_bytes_,
                  errno_text(count < 0 ? static_cast<int>(-count) : ENOSPC));
    }
    size_bytes_ += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void AtomicFile::commit() {
  if (fd_ < 0) fail(Code::Internal, "{}: committed twice", path_);
  int error = -EINTR;
  while (error == -EINTR) error = system_->sync(fd_);
  if (error != 0) fail_system(-error, "{}: cannot save: {}", path_, errno_text(-error));
  if (unfinished_.empty()) {
    name_it();
    system_->close(std::exchange(fd_, -1));  // the file is on the disk and has its name
  } else {
    error = system_->close(std::exchange(fd_, -1));
    if (error != 0) fail_system(-error, "{}: cannot close: {}", path_, errno_text(-error));
    error = system_->rename(unfinished_.c_str(), target_.c_str());
    if (error != 0) fail_to_name(path_, error);
    unfinished_.clear();
  }
  sync_folder();
}

void AtomicFile::name_it() {
  const int error = system_->link_unnamed(fd_, target_.c_str());
  if (error == -EEXIST) return replace_target();
  if (error != 0) fail_to_name(path_, error);
}

// No system call links an unnamed file over an existing name: link it beside the name, then rename.
void AtomicFile::replace_target() {
  std::string name = target_ + std::string(kNewName);
  remove_stale(name);
  int error = system_->link_unnamed(fd_, name.c_str());
  for (int i = 0; i < kAttempts && error == -EEXIST; ++i) {  // another writer uses the name
    name =
        fmt::format("{}.{:08x}{}", target_, static_cast<uint32_t>(system_->now_ns()) + i, kNewName);
    error = system_->link_unnamed(fd_, name.c_str());
  }
  if (error != 0) fail_to_name(path_, error);
  error = system_->rename(name.c_str(), target_.c_str());
  if (error == 0) return;
  system_->remove(name.c_str());
  fail_to_name(path_, error);
}

// Compares with the file system's clock: a live writer is between its two calls only for an
// instant.
void AtomicFile::remove_stale(const std::string& name) noexcept {
  const int fd = system_->open(name.c_str(), OpenMode::LookAtLink);
  if (fd < 0) return;
  FileStat found;
  FileStat own;
  const bool known = system_->stat(fd, found) == 0 && system_->stat(fd_, own) == 0;
  system_->close(fd);
  if (known && found.is_regular && own.modified_ns - found.modified_ns > kStaleNs) {
    system_->remove(name.c_str());
  }
}

// The file has its name already. Its durability depends on the file system, and some refuse to sync
// a folder.
void AtomicFile::sync_folder() noexcept {
  try {
    const int fd = system_->open(folder_of(target_).c_str(), OpenMode::Folder);
    if (fd < 0) return;
    (void)system_->sync(fd);
    system_->close(fd);
  } catch (...) {
    return;  // no memory for the name
  }
}

}  // namespace tenon
