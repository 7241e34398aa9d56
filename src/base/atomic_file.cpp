#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

constexpr int kAttempts = 16;

}  // namespace

AtomicFile::AtomicFile(std::shared_ptr<System> system, std::string path)
    : system_(std::move(system)), path_(std::move(path)) {
  if (path_.empty() || path_.find('\0') != std::string::npos) {
    fail(Code::Argument, "a file path must not be empty or hold a zero byte");
  }
  check_target();
  create();
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) system_->close(fd_);
  if (!unfinished_.empty()) system_->remove(unfinished_.c_str());
}

// A rename would put a file in the place of a device or a FIFO.
void AtomicFile::check_target() {
  // O_PATH opens nothing: no permission is needed and a device does not notice.
  const int fd = system_->open(path_.c_str(), O_PATH | O_CLOEXEC);
  if (fd == -ENOENT) return;
  if (fd < 0) fail(Code::Io, "{}: cannot write: {}", path_, errno_text(-fd));
  FileStat stat;
  const int error = system_->stat(fd, stat);
  system_->close(fd);
  if (error != 0) fail(Code::Io, "{}: cannot look at the file: {}", path_, errno_text(-error));
  if (!stat.is_regular) fail(Code::Io, "{}: is not a regular file", path_);
}

void AtomicFile::create() {
  int fd = -EEXIST;
  std::string name;
  for (int i = 0; i < kAttempts && (fd == -EEXIST || fd == -EINTR); ++i) {
    name = fmt::format("{}.{:08x}.tmp", path_, static_cast<uint32_t>(system_->now_ns()) + i);
    fd = system_->create(name.c_str());
  }
  if (fd < 0) fail(Code::Io, "{}: cannot create: {}", path_, errno_text(-fd));
  fd_ = fd;
  unfinished_ = std::move(name);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t count = system_->write_at(fd_, bytes.data(), bytes.size(), size_bytes_);
    if (count == -EINTR) continue;
    if (count <= 0) {
      fail(Code::Io, "{}: cannot write {} bytes at {}: {}", path_, bytes.size(), size_bytes_,
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
  if (error != 0) fail(Code::Io, "{}: cannot save: {}", path_, errno_text(-error));
  error = system_->close(std::exchange(fd_, -1));
  if (error != 0) fail(Code::Io, "{}: cannot close: {}", path_, errno_text(-error));
  error = system_->rename(unfinished_.c_str(), path_.c_str());
  if (error != 0)
    fail(Code::Io, "{}: cannot give the file its name: {}", path_, errno_text(-error));
  unfinished_.clear();
  sync_folder();
}

// The file is there; that its name outlives a crash is as good as the file system makes it, and
// some refuse to sync a folder.
void AtomicFile::sync_folder() noexcept {
  try {
    const size_t slash = path_.rfind('/');
    const std::string folder =
        slash == std::string::npos ? "." : path_.substr(0, slash == 0 ? 1 : slash);
    const int fd = system_->open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)system_->sync(fd);
    system_->close(fd);
  } catch (...) {
    return;  // no memory for the name
  }
}

}  // namespace tenon
