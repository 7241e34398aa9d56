// The folder store: what it keeps, what it refuses, and what is left after failures.
#include "kv/folder_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPlenty = uint64_t{1} << 30;

Hash128 key_number(uint64_t number) { return {(number + 1) * 0x9e3779b97f4a7c15u, number}; }

std::vector<std::byte> record_of(uint64_t number, size_t size = 1000) {
  std::vector<std::byte> record(size);
  for (size_t i = 0; i < size; ++i)
    record[i] = static_cast<std::byte>(number * 31 + i * 7 + i / 256);
  return record;
}

/// Bytes of all files in a folder.
uint64_t bytes_in(const std::string& folder) {
  uint64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code gone;
    const uint64_t size = entry.file_size(gone);
    if (!gone) sum += size;
  }
  return sum;
}

bool holds(FolderStore& store, uint64_t number, size_t size = 1000) {
  std::vector<std::byte> record(size);
  return store.read(key_number(number), record) && record == record_of(number, size);
}

class FolderStoreTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<FolderStore> open(uint64_t budget_bytes = kPlenty) const {
    return open(System::real(), budget_bytes);
  }
  [[nodiscard]] std::unique_ptr<FolderStore> open(std::shared_ptr<System> system,
                                                  uint64_t budget_bytes = kPlenty) const {
    auto store = std::make_unique<FolderStore>(std::move(system), path_, budget_bytes);
    store->begin();
    return store;
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ".tb") found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
  }
  const TempFolder folder_;
  const std::string path_ = folder_.path("store");
};

TEST_F(FolderStoreTest, KeepsRecordsForTheNextProcess) {
  Hash128 secret;
  {
    const auto store = open();
    secret = store->secret();
    EXPECT_FALSE(store->find(key_number(1)));
    EXPECT_TRUE(store->write(key_number(1), {}, record_of(1)));
    EXPECT_TRUE(store->write(key_number(2), key_number(1), record_of(2, 5000)));
    EXPECT_TRUE(store->write(key_number(3), {}, {}));
  }
  const auto store = open();
  EXPECT_EQ(store->secret(), secret);
  EXPECT_EQ(store->find(key_number(1)), 1000u);
  EXPECT_EQ(store->find(key_number(2)), 5000u);
  EXPECT_EQ(store->find(key_number(3)), 0u);
  EXPECT_TRUE(holds(*store, 1));
  EXPECT_TRUE(holds(*store, 2, 5000));
  EXPECT_FALSE(holds(*store, 2, 4999));
  EXPECT_EQ(store->size_bytes(), bytes_in(path_));
  store->remove(key_number(1));
  EXPECT_FALSE(store->find(key_number(1)));
}

TEST_F(FolderStoreTest, SecretsDiffer) {
  const FolderStore other(System::real(), folder_.path("other"), kPlenty);
  EXPECT_NE(open()->secret(), other.secret());
}

TEST_F(FolderStoreTest, NeverExceedsItsBudgetByAByte) {
  constexpr uint64_t kFile = 1000 + FolderStore::kHeadBytes;
  const uint64_t budget = FolderStore::kFixedBytes + 5 * kFile;
  const auto store = open(budget);
  for (uint64_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(store->write(key_number(i), {}, record_of(i)));
    EXPECT_LE(bytes_in(path_), budget);
    EXPECT_EQ(store->size_bytes(), bytes_in(path_));
  }
  EXPECT_EQ(files().size(), 5u);
  EXPECT_TRUE(holds(*store, 39));
  EXPECT_FALSE(store->write(key_number(99), {}, record_of(99, 5 * kFile)));
  EXPECT_EQ(files().size(), 5u) << "a record that never fits removed others";
  EXPECT_TRUE(store->write(key_number(98), {}, record_of(98, 5 * kFile - FolderStore::kHeadBytes)));
  EXPECT_EQ(bytes_in(path_), budget);
  const auto less = open(budget - 1);
  EXPECT_EQ(files().size(), 0u);
  for (uint64_t i = 0; i < 9; ++i) EXPECT_TRUE(less->write(key_number(i), {}, record_of(i)));
  EXPECT_EQ(files().size(), 4u);
  const auto smaller = open(FolderStore::kFixedBytes + 10);
  EXPECT_EQ(bytes_in(path_), FolderStore::kFixedBytes) << "a smaller budget holds at once";
}

