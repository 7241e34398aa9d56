// A file under way, and beside it which pieces of it have arrived, so that a later process goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"

namespace tenon::hub {

/// Data in PATH, a line and a byte per piece in PATH.state. The line names size, piece and validator
/// of the file: pieces of another version are dropped. A piece is noted after its bytes are written;
/// what a loss of power does to that is found by the digest. The caller holds a lock on the name.
class PartialFile {
 public:
  /// size_bytes 0: unknown; nothing is kept then. Throws Io.
  PartialFile(System& system, std::string path, uint64_t size_bytes, uint64_t piece_bytes,
              const std::string& validator);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  void write(uint64_t offset, std::span<const std::byte> bytes);
  size_t read(uint64_t offset, std::span<std::byte> bytes);
  void mark(uint64_t piece);
  [[nodiscard]] bool has(uint64_t piece) const { return pieces_[piece] != 0; }
  [[nodiscard]] uint64_t num_pieces() const { return pieces_.size(); }
  [[nodiscard]] uint64_t piece_bytes() const { return piece_bytes_; }
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }
  /// Bytes of marked pieces.
  [[nodiscard]] uint64_t done_bytes() const { return done_bytes_; }
  /// Begin and end of a piece in bytes.
  [[nodiscard]] uint64_t begin_of(uint64_t piece) const { return piece * piece_bytes_; }
  [[nodiscard]] uint64_t end_of(uint64_t piece) const;

  /// Forgets all pieces.
  void clear();
  /// Sets the size, which was unknown.
  void set_size(uint64_t size_bytes);
  /// Returns when the data is on the disk.
  void sync();
  /// Syncs the data and renames it to `target`, replacing what is there.
  void finish(const std::string& target);
  /// Removes both files.
  void discard();

 private:
  [[nodiscard]] bool fits_state(const std::string& line);
  void write_state(const std::string& line);

  System* system_;
  std::string path_;
  uint64_t size_bytes_;
  uint64_t piece_bytes_;
  std::string line_;
  std::vector<char> pieces_;
  uint64_t done_bytes_ = 0;
  int data_ = -1;
  int state_ = -1;
};

/// Ending of the name of a file under way.
inline constexpr std::string_view kPartialEnding = ".tenon-partial";

/// Bytes on disk of the file at `path`; 0 if there is none.
uint64_t allocated_bytes(const std::string& path);

/// First line of the state of such a file.
std::string partial_line(uint64_t size_bytes, uint64_t piece_bytes, const std::string& validator);

/// An exclusive lock between processes on a file, as huggingface_hub takes it (flock). The file
/// stays: a process that has it open would lock a file that nobody else finds. If somebody else
/// removes it, the lock is taken on the file that has its name now.
class FileLock {
 public:
  FileLock(System& system, std::string path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// False if another process or object holds it. Throws Io.
  bool try_lock();

 private:
  [[nodiscard]] bool has_name() const;

  System* system_;
  std::string path_;
  int fd_;
};

}  // namespace tenon::hub
