// The futex by condition variables that an older macOS uses, as Linux runs it.
#include "base/darwin/condition_futex.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace tenon {
namespace {

constexpr uint64_t kForever = UINT64_MAX;

void sleep_until_changed(const std::atomic<uint32_t>& word, uint32_t seen) {
  while (word.load(std::memory_order_seq_cst) == seen) condition_wait(word, seen, kForever);
}

TEST(ConditionFutex, ReturnsAtOnceFromAChangedWord) {
  const std::atomic<uint32_t> word{2};
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) condition_wait(word, 1, kForever);
  // A sleep takes 20 ms.
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
}

TEST(ConditionFutex, ReturnsWithoutAWakeAfterATime) {
  const std::atomic<uint32_t> word{1};
  condition_wait(word, 1, 0);
  condition_wait(word, 1, 1'000'000);
  condition_wait(word, 1, kForever);
}

TEST(ConditionFutex, PassesAWordRoundManyThreads) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kTurns = 2000;
  std::atomic<uint32_t> word{0};
  std::vector<std::thread> threads;
  for (uint32_t index = 0; index < kThreads; ++index) {
    threads.emplace_back([&, index] {
      for (uint32_t turn = index; turn < kTurns; turn += kThreads) {
        for (uint32_t now = word; now != turn; now = word) sleep_until_changed(word, now);
        word.store(turn + 1, std::memory_order_seq_cst);
        condition_wake_all(word);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(word.load(), kTurns);
}

TEST(ConditionFutex, WakesSleepersOnWordsThatShareAPlace) {
  std::array<std::atomic<uint32_t>, 256> words{};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < words.size(); i += 32) {
    threads.emplace_back([&words, i] { sleep_until_changed(words[i], 0); });
  }
  for (size_t i = 0; i < words.size(); i += 32) {
    words[i].store(1, std::memory_order_seq_cst);
    condition_wake_all(words[i]);
  }
  for (std::thread& thread : threads) thread.join();
}

std::atomic<uint32_t>* word_of_handler = nullptr;

void change_and_wake(int) {
  word_of_handler->fetch_add(1, std::memory_order_seq_cst);
  condition_wake_all(*word_of_handler);
}

// The handler interrupts a thread that sleeps, or is about to, on the word that it wakes.
TEST(ConditionFutex, ASignalHandlerMayWakeItsOwnThread) {
  constexpr uint32_t kSignals = 40;  // each may wait for the end of a sleep
  std::atomic<uint32_t> word{0};
  word_of_handler = &word;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = change_and_wake;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::thread sleeper([&word] {
    for (uint32_t now = word; now < kSignals; now = word) sleep_until_changed(word, now);
  });
  for (uint32_t seen = 0; seen < kSignals; seen = word) {
    pthread_kill(sleeper.native_handle(), SIGUSR1);
    while (word.load() == seen) std::this_thread::yield();
  }
  sleeper.join();
  ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

}  // namespace
}  // namespace tenon