TEST_F(FolderStoreTest, RemovesTheLeastRecentlyUsed) {
  constexpr uint64_t kFile = 1000 + FolderStore::kHeadBytes;
  auto store = open(FolderStore::kFixedBytes + 4 * kFile);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(store->write(key_number(i), {}, record_of(i)));
  EXPECT_TRUE(holds(*store, 0));
  store->note_use(key_number(1));
  EXPECT_TRUE(store->write(key_number(4), {}, record_of(4)));
  EXPECT_TRUE(store->write(key_number(5), {}, record_of(5)));
  EXPECT_FALSE(store->find(key_number(2)));
  EXPECT_FALSE(store->find(key_number(3)));
  // The order survives, by the files' times.
  const auto hours_ago = [&](uint64_t number, int hours) {
    const std::string file = path_ + "/" + key_number(number).hex() + ".tb";
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    return fs::last_write_time(file);
  };
  hours_ago(0, 4);
  hours_ago(1, 3);
  hours_ago(4, 2);
  const auto before = hours_ago(5, 5);
  store = open(FolderStore::kFixedBytes + 4 * kFile);
  EXPECT_TRUE(holds(*store, 5));
  EXPECT_GT(fs::last_write_time(path_ + "/" + key_number(5).hex() + ".tb"), before);
  EXPECT_TRUE(store->write(key_number(6), {}, record_of(6)));
  EXPECT_FALSE(store->find(key_number(0)));
  EXPECT_TRUE(store->write(key_number(7), {}, record_of(7)));
  EXPECT_FALSE(store->find(key_number(1)));
  for (const uint64_t number : {4, 5, 6, 7}) EXPECT_TRUE(holds(*store, number)) << number;
}

TEST_F(FolderStoreTest, RemovesEndsOfTextsBeforeTheirBeginnings) {
  constexpr uint64_t kFile = 1000 + FolderStore::kHeadBytes;
  const uint64_t budget = FolderStore::kFixedBytes + 6 * kFile;
  {
    const auto store = open(budget);
    for (uint64_t i = 1; i <= 6; ++i) {
      EXPECT_TRUE(store->write(key_number(i), key_number(i - 1), record_of(i)));
    }
    EXPECT_TRUE(store->write(key_number(50), {}, record_of(50)));
    EXPECT_FALSE(store->find(key_number(6)));
  }
  const auto store = open(budget);
  EXPECT_TRUE(store->write(key_number(51), {}, record_of(51)));
  EXPECT_FALSE(store->find(key_number(5)));
  for (uint64_t i = 1; i <= 4; ++i) EXPECT_TRUE(store->find(key_number(i))) << i;
  // A text longer than the budget keeps its beginning: its last record is not traded for the next.
  store->remove(key_number(50));
  store->remove(key_number(51));
  const auto small = open(FolderStore::kFixedBytes + 3 * kFile);
  EXPECT_FALSE(small->write(key_number(4), key_number(3), record_of(4)));
  for (uint64_t i = 1; i <= 3; ++i) EXPECT_TRUE(small->find(key_number(i))) << i;
}

TEST_F(FolderStoreTest, RecordsInACircleGoToo) {
  constexpr uint64_t kFile = 1000 + FolderStore::kHeadBytes;
  const auto store = open(FolderStore::kFixedBytes + 2 * kFile);
  EXPECT_TRUE(store->write(key_number(1), key_number(2), record_of(1)));
  EXPECT_TRUE(store->write(key_number(2), key_number(1), record_of(2)));
  EXPECT_TRUE(store->write(key_number(3), {}, record_of(3)));
  EXPECT_TRUE(holds(*store, 3));
}

