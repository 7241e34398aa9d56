#include "base/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string read_text(const ByteSource& source, uint64_t offset, uint64_t size) {
  std::string text(size, '?');
  source.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(ByteSource, EachKindReadsTheSameBytes) {
  const TempFolder folder;
  const std::string text = "0123456789";
  const std::string path = folder.write("a", text);
  const std::string framed = folder.write("b", "<<<" + text + ">>");
  const int fd = ::open(framed.c_str(), O_RDONLY);
  const HostReader reader{const_cast<std::string*>(&text), text.size(),
                          [](void* user, uint64_t offset, void* buffer, uint64_t size) -> int64_t {
                            const auto& from = *static_cast<const std::string*>(user);
                            size = std::min<uint64_t>({size, 3, from.size() - offset});
                            std::copy_n(from.data() + offset, size, static_cast<char*>(buffer));
                            return static_cast<int64_t>(size);
                          }};
  const std::vector<std::shared_ptr<const ByteSource>> sources{
      ByteSource::from_path(path, System::real()),
      ByteSource::from_fd(fd, 3, 10, "range", System::real()),
      ByteSource::from_memory(std::as_bytes(std::span(text)), "memory"),
      ByteSource::from_reader(reader, "reader"),
  };
  ::close(fd);  // the source has duplicated it
  for (const auto& source : sources) {
    EXPECT_EQ(source->size(), 10u) << source->name();
    EXPECT_EQ(read_text(*source, 0, 10), text) << source->name();
    EXPECT_EQ(read_text(*source, 9, 1), "9") << source->name();
    EXPECT_EQ(read_text(*source, 10, 0), "") << source->name();
    expect_error(Code::Argument, HasSubstr(source->name()), [&] { read_text(*source, 9, 2); });
    if (source->name() == "reader") {
      expect_error(Code::Unsupported, HasSubstr("reader"),
                   [&] { static_cast<void>(source->map(2, 3)); });
      continue;
    }
    FileMapping mapping;
    mapping = source->map(2, 3);
    EXPECT_TRUE(std::ranges::equal(mapping.bytes(), std::as_bytes(std::span(text)).subspan(2, 3)));
    EXPECT_TRUE(source->map(10, 0).bytes().empty());
    expect_error(Code::Argument, HasSubstr(source->name()),
                 [&] { static_cast<void>(source->map(9, 2)); });
    std::byte byte;
    expect_error(Code::Argument, HasSubstr(source->name()), [&] {
      source->read(~uint64_t{0}, {&byte, 1});
    });
  }
}

TEST(ByteSource, RangeToTheEndAndBeyond) {
  const TempFolder folder;
  const std::string path = folder.write("a", std::string("0123456789"));
  const int fd = ::open(path.c_str(), O_RDONLY);
  EXPECT_EQ(ByteSource::from_fd(fd, 4, 0, "a", System::real())->size(), 6u);
  EXPECT_EQ(ByteSource::from_fd(fd, 10, 0, "a", System::real())->size(), 0u);
  using Range = std::pair<uint64_t, uint64_t>;
  for (const Range& range : {Range{11, 0}, {4, 7}, {~uint64_t{0}, 2}, {2, ~uint64_t{0}}}) {
    expect_error(Code::Argument, HasSubstr("lie outside the file's 10 bytes"),
                 [&] { ByteSource::from_fd(fd, range.first, range.second, "a", System::real()); });
  }
  ::close(fd);
}

TEST(ByteSource, RefusesDescriptorsThatAreNoRegularFile) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(::pipe(pipe_ends.data()), 0);
  expect_error(Code::Io, HasSubstr("not a regular file"),
               [&] { ByteSource::from_fd(pipe_ends[0], 0, 0, "pipe", System::real()); });
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  expect_error(Code::Argument, HasSubstr("-1"),
               [&] { ByteSource::from_fd(-1, 0, 0, "none", System::real()); });
  expect_error(Code::Io, HasSubstr("bad file descriptor"),
               [&] { ByteSource::from_fd(1 << 20, 0, 0, "closed", System::real()); });
}

TEST(ByteSource, ShrunkFileIsAnError) {
  const TempFolder folder;
  const std::string path = folder.write("a.gguf", std::string(10000, 'x'));
  const auto source = ByteSource::from_path(path, System::real());
  std::filesystem::resize_file(path, 5000);
  for (const uint64_t offset : {uint64_t{0}, uint64_t{4000}, uint64_t{9000}}) {
    expect_error(Code::Io, AllOf(HasSubstr("a.gguf: model file changed"), HasSubstr("10000")),
                 [&] { read_text(*source, offset, 1000); });
  }
}

