#include "file/file_folder.h"

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/path.h"
#include "base/system_error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

constexpr size_t kMaxFolderPathBytes = 4096;
constexpr size_t kMaxFolderFiles = 100'000;
constexpr int kMaxLinks = 8;

/// Why `name` is no path inside a folder; null for one that is.
const char* why_outside(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxFolderPathBytes) return "is too long";
  if (name.find('\0') != name.npos) return "has a zero byte";
  if (name.find('\\') != name.npos) return "has a backslash";
  if (kColonsHaveMeaning && name.find(':') != name.npos) return "has a colon";
  if (name.front() == '/') return "is absolute";
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part == "..") return "leaves the folder";
    if (part.empty() || part == ".") return "has an empty part";
    begin = end + 1;
  }
  return nullptr;
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Whether a link of a snapshot leads to a blob of its repository in a Hugging Face cache:
/// "../../blobs/<git or sha256 id>", with one "../" more for each folder that the link is in.
bool is_blob_link(std::string_view link, std::string_view target) {
  constexpr std::string_view kUp = "../";
  const auto depth = 2 + static_cast<size_t>(std::ranges::count(link, '/'));
  for (size_t i = 0; i < depth; ++i) {
    if (!target.starts_with(kUp)) return false;
    target.remove_prefix(kUp.size());
  }
  constexpr std::string_view kBlobs = "blobs/";
  if (!target.starts_with(kBlobs)) return false;
  target.remove_prefix(kBlobs.size());
  return (target.size() == 40 || target.size() == 64) && is_hex(target);
}

/// Whether a blob is a link into the store that the repositories of a cache share:
/// "../../blobs/XX/<hash>".
bool is_store_link(std::string_view target) {
  constexpr std::string_view kStore = "../../blobs/";
  if (!target.starts_with(kStore)) return false;
  target.remove_prefix(kStore.size());
  return target.size() == 3 + 64 && target[2] == '/' && is_hex(target.substr(0, 2)) &&
         is_hex(target.substr(3));
}

class DiskFolder final : public FileFolder {
 public:
  DiskFolder(const std::string& path, std::shared_ptr<System> system)
      : FileFolder(path), system_(std::move(system)), is_snapshot_(is_snapshot(path)) {
    if (path.empty() || path.find('\0') != path.npos) {
      fail(Code::Argument, "the path of a folder must not be empty or hold a zero byte");
    }
    const int error = system_->list_directory(
        path.c_str(),
        [](void* user, const char* entry) {
          auto& names = *static_cast<std::vector<std::string>*>(user);
          const std::string_view found = entry;
          if (found != "." && found != ".." && names.size() <= kMaxFolderFiles) {
            names.emplace_back(found);
          }
        },
        &files_);
    if (error != 0) {
      fail_system(-error, "{}: cannot list the folder: {}", path, errno_text(-error));
    }
    if (files_.size() > kMaxFolderFiles) {
      fail(Code::Limit, "{}: more than {} files", path, kMaxFolderFiles);
    }
    std::ranges::sort(files_);
  }

 private:
  [[nodiscard]] std::shared_ptr<const ByteSource> open_inside(
      const std::string& wanted) const override {
    std::string inside = wanted;
    for (int links = 0; links < kMaxLinks; ++links) {
      check_parents(inside);
      const std::string target = link_target(name() + "/" + inside);
      if (target.empty()) return open_plain(name() + "/" + inside, wanted);
      if (is_snapshot_ && is_blob_link(inside, target))
        return open_blob(folder_of_link(inside) + target, wanted);
      const std::string next = parent(inside) + target;
      if (why_outside(target) != nullptr || why_outside(next) != nullptr) {
        fail(Code::Format, "{}: file {} is a symbolic link to {}, which lies outside the folder",
             name(), quoted(wanted), quoted(target));
      }
      inside = next;
    }
    fail(Code::Format, "{}: file {}: more than {} symbolic links in a row", name(), quoted(wanted),
         kMaxLinks);
  }

  /// "" for a file at the top of the folder, else "sub/".
  static std::string parent(const std::string& inside) {
    return inside.substr(0, inside.rfind('/') + 1);
  }
  [[nodiscard]] std::string folder_of_link(const std::string& inside) const {
    return name() + "/" + parent(inside);
  }

  /// Refuses links among the folders on the way to a file.
  void check_parents(const std::string& inside) const {
    for (size_t slash = inside.find('/'); slash != inside.npos;
         slash = inside.find('/', slash + 1)) {
      if (link_target(name() + "/" + inside.substr(0, slash)).empty()) continue;
      fail(Code::Format, "{}: {} is a symbolic link, which is not followed to folders", name(),
           quoted(inside.substr(0, slash)));
    }
  }