TEST_F(FolderStoreTest, ADamagedHeadIsAMiss) {
  EXPECT_TRUE(open()->write(key_number(1), key_number(7), record_of(1)));
  const fs::path file = files().at(0);
  const fs::path saved = folder_.path("saved");
  fs::copy_file(file, saved);
  const auto put_back = [&] {
    fs::copy_file(saved, file, fs::copy_options::overwrite_existing);
    fs::permissions(file, fs::status(saved).permissions());
  };
  for (uint64_t at = 0; at < FolderStore::kHeadBytes; ++at) {
    put_back();
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const int before = bytes.get();
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(before ^ 0x10));
    bytes.close();
    const auto store = open();
    EXPECT_FALSE(holds(*store, 1)) << at;
    EXPECT_FALSE(fs::exists(file)) << "a record of its own size and a damaged head is removed";
  }
  put_back();
  const auto store = open();
  EXPECT_TRUE(holds(*store, 1));
  for (const uint64_t size : {0, 10, 31, 32, 700, 1031}) {
    fs::resize_file(file, size);
    EXPECT_FALSE(holds(*store, 1)) << size;
    EXPECT_TRUE(open()->write(key_number(1), key_number(7), record_of(1)));
    EXPECT_TRUE(holds(*store, 1)) << "written again after " << size;
  }
  fs::remove(file);
  EXPECT_TRUE(open()->write(key_number(1), {}, record_of(1)));
  // A whole file under another's name is not that record.
  fs::rename(files().at(0),
             files().at(0).string().replace(files().at(0).string().size() - 4, 1, "0"));
  EXPECT_FALSE(holds(*store, 1));
}

TEST_F(FolderStoreTest, OtherFilesStay) {
  fs::create_directory(path_);
  fs::permissions(path_, fs::perms::owner_all);
  folder_.write("store/notes.txt", std::string(5000, 'x'));
  folder_.write("store/0123.tb", std::string(5000, 'x'));
  folder_.write("store/0123456789ABCDEF0123456789abcdef.tb", std::string(5000, 'x'));
  const auto store = open(FolderStore::kFixedBytes + 2000);
  for (uint64_t i = 0; i < 9; ++i) EXPECT_TRUE(store->write(key_number(i), {}, record_of(i)));
  EXPECT_TRUE(fs::exists(path_ + "/notes.txt"));
  EXPECT_TRUE(fs::exists(path_ + "/0123.tb"));
  EXPECT_TRUE(fs::exists(path_ + "/0123456789ABCDEF0123456789abcdef.tb"));
}

TEST_F(FolderStoreTest, TwoProcessesShareOneBudget) {
  constexpr uint64_t kFile = 1000 + FolderStore::kHeadBytes;
  const uint64_t budget = FolderStore::kFixedBytes + 7 * kFile;
  const auto one = open(budget);
  const auto other = open(budget);
  EXPECT_EQ(one->secret(), other->secret());
  for (uint64_t i = 0; i < 60; ++i) {
    FolderStore& writer = i % 3 == 0 ? *one : *other;
    EXPECT_TRUE(writer.write(key_number(i), {}, record_of(i)));
    EXPECT_LE(bytes_in(path_), budget);
    EXPECT_TRUE(holds(*one, i));
    EXPECT_TRUE(holds(*other, i));
  }
  EXPECT_EQ(files().size(), 7u);
}

TEST_F(FolderStoreTest, ALockedFolderTakesNothing) {
  const auto store = open();
  EXPECT_TRUE(store->write(key_number(1), {}, record_of(1)));
  const auto system = System::real();
  const int fd = system->open_private((path_ + "/lock").c_str());
  ASSERT_EQ(system->try_lock(fd), 0);
  EXPECT_FALSE(store->write(key_number(2), {}, record_of(2)));
  EXPECT_TRUE(holds(*store, 1)) << "reading needs no lock";
  system->close(fd);
}

