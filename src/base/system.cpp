#include "base/system.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>

#include "base/error.h"
#include "base/process_id.h"
#include "base/system_error.h"

namespace tenon {
namespace {

struct ErrnoName {
  int value;
  const char* text;
};

// strerror depends on the locale and some implementations share its buffer.
constexpr ErrnoName kErrnoNames[] = {
    {EPERM, "operation not permitted"},
    {ENOENT, "no such file"},
    {EIO, "input/output error"},
    {EEXIST, "it exists already"},
    {EFBIG, "the file would be too large"},
#ifdef EDQUOT
    {EDQUOT, "the disk quota is used up"},
#endif
    {EACCES, "permission denied"},
    {ENOTDIR, "a part of the path is no directory"},
    {EISDIR, "is a directory"},
    {EINVAL, "invalid argument"},
    {ENFILE, "too many open files in the system"},
    {EMFILE, "too many open files"},
    {ENOSPC, "no space left on device"},
    {ENOMEM, "out of memory"},
    {ELOOP, "too many symbolic links"},
    {ENAMETOOLONG, "the name is too long"},
    {EBADF, "bad file descriptor"},
    {ENXIO, "no such device"},
    {EAGAIN, "resource temporarily unavailable"},
#ifdef ESTALE
    {ESTALE, "stale file handle"},
#endif
    {ETIMEDOUT, "timed out"},
    {EINTR, "interrupted"},
    {EROFS, "read-only file system"},
};

/// Tells whether a file of size 0 has contents, like those in /proc.
bool has_hidden_contents(System& system, int fd) {
  std::byte one;
  return system.read_at(fd, &one, 1, 0) > 0;
}

}  // namespace

uint64_t random_number(System& system) noexcept {
  uint64_t number = 0;
  if (system.random_bytes(&number, sizeof number) == 0) return number;
  static std::atomic<uint64_t> count{0};
  number = system.now_ns() + (static_cast<uint64_t>(process_id()) << 40) +
           count.fetch_add(1, std::memory_order_relaxed) * 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

std::string errno_text(int error) {
  for (const ErrnoName& name : kErrnoNames) {
    if (name.value == error) return name.text;
  }
  return fmt::format("system error {}", error);
}

void fail_no_memory(System& system, std::string_view what, uint64_t needed_bytes) {
  fail(Code::NoMemory, "{}: needs {} bytes, about {} are available", what, needed_bytes,
       system.available_memory());
}

int open_regular_file(System& system, const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    fail(Code::Argument, "a file path must not be empty or hold a zero byte");
  }
  int fd = -EINTR;
  while (fd == -EINTR) fd = system.open(path.c_str(), OpenMode::Read);
  if (fd < 0) fail_system(-fd, "{}: cannot open: {}", path, errno_text(-fd));

  FileStat stat;
  const int error = system.stat(fd, stat);
  if (error == 0 && stat.is_regular && (stat.size_bytes > 0 || !has_hidden_contents(system, fd))) {
    return fd;
  }
  system.close(fd);
  if (error != 0)
    fail_system(-error, "{}: cannot get the file's size: {}", path, errno_text(-error));
  fail(Code::Io, "{}: is not a regular file", path);
}

uint64_t read_fully(System& system, int fd, uint64_t offset, std::span<std::byte> out,
                    std::string_view name) {
  uint64_t num_read = 0;
  while (num_read < out.size()) {
    const int64_t count =
        system.read_at(fd, out.data() + num_read, out.size() - num_read, offset + num_read);
    if (count == -EINTR) continue;
    if (count < 0) {
      fail_system(static_cast<int>(-count), "{}: cannot read {} bytes at {}: {}", name,
                  out.size() - num_read, offset + num_read, errno_text(static_cast<int>(-count)));
    }
    if (count == 0) break;
    num_read += static_cast<uint64_t>(count);
  }
  return num_read;
}

}  // namespace tenon
