// No memory is allocated for a token while text is generated: this program counts operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/base/faulty_system.h"
#include "tests/engine/tiny_engine.h"

namespace {

std::atomic<uint64_t> num_allocations{0};

void* allocate(size_t size) noexcept {
  ++num_allocations;
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate_or_throw(size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Every form, so that a sanitizer sees none of its own paired with one of these.
[[gnu::noinline]] void* operator new(size_t size) { return allocate_or_throw(size); }
[[gnu::noinline]] void* operator new[](size_t size) { return allocate_or_throw(size); }
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
[[gnu::noinline]] void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace tenon {
namespace {

TEST(TokenPath, AllocatesNothing) {
  const auto system = std::make_shared<FaultySystem>();
  ModelOptions options;
  options.system = system;
  Session session(tiny_engine({}, std::move(options)), SessionOptions{256});
  Sampler sampler;
  sampler.set("temperature", 0.7);
  sampler.set("top_k", int64_t{20});
  sampler.set("repeat_penalty", 1.1);
  session.append(make_tokens(20));
  // The first tokens make the sampler's room and the slab.
  session.next(sampler);
  session.next(sampler);
  const uint64_t before = num_allocations;
  const uint64_t calls_before = system->num_calls();
  for (int i = 0; i < 100; ++i) session.next(sampler);  // through several blocks
  EXPECT_EQ(num_allocations - before, 0u);
  EXPECT_EQ(system->num_calls() - calls_before, 0u);
  EXPECT_GT(before, 0u) << "the counter counts";
}

}  // namespace
}  // namespace tenon
