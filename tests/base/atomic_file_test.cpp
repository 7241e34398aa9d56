#include "base/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t num_files(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(AtomicFile, AppearsCompleteAtCommit) {
  const TempFolder folder;
  const std::string path = folder.path("out");
  {
    AtomicFile file(System::real(), path);
    file.write(bytes_of("one "));
    file.write({});
    file.write(bytes_of("two"));
    EXPECT_EQ(file.size(), 7u);
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  EXPECT_EQ(content(path), "one two");
  EXPECT_EQ(num_files(folder.path("")), 1u);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TempFolder folder;
  const std::string path = folder.write("out", std::string("old"));
  {
    AtomicFile file(System::real(), path);
    file.write(bytes_of("new"));
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(num_files(folder.path("")), 1u);
}

TEST(AtomicFile, ReplacesAFile) {
  const TempFolder folder;
  const std::string path = folder.write("out", std::string("a longer old content"));
  AtomicFile file(System::real(), path);
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_EQ(content(path), "new");
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
  const TempFolder folder;
  const auto open = [](const std::string& path) { AtomicFile file(System::real(), path); };
  expect_error(Code::Argument, HasSubstr("must not be empty"), [&] { open(""); });
  expect_error(Code::Io, HasSubstr("/dev/null: is not a regular file"), [&] { open("/dev/null"); });
  expect_error(Code::Io, HasSubstr("is not a regular file"), [&] { open(folder.path("")); });
  expect_error(Code::Io, HasSubstr("/nowhere/out: cannot create: no such file"),
               [&] { open("/nowhere/out"); });
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_error(Code::Io, HasSubstr("is not a regular file"), [&] { open(fifo); });
}

TEST(AtomicFile, WritesThroughLinks) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  fs::create_directory(folder.path("l"));
  const auto save = [&](const std::string& name, std::string_view text) {
    AtomicFile file(System::real(), folder.path(name));
    file.write(bytes_of(text));
    file.commit();
  };
  folder.write("real", std::string("old"));
  fs::create_symlink("../real", folder.path("l/relative"));
  fs::create_symlink(folder.path("l/relative"), folder.path("l/absolute"));
  save("l/absolute", "new");
  EXPECT_TRUE(fs::is_symlink(folder.path("l/absolute")));
  EXPECT_TRUE(fs::is_symlink(folder.path("l/relative")));
  EXPECT_FALSE(fs::is_symlink(folder.path("real")));
  EXPECT_EQ(content(folder.path("real")), "new");
  // A dangling link, behind a folder that is a link itself.
  fs::create_symlink("../later", folder.path("l/dangling"));
  fs::create_symlink("l", folder.path("m"));
  save("m/dangling", "first");
  EXPECT_TRUE(fs::is_symlink(folder.path("l/dangling")));
  EXPECT_EQ(content(folder.path("later")), "first");
  EXPECT_EQ(num_files(folder.path("l")), 3u);
}

TEST(AtomicFile, RefusesLinksToWhatIsNoFile) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  const auto refuse = [&](const std::string& target, const std::string& text) {
    const std::string link = folder.path("link");
    fs::create_symlink(target, link);
    expect_error(Code::Io, HasSubstr(link + ": " + text),
                 [&] { AtomicFile file(System::real(), link); });
    EXPECT_EQ(fs::read_symlink(link), target);
    fs::remove(link);
  };
  refuse("/dev/null", "is not a regular file");
  refuse(folder.path(""), "is not a regular file");
  refuse("link", "cannot write: too many symbolic links");
  refuse("/nowhere/out", "cannot create: no such file");
  // /dev/stdout links to the shell's output: a pipe, or a file that has lost its name.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  refuse("/proc/self/fd/" + std::to_string(ends[1]), "is not a regular file");
  const int file = ::open(folder.write("gone", std::string("x")).c_str(), O_WRONLY);
  ASSERT_GE(file, 0);
  fs::remove(folder.path("gone"));
  refuse("/proc/self/fd/" + std::to_string(file), "the link does not tell where it leads");
  for (const int fd : {ends[0], ends[1], file}) ::close(fd);
  EXPECT_EQ(num_files(folder.path("")), 0u);
}

/// Replaces a file behind a link while each system call fails in turn.
void expect_old_file_kept(bool unnamed_files) {
  const TempFolder folder;
  const std::string path = folder.path("link");
  folder.write("out", std::string("old"));
  std::filesystem::create_symlink("out", path);
  for (uint64_t n = 0;; ++n) {
    auto system = std::make_shared<FaultySystem>(n, ENOSPC);
    if (!unnamed_files) system->set_no_unnamed_files();
    bool saved = false;
    try {
      AtomicFile file(system, path);
      file.write(bytes_of("new"));
      file.commit();
      saved = true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Io);
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("no space left"), std::string::npos);
    }
    EXPECT_TRUE(system->all_released());
    EXPECT_EQ(num_files(folder.path("")), 2u);
    EXPECT_EQ(content(path), saved ? "new" : "old");
    if (!system->failed()) break;
    folder.write("out", std::string("old"));
  }
}

