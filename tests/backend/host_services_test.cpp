#include "backend/host_services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/base/aligned_memory.h"
#include "tests/base/faulty_system.h"

namespace tenon {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::unique_ptr<HostServices> services(uint32_t threads = 2,
                                       std::shared_ptr<System> system = System::real(),
                                       const Log& log = {}) {
  return std::make_unique<HostServices>(system, log, std::make_unique<ThreadTeam>(threads, system));
}

void set_error(const tenon_host& host, const std::string& text) {
  host.set_error(host.user, text.data(), text.size());
}

TEST(HostServices, AnErrorTextIsTakenOnce) {
  const auto host = services();
  EXPECT_EQ(host->take_error(), "");
  set_error(host->table(), "first");
  set_error(host->table(), "second");
  EXPECT_EQ(host->take_error(), "second");
  EXPECT_EQ(host->take_error(), "");
}

TEST(HostServices, AnErrorTextBelongsToItsThread) {
  const auto host = services();
  set_error(host->table(), "mine");
  std::thread([&] {
    EXPECT_EQ(host->take_error(), "");
    set_error(host->table(), "theirs");
    EXPECT_EQ(host->take_error(), "theirs");
  }).join();
  EXPECT_EQ(host->take_error(), "mine");
}

TEST(HostServices, ALongErrorTextIsCut) {
  const auto host = services();
  set_error(host->table(), std::string(kMiB, 'x'));
  EXPECT_EQ(host->take_error(), std::string(4096, 'x'));
}

TEST(HostServices, AnErrorTextIsShownAsUtf8WithoutControlCharacters) {
  const auto host = services();
  set_error(host->table(), std::string("\xff\0 \x1b[31mred\n \"caf\xc3\xa9\"", 20));
  EXPECT_EQ(host->take_error(), "\\xff\\x00 \\x1b[31mred\\x0a \"caf\xc3\xa9\"");
  host->table().set_error(host->table().user, nullptr, 5);
  EXPECT_EQ(host->take_error(), "");
}

TEST(HostServices, MemoryIsGivenBackWholeWhateverSizeIsSaid) {
  auto system = std::make_shared<FaultySystem>();
  const auto host = services(1, system);
  const tenon_host& table = host->table();
  for (const uint64_t said : {uint64_t{1}, 2 * kMiB, 300 * kMiB}) {
    void* pages = table.allocate(table.user, 4 * kMiB, 64, TENON_MEMORY_SCRATCH);
    table.release(table.user, pages, said, TENON_MEMORY_SCRATCH);
  }
  EXPECT_TRUE(system->all_released());
}

TEST(HostServices, AnAlignmentThatIsNoPowerOfTwoIsRefused) {
  const auto host = services();
  const tenon_host& table = host->table();
  for (const uint64_t alignment : {3u, 100u, 5000u}) {
    EXPECT_EQ(table.allocate(table.user, 100, alignment, TENON_MEMORY_CACHE), nullptr);
  }
}

TEST(HostServices, TellsTheLargeBlocksOfAPurpose) {
  const auto host = services(1);
  const tenon_host& table = host->table();
  void* weights = table.allocate(table.user, 4 * kMiB, 64, TENON_MEMORY_WEIGHTS);
  void* scratch = table.allocate(table.user, 3 * kMiB, 64, TENON_MEMORY_SCRATCH);
  EXPECT_EQ(host->page_use(TENON_MEMORY_WEIGHTS).bytes, 4 * kMiB);
  EXPECT_LE(host->page_use(TENON_MEMORY_WEIGHTS).huge_bytes, 4 * kMiB);
  EXPECT_EQ(host->page_use(TENON_MEMORY_SCRATCH).bytes, 3 * kMiB);
  table.release(table.user, weights, 4 * kMiB, TENON_MEMORY_WEIGHTS);
  EXPECT_EQ(host->page_use(TENON_MEMORY_WEIGHTS).bytes, 0u);
  table.release(table.user, scratch, 3 * kMiB, TENON_MEMORY_SCRATCH);
}

TEST(HostServices, MemoryIsZeroedAndAligned) {
  auto system = std::make_shared<FaultySystem>();
  const auto host = services(1, system);
  const tenon_host& table = host->table();
  for (const uint64_t size :
       {uint64_t{1}, uint64_t{100}, kMiB - 1, kMiB, 2 * kMiB - 1, 2 * kMiB, 3 * kMiB + 5}) {
    for (const uint64_t alignment : {uint64_t{1}, uint64_t{64}, uint64_t{4096}, 2 * kMiB}) {
      // Twice, so that the second block may be the first one's memory.
      for (int round = 0; round < 2; ++round) {
        auto* bytes = static_cast<uint8_t*>(
            table.allocate(table.user, size, alignment, TENON_MEMORY_SCRATCH));
        ASSERT_NE(bytes, nullptr) << size << " bytes, alignment " << alignment;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % alignment, 0u) << size;
        EXPECT_EQ(std::count(bytes, bytes + size, 0), static_cast<int64_t>(size));
        std::memset(bytes, 0xAB, size);
        table.release(table.user, bytes, size, TENON_MEMORY_SCRATCH);
      }
    }
  }
  table.release(table.user, nullptr, 100, TENON_MEMORY_SCRATCH);
  EXPECT_TRUE(system->all_released());
}

