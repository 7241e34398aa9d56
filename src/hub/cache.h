// Cache of models in the layout of huggingface_hub: blobs, snapshots of links to them, refs. Read
// and written so that other programs share it; what it holds is not trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "hub/choose.h"

namespace tenon::hub {

class Cache {
 public:
  Cache(System& system, std::string root) : system_(&system), root_(std::move(root)) {}

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string folder_of(const std::string& id) const;
  [[nodiscard]] std::string blob_path(const std::string& id, const std::string& etag) const;
  [[nodiscard]] std::string lock_path(const std::string& id, const std::string& etag) const;
  [[nodiscard]] std::string snapshot(const std::string& id, const std::string& commit) const;

  /// Makes the folders of a repository. Throws Io, also where a link is in their place.
  void prepare(const std::string& id);
  /// Whether the blob is there, whole, also as a link into the store that repositories share.
  [[nodiscard]] bool has_blob(const std::string& id, const std::string& etag, uint64_t size) const;
  /// Makes the link snapshots/COMMIT/PATH to a blob, in real folders.
  void link(const std::string& id, const std::string& commit, const std::string& path,
            const std::string& etag);
  void write_ref(const std::string& id, const std::string& revision, const std::string& commit);

  /// The commit of a revision; a commit is its own. Without a ref "main", that of the only snapshot.
  [[nodiscard]] std::optional<std::string> commit_of(const std::string& id,
                                                     const std::string& revision) const;
  /// Files of a snapshot that are there; links that lead out of the cache do not count.
  [[nodiscard]] std::vector<NamedFile> files(const std::string& id,
                                             const std::string& commit) const;
  /// A small file of a snapshot. Throws Io or Limit.
  [[nodiscard]] std::string read(const std::string& id, const std::string& commit,
                                 const std::string& path) const;
  [[nodiscard]] std::vector<std::string> repositories() const;
  /// Commits whose snapshots are real folders.
  [[nodiscard]] std::vector<std::string> snapshots(const std::string& id) const;

  /// Removes files of all snapshots of a repository, and blobs that no link leads to then; nothing
  /// of the shared store. Returns the bytes freed.
  uint64_t remove_files(const std::string& id, const std::vector<std::string>& paths);
  /// Removes a repository. Returns the bytes freed.
  uint64_t remove(const std::string& id);

 private:
  System* system_;
  std::string root_;
};

/// Regular files below a folder with their sizes, links to files followed; at most 100,000 and 16
/// deep, hidden ones left out. root: files must lie below it; empty: anywhere.
std::vector<NamedFile> files_below(const std::string& folder, const std::string& root);

/// A whole file of at most max_bytes. Throws Io or Limit.
std::string read_small_file(System& system, const std::string& path, size_t max_bytes);

/// Writes a file beside `path` and renames it over that name. A link there is replaced, never
/// followed. Throws Io; what was there stays then.
void replace_file(System& system, const std::string& path, std::string_view text, uint32_t mode);

/// Makes the folders of `relative` below `root`, each of them real. Throws Io.
void make_folders(const std::string& root, const std::string& relative);

}  // namespace tenon::hub
