#include "hub/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>

#include "base/system_error.h"
#include "base/utf8.h"
#include "hub/partial_file.h"
#include "hub/reference.h"

namespace tenon::hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxCacheFiles = 100'000;
constexpr int kMaxDepth = 16;
constexpr size_t kMaxIndexBytes = size_t{64} << 20;

/// Names in a folder, sorted; none if it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
    if (names.size() >= kMaxCacheFiles) break;
  }
  std::ranges::sort(names);
  return names;
}

bool is_real_folder(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

/// Whether `root` and each folder of the path of `relative` below it are real.
bool has_real_folders(const std::string& root, const std::string& relative) {
  if (!is_real_folder(root)) return false;
  for (size_t slash = relative.find('/'); slash != relative.npos;
       slash = relative.find('/', slash + 1)) {
    if (!is_real_folder(root + "/" + relative.substr(0, slash))) return false;
  }
  return true;
}

bool lies_below(const fs::path& path, const fs::path& root) {
  const auto [end, at] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return end == root.end() && at != path.end();
}

void collect_files(const fs::path& folder, const std::string& prefix, const fs::path& root,
                   int depth, std::vector<NamedFile>& into) {
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with('.') || into.size() >= kMaxCacheFiles) continue;
    const fs::path path = folder / name;
    std::error_code error;
    // Folders that are links could lead in circles.
    if (fs::is_directory(fs::symlink_status(path, error))) {
      if (depth < kMaxDepth) collect_files(path, prefix + name + "/", root, depth + 1, into);
      continue;
    }
    if (!fs::is_regular_file(path, error) || error) continue;
    if (!root.empty()) {
      const fs::path real = fs::canonical(path, error);
      if (error || !lies_below(real, root)) continue;
    }
    const uint64_t size = fs::file_size(path, error);
    if (!error) into.push_back({prefix + name, size});
  }
}

uint64_t blocks_of(const fs::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return 0;
  return static_cast<uint64_t>(found.st_blocks) * 512;
}

}  // namespace

std::vector<NamedFile> files_below(const std::string& folder, const std::string& root) {
  std::vector<NamedFile> files;
  std::error_code error;
  const fs::path real = root.empty() ? fs::path() : fs::canonical(root, error);
  if (!error) collect_files(folder, "", real, 0, files);
  return files;
}

std::string read_small_file(System& system, const std::string& path, size_t max_bytes) {
  const int fd = open_regular_file(system, path);
  std::string text;
  uint64_t size = 0;
  try {
    FileStat found;
    if (const int error = system.stat(fd, found); error < 0) {
      fail_system(-error, "{}: {}", path, errno_text(-error));
    }
    if (found.size_bytes > max_bytes)
      fail(Code::Limit, "{}: longer than {} bytes", path, max_bytes);
    text.resize(static_cast<size_t>(found.size_bytes) + 1);
    size = read_fully(system, fd, 0, std::as_writable_bytes(std::span(text)), path);
  } catch (...) {
    system.close(fd);
    throw;
  }
  system.close(fd);
  if (size > max_bytes) fail(Code::Limit, "{}: longer than {} bytes", path, max_bytes);
  text.resize(size);
  return text;
}

void replace_file(System& system, const std::string& path, std::string_view text, uint32_t mode) {
  const std::string fresh = path.substr(0, path.rfind('/') + 1) +
                            fmt::format(".tenon-{:016x}.new", random_number(system));
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0) fail_system(errno, "{}: cannot be written: {}", path, errno_text(errno));
  int64_t failed = 0;
  for (uint64_t done = 0; failed == 0 && done < text.size();) {
    const int64_t wrote = system.write_at(fd, text.data() + done, text.size() - done, done);
    if (wrote > 0) done += static_cast<uint64_t>(wrote);
    if (wrote == 0) failed = -EIO;
    if (wrote < 0 && wrote != -EINTR) failed = wrote;
  }
  if (failed == 0) failed = std::min(system.sync(fd), 0);
  system.close(fd);
  if (failed == 0) failed = std::min(system.rename(fresh.c_str(), path.c_str()), 0);
  if (failed == 0) return;
  ::unlink(fresh.c_str());
  const int number = static_cast<int>(-failed);
  fail_system(number, "{}: cannot be written: {}", path, errno_text(number));
}

