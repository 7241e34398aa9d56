// A file that appears under its name complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/system.h"

namespace tenon {

/// Writes to an unnamed file in the folder of `path`. commit() syncs it and links it under the
/// name, replacing a regular file there. A symbolic link is kept and its target is written, even a
/// missing one. Without commit(), or if the process is killed, nothing remains, with two
/// exceptions:
/// - A kill between the two system calls of a replacement can leave the new file as
///   `<path>.tenon-new`. A commit() to `path` removes this file once it is an hour old. Files left
///   by colliding writers have a longer name and stay.
/// - If the file system has no unnamed files (or /proc is not mounted), the bytes go to
///   `<path>.XXXXXXXX.tmp`, which a kill leaves.
/// Not movable; for one thread.
class AtomicFile {
 public:
  /// Creates the unnamed file. Throws Argument for an empty path. Throws Io naming `path` if the
  /// folder takes no file, or if `path` is, or links to, anything but a regular file.
  AtomicFile(std::shared_ptr<System> system, std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends. Throws Io naming the file, what was asked and the reason ("no space left on device").
  void write(std::span<const std::byte> bytes);
  /// Bytes written so far.
  [[nodiscard]] uint64_t size() const { return size_bytes_; }
  /// Makes the file visible; call once, after the last write. Throws Io and keeps the old file.
  void commit();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] std::optional<FileStat> look_at(const std::string& path, OpenMode mode) const;
  void follow_links();
  void create();
  void create_named();
  void name_it();
  void replace_target();
  void remove_stale(const std::string& name) noexcept;
  void sync_folder() noexcept;

  std::shared_ptr<System> system_;
  std::string path_;
  std::string target_;      ///< path_ with all links followed
  std::string unfinished_;  ///< path of the temporary file; empty for an unnamed file
  int fd_ = -1;
  uint64_t size_bytes_ = 0;
};

}  // namespace tenon