/// A host's allocator that returns garbage-filled memory.
HostAllocator garbage_allocator() {
  return {nullptr,
          [](void*, size_t size_bytes, size_t alignment) {
            void* memory = allocate_aligned(size_bytes, alignment);
            if (memory != nullptr) std::memset(memory, 0xCD, size_bytes);
            return memory;
          },
          [](void*, void* memory, size_t, size_t) { free_aligned(memory); }};
}

TEST(HostServices, MemoryOfAHostsAllocatorIsZeroedToo) {
  const auto host = services(1, System::with_allocator(garbage_allocator()));
  const tenon_host& table = host->table();
  for (const uint64_t size : {uint64_t{100}, kMiB, 3 * kMiB}) {
    auto* bytes = static_cast<uint8_t*>(table.allocate(table.user, size, 64, TENON_MEMORY_WEIGHTS));
    ASSERT_NE(bytes, nullptr);
    EXPECT_EQ(std::count(bytes, bytes + size, 0), static_cast<int64_t>(size));
    table.release(table.user, bytes, size, TENON_MEMORY_WEIGHTS);
  }
}

TEST(HostServices, WithoutMemoryThereIsNull) {
  for (const uint64_t size : {uint64_t{100}, 3 * kMiB}) {
    for (const uint64_t alignment : {uint64_t{64}, 2 * kMiB}) {
      const auto host = services(1, std::make_shared<FaultySystem>(0, ENOMEM));
      const tenon_host& table = host->table();
      EXPECT_EQ(table.allocate(table.user, size, alignment, TENON_MEMORY_CACHE), nullptr);
    }
  }
  const auto host = services();
  const tenon_host& table = host->table();
  EXPECT_EQ(table.allocate(table.user, 0, 64, TENON_MEMORY_CACHE), nullptr);
  EXPECT_EQ(table.allocate(table.user, UINT64_MAX, 64, TENON_MEMORY_CACHE), nullptr);
  EXPECT_EQ(table.allocate(table.user, 64, 4 * kMiB, TENON_MEMORY_CACHE), nullptr);
}

/// Counts the calls of a job; stops before `stop_at`.
struct JobCounter {
  std::atomic<uint32_t> runs{0};
  std::atomic<uint32_t> befores{0};
  uint32_t stop_at = UINT32_MAX;
  int32_t stop_value = 0;

  tenon_parallel_job job(uint32_t num_phases) {
    tenon_parallel_job j{};
    j.struct_size = sizeof(j);
    j.num_phases = num_phases;
    j.arg = this;
    j.run = [](void* arg, uint32_t, uint32_t, uint32_t) { ++static_cast<JobCounter*>(arg)->runs; };
    j.before_phase = [](void* arg, uint32_t phase) {
      JobCounter& own = *static_cast<JobCounter*>(arg);
      ++own.befores;
      return phase == own.stop_at ? own.stop_value : 0;
    };
    return j;
  }
};

TEST(HostServices, ParallelRunsEveryPhaseOnEveryThread) {
  for (const uint32_t threads : {1u, 3u}) {
    const auto host = services(threads);
    EXPECT_EQ(host->table().num_threads(host->table().user), threads);
    JobCounter counts;
    const tenon_parallel_job job = counts.job(5);
    EXPECT_EQ(host->table().parallel(host->table().user, &job), 0);
    EXPECT_EQ(counts.runs, 5 * threads);
    EXPECT_EQ(counts.befores, 5u);
  }
}

TEST(HostServices, ParallelStopsWhereTheJobSaysAndGivesItsValue) {
  for (const uint32_t threads : {1u, 3u}) {
    const auto host = services(threads);
    for (const int32_t value : {1, 10, -5}) {
      JobCounter counts;
      counts.stop_at = 2;
      counts.stop_value = value;
      const tenon_parallel_job job = counts.job(5);
      EXPECT_EQ(host->table().parallel(host->table().user, &job), value);
      EXPECT_EQ(counts.runs, 2 * threads);
    }
  }
}

