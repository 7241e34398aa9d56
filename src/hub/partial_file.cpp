#include "hub/partial_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/system_error.h"

namespace tenon::hub {
namespace {

/// Opens a regular file for reading and writing, and makes it if it is missing; follows no link.
int open_own_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644);
  if (fd < 0) fail_system(errno, "{}: cannot be written: {}", path, errno_text(errno));
  struct stat found {};
  if (::fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
    ::close(fd);
    fail(Code::Io, "{}: is no regular file", path);
  }
  return fd;
}

void resize(int fd, uint64_t size_bytes, const std::string& path) {
  while (::ftruncate(fd, static_cast<off_t>(size_bytes)) != 0) {
    if (errno != EINTR) fail_system(errno, "{}: {}", path, errno_text(errno));
  }
}

[[noreturn]] void fail_writing(int error, const std::string& path) {
  fail_system(error, "{}: cannot be written: {}{}", path, errno_text(error),
              error == ENOSPC || error == EDQUOT
                  ? "; make room and run it again: what has arrived is kept"
                  : "");
}

}  // namespace

std::string partial_line(uint64_t size_bytes, uint64_t piece_bytes, const std::string& validator) {
  return "tenon-partial 1 " + std::to_string(size_bytes) + " " + std::to_string(piece_bytes) + " " +
         validator + "\n";
}

PartialFile::PartialFile(System& system, std::string path, uint64_t size_bytes,
                         uint64_t piece_bytes, const std::string& validator)
    : system_(&system),
      path_(std::move(path)),
      size_bytes_(size_bytes),
      piece_bytes_(piece_bytes),
      line_(partial_line(size_bytes, piece_bytes, validator)),
      pieces_(static_cast<size_t>((size_bytes + piece_bytes - 1) / piece_bytes)) {
  data_ = open_own_file(path_);
  try {
    state_ = open_own_file(path_ + ".state");
    if (size_bytes_ == 0 || !fits_state(line_)) {
      clear();
      return;
    }
    for (uint64_t i = 0; i < num_pieces(); ++i) {
      if (has(i)) done_bytes_ += end_of(i) - begin_of(i);
    }
  } catch (...) {
    system_->close(data_);
    if (state_ >= 0) system_->close(state_);
    throw;
  }
}

PartialFile::~PartialFile() {
  if (data_ >= 0) system_->close(data_);
  if (state_ >= 0) system_->close(state_);
}

uint64_t PartialFile::end_of(uint64_t piece) const {
  return std::min((piece + 1) * piece_bytes_, size_bytes_);
}

/// Reads the state; false if it is of another file, or the data is not as long as it must be.
bool PartialFile::fits_state(const std::string& line) {
  std::vector<char> bytes(line.size() + pieces_.size() + 1);
  const uint64_t read =
      read_fully(*system_, state_, 0, std::as_writable_bytes(std::span(bytes)), path_ + ".state");
  FileStat data;
  const bool is_long = system_->stat(data_, data) >= 0 && data.size_bytes == size_bytes_;
  if (!is_long || read != line.size() + pieces_.size() ||
      !std::equal(line.begin(), line.end(), bytes.begin())) {
    return false;
  }
  for (size_t i = 0; i < pieces_.size(); ++i) pieces_[i] = bytes[line.size() + i] == '1' ? 1 : 0;
  return true;
}

void PartialFile::write_state(const std::string& line) {
  resize(state_, 0, path_);
  const std::string text = line + std::string(pieces_.size(), '0');
  for (uint64_t done = 0; done < text.size();) {
    const int64_t wrote = system_->write_at(state_, text.data() + done, text.size() - done, done);
    if (wrote < 0 && wrote != -EINTR) fail_writing(static_cast<int>(-wrote), path_ + ".state");
    if (wrote > 0) done += static_cast<uint64_t>(wrote);
  }
}

void PartialFile::clear() {
  std::ranges::fill(pieces_, 0);
  done_bytes_ = 0;
  write_state(line_);
  resize(data_, 0, path_);
  resize(data_, size_bytes_, path_);
}

void PartialFile::set_size(uint64_t size_bytes) {
  size_bytes_ = size_bytes;
  resize(data_, size_bytes, path_);
}

void PartialFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t wrote = system_->write_at(data_, bytes.data(), bytes.size(), offset);
    if (wrote == -EINTR) continue;
    if (wrote <= 0) fail_writing(wrote == 0 ? EIO : static_cast<int>(-wrote), path_);
    offset += static_cast<uint64_t>(wrote);
    bytes = bytes.subspan(static_cast<size_t>(wrote));
  }
}

size_t PartialFile::read(uint64_t offset, std::span<std::byte> bytes) {
  return static_cast<size_t>(read_fully(*system_, data_, offset, bytes, path_));
}

void PartialFile::mark(uint64_t piece) {
  if (has(piece)) return;
  pieces_[piece] = 1;
  done_bytes_ += end_of(piece) - begin_of(piece);
  const char one = '1';
  const int64_t wrote = system_->write_at(state_, &one, 1, line_.size() + piece);
  if (wrote < 0) fail_writing(static_cast<int>(-wrote), path_ + ".state");
}

void PartialFile::sync() {
  if (const int error = system_->sync(data_); error < 0) fail_writing(-error, path_);
}

void PartialFile::finish(const std::string& target) {
  sync();
  if (const int error = system_->rename(path_.c_str(), target.c_str()); error < 0) {
    fail_system(-error, "{}: cannot be renamed to {}: {}", path_, target, errno_text(-error));
  }
  system_->remove((path_ + ".state").c_str());
}

void PartialFile::discard() {
  system_->remove(path_.c_str());
  system_->remove((path_ + ".state").c_str());
}

uint64_t allocated_bytes(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return 0;
  return static_cast<uint64_t>(found.st_blocks) * 512;
}

FileLock::FileLock(System& system, std::string path)
    : system_(&system), path_(std::move(path)), fd_(open_own_file(path_)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) system_->close(fd_);
}

/// Whether the open file is the one that has the name.
bool FileLock::has_name() const {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd_, &open) == 0 && ::lstat(path_.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

bool FileLock::try_lock() {
  constexpr int kMostReplacements = 100;
  for (int replaced = 0; replaced < kMostReplacements;) {
    const bool is_ours = ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
    if (!is_ours && errno == EINTR) continue;
    if (!is_ours && errno != EWOULDBLOCK) {
      fail_system(errno, "{}: cannot be locked: {}", path_, errno_text(errno));
    }
    if (has_name()) return is_ours;
    system_->close(std::exchange(fd_, -1));
    fd_ = open_own_file(path_);
    ++replaced;
  }
  return false;
}

}  // namespace tenon::hub
