#include "base/system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "base/buffer.h"
#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(System, OpensAndReadsARegularFile) {
  const TempFolder folder;
  const auto system = std::make_shared<FaultySystem>();
  const int fd = open_regular_file(*system, folder.write("a", std::string("hello")));
  std::array<std::byte, 8> bytes{};
  EXPECT_EQ(read_fully(*system, fd, 1, bytes, "a"), 4u);
  EXPECT_EQ(bytes[0], std::byte{'e'});
  system->close(fd);
  EXPECT_TRUE(system->all_released());
}

TEST(System, RandomNumbersDifferAlsoWithoutTheSystem) {
  class WithoutRandom : public FaultySystem {
   public:
    int random_bytes(void*, uint64_t) noexcept override { return -ENOSYS; }
  };
  WithoutRandom without;
  const auto real = System::real();
  std::set<uint64_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    numbers.insert(random_number(*real));
    numbers.insert(random_number(without));
  }
  EXPECT_EQ(numbers.size(), 2000u);
  std::array<unsigned char, 1000> bytes{};
  EXPECT_EQ(real->random_bytes(bytes.data(), bytes.size()), 0);
  EXPECT_GT(std::set<int>(bytes.begin(), bytes.end()).size(), 100u);
}

TEST(System, EmptyFileIsRegular) {
  const TempFolder folder;
  const auto system = System::real();
  const int fd = open_regular_file(*system, folder.write("empty", std::string()));
  EXPECT_GE(fd, 0);
  system->close(fd);
}

TEST(System, RefusesWhatIsNoRegularFile) {
  const TempFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string dangling = folder.path("dangling");
  ASSERT_EQ(::symlink("nowhere", dangling.c_str()), 0);
  const std::string loop = folder.path("loop");
  ASSERT_EQ(::symlink("loop", loop.c_str()), 0);
  for (const std::string& path :
       {fifo, dangling, loop, folder.path("missing"), folder.path(""), std::string("/dev/zero"),
        std::string("/dev/null"), std::string("/proc/self/status"), std::string("/")}) {
    const auto system = std::make_shared<FaultySystem>();
    expect_error(Code::Io, HasSubstr(path), [&] { open_regular_file(*system, path); });
    EXPECT_TRUE(system->all_released()) << path;
  }
}

TEST(System, FollowsALinkToARegularFile) {
  const TempFolder folder;
  folder.write("blob", std::string("x"));
  ASSERT_EQ(::symlink("blob", folder.path("link").c_str()), 0);
  const auto system = System::real();
  const int fd = open_regular_file(*system, folder.path("link"));
  EXPECT_GE(fd, 0);
  system->close(fd);
}

TEST(System, RefusesPathsThatNoCallCanTake) {
  for (const std::string& path : {std::string(), std::string("a\0b", 3)}) {
    expect_error(Code::Argument, HasSubstr("path"),
                 [&] { open_regular_file(*System::real(), path); });
  }
}

TEST(System, SaysWhyOpenFailed) {
  const TempFolder folder;
  const std::string path = folder.write("a", std::string("x"));
  FaultySystem system(0, EMFILE);
  expect_error(Code::Io, AllOf(HasSubstr(path), HasSubstr("too many open files")),
               [&] { open_regular_file(system, path); });
}

TEST(System, InterruptedCallsAreRepeated) {
  const TempFolder folder;
  const std::string path = folder.write("a", std::string("0123456789"));
  FaultySystem opening(0, EINTR);
  const int fd = open_regular_file(opening, path);
  FaultySystem reading(1, EINTR);
  reading.set_longest_read(3);
  std::array<std::byte, 10> bytes{};
  EXPECT_EQ(read_fully(reading, fd, 0, bytes, path), 10u);
  EXPECT_EQ(bytes[9], std::byte{'9'});
  opening.close(fd);
}

TEST(System, ReadErrorNamesFileAndOffset) {
  const TempFolder folder;
  const std::string path = folder.write("a", std::string("0123456789"));
  FaultySystem system(1, EIO);
  const int fd = system.open(path.c_str(), OpenMode::Read);
  std::array<std::byte, 4> bytes{};
  expect_error(Code::Io, AllOf(HasSubstr(path), HasSubstr("at 5"), HasSubstr("input/output error")),
               [&] { read_fully(system, fd, 5, bytes, path); });
  system.close(fd);
}

TEST(System, PagesAreZeroAndAligned) {
  const auto system = System::real();
  for (const uint64_t size :
       {uint64_t{1}, uint64_t{4097}, kHugePageBytes, kHugePageBytes * 3 + 1}) {
    auto* pages = static_cast<std::byte*>(system->map_pages(size));
    ASSERT_NE(pages, nullptr);
    EXPECT_EQ(pages[0], std::byte{0});
    EXPECT_EQ(pages[size - 1], std::byte{0});
    pages[size - 1] = std::byte{1};
    if (size >= kHugePageBytes) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(pages) % kHugePageBytes, 0u);
    }
    system->unmap_pages(pages, size);
  }
}

TEST(System, ImpossibleSizesGiveNull) {
  const auto system = System::real();
  for (const uint64_t size : {uint64_t{0}, ~uint64_t{0}, ~uint64_t{0} - 4096, uint64_t{1} << 62}) {
    EXPECT_EQ(system->map_pages(size), nullptr) << size;
  }
}

TEST(System, ThreadTimeIsThatOfWork) {
  const std::shared_ptr<System> system = System::real();
  const uint64_t begin = system->thread_time_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(system->thread_time_ns() - begin, 25'000'000u);
  while (system->thread_time_ns() - begin < 5'000'000) {
  }
}

TEST(System, HostAllocatorServesBuffersAndPages) {
  struct Host {
    int64_t held = 0;
    bool refuse = false;
  } host;
  const HostAllocator allocator{&host,
                                [](void* user, size_t size, size_t alignment) -> void* {
                                  auto& self = *static_cast<Host*>(user);
                                  if (self.refuse) return nullptr;
                                  ++self.held;
                                  return std::aligned_alloc(
                                      alignment, (size + alignment - 1) / alignment * alignment);
                                },
                                [](void* user, void* memory, size_t, size_t) {
                                  --static_cast<Host*>(user)->held;
                                  std::free(memory);
                                }};
  const auto system = System::with_allocator(allocator);
  {
    const Buffer buffer(system, 1000, "buffer");
    void* pages = system->map_pages(kHugePageBytes);
    EXPECT_EQ(static_cast<char*>(pages)[kHugePageBytes - 1], 0);
    EXPECT_EQ(host.held, 2);
    system->unmap_pages(pages, kHugePageBytes);
  }
  EXPECT_EQ(host.held, 0);
  host.refuse = true;
  expect_error(Code::NoMemory, HasSubstr("buffer: needs 1000 bytes"),
               [&] { const Buffer buffer(system, 1000, "buffer"); });
  expect_error(Code::Argument, HasSubstr("release"), [&] {
    System::with_allocator({nullptr, allocator.allocate, nullptr});
  });
}

TEST(Buffer, MovesAndReleasesOnce) {
  const auto system = std::make_shared<FaultySystem>();
  {
    Buffer a(system, 100, "a");
    Buffer b(std::move(a));
    Buffer c;
    c = std::move(b);
    EXPECT_EQ(c.size(), 100u);
    c = Buffer(system, 0, "nothing");
    EXPECT_EQ(c.data(), nullptr);
    EXPECT_TRUE(system->all_released());
  }
  EXPECT_TRUE(system->all_released());
}

}  // namespace
}  // namespace tenon