TEST(HostServices, ParallelWithoutBeforePhaseOrPhases) {
  const auto host = services();
  JobCounter counts;
  tenon_parallel_job job = counts.job(3);
  job.before_phase = nullptr;
  EXPECT_EQ(host->table().parallel(host->table().user, &job), 0);
  EXPECT_EQ(counts.runs, 6u);
  job.num_phases = 0;
  EXPECT_EQ(host->table().parallel(host->table().user, &job), 0);
  EXPECT_EQ(counts.runs, 6u);
}

TEST(HostServices, ParallelInsideParallelFailsWithASentence) {
  struct Nested {
    HostServices* host;
    JobCounter inner;
    int32_t status = 0;
    std::string text;
  };
  const auto host = services(1);
  Nested nested{host.get(), {}, 0, ""};
  tenon_parallel_job job{};
  job.struct_size = sizeof(job);
  job.num_phases = 1;
  job.arg = &nested;
  job.run = [](void* arg, uint32_t, uint32_t, uint32_t) {
    Nested& own = *static_cast<Nested*>(arg);
    const tenon_parallel_job inner = own.inner.job(1);
    own.status = own.host->table().parallel(own.host->table().user, &inner);
    own.text = own.host->take_error();
  };
  EXPECT_EQ(host->table().parallel(host->table().user, &job), 0);
  EXPECT_NE(nested.status, 0);
  EXPECT_THAT(nested.text, testing::HasSubstr("under way"));
  EXPECT_EQ(nested.inner.runs, 0u);
}

TEST(HostServices, AJobThatMakesNoSenseIsAnArgumentError) {
  const auto host = services();
  const tenon_host& table = host->table();
  JobCounter counts;
  tenon_parallel_job small = counts.job(3);
  small.struct_size = 16;
  tenon_parallel_job idle = counts.job(3);
  idle.run = nullptr;
  const std::pair<const tenon_parallel_job*, const char*> kJobs[] = {
      {nullptr, "NULL"}, {&small, "struct_size"}, {&idle, "run is NULL"}};
  for (const auto& [job, text] : kJobs) {
    EXPECT_EQ(table.parallel(table.user, job), TENON_BACKEND_ARGUMENT);
    EXPECT_THAT(host->take_error(), testing::HasSubstr(text));
  }
  EXPECT_EQ(counts.runs, 0u);
}

TEST(HostServices, AJobThatThrowsEndsAndTheNextOneRuns) {
  for (const uint32_t threads : {1u, 3u}) {
    const auto host = services(threads);
    const tenon_host& table = host->table();
    JobCounter counts;
    tenon_parallel_job thrower = counts.job(4);
    thrower.run = [](void* arg, uint32_t phase, uint32_t, uint32_t) {
      ++static_cast<JobCounter*>(arg)->runs;
      if (phase == 1) throw 7;
    };
    EXPECT_EQ(table.parallel(table.user, &thrower), TENON_BACKEND_INTERNAL);
    EXPECT_THAT(host->take_error(), testing::HasSubstr("threw an exception"));
    EXPECT_LE(counts.runs, 2 * threads);
    tenon_parallel_job before = counts.job(4);
    before.before_phase = [](void*, uint32_t) -> int32_t { throw 7; };
    EXPECT_EQ(table.parallel(table.user, &before), TENON_BACKEND_INTERNAL);
    counts.runs = 0;
    const tenon_parallel_job good = counts.job(2);
    EXPECT_EQ(table.parallel(table.user, &good), 0);
    EXPECT_EQ(counts.runs, 2 * threads);
  }
}

TEST(HostServices, LevelsOfTheLogAreThoseOfTheABI) {
  struct LevelledLines {
    std::vector<std::pair<int32_t, std::string>> all;
  } lines;
  Log log;
  log.user = &lines;
  log.minimum = LogLevel::Debug;
  log.write = [](void* user, int32_t level, const char* text, size_t length) {
    static_cast<LevelledLines*>(user)->all.emplace_back(level, std::string(text, length));
  };
  const auto host = services(1, System::real(), log);
  const std::string text = "100 % {} of it";
  for (const uint32_t level :
       {TENON_LOG_ERROR, TENON_LOG_WARNING, TENON_LOG_INFO, TENON_LOG_DEBUG, 99u}) {
    host->table().log(host->table().user, level, text.data(), text.size());
  }
  const auto line = [&](LogLevel level) { return std::pair(static_cast<int32_t>(level), text); };
  EXPECT_THAT(lines.all, testing::ElementsAre(line(LogLevel::Error), line(LogLevel::Warning),
                                              line(LogLevel::Info), line(LogLevel::Debug),
                                              line(LogLevel::Debug)));
}

}  // namespace
}  // namespace tenon
