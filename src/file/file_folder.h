// The files of a model folder by their paths inside it, on the disk or handed over by the host.
// Nothing outside the folder is opened.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/system.h"

namespace tenon {

/// A source whose name is its path inside the folder: "model-00001-of-00002.safetensors".
struct FolderFile {
  std::string name;
  std::shared_ptr<const ByteSource> source;
};

/// Immutable; used from any thread.
class FileFolder {
 public:
  virtual ~FileFolder() = default;
  FileFolder(const FileFolder&) = delete;
  FileFolder& operator=(const FileFolder&) = delete;

  /// A folder on the disk, listed at once. Throws Io for anything else.
  ///
  /// Symbolic links are followed to files of the folder, and to the blobs of a Hugging Face cache
  /// if the folder is a snapshot of it. Any other link is refused when it is opened.
  static std::shared_ptr<const FileFolder> from_path(const std::string& path,
                                                     std::shared_ptr<System> system);
  /// Files in memory, by descriptor or from a host's reader. Throws Argument for a null source, an
  /// unusable name and a repeated name.
  static std::shared_ptr<const FileFolder> from_files(std::vector<FolderFile> files,
                                                      std::string name);

  /// Name of the folder in messages.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Sorted names; of a folder on the disk, those of its top level.
  [[nodiscard]] std::span<const std::string> files() const { return files_; }
  [[nodiscard]] bool contains(std::string_view name) const;

  /// The file at a path inside the folder. Throws Format for a path that is absolute or has "..",
  /// and for a link that leaves the folder; Io for a missing file.
  [[nodiscard]] std::shared_ptr<const ByteSource> open(std::string_view name) const;
  /// All bytes of a small file. Limit beyond `max_bytes`.
  [[nodiscard]] std::string read_text(std::string_view name, uint64_t max_bytes) const;

 protected:
  explicit FileFolder(std::string name) : name_(std::move(name)) {}
  /// name: a path inside the folder.
  [[nodiscard]] virtual std::shared_ptr<const ByteSource> open_inside(
      const std::string& name) const = 0;

  std::vector<std::string> files_;  ///< sorted

 private:
  std::string name_;
};

}  // namespace tenon
