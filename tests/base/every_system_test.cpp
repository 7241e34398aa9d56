// The contract of System that every operating system keeps: files, paths with any letters, mapped
// bytes, folders, memory, threads.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/byte_source.h"
#include "base/loaded_code.h"
#include "base/reserving_system.h"
#include "base/system.h"
#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

using testing::HasSubstr;

class EverySystem : public testing::Test {
 protected:
  void save(const std::string& path, const std::string& text) {
    AtomicFile file(system_, path);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  }
  std::string load(const std::string& path) {
    const auto source = ByteSource::from_path(path, system_);
    std::string text(source->size(), ' ');
    source->read(0, std::as_writable_bytes(std::span(text)));
    return text;
  }
  std::set<std::string> names_in(const std::string& path) {
    std::set<std::string> names;
    EXPECT_EQ(system_->list_directory(
                  path.c_str(),
                  [](void* user, const char* name) {
                    static_cast<std::set<std::string>*>(user)->insert(name);
                  },
                  &names),
              0);
    names.erase(".");
    names.erase("..");
    return names;
  }

  const TempFolder folder_;
  std::shared_ptr<System> system_ = System::real();
};

TEST_F(EverySystem, WritesAndReplacesFilesWithAnyLetters) {
  const std::string path = folder_.path("\xc3\xbcn\xc3\xaf-\xe6\x97\xa5\xe6\x9c\xac.gguf");
  save(path, "first");
  EXPECT_EQ(load(path), "first");
  save(path, "second, longer");
  EXPECT_EQ(load(path), "second, longer");
  EXPECT_EQ(names_in(folder_.path("")).size(), 1u);
  EXPECT_EQ(system_->remove(path.c_str()), 0);
  expect_error(Code::Io, HasSubstr("no such file"), [&] { (void)load(path); });
}

TEST_F(EverySystem, TakesPathsLongerThan260Characters) {
  std::string path = folder_.path(std::string(120, 'a'));
  std::filesystem::create_directory(path);
  path += "/" + std::string(100, 'b') + std::string(50, 'c');
  save(path, "deep");
  EXPECT_EQ(load(path), "deep");
  EXPECT_EQ(names_in(folder_.path(std::string(120, 'a'))).size(), 1u);
}

TEST_F(EverySystem, RefusesFoldersAndWhatIsNotThere) {
  expect_error(Code::Io, HasSubstr("regular file"), [&] { (void)load(folder_.path("")); });
  expect_error(Code::Io, HasSubstr("no such file"), [&] { (void)load(folder_.path("a/b")); });
  expect_error(Code::Argument, HasSubstr("zero byte"), [&] { (void)load(""); });
  EXPECT_LT(system_->list_directory(
                folder_.path("absent").c_str(), [](void*, const char*) {}, nullptr),
            0);
}

TEST_F(EverySystem, ReadsAtOffsetsAndStopsAtTheEnd) {
  const std::string path = folder_.write("file", std::string("0123456789"));
  const int fd = system_->open(path.c_str(), OpenMode::Read);
  ASSERT_GE(fd, 0);
  char bytes[8] = {};
  EXPECT_EQ(system_->read_at(fd, bytes, 4, 3), 4);
  EXPECT_EQ(std::string(bytes, 4), "3456");
  EXPECT_EQ(system_->read_at(fd, bytes, 8, 8), 2);
  EXPECT_EQ(system_->read_at(fd, bytes, 8, 10), 0);
  const int copy = system_->duplicate(fd);
  ASSERT_GE(copy, 0);
  EXPECT_EQ(system_->close(fd), 0);
  EXPECT_EQ(system_->read_at(copy, bytes, 1, 9), 1);
  EXPECT_EQ(system_->close(copy), 0);
  EXPECT_LT(system_->duplicate(-1), 0);
}

TEST_F(EverySystem, TellsWhenAFileChanges) {
  const std::string path = folder_.write("file", std::string("one"));
  const auto identity = [&] {
    FileStat stat;
    const int fd = system_->open(path.c_str(), OpenMode::LookAt);
    EXPECT_EQ(system_->stat(fd, stat), 0);
    EXPECT_EQ(system_->close(fd), 0);
    return FileIdentity(stat);
  };
  const FileIdentity before = identity();
  EXPECT_TRUE(before.is_regular);
  EXPECT_EQ(before.size_bytes, 3u);
  EXPECT_EQ(identity(), before);
  (void)folder_.write("file", std::string("three"));
  EXPECT_NE(identity(), before);
}

