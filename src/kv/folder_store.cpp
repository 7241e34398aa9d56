#include "kv/folder_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "base/path.h"
#include "base/process_id.h"
#include "base/system_error.h"

namespace tenon {
namespace {

constexpr std::string_view kStoreMagic = "TENONST1";
constexpr std::string_view kRecordEnding = ".tb";
constexpr size_t kKeyDigits = 32;
/// A process holds the lock while it writes one file.
constexpr uint64_t kLockPauseNs = 1'000'000;
constexpr int kMostPauses = 200;
/// After a failed write, as on a full disk, nothing is written for this long.
constexpr uint64_t kStopNs = 60'000'000'000;
constexpr uint32_t kOthersMayWrite = 022;
/// Bytes of the number of changes, and of the secret.
constexpr uint64_t kCountBytes = 8;
constexpr uint64_t kSecretBytes = 16;
static_assert(kCountBytes + kSecretBytes == FolderStore::kFixedBytes);

using Head = std::array<std::byte, FolderStore::kHeadBytes>;

Head head_of(Hash128 key, Hash128 before) {
  Head head{};
  std::memcpy(head.data(), kStoreMagic.data(), kStoreMagic.size());
  std::memcpy(head.data() + 8, &before.low, 8);
  std::memcpy(head.data() + 16, &before.high, 8);
  const uint64_t sum = hash_bytes(std::span(head).first(24), key.low ^ key.high).low;
  std::memcpy(head.data() + 24, &sum, 8);
  return head;
}

/// The record before that of a head; nothing if the head is not that of `key`.
std::optional<Hash128> before_of(Hash128 key, const Head& head) {
  Hash128 before;
  std::memcpy(&before.low, head.data() + 8, 8);
  std::memcpy(&before.high, head.data() + 16, 8);
  if (head != head_of(key, before)) return std::nullopt;
  return before;
}

std::optional<uint64_t> number_of(std::string_view digits) {
  uint64_t number = 0;
  for (const char digit : digits) {
    const bool is_letter = digit >= 'a' && digit <= 'f';
    if (!is_letter && (digit < '0' || digit > '9')) return std::nullopt;
    number = number * 16 + static_cast<uint64_t>(is_letter ? digit - 'a' + 10 : digit - '0');
  }
  return number;
}

/// Key of a record's file name.
std::optional<Hash128> key_of(std::string_view name) {
  if (name.size() != kKeyDigits + kRecordEnding.size() || !name.ends_with(kRecordEnding)) {
    return std::nullopt;
  }
  const auto high = number_of(name.substr(0, 16));
  const auto low = number_of(name.substr(16, 16));
  if (!high || !low) return std::nullopt;
  return Hash128{*low, *high};
}

bool read_all(System& system, int fd, uint64_t offset, std::span<std::byte> out) noexcept {
  while (!out.empty()) {
    const int64_t count = system.read_at(fd, out.data(), out.size(), offset);
    if (count == -EINTR) continue;
    if (count <= 0) return false;
    offset += static_cast<uint64_t>(count);
    out = out.subspan(static_cast<size_t>(count));
  }
  return true;
}

bool write_all(System& system, int fd, uint64_t offset, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const int64_t count = system.write_at(fd, bytes.data(), bytes.size(), offset);
    if (count == -EINTR) continue;
    if (count <= 0) return false;
    offset += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

/// Has the lock if get() is true.
class FolderStore::Locked {
 public:
  explicit Locked(FolderStore& store) : store_(store) {
    for (int i = 0; store.lock_fd_ >= 0 && i < kMostPauses; ++i) {
      const int error = store.system_->try_lock(store.lock_fd_);
      has_lock_ = error == 0;
      if (has_lock_ || (error != -EWOULDBLOCK && error != -EINTR)) return;
      store.pause_.wait(kLockPauseNs);
    }
  }
  ~Locked() {
    if (has_lock_) store_.system_->unlock(store_.lock_fd_);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  [[nodiscard]] bool get() const { return has_lock_; }

 private:
  FolderStore& store_;
  bool has_lock_ = false;
};

FolderStore::FolderStore(std::shared_ptr<System> system, std::string folder, uint64_t budget_bytes)
    : system_(std::move(system)), folder_(std::move(folder)), budget_bytes_(budget_bytes) {
  if (folder_.empty() || folder_.find('\0') != folder_.npos) {
    fail(Code::Argument, "store: a folder's path must not be empty or hold a zero byte");
  }
  if (!ends_with_separator(folder_)) folder_ += '/';
  check_folder();
  const std::string path = folder_ + "lock";
  lock_fd_ = system_->open_private(path.c_str());
  try {
    FileStat stat;
    if (lock_fd_ >= 0 && !is_own(lock_fd_, stat)) {
      fail(Code::Io, "{}: is not a file that only this user can write", path);
    }
    if (lock_fd_ < 0 && lock_fd_ != -EACCES && lock_fd_ != -EROFS && lock_fd_ != -EPERM) {
      fail_system(-lock_fd_, "{}: {}", path, errno_text(-lock_fd_));
    }
    open_secret();
  } catch (...) {
    if (lock_fd_ >= 0) system_->close(lock_fd_);
    throw;
  }
}

FolderStore::~FolderStore() {
  if (lock_fd_ >= 0) system_->close(lock_fd_);
}

bool FolderStore::is_own(int fd, FileStat& stat) const noexcept {
  if (system_->stat(fd, stat) != 0 || !stat.is_regular) return false;
  return stat.owner == effective_user() && (stat.mode & kOthersMayWrite) == 0;
}

void FolderStore::check_folder() {
  const int made = system_->make_folder(folder_.c_str());
  const int fd = system_->open(folder_.c_str(), OpenMode::LookAtFolder);
  if (fd < 0) {
    const int error = made != 0 && made != -EEXIST && fd == -ENOENT ? -made : -fd;
    fail_system(error, "store {}: {}", folder_, errno_text(error));
  }
  FileStat stat;
  const int error = system_->stat(fd, stat);
  system_->close(fd);
  if (error != 0) fail_system(-error, "store {}: {}", folder_, errno_text(-error));
  if (stat.owner != effective_user() || (stat.mode & kOthersMayWrite) != 0) {
    fail(Code::Io,
         "store {}: must belong to this user, and others must not be able to write to it; its "
         "files become part of answers",
         folder_);
  }
}

void FolderStore::open_secret() {
  const std::string path = folder_ + "secret";
  std::array<std::byte, kSecretBytes> bytes{};
  // Without the lock the folder is only read, and the secret must be there.
  const Locked locked(*this);
  if (!locked.get() && lock_fd_ >= 0) fail(Code::Io, "store {}: another process locks it", folder_);
  const int fd = lock_fd_ >= 0 ? system_->open_private(path.c_str())
                               : system_->open(path.c_str(), OpenMode::ReadNoLink);
  if (fd == -ENOENT) return;  // a folder that holds nothing and takes nothing
  if (fd < 0) fail_system(-fd, "{}: {}", path, errno_text(-fd));
  FileStat stat;
  bool is_good = is_own(fd, stat);
  if (is_good && stat.size_bytes != kSecretBytes && lock_fd_ >= 0) {
    // New, or not complete: records under another secret are not found, and are removed in time.
    const std::array<uint64_t, 2> drawn{random_number(*system_), random_number(*system_)};
    is_good = stat.size_bytes < kSecretBytes &&
              write_all(*system_, fd, 0, std::as_bytes(std::span(drawn)));
  }
  is_good = is_good && read_all(*system_, fd, 0, bytes);
  system_->close(fd);
  if (!is_good) fail(Code::Io, "{}: cannot be read, or is not this user's", path);
  std::memcpy(&secret_.low, bytes.data(), 8);
  std::memcpy(&secret_.high, bytes.data() + 8, 8);
}

std::string FolderStore::path_of(Hash128 key) const {
  return folder_ + key.hex() + std::string(kRecordEnding);
}

int FolderStore::open_record(Hash128 key, uint64_t& size_bytes) noexcept {
  try {
    const int fd = system_->open(path_of(key).c_str(), OpenMode::ReadNoLink);
    if (fd < 0) return fd;
    FileStat stat;
    if (is_own(fd, stat) && stat.size_bytes >= kHeadBytes) {
      size_bytes = stat.size_bytes;
      return fd;
    }
    system_->close(fd);
  } catch (...) {
  }
  return -EACCES;
}

std::optional<uint64_t> FolderStore::find(Hash128 key) noexcept {
  uint64_t size_bytes = 0;
  const int fd = open_record(key, size_bytes);
  if (fd < 0) return std::nullopt;
  system_->close(fd);
  return size_bytes - kHeadBytes;
}

bool FolderStore::read(Hash128 key, std::span<std::byte> out) noexcept {
  uint64_t size_bytes = 0;
  const int fd = open_record(key, size_bytes);
  if (fd < 0) return false;
  Head head{};
  const bool has_head = size_bytes == kHeadBytes + out.size() && read_all(*system_, fd, 0, head);
  const bool is_damaged = has_head && !before_of(key, head);
  const bool is_whole = has_head && !is_damaged && read_all(*system_, fd, kHeadBytes, out);
  system_->close(fd);
  if (is_whole) {
    mark_used(key);
  } else if (is_damaged) {
    remove(key);
  }
  return is_whole;
}

void FolderStore::note_use(Hash128 key) noexcept { mark_used(key); }

/// Notes a use for the order of removal, in this process and, by the file's time, in later ones.
void FolderStore::mark_used(Hash128 key) noexcept {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  try {
    const bool is_last = last_ones_.erase({entry.used, key}) > 0;
    entry.used = ++num_uses_;
    if (is_last) last_ones_.emplace(entry.used, key);
    if (entry.is_touched || lock_fd_ < 0) return;
    const int fd = system_->open(path_of(key).c_str(), OpenMode::ReadNoLink);
    if (fd < 0) return;
    system_->touch(fd);
    system_->close(fd);
    entry.is_touched = true;
  } catch (...) {
    lose_list();
  }
}

// ---- Changes ------------------------------------------------------------------------------------

void FolderStore::begin() noexcept {
  try {
    const Locked locked(*this);
    if (!locked.get()) return;
    catch_up();
    make_room(0, {});
  } catch (...) {
    lose_list();
  }
}

void FolderStore::remove(Hash128 key) noexcept {
  try {
    const Locked locked(*this);
    if (!locked.get()) return;
    catch_up();
    if (entries_.contains(key) && note_change()) remove_file(key);
  } catch (...) {
    lose_list();
  }
}

bool FolderStore::write(Hash128 key, Hash128 before, std::span<const std::byte> record) noexcept {
  const uint64_t size_bytes = kHeadBytes + record.size();
  if (lock_fd_ < 0 || system_->now_ns() < stopped_until_ns_) return false;
  if (budget_bytes_ < kFixedBytes || size_bytes > budget_bytes_ - kFixedBytes) return false;
  try {
    const Locked locked(*this);
    if (!locked.get()) return false;
    catch_up();
    if (const auto known = entries_.find(key); known != entries_.end()) {
      if (known->second.size_bytes == size_bytes) return true;
      if (!note_change() || !remove_file(key)) return false;  // cut short
    }
    if (!make_room(size_bytes, before)) return false;
    if (note_change() && write_file(key, before, record)) return true;
    stopped_until_ns_ = system_->now_ns() + kStopNs;
  } catch (...) {
    lose_list();
  }
  return false;
}

/// Reads the folder again if another process changed it.
void FolderStore::catch_up() {
  uint64_t num_changes = 0;
  FileStat stat;
  const bool is_known =
      system_->stat(lock_fd_, stat) == 0 && stat.size_bytes == kCountBytes &&
      read_all(*system_, lock_fd_, 0, std::as_writable_bytes(std::span(&num_changes, 1)));
  if (is_known && is_read_ && num_changes == num_changes_) return;
  // A new count begins where no other process has been.
  num_changes_ = is_known ? num_changes : random_number(*system_);
  read_folder();
  is_read_ = is_known || note_change();
}

void FolderStore::read_folder() {
  // A killed process left it: whoever writes holds the lock.
  system_->remove((folder_ + "unfinished").c_str());
  std::vector<Hash128> found;
  struct Visit {
    std::vector<Hash128>& found;
    bool has_room = true;
  } visit{found};
  const auto look = [](void* user, const char* name) {
    auto& of = *static_cast<Visit*>(user);
    const auto key = key_of(name);
    try {
      if (key) of.found.push_back(*key);
    } catch (...) {
      of.has_room = false;
    }
  };
  const int error = system_->list_directory(folder_.c_str(), look, &visit);
  if (error != 0 || !visit.has_room) fail(Code::Io, "store {}: cannot be listed", folder_);
  std::ranges::sort(found);
  std::vector<Hash128> gone;
  for (const auto& [key, entry] : entries_) {
    if (!std::ranges::binary_search(found, key)) gone.push_back(key);
  }
  for (const Hash128 key : gone) forget(key);
  struct New {
    int64_t modified_ns;
    Hash128 key;
    Hash128 before;
    uint64_t size_bytes;
  };
  std::vector<New> others;
  others.reserve(found.size());  // nothing may throw while a file is open
  for (const Hash128 key : found) {
    if (entries_.contains(key)) continue;
    const int fd = system_->open(path_of(key).c_str(), OpenMode::ReadNoLink);
    if (fd < 0) continue;  // a link, or another user's: not of this store
    FileStat stat;
    Head head{};
    if (is_own(fd, stat)) {
      // A damaged one takes room, too, until it is the least recently used.
      const bool has_head = read_all(*system_, fd, 0, head);
      const auto before = has_head ? before_of(key, head) : std::nullopt;
      others.push_back({stat.modified_ns, key, before.value_or(Hash128{}), stat.size_bytes});
    }
    system_->close(fd);
  }
  std::ranges::sort(others, [](const New& a, const New& b) {
    return std::tie(a.modified_ns, a.key) < std::tie(b.modified_ns, b.key);
  });
  for (const New& other : others) add(other.key, other.before, other.size_bytes);
}

void FolderStore::add(Hash128 key, Hash128 before, uint64_t size_bytes) {
  ++num_after_[before];
  if (const auto needed = entries_.find(before); needed != entries_.end()) {
    last_ones_.erase({needed->second.used, before});
  }
  entries_[key] = {before, size_bytes, ++num_uses_};
  records_bytes_ += size_bytes;
  if (!num_after_.contains(key)) last_ones_.emplace(num_uses_, key);
}

void FolderStore::forget(Hash128 key) noexcept {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;  // the list was lost
  const Entry entry = found->second;
  last_ones_.erase({entry.used, key});
  records_bytes_ -= entry.size_bytes;
  entries_.erase(found);
  const auto after = num_after_.find(entry.before);
  if (--after->second > 0) return;
  num_after_.erase(after);
  const auto needed = entries_.find(entry.before);
  if (needed == entries_.end()) return;
  try {
    last_ones_.emplace(needed->second.used, entry.before);
  } catch (...) {
    lose_list();
  }
}

/// After a failed allocation: the next change reads the folder.
void FolderStore::lose_list() noexcept {
  is_read_ = false;
  records_bytes_ = 0;
  entries_.clear();
  num_after_.clear();
  last_ones_.clear();
}

bool FolderStore::make_room(uint64_t size_bytes, Hash128 kept) {
  const uint64_t most = budget_bytes_ - std::min(budget_bytes_, kFixedBytes + size_bytes);
  if (records_bytes_ <= most) return is_read_;
  if (!note_change()) return false;
  while (records_bytes_ > most) {
    auto oldest = last_ones_.begin();
    if (oldest != last_ones_.end() && oldest->second == kept) ++oldest;
    if (oldest == last_ones_.end() && (entries_.empty() || !last_ones_.empty())) return false;
    // Records in a circle are damaged: any of them goes.
    const Hash128 key = oldest == last_ones_.end() ? entries_.begin()->first : oldest->second;
    if (!remove_file(key)) return false;
  }
  return is_read_;
}

/// Announces a change, so that other processes read the folder before theirs.
bool FolderStore::note_change() noexcept {
  const uint64_t next = num_changes_ + 1;
  if (!write_all(*system_, lock_fd_, 0, std::as_bytes(std::span(&next, 1)))) return false;
  num_changes_ = next;
  return true;
}

bool FolderStore::remove_file(Hash128 key) noexcept {
  try {
    const int error = system_->remove(path_of(key).c_str());
    if (error != 0 && error != -ENOENT) return false;
  } catch (...) {
    return false;
  }
  forget(key);
  return true;
}

bool FolderStore::write_file(Hash128 key, Hash128 before, std::span<const std::byte> record) {
  const std::string unfinished = folder_ + "unfinished";
  const std::string path = path_of(key);
  const int fd = system_->open_private(unfinished.c_str());
  if (fd < 0) return false;
  const Head head = head_of(key, before);
  bool is_written = write_all(*system_, fd, 0, head) && write_all(*system_, fd, kHeadBytes, record);
  is_written = system_->close(fd) == 0 && is_written;
  if (is_written && system_->rename(unfinished.c_str(), path.c_str()) == 0) {
    add(key, before, kHeadBytes + record.size());
    return true;
  }
  system_->remove(unfinished.c_str());
  return false;
}

}  // namespace tenon