void make_folders(const std::string& root, const std::string& relative) {
  std::error_code error;
  fs::create_directories(root, error);
  std::string path = root;
  for (size_t begin = 0; begin < relative.size();) {
    const size_t end = std::min(relative.find('/', begin), relative.size());
    path += "/" + relative.substr(begin, end - begin);
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
      fail_system(errno, "{}: the folder cannot be made: {}", path, errno_text(errno));
    }
    if (!is_real_folder(path)) {
      fail(Code::Io, "{}: is no folder (links are not followed when files are written)", path);
    }
    begin = end + 1;
  }
}

std::string Cache::folder_of(const std::string& id) const {
  std::string name = "models--" + id;
  name.replace(name.find('/'), 1, "--");
  return root_ + "/" + name;
}

std::string Cache::blob_path(const std::string& id, const std::string& etag) const {
  return folder_of(id) + "/blobs/" + etag;
}

std::string Cache::lock_path(const std::string& id, const std::string& etag) const {
  return root_ + "/.locks" + folder_of(id).substr(root_.size()) + "/" + etag + ".lock";
}

std::string Cache::snapshot(const std::string& id, const std::string& commit) const {
  return folder_of(id) + "/snapshots/" + commit;
}

void Cache::prepare(const std::string& id) {
  const std::string name = folder_of(id).substr(root_.size() + 1);
  for (const char* folder : {"/blobs", "/snapshots", "/refs"}) make_folders(root_, name + folder);
  make_folders(root_, ".locks/" + name);
}

bool Cache::has_blob(const std::string& id, const std::string& etag, uint64_t size) const {
  const std::string path = blob_path(id, etag);
  std::error_code error;
  const fs::path root = fs::canonical(root_, error);
  const fs::path real = error ? fs::path() : fs::canonical(path, error);
  if (error || !lies_below(real, root)) return false;
  return fs::is_regular_file(real, error) && fs::file_size(real, error) == size && !error;
}

void Cache::link(const std::string& id, const std::string& commit, const std::string& path,
                 const std::string& etag) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "" : "/" + path.substr(0, slash);
  make_folders(folder_of(id), "snapshots/" + commit + folder);
  std::string target = "../../";
  for (const char c : path) target += c == '/' ? "../" : "";
  target += "blobs/" + etag;
  const std::string place = snapshot(id, commit) + "/" + path;
  std::error_code error;
  if (fs::is_symlink(place, error) && fs::read_symlink(place, error).string() == target) return;
  if (fs::is_directory(fs::symlink_status(place, error))) {
    fail(Code::Io, "{}: a folder is in the place of a file", place);
  }
  const std::string fresh = place + ".tenon-new";
  ::unlink(fresh.c_str());
  if (::symlink(target.c_str(), fresh.c_str()) != 0) {
    fail_system(errno, "{}: the link cannot be made: {}", place, errno_text(errno));
  }
  if (const int failed = system_->rename(fresh.c_str(), place.c_str()); failed < 0) {
    ::unlink(fresh.c_str());
    fail_system(-failed, "{}: the link cannot be made: {}", place, errno_text(-failed));
  }
}

void Cache::write_ref(const std::string& id, const std::string& revision,
                      const std::string& commit) {
  if (is_hex(revision, 40)) return;
  const size_t slash = revision.rfind('/');
  make_folders(folder_of(id),
               "refs" + (slash == revision.npos ? "" : "/" + revision.substr(0, slash)));
  replace_file(*system_, folder_of(id) + "/refs/" + revision, commit, 0644);
}

std::optional<std::string> Cache::commit_of(const std::string& id,
                                            const std::string& revision) const {
  if (is_hex(revision, 40)) return revision;
  try {
    std::string text = read_small_file(*system_, folder_of(id) + "/refs/" + revision, 256);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    if (is_hex(text, 40)) return text;
  } catch (const Error&) {
    // Not there, or damaged: as if it were not there.
  }
  const std::vector<std::string> all = snapshots(id);
  if (revision == "main" && all.size() == 1) return all.front();
  return std::nullopt;
}

