#include "base/byte_source.h"

#include <cstring>
#include <mutex>

#include "base/error.h"
#include "base/system_error.h"

namespace tenon {
namespace {

/// Owns an open file descriptor.
class OwnedFd {
 public:
  OwnedFd(std::shared_ptr<System> system, int fd) : system_(std::move(system)), fd_(fd) {}
  ~OwnedFd() {
    if (fd_ >= 0) system_->close(fd_);
  }
  OwnedFd(OwnedFd&& other) noexcept
      : system_(std::move(other.system_)), fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  OwnedFd& operator=(OwnedFd&&) = delete;

  [[nodiscard]] System& system() const { return *system_; }
  [[nodiscard]] const std::shared_ptr<System>& shared_system() const { return system_; }
  [[nodiscard]] int get() const { return fd_; }

 private:
  std::shared_ptr<System> system_;
  int fd_;
};

FileIdentity stat_file(const OwnedFd& fd, const std::string& name) {
  FileStat stat;
  const int error = fd.system().stat(fd.get(), stat);
  if (error != 0)
    fail_system(-error, "{}: cannot get the file's size: {}", name, errno_text(-error));
  return stat;
}

class FileSource final : public ByteSource {
 public:
  FileSource(OwnedFd fd, std::string name, const FileIdentity& stat, uint64_t offset, uint64_t size)
      : ByteSource(std::move(name), size), fd_(std::move(fd)), stat_(stat), offset_(offset) {}

 private:
  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    const uint64_t count = read_fully(fd_.system(), fd_.get(), offset_ + offset, out, name());
    // Check after the read to see changes before and during it; takes below a microsecond.
    check_unchanged(offset, out.size(), count);
  }

  FileMapping map_checked(uint64_t offset, uint64_t size_bytes) const override {
    FileMapping mapping(fd_.shared_system(), fd_.get(), offset_ + offset, size_bytes, name());
    check_unchanged(offset, size_bytes, size_bytes);
    return mapping;
  }

  /// Throws Io if the file changed, or if only `count` of `size` bytes were read at `offset`.
  void check_unchanged(uint64_t offset, uint64_t size, uint64_t count) const {
    const FileIdentity now = stat_file(fd_, name());
    if (count < size || now != stat_) {
      fail(Code::Io,
           "{}: model file changed: {} of {} bytes read at {}; it had {} bytes when it was opened "
           "and has {} now",
           name(), count, size, offset_ + offset, stat_.size_bytes, now.size_bytes);
    }
  }

  OwnedFd fd_;
  FileIdentity stat_;
  uint64_t offset_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::span<const std::byte> bytes, std::string name)
      : ByteSource(std::move(name), bytes.size()), bytes_(bytes) {}
  [[nodiscard]] std::span<const std::byte> memory() const override { return bytes_; }

 private:
  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }
  FileMapping map_checked(uint64_t offset, uint64_t size_bytes) const override {
    return FileMapping(bytes_.subspan(offset, size_bytes));
  }
  std::span<const std::byte> bytes_;
};

class ReaderSource final : public ByteSource {
 public:
  ReaderSource(const HostReader& reader, std::string name)
      : ByteSource(std::move(name), reader.size_bytes), reader_(reader) {}

 private:
  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!reader_.concurrent) lock.lock();
    uint64_t done = 0;
    while (done < out.size()) {
      const uint64_t left = out.size() - done;
      const int64_t count = reader_.read(reader_.user, offset + done, out.data() + done, left);
      if (count <= 0 || static_cast<uint64_t>(count) > left) {
        fail(Code::Io, "{}: the host's reader returned {} for {} bytes at {} of {}", name(), count,
             left, offset + done, size());
      }
      done += static_cast<uint64_t>(count);
    }
  }
  HostReader reader_;
  mutable std::mutex mutex_;
};

}  // namespace

std::shared_ptr<const ByteSource> ByteSource::from_path(const std::string& path,
                                                        std::shared_ptr<System> system) {
  const int number = open_regular_file(*system, path);
  OwnedFd fd(std::move(system), number);
  const FileIdentity stat = stat_file(fd, path);
  return std::make_shared<FileSource>(std::move(fd), path, stat, 0, stat.size_bytes);
}

std::shared_ptr<const ByteSource> ByteSource::from_fd(int fd, uint64_t offset, uint64_t size_bytes,
                                                      std::string name,
                                                      std::shared_ptr<System> system) {
  if (fd < 0) fail(Code::Argument, "{}: {} is no file descriptor", name, fd);
  const int number = system->duplicate(fd);
  if (number < 0)
    fail_system(-number, "{}: cannot use descriptor {}: {}", name, fd, errno_text(-number));
  OwnedFd copy(std::move(system), number);
  const FileIdentity stat = stat_file(copy, name);
  if (!stat.is_regular) fail(Code::Io, "{}: is not a regular file", name);
  if (offset > stat.size_bytes || size_bytes > stat.size_bytes - offset) {
    fail(Code::Argument, "{}: {} bytes at {} lie outside the file's {} bytes", name, size_bytes,
         offset, stat.size_bytes);
  }
  const uint64_t size = size_bytes == 0 ? stat.size_bytes - offset : size_bytes;
  return std::make_shared<FileSource>(std::move(copy), std::move(name), stat, offset, size);
}

std::shared_ptr<const ByteSource> ByteSource::from_memory(std::span<const std::byte> bytes,
                                                          std::string name) {
  return std::make_shared<MemorySource>(bytes, std::move(name));
}

std::shared_ptr<const ByteSource> ByteSource::from_reader(const HostReader& reader,
                                                          std::string name) {
  if (reader.read == nullptr) fail(Code::Argument, "{}: the host's reader is null", name);
  return std::make_shared<ReaderSource>(reader, std::move(name));
}

void ByteSource::check_range(uint64_t offset, uint64_t size_bytes) const {
  if (offset > size_bytes_ || size_bytes > size_bytes_ - offset) {
    fail(Code::Argument, "{}: {} bytes at {} lie outside its {} bytes", name_, size_bytes, offset,
         size_bytes_);
  }
}

void ByteSource::read(uint64_t offset, std::span<std::byte> out) const {
  check_range(offset, out.size());
  if (!out.empty()) read_checked(offset, out);
}

FileMapping ByteSource::map(uint64_t offset, uint64_t size_bytes) const {
  check_range(offset, size_bytes);
  return map_checked(offset, size_bytes);
}

FileMapping ByteSource::map_checked(uint64_t, uint64_t) const {
  fail(Code::Unsupported, "{}: comes from a host's reader and cannot be mapped", name_);
}

}  // namespace tenon