/// A disk that takes a number of bytes.
class SmallDisk : public FaultySystem {
 public:
  explicit SmallDisk(int64_t room) : room_(room) {}
  int64_t write_at(int fd, const void* buffer, uint64_t size, uint64_t offset) noexcept override {
    const auto count = std::min(static_cast<int64_t>(size), room_.load());
    if (count <= 0) return -ENOSPC;
    room_ -= count;
    return FaultySystem::write_at(fd, buffer, static_cast<uint64_t>(count), offset);
  }
  uint64_t now_ns() noexcept override { return FaultySystem::now_ns() + ahead_ns; }
  void give(int64_t room) { room_ = room; }
  std::atomic<uint64_t> ahead_ns{0};

 private:
  std::atomic<int64_t> room_;
};

TEST_F(FolderStoreTest, AFullDiskStopsWritingAndNothingElse) {
  for (int64_t room = 0; room < 3000; room += room < 130 ? 1 : 97) {
    fs::remove_all(path_);
    const auto disk = std::make_shared<SmallDisk>(100'000);
    const auto store = open(disk);
    EXPECT_TRUE(store->write(key_number(1), {}, record_of(1)));
    disk->give(room);
    const bool fits = store->write(key_number(2), key_number(1), record_of(2));
    EXPECT_EQ(fits, room >= 1000 + 32 + 8) << room;
    EXPECT_FALSE(fs::exists(path_ + "/unfinished"));
    EXPECT_TRUE(holds(*store, 1));
    EXPECT_EQ(holds(*store, 2), fits);
    if (fits) continue;
    disk->give(100'000);
    EXPECT_FALSE(store->write(key_number(2), {}, record_of(2))) << "it pauses";
    disk->ahead_ns = 61'000'000'000;
    EXPECT_TRUE(store->write(key_number(2), {}, record_of(2)));
    EXPECT_EQ(store->size_bytes(), bytes_in(path_));
  }
}

TEST_F(FolderStoreTest, AnyCallMayFail) {
  constexpr uint64_t kFile = 1000 + FolderStore::kHeadBytes;
  const uint64_t budget = FolderStore::kFixedBytes + 3 * kFile;
  for (uint64_t n = 0;; ++n) {
    fs::remove_all(path_);
    const auto system = std::make_shared<FaultySystem>(n);
    try {
      FolderStore store(system, path_, budget);
      store.begin();
      for (uint64_t i = 0; i < 5; ++i) {
        store.write(key_number(i), {}, record_of(i));
        std::vector<std::byte> record(1000);
        if (store.read(key_number(i), record)) {
          EXPECT_EQ(record, record_of(i));
        }
        EXPECT_LE(bytes_in(path_), budget);
      }
      store.remove(key_number(4));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Io) << error.what();
    }
    EXPECT_TRUE(system->all_released()) << n;
    if (!system->failed()) break;
  }
}

TEST_F(FolderStoreTest, BadFoldersAreRefused) {
  const auto code_of = [](const std::string& path) {
    try {
      const FolderStore store(System::real(), path, kPlenty);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::Internal;
  };
  EXPECT_EQ(code_of(""), Code::Argument);
  EXPECT_EQ(code_of(std::string("a\0b", 3)), Code::Argument);
  EXPECT_EQ(code_of(folder_.path("missing/store")), Code::Io);
  EXPECT_EQ(code_of(folder_.write("file", std::string("text"))), Code::Io);
}

#ifndef _WIN32

TEST_F(FolderStoreTest, FilesAreOfThisUserAlone) {
  const auto store = open();
  EXPECT_TRUE(store->write(key_number(1), {}, record_of(1)));
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_all);
  for (const auto& entry : fs::directory_iterator(path_)) {
    EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  const fs::path file = files().at(0);
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(holds(*store, 1)) << "others could have written it";
  fs::permissions(file, fs::perms::group_write, fs::perm_options::remove);
  EXPECT_TRUE(holds(*store, 1));
  fs::rename(file, folder_.path("elsewhere"));
  fs::create_symlink(folder_.path("elsewhere"), file);
  EXPECT_FALSE(holds(*store, 1)) << "a link";
  fs::permissions(path_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THROW((void)open(), Error);
  fs::permissions(path_, fs::perms::owner_all);
  fs::remove(path_ + "/lock");
  fs::create_symlink(folder_.path("elsewhere"), path_ + "/lock");
  EXPECT_THROW((void)open(), Error);
}

/// A folder that this process may only read.
class ReadOnlyDisk : public FaultySystem {
 public:
  int open_private(const char*) noexcept override { return -EROFS; }
  int make_folder(const char*) noexcept override { return -EROFS; }
};

TEST_F(FolderStoreTest, AReadOnlyFolderIsRead) {
  EXPECT_THROW((void)open(std::make_shared<ReadOnlyDisk>()), Error) << "there is no folder";
  EXPECT_TRUE(open()->write(key_number(1), {}, record_of(1)));
  const auto store = open(std::make_shared<ReadOnlyDisk>());
  EXPECT_EQ(store->secret(), open()->secret());
  EXPECT_TRUE(holds(*store, 1));
  EXPECT_FALSE(store->write(key_number(2), {}, record_of(2)));
  store->remove(key_number(1));
  EXPECT_TRUE(holds(*store, 1));
}

/// Ends the process at a system call.
class DeadlySystem : public FaultySystem {
 public:
  explicit DeadlySystem(uint64_t last) : left_(last) {}
  int64_t write_at(int fd, const void* buffer, uint64_t size, uint64_t offset) noexcept override {
    die();
    // Byte by byte at first, so that it dies within a file, too.
    return FaultySystem::write_at(fd, buffer, std::min<uint64_t>(size, 100), offset);
  }
  int rename(const char* from, const char* to) noexcept override {
    die();
    const int result = FaultySystem::rename(from, to);
    die();
    return result;
  }
  int remove(const char* path) noexcept override {
    die();
    return FaultySystem::remove(path);
  }
  int open_private(const char* path) noexcept override {
    die();
    return FaultySystem::open_private(path);
  }

 private:
  void die() noexcept {
    if (left_-- == 0) ::kill(::getpid(), SIGKILL);
  }
  uint64_t left_;
};

TEST_F(FolderStoreTest, AKillAtAnyCallLeavesWholeRecords) {
  constexpr uint64_t kFile = 1000 + FolderStore::kHeadBytes;
  const uint64_t budget = FolderStore::kFixedBytes + 3 * kFile;
  bool was_killed = true;
  for (uint64_t last = 0; was_killed; last += last < 40 ? 1 : 7) {
    fs::remove_all(path_);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FolderStore store(std::make_shared<DeadlySystem>(last), path_, budget);
      store.begin();
      for (uint64_t i = 0; i < 8; ++i) store.write(key_number(i), key_number(i / 2), record_of(i));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    was_killed = WIFSIGNALED(status);
    if (fs::exists(path_)) {
      EXPECT_LE(bytes_in(path_), budget) << last;
    }
    const auto store = open(budget);
    for (uint64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(store->find(key_number(i)).has_value(), holds(*store, i)) << last;
    }
    EXPECT_FALSE(fs::exists(path_ + "/unfinished"));
    EXPECT_EQ(store->size_bytes(), bytes_in(path_));
    for (uint64_t i = 20; i < 26; ++i) {
      EXPECT_TRUE(store->write(key_number(i), {}, record_of(i)));
      EXPECT_LE(bytes_in(path_), budget);
    }
  }
}

#endif

}  // namespace
}  // namespace tenon