TEST(AtomicFile, EveryFailureKeepsTheOldFile) { expect_old_file_kept(true); }

TEST(AtomicFile, EveryFailureKeepsTheOldFileWithoutUnnamedFiles) { expect_old_file_kept(false); }

TEST(AtomicFile, WithoutUnnamedFilesNothingRemainsEither) {
  const TempFolder folder;
  auto system = std::make_shared<FaultySystem>();
  system->set_no_unnamed_files();
  {
    AtomicFile file(system, folder.path("out"));
    file.write(bytes_of("new"));
    EXPECT_EQ(num_files(folder.path("")), 1u);
  }
  EXPECT_EQ(num_files(folder.path("")), 0u);
}

TEST(AtomicFile, RemovesWhatAKillLeftWhileReplacingButNotAnothersNewFile) {
  for (const bool stale : {false, true}) {
    const TempFolder folder;
    const std::string path = folder.write("out", std::string("old"));
    const std::string left = folder.write("out.tenon-new", std::string("another's"));
    if (stale) {
      std::filesystem::last_write_time(
          left, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(61));
    }
    AtomicFile file(System::real(), path);
    file.write(bytes_of("new"));
    file.commit();
    EXPECT_EQ(content(path), "new");
    EXPECT_EQ(std::filesystem::exists(left), !stale);
    EXPECT_EQ(num_files(folder.path("")), stale ? 1u : 2u);
  }
}

TEST(AtomicFile, SeveralWritersOfOneFileLeaveTheFileOfOne) {
  const TempFolder folder;
  const std::string path = folder.path("out");
  std::vector<std::thread> writers;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    writers.emplace_back([&path, letter] {
      try {
        for (int i = 0; i < 50; ++i) {
          AtomicFile file(System::real(), path);
          file.write(bytes_of(std::string(100, letter)));
          file.commit();
        }
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string text = content(path);
  ASSERT_EQ(text.size(), 100u);
  EXPECT_EQ(text, std::string(100, text[0]));
  EXPECT_EQ(num_files(folder.path("")), 1u);
}

/// Runs `work` in a child process and returns its status from waitpid.
int status_of_child(const std::function<int()>& work, int kill_after_us = -1) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  if (kill_after_us >= 0) {
    ::usleep(static_cast<useconds_t>(kill_after_us));
    ::kill(child, SIGKILL);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(AtomicFile, AFileBeyondTheLimitOfTheProcessIsAnIoError) {
  for (const bool unnamed_files : {true, false}) {
    const TempFolder folder;
    const std::string path = folder.write("out", std::string("old"));
    const int status = status_of_child([&] {
      const rlimit limit{4096, 4096};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
      auto system = std::make_shared<FaultySystem>();
      if (!unnamed_files) system->set_no_unnamed_files();
      const std::vector<std::byte> bytes(4095);
      AtomicFile file(system, path);
      file.write(bytes);
      try {
        file.write(bytes);
      } catch (const Error& error) {
        const bool told = std::string(error.what()).find("too large") != std::string::npos;
        return error.code() == Code::Io && told ? 0 : 2;
      }
      return 3;
    });
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(num_files(folder.path("")), 1u);
  }
}

TEST(AtomicFile, AsManyBytesAsTheLimitOfTheProcessAreWritten) {
  const TempFolder folder;
  const std::string path = folder.path("out");
  const int status = status_of_child([&] {
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    AtomicFile file(System::real(), path);
    file.write(std::vector<std::byte>(4096));
    file.write({});
    file.commit();
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(path).size(), 4096u);
}

TEST(AtomicFile, AKillInTheMiddleLeavesNothing) {
  const TempFolder folder;
  const int probe = System::real()->create_unnamed(folder.path("").c_str());
  if (probe < 0) GTEST_SKIP() << "this file system has no files without a name";
  ::close(probe);
  for (const int after_us : {500, 1000, 2000, 5000, 10000, 20000}) {
    const int status = status_of_child(
        [&] {
          AtomicFile file(System::real(), folder.path("out"));
          for (;;) {
            if (file.size() < 8u << 20) file.write(std::vector<std::byte>(4096));
          }
          return 0;
        },
        after_us);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(num_files(folder.path("")), 0u);
  }
}

TEST(AtomicFile, GoesOnAfterShortWrites) {
  const TempFolder folder;
  auto system = std::make_shared<FaultySystem>();
  system->set_longest_write(3);
  AtomicFile file(system, folder.path("out"));
  file.write(bytes_of("0123456789"));
  file.commit();
  EXPECT_EQ(content(folder.path("out")), "0123456789");
}

}  // namespace
}  // namespace tenon
