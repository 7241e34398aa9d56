#include "base/thread_team.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <array>
#include <cfenv>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"

namespace tenon {
namespace {

using testing::HasSubstr;

/// Counts the threads per phase, and notes overlapping phases.
struct Recorder {
  explicit Recorder(uint32_t num_phases) : num_phases_(num_phases), count(num_phases) {}

  Phases job() {
    Phases job;
    job.num_phases = num_phases_;
    job.arg = this;
    job.phase = [](void* arg, uint32_t phase, uint32_t thread, uint32_t num_threads) noexcept {
      auto& self = *static_cast<Recorder*>(arg);
      if (thread >= num_threads) self.wrong = true;
      if (phase > 0 && self.count[phase - 1] != num_threads) self.wrong = true;
      if (phase + 1 < self.num_phases_ && self.count[phase + 1] != 0) self.wrong = true;
      self.threads_seen |= 1u << thread;
      ++self.count[phase];
    };
    job.before_phase = [](void* arg, uint32_t phase) noexcept {
      auto& self = *static_cast<Recorder*>(arg);
      self.before.push_back(phase);  // one thread at a time; else the sanitizer reports a race
      return phase != self.stop_before;
    };
    return job;
  }

  uint32_t num_phases_;
  std::vector<std::atomic<uint32_t>> count;
  std::vector<uint32_t> before;
  std::atomic<uint32_t> threads_seen{0};
  std::atomic<bool> wrong{false};
  uint32_t stop_before = ~0u;
};

void run_one_after_another(void*, uint32_t num_tasks, void (*task)(void*, uint32_t), void* arg) {
  for (uint32_t i = num_tasks; i-- > 0;) task(arg, i);
}

TEST(ThreadTeam, EveryThreadRunsEveryPhaseInOrder) {
  for (uint32_t num_threads = 1; num_threads <= 8; ++num_threads) {
    ThreadTeam team(num_threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      Recorder recorder(7);
      EXPECT_TRUE(team.run(recorder.job()));
      EXPECT_FALSE(recorder.wrong);
      for (const auto& count : recorder.count) EXPECT_EQ(count, num_threads);
      EXPECT_EQ(recorder.threads_seen, (1u << num_threads) - 1);
      EXPECT_THAT(recorder.before, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6));
    }
  }
}

TEST(ThreadTeam, NoPhasesIsNoWork) {
  ThreadTeam team(3);
  Recorder recorder(0);
  EXPECT_TRUE(team.run(recorder.job()));
  EXPECT_TRUE(recorder.before.empty());
}

TEST(ThreadTeam, StopsBeforeAnyPhaseAndRunsAgain) {
  for (const uint32_t num_threads : {1u, 4u}) {
    ThreadTeam team(num_threads);
    for (uint32_t stop = 0; stop < 5; ++stop) {
      Recorder recorder(5);
      recorder.stop_before = stop;
      EXPECT_FALSE(team.run(recorder.job()));
      for (uint32_t phase = 0; phase < 5; ++phase) {
        EXPECT_EQ(recorder.count[phase], phase < stop ? num_threads : 0u);
      }
      Recorder whole(5);
      EXPECT_TRUE(team.run(whole.job()));
    }
  }
}

TEST(ThreadTeam, IsWatchedBeforeEachPhase) {
  struct Watched {
    uint32_t looks = 0;  // by one thread at a time
    bool stops = false;
  } watched;
  const ThreadTeam::Watch watch{[](void* arg) noexcept { ++static_cast<Watched*>(arg)->looks; },
                                &watched};
  Phases job;
  job.num_phases = 5;
  job.arg = &watched;
  job.phase = [](void*, uint32_t, uint32_t, uint32_t) noexcept {};
  // The watch can end the run: it is called before before_phase.
  job.before_phase = [](void* arg, uint32_t) noexcept {
    const auto& self = *static_cast<const Watched*>(arg);
    return !self.stops || self.looks < 3;
  };
  const Executor executor{nullptr, 2,
                          [](void*, uint32_t n, void (*task)(void*, uint32_t), void* arg) {
                            for (uint32_t i = 0; i < n; ++i) task(arg, i);
                          }};
  ThreadTeam alone(1);
  ThreadTeam three(3);
  ThreadTeam hosts(executor);
  for (ThreadTeam* team : {&alone, &three, &hosts}) {
    watched = {};
    team->set_watch(watch);
    EXPECT_TRUE(team->run(job));
    EXPECT_EQ(watched.looks, 5u);
    watched = {0, true};
    EXPECT_FALSE(team->run(job));
    EXPECT_EQ(watched.looks, 3u);
    team->set_watch({});
    watched = {};
    EXPECT_TRUE(team->run(job));
    EXPECT_EQ(watched.looks, 0u);
  }
}

TEST(ThreadTeam, SleepingWorkersWakeUp) {
  ThreadTeam team(4);
  for (int i = 0; i < 20; ++i) {
    Recorder recorder(3);
    EXPECT_TRUE(team.run(recorder.job()));
    EXPECT_FALSE(recorder.wrong);
    std::this_thread::sleep_for(std::chrono::microseconds(i * 20));
  }
}

TEST(ThreadTeam, ManyShortRuns) {
  ThreadTeam team(3);
  uint64_t total = 0;
  struct Sum {
    std::array<uint64_t, 3> part{};
  } sum;
  Phases job;
  job.num_phases = 2;
  job.arg = &sum;
  job.phase = [](void* arg, uint32_t phase, uint32_t thread, uint32_t) noexcept {
    auto& part = static_cast<Sum*>(arg)->part;
    // Phase 1 reads a neighbour's write of phase 0: a broken barrier is a race here.
    if (phase == 0) ++part[thread];
    if (phase == 1 && part[(thread + 1) % 3] == 0) part[thread] = 0;
  };
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(team.run(job));
  for (const uint64_t part : sum.part) total += part;
  EXPECT_EQ(total, 15000u);
}

TEST(ThreadTeam, DestroyedUnusedIdleAndAsleep) {
  for (int i = 0; i < 30; ++i) {
    ThreadTeam unused(4);
    ThreadTeam idle(4);
    Recorder recorder(1);
    EXPECT_TRUE(idle.run(recorder.job()));
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ThreadTeam, ExecutorThatRunsTasksOneAfterAnother) {
  ThreadTeam team(Executor{nullptr, 4, run_one_after_another});
  Recorder recorder(3);
  EXPECT_TRUE(team.run(recorder.job()));
  EXPECT_FALSE(recorder.wrong);
  EXPECT_EQ(recorder.threads_seen, 0b1111u);
  Recorder stopped(3);
  stopped.stop_before = 1;
  EXPECT_FALSE(team.run(stopped.job()));
  EXPECT_EQ(stopped.count[0], 4u);
  EXPECT_EQ(stopped.count[1], 0u);
}

TEST(ThreadTeam, ExecutorThatForgetsATaskIsAnError) {
  const auto forgetful = [](void*, uint32_t num_tasks, void (*task)(void*, uint32_t), void* arg) {
    for (uint32_t i = 1; i < num_tasks; ++i) task(arg, i);
  };
  ThreadTeam team(Executor{nullptr, 3, forgetful});
  Recorder recorder(1);
  expect_error(Code::State, HasSubstr("ran 2 of 3 tasks"), [&] { team.run(recorder.job()); });
}

TEST(ThreadTeam, RefusesBadArguments) {
  expect_error(Code::Argument, HasSubstr("threads: 0"), [] { ThreadTeam team(0); });
  expect_error(Code::Argument, HasSubstr("threads: 4294967295"), [] { ThreadTeam team(~0u); });
  expect_error(Code::Argument, HasSubstr("run is null"), [] {
    ThreadTeam team(Executor{nullptr, 4, nullptr});
  });
  expect_error(Code::Argument, HasSubstr("threads: 0"), [] {
    ThreadTeam team(Executor{nullptr, 0, run_one_after_another});
  });
}

TEST(ThreadTeam, RunInsideARunIsAnError) {
  for (const uint32_t num_threads : {1u, 2u}) {
    ThreadTeam team(num_threads);
    struct Nested {
      ThreadTeam* team;
      Code code = Code::Ok;
    } nested{&team};
    Phases job;
    job.num_phases = 1;
    job.arg = &nested;
    job.phase = [](void* arg, uint32_t, uint32_t thread, uint32_t) noexcept {
      if (thread != 0) return;
      auto& self = *static_cast<Nested*>(arg);
      try {
        self.team->run(Phases{});
      } catch (const Error& error) {
        self.code = error.code();
      }
    };
    EXPECT_TRUE(team.run(job));
    EXPECT_EQ(nested.code, Code::State);
  }
}

TEST(ThreadTeam, GoesOnWithTheThreadsItGets) {
  for (uint64_t n = 0; n < 4; ++n) {
    const auto system = std::make_shared<FaultySystem>(n, EAGAIN);
    {
      ThreadTeam team(4, system);
      Recorder recorder(3);
      EXPECT_TRUE(team.run(recorder.job()));
      EXPECT_FALSE(recorder.wrong);
      EXPECT_EQ(recorder.count[0], std::min<uint64_t>(n + 1, 4));
      EXPECT_EQ(team.num_threads(), recorder.count[0]);
    }
    EXPECT_TRUE(system->all_released());
  }
}

TEST(ThreadTeam, HostRoundingAndFlushingChangeNothing) {
  for (const bool on_executor : {false, true}) {
    ThreadTeam own(3);
    ThreadTeam host(Executor{nullptr, 3, run_one_after_another});
    ThreadTeam& team = on_executor ? host : own;
    struct Modes {
      std::array<int, 3> rounding;
      int before;
    } modes{{-1, -1, -1}, -1};
    Phases job;
    job.num_phases = 1;
    job.arg = &modes;
    job.phase = [](void* arg, uint32_t, uint32_t thread, uint32_t) noexcept {
      static_cast<Modes*>(arg)->rounding[thread] = std::fegetround();
    };
    job.before_phase = [](void* arg, uint32_t) noexcept {
      static_cast<Modes*>(arg)->before = std::fegetround();
      return true;
    };
    std::fesetround(FE_UPWARD);
    team.run(job);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(after, FE_UPWARD);
    EXPECT_THAT(modes.rounding, testing::Each(FE_TONEAREST));
    EXPECT_EQ(modes.before, FE_TONEAREST);
  }
}

#ifndef _WIN32
TEST(ThreadTeam, WorkersTakeNoSignals) {
  ThreadTeam team(3);
  std::array<int, 3> blocked{-1, -1, -1};
  Phases job;
  job.num_phases = 1;
  job.arg = &blocked;
  job.phase = [](void* arg, uint32_t, uint32_t thread, uint32_t) noexcept {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    (*static_cast<std::array<int, 3>*>(arg))[thread] =
        ::sigismember(&mask, SIGTERM) + ::sigismember(&mask, SIGUSR1);
  };
  EXPECT_TRUE(team.run(job));
  EXPECT_THAT(blocked, testing::ElementsAre(0, 2, 2));
}

TEST(ThreadTeam, ChildOfAForkGetsAnErrorAndTheParentGoesOn) {
  ThreadTeam team(2);
  Recorder first(1);
  EXPECT_TRUE(team.run(first.job()));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int result = 1;
    {
      ThreadTeam* inherited = &team;
      try {
        inherited->run(Phases{});
      } catch (const Error& error) {
        result = error.code() == Code::State ? 0 : 2;
      }
      inherited->~ThreadTeam();  // must not wait for threads that are not there
    }
    ::_exit(result);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Recorder second(2);
  EXPECT_TRUE(team.run(second.job()));
}
#endif

}  // namespace
}  // namespace tenon