TEST_F(EverySystem, LocksAFileForOneAtATime) {
  const std::string path = folder_.path("lock");
  const int one = system_->open_private(path.c_str());
  const int other = system_->open_private(path.c_str());
  ASSERT_GE(one, 0);
  ASSERT_GE(other, 0);
  EXPECT_EQ(system_->try_lock(one), 0);
  EXPECT_EQ(system_->try_lock(other), -EWOULDBLOCK);
  // The lock is no obstacle to reading and writing.
  EXPECT_EQ(system_->write_at(other, "text", 4, 0), 4);
  char text[4];
  EXPECT_EQ(system_->read_at(one, text, 4, 0), 4);
  EXPECT_EQ(system_->unlock(one), 0);
  EXPECT_EQ(system_->try_lock(other), 0);
  EXPECT_EQ(system_->try_lock(one), -EWOULDBLOCK);
  system_->close(other);
  EXPECT_EQ(system_->try_lock(one), 0);
  system_->close(one);
}

TEST_F(EverySystem, MakesFoldersOnce) {
  const std::string path = folder_.path("\xc3\xbcn\xc3\xaf");
  EXPECT_EQ(system_->make_folder(path.c_str()), 0);
  EXPECT_EQ(system_->make_folder(path.c_str()), -EEXIST);
  EXPECT_LT(system_->make_folder(folder_.path("missing/folder").c_str()), 0);
  const int fd = system_->open_private((path + "/file").c_str());
  ASSERT_GE(fd, 0);
  FileStat before;
  FileStat after;
  EXPECT_EQ(system_->stat(fd, before), 0);
  EXPECT_EQ(system_->touch(fd), 0);
  EXPECT_EQ(system_->stat(fd, after), 0);
  EXPECT_GE(after.modified_ns, before.modified_ns);
  system_->close(fd);
}

TEST_F(EverySystem, MapsFiles) {
  const std::string text = std::string(size_t{64} << 10, 'x') + "tail";
  const auto source = ByteSource::from_path(folder_.write("file", text), system_);
  const FileMapping mapping = source->map((size_t{64} << 10) - 1, 5);
  EXPECT_EQ(std::memcmp(mapping.bytes().data(), "xtail", 5), 0);
}

TEST_F(EverySystem, MapsZeroedPagesOnLargeBorders) {
  for (const uint64_t size : {uint64_t{100}, kHugePageBytes, 3 * kHugePageBytes + 5}) {
    auto* const pages = static_cast<unsigned char*>(system_->map_pages(size));
    ASSERT_NE(pages, nullptr);
    if (size >= kHugePageBytes) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(pages) % kHugePageBytes, 0u);
    }
    EXPECT_EQ(pages[0] + pages[size / 2] + pages[size - 1], 0);
    std::memset(pages, 1, size);
    system_->unmap_pages(pages, size);
  }
  EXPECT_EQ(system_->map_pages(uint64_t{1} << 62), nullptr);
  EXPECT_GT(system_->available_memory(), 0u);
}

TEST_F(EverySystem, ReservesMoreThanTheMachineHas) {
  const auto system = reserving_system();
  // Below the 1.5 TiB that ThreadSanitizer leaves to mappings.
  constexpr uint64_t kSize = uint64_t{1} << 39;
  auto* const pages = static_cast<char*>(system->map_pages(kSize));
  ASSERT_NE(pages, nullptr);
  const uint64_t before = resident_memory();
  for (const uint64_t at : {uint64_t{0}, kSize / 2 + 77, kSize - 1}) {
    EXPECT_EQ(pages[at], 0);
    pages[at] = 7;
    EXPECT_EQ(pages[at], 7);
  }
  EXPECT_LT(resident_memory(), before + (uint64_t{64} << 20));
  system->unmap_pages(pages, kSize);
}

TEST_F(EverySystem, StartsThreads) {
  ThreadHandle thread{};
  int value = 0;
  const auto entry = [](void* arg) -> void* {
    *static_cast<int*>(arg) = 42;
    return nullptr;
  };
  ASSERT_EQ(system_->start_thread(thread, uint64_t{256} << 10, entry, &value), 0);
  system_->join_thread(thread);
  EXPECT_EQ(value, 42);
  EXPECT_GE(system_->num_usable_cpus(), 1u);
}

TEST_F(EverySystem, HasClocksAndRandomBytes) {
  const uint64_t before = system_->now_ns();
  EXPECT_GE(system_->now_ns(), before);
  uint64_t numbers[2] = {};
  EXPECT_EQ(system_->random_bytes(numbers, sizeof numbers), 0);
  EXPECT_NE(numbers[0], numbers[1]);
}

TEST_F(EverySystem, RefusesWhatIsNoLibrary) {
  const std::string path = folder_.write("no" + std::string(kLibraryEnding), std::string("text"));
  const char* error = nullptr;
  EXPECT_EQ(system_->load_library(path.c_str(), error), nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_STRNE(error, "");
}

}  // namespace
}  // namespace tenon
