// Ends a test program that waits for ever, and names the test. A missing wake-up costs a minute
// instead of the program's time limit. Measures whether all threads sleep, not the test's duration,
// which grows on a busy machine. Linked into every test program.
#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/base/new_counters.h"

namespace tenon {
namespace {

/// Interval in which a program that is not stuck uses a few milliseconds of processor time.
constexpr int kIdleSeconds = 45;
constexpr int64_t kLeastMilliseconds = 150;

std::vector<std::string> entries_of(const char* path) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(path);
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(folder);
  return names;
}

/// Processor time of a child so far; 0 if gone.
int64_t milliseconds_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text;
  std::getline(file, text);
  // Format "PID (NAME) STATE ...", where the name may contain anything.
  size_t at = text.rfind(')');
  for (int field = 2; field < 14 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  unsigned long long user = 0;
  unsigned long long system = 0;
  if (std::sscanf(text.c_str() + at, "%llu %llu", &user, &system) != 2) return 0;
  return static_cast<int64_t>(user + system) * 1000 / ::sysconf(_SC_CLK_TCK);
}

/// Processor time of this process and of its children.
int64_t milliseconds_taken() {
  timespec own{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  int64_t sum = int64_t{own.tv_sec} * 1000 + own.tv_nsec / 1000000;
  for (const std::string& thread : entries_of("/proc/self/task")) {
    std::ifstream children("/proc/self/task/" + thread + "/children");
    for (std::string process; children >> process;) sum += milliseconds_of(process);
  }
  return sum;
}

int idle_seconds() {
  const char* given = std::getenv("TENON_TEST_IDLE_SECONDS");
  return given == nullptr ? kIdleSeconds : std::atoi(given);
}

/// Running test, watched by a thread until the last test ends.
class Watch {
 public:
  /// name: empty if no test runs.
  void set_test(std::string name) {
    const std::scoped_lock lock(mutex_);
    name_ = std::move(name);
    if (limit_ <= 0 || stop_ < 0 || thread_.joinable()) return;
    process_ = ::getpid();
    thread_ = std::thread([this] { look(); });
  }
  /// Ends the thread: ThreadSanitizer waits a second for threads at the end of a process.
  void stop() {
    if (!thread_.joinable() || process_ != ::getpid()) return;
    ::eventfd_write(stop_, 1);
    thread_.join();
  }

 private:
  void look() {
    counted_new::is_exempt = true;  // the test refuses and counts only its own allocations
    std::string watched;
    int64_t taken = 0;
    int idle = 0;  // in polls of a second each, so that a stopped process does not count as idle
    for (;;) {
      pollfd stopped{stop_, POLLIN, 0};
      const int ready = ::poll(&stopped, 1, 1000);
      if (ready > 0) return;
      if (ready < 0) continue;  // a signal of the test
      const std::scoped_lock lock(mutex_);
      const int64_t now = milliseconds_taken();
      if (name_.empty() || name_ != watched || now < taken || now - taken >= kLeastMilliseconds) {
        watched = name_;
        taken = now;
        idle = 0;
      } else if (++idle >= limit_) {
        end();
      }
    }
  }

  [[noreturn]] void end() const {
    std::fflush(stdout);
    std::fprintf(stderr, "%s hangs: its threads have slept for %d seconds\n", name_.c_str(),
                 limit_);
    for (const std::string& thread : entries_of("/proc/self/task")) {
      std::ifstream file("/proc/self/task/" + thread + "/comm");
      std::string name;
      std::getline(file, name);
      std::fprintf(stderr, "  thread %s: %s\n", thread.c_str(), name.c_str());
    }
    std::_Exit(124);
  }

  std::mutex mutex_;
  std::string name_;
  std::thread thread_;
  pid_t process_ = 0;  ///< of the thread; a child has none
  const int stop_ = ::eventfd(0, EFD_CLOEXEC);
  const int limit_ = idle_seconds();
};

/// Never destroyed, since a test may end the process while the thread runs.
Watch& the_watch() {
  static Watch& watch = *new Watch;
  return watch;
}

class IdleWatch : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& test) override {
    the_watch().set_test(std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestEnd(const testing::TestInfo&) override { the_watch().set_test(""); }
  void OnTestProgramEnd(const testing::UnitTest&) override { the_watch().stop(); }
};

/// Owned by GoogleTest.
[[maybe_unused]] const bool kIsWatched = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new IdleWatch);
  return true;
}();

}  // namespace
}  // namespace tenon
