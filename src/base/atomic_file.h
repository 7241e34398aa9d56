// A file that appears under its name complete or not at all. What is written is the caller's
// business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/system.h"

namespace tenon {

/// Bytes go to a file without a name in the folder of `path`; commit() brings them to the disk and
/// gives them the name, replacing a regular file that has it. A symbolic link stays and what it
/// leads to is written, be it there or not. Without commit() nothing remains, also when the process
/// is killed; two exceptions:
/// - a kill while a file is being replaced, between two calls of the system, can leave the new one
///   beside it as `<path>.tenon-new`, which a commit() that replaces `path` removes an hour later
///   (with more in its name, and left for good, if two writers met there);
/// - where the file system has no files without a name (or /proc is not mounted) the bytes go to
///   `<path>.XXXXXXXX.tmp`, which a kill leaves.
/// Move-free; one thread.
class AtomicFile {
 public:
  /// Throws Argument for an empty path, Io naming it when the folder takes no file or when `path`
  /// is, or leads to, something else than a regular file.
  AtomicFile(std::shared_ptr<System> system, std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends. Throws Io naming the file, what was asked and the reason ("no space left on device").
  void write(std::span<const std::byte> bytes);
  /// Bytes written so far.
  [[nodiscard]] uint64_t size() const { return size_bytes_; }
  /// Once, at the end. Throws Io; the old file is then still there.
  void commit();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] std::optional<FileStat> look_at(const std::string& path, int flags) const;
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
  std::string unfinished_;  ///< path of the temporary file; empty when it has none
  int fd_ = -1;
  uint64_t size_bytes_ = 0;
};

}  // namespace tenon
