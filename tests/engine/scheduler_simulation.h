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
struct SimulatedRequest : Work {
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
    return !request(work).waits;
  }
  Room reserve(Work& work, uint32_t num_tokens) override {
    const uint64_t needed = (request(work).done + num_tokens + 9) / 10 - request(work).blocks;
    if (request(work).blocks + needed > all_) return Room::Never;
    if (needed > free_) return Room::None;
    free_ -= needed;
    request(work).blocks += needed;
    return Room::Reserved;
  }
  bool fits(const Work& work) override { return fits_without(work, {}); }
  bool fits_without(const Work& work, std::span<Work* const> others) override {
    const SimulatedRequest& of = static_cast<const SimulatedRequest&>(work);
    uint64_t free = free_;
    for (Work* other : others) free += overrate * request(*other).blocks;
    return (of.done + of.num_left + 9) / 10 - of.blocks <= free;
  }
  bool holds(const Work& work) override {
    return static_cast<const SimulatedRequest&>(work).blocks > 0;
  }
  void drop(Work& work) noexcept override {
    give_back(request(work));
    request(work).num_left += request(work).done;
    request(work).done = 0;
    dropped.push_back(&work);
  }
  void refuse(Work& work) noexcept override {
    give_back(request(work));
    request(work).refused = true;
  }
  void give_back(SimulatedRequest& of) noexcept {
    free_ += of.blocks;
    of.blocks = 0;
  }
  [[nodiscard]] uint64_t free() const { return free_; }
  std::vector<const Work*> dropped;
  uint64_t num_looks = 0;  // at prompts
  uint64_t overrate = 1;   // factor of the freed memory, as with shared blocks

 private:
  static SimulatedRequest& request(Work& work) { return static_cast<SimulatedRequest&>(work); }
  uint64_t free_;
  uint64_t all_;
};

/// A scheduler, its memory, and an executor that only counts.
struct Simulation {
  explicit Simulation(const SchedulerOptions& options, uint64_t blocks = 1000000)
      : scheduler(options), memory(blocks) {}
  ~Simulation() {
    for (SimulatedRequest& request : requests) scheduler.remove(request);
  }
  SimulatedRequest& add(uint64_t prompt, uint64_t decodes = 0, std::string_view client = "",
                        double weight = 1, int32_t priority = 0) {
    SimulatedRequest& request = requests.emplace_back();
    request.client = &scheduler.client(client, weight);
    request.priority = priority;
    request.num_left = request.prompt = prompt;
    request.total = prompt + decodes;
    request.bounded = true;
    try {
      scheduler.add(request, now);
    } catch (...) {
      requests.pop_back();
      throw;
    }
    return request;
  }
  /// Runs a step; returns the picks as (request, tokens).
  std::vector<std::pair<const Work*, uint32_t>> step(uint32_t beside = 1000) {
    std::vector<std::pair<const Work*, uint32_t>> out;
    std::vector<Pick> picks;
    for (const Pick& pick : scheduler.pick(now, 1000, beside, memory)) picks.push_back(pick);
    for (const Pick& pick : picks) {
      SimulatedRequest& request = static_cast<SimulatedRequest&>(*pick.work);
      out.emplace_back(pick.work, pick.num_tokens);
      tokens[request.client] += pick.num_tokens;
      request.done += pick.num_tokens;
      request.num_left -= pick.num_tokens;
      if (request.num_left > 0) continue;
      if (request.done >= request.total) {
        scheduler.remove(request);
        memory.give_back(request);
      } else {
        request.num_left = 1;
      }
    }
    now += kSecond / 100;
    return out;
  }
  using Picks = std::vector<std::pair<const Work*, uint32_t>>;

  Scheduler scheduler;
  FakeMemory memory;
  std::deque<SimulatedRequest> requests;
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