  /// Target of a link as written in it; empty for a file or a folder.
  [[nodiscard]] std::string link_target(const std::string& path) const {
    std::string target(kMaxFolderPathBytes + 1, '\0');
    const int64_t size = system_->read_link(path.c_str(), target.data(), target.size());
    if (size <= 0) return {};
    if (static_cast<size_t>(size) > kMaxFolderPathBytes) {
      fail(Code::Format, "{}: a symbolic link of more than {} bytes", path, kMaxFolderPathBytes);
    }
    target.resize(static_cast<size_t>(size));
    return target;
  }

  [[nodiscard]] std::shared_ptr<const ByteSource> open_blob(const std::string& path,
                                                            const std::string& wanted) const {
    const std::string target = link_target(path);
    if (target.empty()) return open_plain(path, wanted);
    if (!is_store_link(target)) {
      fail(Code::Format, "{}: file {} is a symbolic link to a blob that is a link to {}", name(),
           quoted(wanted), quoted(target));
    }
    return open_plain(path.substr(0, path.rfind('/') + 1) + target, wanted);
  }

  /// Opens a file that is no link. The system refuses a link that took its place since.
  [[nodiscard]] std::shared_ptr<const ByteSource> open_plain(const std::string& path,
                                                             const std::string& wanted) const {
    int fd = -EINTR;
    while (fd == -EINTR) fd = system_->open(path.c_str(), OpenMode::ReadNoLink);
    if (fd < 0) fail_system(-fd, "{}: file {}: {}", name(), quoted(wanted), errno_text(-fd));
    struct Closer {
      System& system;
      int fd;
      ~Closer() { system.close(fd); }
    } closer{*system_, fd};
    return ByteSource::from_fd(fd, 0, 0, name() + "/" + wanted, system_);
  }

  /// Whether a path is ".../snapshots/<revision>", as a Hugging Face cache has them.
  static bool is_snapshot(std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    const size_t slash = path.rfind('/');
    if (slash == path.npos) return false;
    path = path.substr(0, slash);
    while (path.ends_with('/')) path.remove_suffix(1);
    return path.substr(path.rfind('/') + 1) == "snapshots";
  }

  std::shared_ptr<System> system_;
  bool is_snapshot_;
};

class GivenFolder final : public FileFolder {
 public:
  GivenFolder(std::vector<FolderFile> files, std::string name) : FileFolder(std::move(name)) {
    std::ranges::sort(files, {}, &FolderFile::name);
    for (FolderFile& file : files) {
      if (file.source == nullptr) {
        fail(Code::Argument, "file {} of a folder is null", quoted(file.name));
      }
      if (const char* why = why_outside(file.name)) {
        fail(Code::Argument, "file {} of a folder: its name {}", quoted(file.name), why);
      }
      if (!files_.empty() && files_.back() == file.name) {
        fail(Code::Argument, "file {} of a folder was given twice", quoted(file.name));
      }
      files_.push_back(file.name);
      sources_.push_back(std::move(file.source));
    }
  }

 private:
  [[nodiscard]] std::shared_ptr<const ByteSource> open_inside(
      const std::string& wanted) const override {
    const auto found = std::ranges::lower_bound(files_, wanted);
    if (found == files_.end() || *found != wanted) {
      fail_system(ENOENT, "{}: file {}: {}", name(), quoted(wanted), errno_text(ENOENT));
    }
    return sources_[static_cast<size_t>(found - files_.begin())];
  }

  std::vector<std::shared_ptr<const ByteSource>> sources_;  // of each of files_
};

}  // namespace

std::shared_ptr<const FileFolder> FileFolder::from_path(const std::string& path,
                                                        std::shared_ptr<System> system) {
  return std::make_shared<DiskFolder>(path, std::move(system));
}

std::shared_ptr<const FileFolder> FileFolder::from_files(std::vector<FolderFile> files,
                                                         std::string name) {
  return std::make_shared<GivenFolder>(std::move(files), std::move(name));
}

bool FileFolder::contains(std::string_view name) const {
  return std::ranges::binary_search(files_, name);
}

std::shared_ptr<const ByteSource> FileFolder::open(std::string_view name) const {
  if (const char* why = why_outside(name)) {
    fail(Code::Format, "{}: file {}: the path {}", name_, quoted(name), why);
  }
  return open_inside(std::string(name));
}

std::string FileFolder::read_text(std::string_view name, uint64_t max_bytes) const {
  const std::shared_ptr<const ByteSource> source = open(name);
  if (source->size() > max_bytes) {
    fail(Code::Limit, "{}: {} bytes, the limit is {}", source->name(), source->size(), max_bytes);
  }
  std::string text(source->size(), '\0');
  source->read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace tenon
