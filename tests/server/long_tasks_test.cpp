// Long tasks on the threads of short tasks, and the WorkLimit of a thread.
#include "server/work/long_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "server/work/work_limit.h"

namespace tenon_http::test {
namespace {

using testing::ElementsAre;

/// Threads that run only on a test's command.
class HeldThreads : public Tasks {
 public:
  using Tasks::post;
  void post(std::shared_ptr<Task> task) noexcept override { tasks_.push_back(std::move(task)); }
  [[nodiscard]] size_t size() const { return tasks_.size(); }
  /// Runs the oldest task; false if none is queued.
  bool run_one() {
    if (tasks_.empty()) return false;
    const std::shared_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    task->run();
    return true;
  }
  void run_all() {
    while (run_one()) {
    }
  }

 private:
  std::deque<std::shared_ptr<Task>> tasks_;
};

struct LongTasksTest : testing::Test {
  /// Posts a task of `steps` steps; each step records `name`.
  void post(const std::string& client, const std::string& name, size_t steps) {
    auto left = std::make_shared<size_t>(steps);
    tasks.post(client, [this, name, left] {
      steps_done.push_back(name);
      return --*left > 0;
    });
  }
  HeldThreads threads;
  LongTasks tasks{threads};
  std::vector<std::string> steps_done;
};

TEST_F(LongTasksTest, TakesClientsInTurnsStepByStep) {
  post("a", "a1", 3);
  post("a", "a2", 1);
  post("b", "b1", 2);
  EXPECT_EQ(threads.size(), 1u) << "one lane";
  threads.run_all();
  EXPECT_THAT(steps_done, ElementsAre("a1", "b1", "a1", "b1", "a1", "a2"));
}

TEST_F(LongTasksTest, LetsShortTasksGoBetweenSteps) {
  post("a", "a1", 2);
  threads.post([this] { steps_done.emplace_back("short"); });
  threads.run_all();
  EXPECT_THAT(steps_done, ElementsAre("a1", "short", "a1"));
}

TEST_F(LongTasksTest, TakesOneLaneForAClientAndNoMoreThanThereAre) {
  tasks.add_lanes(2);
  for (int i = 0; i < 5; ++i) post("a", "a", 1);
  EXPECT_EQ(threads.size(), 1u);
  for (const char* client : {"b", "c", "d", "e"}) post(client, client, 1);
  EXPECT_EQ(threads.size(), 3u);
  threads.run_all();
  EXPECT_EQ(steps_done.size(), 9u);
  EXPECT_EQ(tasks.num_waiting(), 0u);
}

TEST_F(LongTasksTest, RunsNoTwoOfAClientAtOnce) {
  tasks.add_lanes(1);
  tasks.post("a", [this] {
    EXPECT_EQ(threads.size(), 0u) << "the second waits for the first";
    steps_done.emplace_back("first");
    return false;
  });
  post("a", "second", 1);
  threads.run_all();
  EXPECT_THAT(steps_done, ElementsAre("first", "second"));
}

TEST_F(LongTasksTest, GoesOnAfterAStepThatThrows) {
  tasks.post("a", []() -> bool { throw std::runtime_error("no"); });
  post("a", "a", 1);
  post("b", "b", 1);
  threads.run_all();
  EXPECT_THAT(steps_done, ElementsAre("b", "a"));
}

TEST_F(LongTasksTest, DropsWhatWaitsWhenItStops) {
  const auto held = std::make_shared<int>(0);
  tasks.post("a", [this, held] {
    tasks.stop();
    return true;
  });
  tasks.post("a", [held] { return false; });
  tasks.post("b", [held] { return false; });
  threads.run_all();
  post("c", "c", 1);
  threads.run_all();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_TRUE(steps_done.empty());
}

TEST(WorkLimit, EndsWorkThatNobodyWants) {
  WorkLimit::look();  // without a limit, nothing ends
  WorkLimit limit;
  {
    const WorkLimit::Use use(limit, 1000);
    for (int i = 0; i < 1000; ++i) WorkLimit::look();
    limit.stop();
    EXPECT_THROW(WorkLimit::look(), WorkEnd);
  }
  WorkLimit::look();
}

TEST(WorkLimit, EndsWorkWhoseTimeIsOver) {
  WorkLimit limit;
  const WorkLimit::Use use(limit, 0);
  WorkLimit::look();  // reads the clock only occasionally
  EXPECT_THROW(WorkLimit::look(WorkLimit::kLongWork), WorkEnd);
}

TEST(WorkLimit, NeedsMoreThanIsGivenForLongWork) {
  WorkLimit::need(1);
  WorkLimit limit;
  {
    const WorkLimit::Use use(limit, 0.02);
    EXPECT_THROW(WorkLimit::need(1), WorkEnd);
  }
  const WorkLimit::Use use(limit, 10);
  WorkLimit::need(1);
}

}  // namespace
}  // namespace tenon_http::test
