// A scheduler with simulated memory and work. For tests only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/scheduler.h"

namespace tenon::scheduling {

inline constexpr uint64_t kSecond = 1'000'000'000;

/// A request with a number of prompt tokens, followed by decodes.
struct Job : Work {
  uint64_t total = 0;   // tokens to compute in all
  uint64_t prompt = 0;  // of these in the prompt
  uint64_t done = 0;
  uint64_t blocks = 0;
  bool refused = false;
  bool waits = false;
};

/// Blocks of 10 tokens.
class FakeMemory : public WorkMemory {
 public:
  explicit FakeMemory(uint64_t blocks = 1000000) : free_(blocks), all_(blocks) {}
  bool refresh(Work& work) override {
    ++num_looks;
    return !job(work).waits;
  }
  Room reserve(Work& work, uint32_t num_tokens) override {
    const uint64_t needed = (job(work).done + num_tokens + 9) / 10 - job(work).blocks;
    if (job(work).blocks + needed > all_) return Room::Never;
    if (needed > free_) return Room::None;
    free_ -= needed;
    job(work).blocks += needed;
    return Room::Reserved;
  }
  bool fits(const Work& work) override { return fits_without(work, {}); }
  bool fits_without(const Work& work, std::span<Work* const> others) override {
    const Job& of = static_cast<const Job&>(work);
    uint64_t free = free_;
    for (Work* other : others) free += overrate * job(*other).blocks;
    return (of.done + of.num_left + 9) / 10 - of.blocks <= free;
  }
  bool holds(const Work& work) override { return static_cast<const Job&>(work).blocks > 0; }
  void drop(Work& work) noexcept override {
    give_back(job(work));
    job(work).num_left += job(work).done;
    job(work).done = 0;
    dropped.push_back(&work);
  }
  void refuse(Work& work) noexcept override {
    give_back(job(work));
    job(work).refused = true;
  }
  void give_back(Job& of) noexcept {
    free_ += of.blocks;
    of.blocks = 0;
  }
  [[nodiscard]] uint64_t free() const { return free_; }
  std::vector<const Work*> dropped;
  uint64_t num_looks = 0;  // at prompts
  uint64_t overrate = 1;   // factor of the freed memory, as with shared blocks

 private:
  static Job& job(Work& work) { return static_cast<Job&>(work); }
  uint64_t free_;
  uint64_t all_;
};

/// A scheduler, its memory, and an executor that only counts.
struct Rig {
  explicit Rig(const SchedulerOptions& options, uint64_t blocks = 1000000)
      : scheduler(options), memory(blocks) {}
  ~Rig() {
    for (Job& job : jobs) scheduler.remove(job);
  }
  Job& add(uint64_t prompt, uint64_t decodes = 0, std::string_view client = "", double weight = 1,
           int32_t priority = 0) {
    Job& job = jobs.emplace_back();
    job.client = &scheduler.client(client, weight);
    job.priority = priority;
    job.num_left = job.prompt = prompt;
    job.total = prompt + decodes;
    job.bounded = true;
    try {
      scheduler.add(job, now);
    } catch (...) {
      jobs.pop_back();
      throw;
    }
    return job;
  }
  /// Runs a step; returns the picks as (job, tokens).
  std::vector<std::pair<const Work*, uint32_t>> step(uint32_t beside = 1000) {
    std::vector<std::pair<const Work*, uint32_t>> out;
    std::vector<Pick> picks;
    for (const Pick& pick : scheduler.pick(now, 1000, beside, memory)) picks.push_back(pick);
    for (const Pick& pick : picks) {
      Job& job = static_cast<Job&>(*pick.work);
      out.emplace_back(pick.work, pick.num_tokens);
      tokens[job.client] += pick.num_tokens;
      job.done += pick.num_tokens;
      job.num_left -= pick.num_tokens;
      if (job.num_left > 0) continue;
      if (job.done >= job.total) {
        scheduler.remove(job);
        memory.give_back(job);
      } else {
        job.num_left = 1;
      }
    }
    now += kSecond / 100;
    return out;
  }
  using Picks = std::vector<std::pair<const Work*, uint32_t>>;

  Scheduler scheduler;
  FakeMemory memory;
  std::deque<Job> jobs;
  std::map<const Client*, uint64_t> tokens;
  uint64_t now = kSecond;
};

inline SchedulerOptions with(uint32_t step_tokens, uint32_t running = 1000) {
  SchedulerOptions options;
  options.step_tokens = step_tokens;
  options.max_running = running;
  return options;
}

}  // namespace tenon::scheduling