TEST(ByteSource, MapsAtAnyOffset) {
  const TempFolder folder;
  std::string text(200'000, '?');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26 + i / 65536);
  const auto system = std::make_shared<FaultySystem>();
  {
    const auto source = ByteSource::from_path(folder.write("a", text), system);
    for (const uint64_t offset : {0u, 1u, 4096u, 65535u, 65536u, 70001u, 199'990u}) {
      const FileMapping mapping = source->map(offset, 10);
      EXPECT_TRUE(
          std::ranges::equal(mapping.bytes(), std::as_bytes(std::span(text)).subspan(offset, 10)));
    }
    std::filesystem::resize_file(folder.path("a"), 5000);
    expect_error(Code::Io, HasSubstr("model file changed"),
                 [&] { static_cast<void>(source->map(0, 10)); });
  }
  EXPECT_TRUE(system->all_released());
}

TEST(ByteSource, RewrittenFileIsAnError) {
  const TempFolder folder;
  const std::string path = folder.write("a.gguf", std::string(100, 'x'));
  const auto source = ByteSource::from_path(path, System::real());
  EXPECT_EQ(read_text(*source, 0, 1), "x");
  folder.write("a.gguf", std::string(100, 'y'));
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  expect_error(Code::Io, HasSubstr("model file changed"), [&] { read_text(*source, 0, 1); });
}

TEST(ByteSource, ReplacedFileStaysTheOldOne) {
  const TempFolder folder;
  const std::string path = folder.write("a", std::string("old"));
  const auto source = ByteSource::from_path(path, System::real());
  std::filesystem::rename(folder.write("b", std::string("new")), path);
  // No longer linked, but still open.
  EXPECT_EQ(read_text(*source, 0, 3), "old");
}

TEST(ByteSource, LyingReaderIsAnError) {
  for (const int64_t answer : {int64_t{0}, int64_t{-5}, int64_t{11}}) {
    HostReader reader;
    int64_t returned = answer;
    reader.user = &returned;
    reader.size_bytes = 10;
    reader.read = [](void* user, uint64_t, void*, uint64_t) {
      return *static_cast<int64_t*>(user);
    };
    const auto source = ByteSource::from_reader(reader, "r");
    expect_error(Code::Io, HasSubstr("returned " + std::to_string(answer)),
                 [&] { read_text(*source, 0, 10); });
  }
  expect_error(Code::Argument, HasSubstr("null"), [] { ByteSource::from_reader({}, "r"); });
}

TEST(ByteSource, ReaderIsCalledByOneThreadAtATimeUnlessItSaysOtherwise) {
  struct Host {
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
  } host;
  const HostReader reader{&host, 1000, [](void* user, uint64_t, void*, uint64_t size) -> int64_t {
                            auto& self = *static_cast<Host*>(user);
                            const int now = ++self.inside;
                            if (now > self.most) self.most = now;
                            std::this_thread::yield();
                            --self.inside;
                            return static_cast<int64_t>(std::min<uint64_t>(size, 1));
                          }};
  const auto source = ByteSource::from_reader(reader, "r");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { read_text(*source, 0, 200); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(host.most, 1);
}

TEST(ByteSource, EveryFailingCallIsAnErrorAndLeaksNothing) {
  const TempFolder folder;
  const std::string path = folder.write("a", std::string(100, 'x'));
  const int fd = ::open(path.c_str(), O_RDONLY);
  for (const bool by_path : {true, false}) {
    for (uint64_t n = 0;; ++n) {
      const auto system = std::make_shared<FaultySystem>(n);
      bool threw = false;
      try {
        const auto source = by_path ? ByteSource::from_path(path, system)
                                    : ByteSource::from_fd(fd, 0, 0, "fd", system);
        read_text(*source, 10, 50);
        EXPECT_EQ(source->map(10, 50).bytes().size(), 50u);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::Io);
        threw = true;
      }
      EXPECT_EQ(threw, system->failed()) << "call " << n;
      EXPECT_TRUE(system->all_released()) << "call " << n;
      if (!system->failed()) break;
    }
  }
  ::close(fd);
}

}  // namespace
}  // namespace tenon