std::vector<NamedFile> Cache::files(const std::string& id, const std::string& commit) const {
  return files_below(snapshot(id, commit), root_);
}

std::string Cache::read(const std::string& id, const std::string& commit,
                        const std::string& path) const {
  return read_small_file(*system_, snapshot(id, commit) + "/" + path, kMaxIndexBytes);
}

std::vector<std::string> Cache::repositories() const {
  constexpr std::string_view kPrefix = "models--";
  std::vector<std::string> ids;
  for (const std::string& name : names_in(root_)) {
    if (!name.starts_with(kPrefix) || !is_real_folder(root_ + "/" + name)) continue;
    std::string id = name.substr(kPrefix.size());
    const size_t dashes = id.find("--");
    if (dashes == id.npos) continue;
    id.replace(dashes, 2, "/");
    if (is_repository_id(id)) ids.push_back(std::move(id));
  }
  return ids;
}

std::vector<std::string> Cache::snapshots(const std::string& id) const {
  std::vector<std::string> commits;
  for (const std::string& name : names_in(folder_of(id) + "/snapshots")) {
    if (is_hex(name, 40) && is_real_folder(snapshot(id, name))) commits.push_back(name);
  }
  return commits;
}

uint64_t Cache::remove_files(const std::string& id, const std::vector<std::string>& paths) {
  const auto target_of = [](const std::string& place) {
    std::error_code error;
    return fs::read_symlink(place, error).filename().string();
  };
  std::set<std::string> blobs;
  uint64_t freed = 0;
  for (const std::string& commit : snapshots(id)) {
    for (const std::string& path : paths) {
      if (why_bad_path(path) != nullptr) continue;
      // What lies behind a link is not ours.
      if (!has_real_folders(folder_of(id), "snapshots/" + commit + "/" + path)) continue;
      const std::string place = snapshot(id, commit) + "/" + path;
      if (const std::string blob = target_of(place); !blob.empty()) blobs.insert(blob);
      freed += blocks_of(place);
      if (::unlink(place.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
        fail_system(errno, "{}: cannot be removed: {}", place, errno_text(errno));
      }
    }
  }
  for (const std::string& commit : snapshots(id)) {
    for (const NamedFile& file : files(id, commit)) {
      blobs.erase(target_of(snapshot(id, commit) + "/" + file.path));
    }
  }
  if (!has_real_folders(folder_of(id), "blobs/")) return freed;
  const std::string locks = folder_of(id).substr(root_.size() + 1);
  if (!blobs.empty()) make_folders(root_, ".locks/" + locks);
  for (const std::string& blob : blobs) {
    if (!is_hex(blob, 40) && !is_hex(blob, 64)) continue;
    FileLock lock(*system_, lock_path(id, blob));
    if (!lock.try_lock()) continue;  // somebody is about to link it
    const std::string path = blob_path(id, blob);
    const uint64_t size = blocks_of(path);
    if (::unlink(path.c_str()) == 0) freed += size;
  }
  return freed;
}

uint64_t Cache::remove(const std::string& id) {
  const std::string folder = folder_of(id);
  uint64_t freed = 0;
  std::error_code error;
  // Files under way are somebody's until their locks are ours.
  std::vector<std::unique_ptr<FileLock>> locks;
  for (const std::string& name : names_in(folder + "/blobs")) {
    const std::string etag = name.substr(0, name.find('.'));
    if (name != etag + std::string(kPartialEnding)) continue;
    if (locks.empty()) make_folders(root_, ".locks" + folder.substr(root_.size()));
    locks.push_back(std::make_unique<FileLock>(*system_, lock_path(id, etag)));
    if (!locks.back()->try_lock()) {
      fail(Code::Busy, "hf:{}: is being fetched; end that, or wait for it", id);
    }
  }
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    freed += blocks_of(it->path());
  }
  error.clear();
  fs::remove_all(folder, error);  // removes links, not what they lead to
  if (error) fail(Code::Io, "{}: cannot be removed: {}", folder, error.message());
  return freed;
}

}  // namespace tenon::hub
