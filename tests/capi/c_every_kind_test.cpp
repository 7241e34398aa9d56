// Every kind of handle: destroyed by any thread at any time, also during calls, with errors for
// later calls, and random orders of all operations.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "every_kind.h"

namespace {

using namespace tenon_test;

void expect_that_it_is_told(const Kind& kind, void* late) {
  expect_failure(kind.call(late), TENON_ERROR_ARGUMENT, "destroyed");
  kind.destroy(late);
}

TEST(EveryKind, IsHere) {
  const EveryKind every;
  std::set<std::string> here;
  for (const Kind& kind : every.all()) here.insert(kind.destroys);
  std::ifstream in(TENON_MANUAL);
  const std::string manual(std::istreambuf_iterator<char>(in), {});
  const std::regex destroy(R"(\btenon_\w+_destroy\b)");
  for (std::sregex_iterator at(manual.begin(), manual.end(), destroy), end; at != end; ++at) {
    EXPECT_TRUE(here.contains(at->str())) << at->str() << " is not tried here";
  }
}

TEST(EveryKind, TellsCallsThatComeLate) {
  const EveryKind every;
  for (const Kind& kind : every.all()) {
    SCOPED_TRACE(kind.destroys);
    void* const handle = kind.make();
    EXPECT_OK(kind.call(handle));
    kind.destroy(handle);
    expect_that_it_is_told(kind, handle);
  }
}

/// Calls until the handle reports that it is destroyed; false after 20 seconds.
bool call_until_told(const Kind& kind, void* handle) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    if (kind.call(handle) == TENON_ERROR_ARGUMENT) return true;
  }
  return false;
}

TEST(EveryKind, EndsBesideCallsOfOtherThreads) {
  const EveryKind every;
  for (int round = 0; round < 4; ++round) {
    for (const Kind& kind : every.all()) {
      SCOPED_TRACE(kind.destroys);
      void* const handle = kind.make();
      std::vector<std::thread> threads(kind.any_thread ? 3 : 1);
      std::atomic<size_t> begun = 0;
      std::atomic<size_t> told = 0;
      for (std::thread& thread : threads) {
        thread = std::thread([&] {
          ++begun;
          if (call_until_told(kind, handle)) ++told;
        });
      }
      while (begun < threads.size()) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(round * 150));
      kind.destroy(handle);
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(told, threads.size());
    }
  }
}

/// Random orders of creating, using and destroying. TENON_ORDERS sets their number, TENON_SEED the
/// first seed; run 10,000 manually under AddressSanitizer and ThreadSanitizer.
uint32_t number_of(const char* name, uint32_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : static_cast<uint32_t>(std::atoi(value));
}

/// Order of twelve steps, followed by the destruction of all remaining handles.
class Order {
 public:
  Order(const std::vector<Kind>& kinds, uint32_t seed) : kinds_(kinds), random_(seed) {}

  void run() {
    for (int step = 0; step < 12; ++step) {
      const uint32_t what = below(10);
      if (live_.empty() || what < 4) {
        const Kind& kind = kinds_[below(kinds_.size())];
        live_.push_back({&kind, kind.make()});
      } else if (what < 7) {
        use(live_[below(live_.size())]);
      } else if (what < 9 || late_.empty()) {
        end_one();
      } else {
        const One& one = late_[below(late_.size())];
        SCOPED_TRACE(one.kind->destroys);
        expect_that_it_is_told(*one.kind, one.handle);
      }
    }
    while (!live_.empty()) end_one();
  }

 private:
  struct One {
    const Kind* kind;
    void* handle;
  };

  uint32_t below(size_t limit) { return static_cast<uint32_t>(random_() % limit); }

  static void use(const One& one) {
    const tenon_status status = one.kind->call(one.handle);
    // A request may have ended before; no other error is possible.
    const bool expected =
        status == TENON_OK || status == TENON_ERROR_CANCELLED || status == TENON_ERROR_STATE;
    EXPECT_TRUE(expected) << one.kind->destroys << ": " << tenon_last_error();
  }

  /// Destroys a handle on this thread, on another thread, or during another thread's call.
  void end_one() {
    const size_t at = below(live_.size());
    const One one = live_[at];
    live_.erase(live_.begin() + static_cast<ptrdiff_t>(at));
    switch (below(3)) {
      case 0:
        one.kind->destroy(one.handle);
        break;
      case 1:
        std::thread([&] { one.kind->destroy(one.handle); }).join();
        break;
      default: {
        std::atomic<bool> begun = false;
        std::thread user([&] {
          begun = true;
          (void)one.kind->call(one.handle);
        });
        while (!begun) std::this_thread::yield();
        one.kind->destroy(one.handle);
        user.join();
      }
    }
    late_.push_back(one);
  }

  const std::vector<Kind>& kinds_;
  std::mt19937 random_;
  std::vector<One> live_;
  std::vector<One> late_;
};

TEST(EveryKind, EndsInRandomOrders) {
  const uint32_t num_orders = number_of("TENON_ORDERS", 50);
  const uint32_t first = number_of("TENON_SEED", 1);
  // Reuse sessions of requests, with new objects now and then.
  constexpr uint32_t kWithTheSame = 100;
  for (uint32_t done = 0; done < num_orders && !HasFailure(); done += kWithTheSame) {
    const EveryKind every;
    for (uint32_t i = done; i < std::min(done + kWithTheSame, num_orders); ++i) {
      SCOPED_TRACE("order " + std::to_string(first + i));
      Order(every.all(), first + i).run();
    }
  }
}

}  // namespace
