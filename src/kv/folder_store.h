// The built-in block store: a file per record in a folder, within a budget, shared by the processes
// of one user.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/system.h"
#include "base/wake.h"
#include "kv/block_store.h"

namespace tenon {

/// The folder holds
///   secret    16 random bytes
///   lock      u64, the number of changes; whoever changes the folder holds the file's lock
///   <key>.tb  "TENONST1", u128 before, u64 hash of these and the key, the record
///   unfinished  the file that is being written; it gets its name when it is complete
/// A process that finds another number of changes than it left reads the folder again, so its list
/// of files is complete whenever it writes. The number changes before anything else does: a killed
/// process leaves at most `unfinished`, which counts as whole and is removed by the next.
/// Nothing is flushed to the disk: a checksum decides whether a record is used.
class FolderStore final : public BlockStore {
 public:
  /// Opens the folder, or makes it in an existing one. Throws Io if the folder cannot be used;
  /// if another user may write to it; and Argument for an empty path. A folder that this process
  /// cannot write is read.
  ///   budget_bytes  most bytes of all files in the folder that are the store's, at any time
  FolderStore(std::shared_ptr<System> system, std::string folder, uint64_t budget_bytes);
  ~FolderStore() override;

  [[nodiscard]] Hash128 secret() const override { return secret_; }
  std::optional<uint64_t> find(Hash128 key) noexcept override;
  bool read(Hash128 key, std::span<std::byte> out) noexcept override;
  bool write(Hash128 key, Hash128 before, std::span<const std::byte> record) noexcept override;
  void remove(Hash128 key) noexcept override;
  void note_use(Hash128 key) noexcept override;
  /// Reads the folder, and removes files beyond the budget.
  void begin() noexcept override;

  /// Bytes of all files at the latest change by this process.
  [[nodiscard]] uint64_t size_bytes() const { return kFixedBytes + records_bytes_; }

  /// Bytes of the files `secret` and `lock`.
  static constexpr uint64_t kFixedBytes = 24;
  /// Bytes of a file before its record.
  static constexpr uint64_t kHeadBytes = 32;

 private:
  struct KeyHash {
    size_t operator()(const Hash128& key) const { return key.low; }
  };
  struct Entry {
    Hash128 before;
    uint64_t size_bytes = 0;  // of the file
    uint64_t used = 0;        // place in the order of use
    bool is_touched = false;  // its file has a time of use of this process
  };
  /// Holds the folder's lock for its lifetime.
  class Locked;

  [[nodiscard]] std::string path_of(Hash128 key) const;
  [[nodiscard]] bool is_own(int fd, FileStat& stat) const noexcept;
  void check_folder();
  void open_secret();
  /// Opens a record's file; sets its size. A negative number if it is missing or not to be trusted.
  int open_record(Hash128 key, uint64_t& size_bytes) noexcept;
  void catch_up();
  void read_folder();
  void add(Hash128 key, Hash128 before, uint64_t size_bytes);
  void forget(Hash128 key) noexcept;
  void mark_used(Hash128 key) noexcept;
  void lose_list() noexcept;
  /// Removes the least recently used files that no other one needs, except `kept`, until
  /// `size_bytes` more fit.
  bool make_room(uint64_t size_bytes, Hash128 kept);
  bool note_change() noexcept;
  bool remove_file(Hash128 key) noexcept;
  bool write_file(Hash128 key, Hash128 before, std::span<const std::byte> record);

  std::shared_ptr<System> system_;
  std::string folder_;  // ends with a separator
  uint64_t budget_bytes_;
  Hash128 secret_;
  int lock_fd_ = -1;  // negative: the folder is only read
  Wake pause_;        // nobody posts it
  uint64_t num_changes_ = 0;
  bool is_read_ = false;           // the list was read
  uint64_t stopped_until_ns_ = 0;  // no writing before
  uint64_t records_bytes_ = 0;     // of all files of records
  uint64_t num_uses_ = 0;
  std::unordered_map<Hash128, Entry, KeyHash> entries_;
  std::unordered_map<Hash128, uint64_t, KeyHash> num_after_;  // entries whose `before` it is
  std::set<std::pair<uint64_t, Hash128>> last_ones_;  // by use; entries that no other one needs
};

}  // namespace tenon
