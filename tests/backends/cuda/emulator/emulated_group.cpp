#include "emulated_group.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "fiber.h"
#include "quant/half.h"

namespace tenon::cuda::emulator {

thread_local Self self;

namespace {

std::vector<Kernel>& kernels() {
  static std::vector<Kernel> all;
  return all;
}

[[noreturn]] void give_up(const char* kernel, const char* what) {
  std::fprintf(stderr, "kernel %s: %s\n", kernel, what);
  std::abort();
}

uint combined(std::array<uint, kWarp> values, Together operation) {
  if (operation == Together::Vote) {
    uint votes = 0;
    for (uint i = 0; i < kWarp; ++i) votes |= values[i] != 0 ? 1u << i : 0;
    return votes;
  }
  for (uint far = kWarp / 2; far > 0; far /= 2) {
    for (uint i = 0; i < far; ++i) {  // equal in both lanes of a pair
      const float a = std::bit_cast<float>(values[i]);
      const float b = std::bit_cast<float>(values[i + far]);
      if (operation == Together::Sum) values[i] = std::bit_cast<uint>(a + b);
      if (operation == Together::MaxFloat) values[i] = std::bit_cast<uint>(a < b ? b : a);
      if (operation == Together::MaxWord) values[i] = std::max(values[i], values[i + far]);
    }
  }
  return values[0];
}

/// Multiplies [16, 16] by [16, 8] in the lanes' layout (PTX ISA, "Matrix Fragments for mma.m16n8k16
/// with floating point type"). Devices guarantee only an f32 sum of 16 products; here it is rounded
/// once.
void multiply_fragments(const std::array<Fragments, kWarp>& lanes) {
  float a[16][16];
  float b[8][16];  // by column
  const auto half_of = [](uint pair, uint i) {
    return f16_to_f32(static_cast<uint16_t>(pair >> i * 16));
  };
  for (uint lane = 0; lane < kWarp; ++lane) {
    const uint group = lane / 4;
    for (uint i = 0; i < 2; ++i) {
      const uint k = lane % 4 * 2 + i;
      for (uint r = 0; r < 4; ++r) {
        a[group + r % 2 * 8][k + r / 2 * 8] = half_of(lanes[lane].a[r], i);
      }
      for (uint r = 0; r < 2; ++r) b[group][k + r * 8] = half_of(lanes[lane].b[r], i);
    }
  }
  for (uint lane = 0; lane < kWarp; ++lane) {
    for (uint r = 0; r < 4; ++r) {
      const float* row = a[lane / 4 + r / 2 * 8];
      const float* column = b[lane % 4 * 2 + r % 2];
      double sum = lanes[lane].sums[r];
      for (uint k = 0; k < 16; ++k) sum += double{row[k]} * column[k];
      lanes[lane].sums[r] = static_cast<float>(sum);
    }
  }
}

/// PTX ISA, "ldmatrix": thread i of each eight passes the address of a row of its matrix, and the
/// lanes get rows in fours.
void load_matrices(const std::array<MatrixRows, kWarp>& lanes) {
  for (uint lane = 0; lane < kWarp; ++lane) {
    for (uint matrix = 0; matrix < lanes[lane].count; ++matrix) {
      const char* row = lanes[matrix * 8 + lane / 4].row;
      std::memcpy(&lanes[lane].pairs[matrix], row + lane % 4 * 4, 4);
    }
  }
}

/// A product that a warp has started.
struct AsyncProduct {
  struct Lane {
    float (*sums)[4];
    float start[8][4];  ///< sums before the product; in a chain, only the first product's count
    uint a[4];
  };
  std::array<Lane, kWarp> lanes;
  uint64_t b;
  bool adds;
  bool continues;  ///< an unfinished earlier product has the same sums
  uint64_t set;
};

/// Multiplies [16, 16] by [16, 64], b in core matrices (PTX ISA, "Register Fragments for
/// wgmma.m64nNk16" and "Shared Memory Matrix Layout": K-major, without swizzle).
void multiply_core_matrices(const AsyncProduct& product, const char* shared) {
  constexpr uint64_t kMask = 0x3FFF;
  const char* first = shared + (product.b & kMask) * 16;
  const uint64_t along = (product.b >> 16 & kMask) * 16;
  const uint64_t across = (product.b >> 32 & kMask) * 16;
  for (uint block = 0; block < 8; ++block) {
    std::array<Fragments, kWarp> lanes;
    std::array<std::array<uint, 2>, kWarp> b;
    for (uint lane = 0; lane < kWarp; ++lane) {
      const AsyncProduct::Lane& own = product.lanes[lane];
      float* sums = own.sums[block];
      if (!product.continues) std::copy_n(own.start[block], 4, sums);
      if (!product.adds) std::fill_n(sums, 4, 0.0F);
      for (uint i = 0; i < 2;
           ++i) {  // column lane / 4; values 2 (lane % 4) and the next, and 8 further on
        const char* row = first + block * across + i * along + lane / 4 * 16;
        std::memcpy(&b[lane][i], row + lane % 4 * 4, 4);
      }
      lanes[lane] = {sums, own.a, b[lane].data()};
    }
    multiply_fragments(lanes);
  }
}

enum class State { Ready, AtBarrier, AtWarp, Ended };

}  // namespace

Registered::Registered(const Kernel& kernel) { kernels().push_back(kernel); }

const Kernel* find_kernel(const char* name) {
  const auto found = std::ranges::find_if(
      kernels(), [&](const Kernel& kernel) { return std::string_view(kernel.name) == name; });
  return found == kernels().end() ? nullptr : &*found;
}

class Machine::Group {
 public:
  Group(Order order, uint64_t seed) : order_(order), random_(seed) {}

  void run(const Kernel& kernel, const Launch& launch) {
    kernel_ = &kernel;
    launch_ = &launch;
    shared_.resize((launch.shared_bytes + 15) / 16 * 2);
    if (!kernel.waits) return run_as_loop();
    if (launch.threads % kWarp != 0) give_up(kernel.name, "threads are no whole warps");
    if (launch.threads > kernel.most_threads) give_up(kernel.name, "more threads than it is for");
    while (threads_.size() < launch.threads) add_thread();
    groups_.resize(size_t{launch.groups_x} * launch.groups_y);
    std::iota(groups_.begin(), groups_.end(), size_t{0});
    if (order_ == Order::Backward) std::ranges::reverse(groups_);
    if (order_ == Order::Random) std::ranges::shuffle(groups_, random_);
    for (const size_t group : groups_) {
      run_group(static_cast<uint>(group % launch.groups_x),
                static_cast<uint>(group / launch.groups_x));
    }
  }

  void wait_for_group() { wait(State::AtBarrier); }
  uint together(uint value, Together operation) {
    Thread& thread = *threads_[self.thread];
    thread.value = value;
    thread.operation = operation;
    wait(State::AtWarp);
    return thread.value;
  }

  void multiply_together(const Fragments& own) {
    threads_[self.thread]->fragments = own;
    together(0, Together::Multiply);
  }

  void load_matrices_together(const MatrixRows& own) {
    threads_[self.thread]->rows = own;
    together(0, Together::LoadMatrices);
  }

  void multiply_async_together(const AsyncFragments& own) {
    threads_[self.thread]->async_fragments = own;
    together(0, Together::MultiplyAsync);
  }
  void commit_products() { together(0, Together::CommitProducts); }
  void wait_for_products(uint pending) { together(pending, Together::WaitForProducts); }
  void shared_fence() { threads_[self.thread]->is_fenced = true; }

  void begin_copy(void* to, const void* from) {
    std::memset(to, 0xFF, kCopyBytes);
    Thread& thread = *threads_[self.thread];
    thread.copies.push_back({to, from, thread.sets});
  }
  void commit_copies() { ++threads_[self.thread]->sets; }
  void wait_for_copies(uint pending) {
    Thread& thread = *threads_[self.thread];
    while (!thread.copies.empty() && thread.copies.front().set + pending < thread.sets) {
      std::memcpy(thread.copies.front().to, thread.copies.front().from, kCopyBytes);
      thread.copies.pop_front();
      thread.is_fenced = false;
    }
  }

  static thread_local Group* running;

 private:
  static constexpr size_t kCopyBytes = 16;
  struct Copy {
    void* to;
    const void* from;
    uint64_t set;
  };
  struct Thread {
    explicit Thread(std::function<void()> body) : fiber(std::move(body)) {}
    Fiber fiber;
    State state = State::Ended;
    uint value = 0;
    Together operation = Together::Vote;
    Fragments fragments{};
    MatrixRows rows{};
    AsyncFragments async_fragments{};
    bool is_fenced = true;    ///< products may read its copied data
    std::deque<Copy> copies;  ///< unfinished
    uint64_t sets = 0;        ///< of copies, so far
  };

  struct Warp {
    std::deque<AsyncProduct> products;  ///< unfinished
    uint64_t sets = 0;                  ///< of products, so far
  };

  void begin_product(uint first) {
    for (uint i = 0; i < launch_->threads; ++i) {
      if (!threads_[i]->is_fenced) give_up(kernel_->name, "a product of what no fence has passed");
    }
    Warp& warp = warps_[first / kWarp];
    const AsyncFragments& some = threads_[first]->async_fragments;
    AsyncProduct product{{}, some.b, some.adds, false, warp.sets};
    for (const AsyncProduct& before : warp.products) {
      product.continues = product.continues || before.lanes[0].sums == some.sums;
    }
    for (uint i = 0; i < kWarp; ++i) {
      const AsyncFragments& own = threads_[first + i]->async_fragments;
      AsyncProduct::Lane& lane = product.lanes[i];
      lane.sums = own.sums;
      std::memcpy(lane.start, own.sums, sizeof(lane.start));
      std::copy_n(own.a, 4, lane.a);
      std::memset(own.sums, 0xFF, sizeof(lane.start));
    }
    warp.products.push_back(product);
  }

  void finish_products(uint first, uint pending) {
    Warp& warp = warps_[first / kWarp];
    while (!warp.products.empty() && warp.products.front().set + pending < warp.sets) {
      multiply_core_matrices(warp.products.front(), reinterpret_cast<const char*>(shared_.data()));
      warp.products.pop_front();
    }
  }

  void add_thread() {
    const auto number = threads_.size();
    threads_.push_back(std::make_unique<Thread>([this, number] {
      kernel_->run(launch_->parameters, launch_->constants);
      if (!threads_[number]->copies.empty()) give_up(kernel_->name, "copies were not waited for");
      if (!warps_[number / kWarp].products.empty()) {
        give_up(kernel_->name, "products were not waited for");
      }
      threads_[number]->state = State::Ended;
    }));
  }

  void run_as_loop() {
    for (uint y = 0; y < launch_->groups_y; ++y) {
      for (uint x = 0; x < launch_->groups_x; ++x) {
        for (uint i = 0; i < launch_->threads; ++i) {
          self = {i, launch_->threads, x, y, launch_->groups_x, shared_.data()};
          kernel_->run(launch_->parameters, launch_->constants);
        }
      }
    }
  }

  void run_group(uint x, uint y) {
    const uint threads = launch_->threads;
    std::memset(shared_.data(), 0xFF, shared_.size() * sizeof(shared_[0]));  // NaN
    running = this;
    warps_.resize(threads / kWarp);
    for (uint i = 0; i < threads; ++i) threads_[i]->state = State::Ready;
    turns_.resize(threads);
    std::iota(turns_.begin(), turns_.end(), 0u);
    if (order_ == Order::Backward) std::ranges::reverse(turns_);
    uint ended = 0;
    while (ended < threads) {
      if (order_ == Order::Random) std::ranges::shuffle(turns_, random_);
      bool any = false;
      for (const uint i : turns_) {
        if (threads_[i]->state != State::Ready) continue;
        any = true;
        self = {i, threads, x, y, launch_->groups_x, shared_.data()};
        threads_[i]->fiber.resume();
        if (threads_[i]->state == State::Ended) ++ended;
        if (threads_[i]->state == State::AtWarp) release_warp(i / kWarp * kWarp);
      }
      if (!any && !release_group()) {
        give_up(kernel_->name, "some threads wait where others never come");
      }
    }
    running = nullptr;
  }

  void wait(State state) {
    Thread& thread = *threads_[self.thread];
    thread.state = state;
    thread.fiber.give_way();
  }

  void release_warp(uint first) {
    std::array<uint, kWarp> values;
    for (uint i = 0; i < kWarp; ++i) {
      const Thread& thread = *threads_[first + i];
      if (thread.state != State::AtWarp) return;
      if (thread.operation != threads_[first]->operation) {
        give_up(kernel_->name, "lanes of a warp are at different operations");
      }
      values[i] = thread.value;
    }
    const Together operation = threads_[first]->operation;
    if (operation == Together::Multiply) {
      std::array<Fragments, kWarp> fragments;
      for (uint i = 0; i < kWarp; ++i) fragments[i] = threads_[first + i]->fragments;
      multiply_fragments(fragments);
    }
    if (operation == Together::LoadMatrices) {
      std::array<MatrixRows, kWarp> rows;
      for (uint i = 0; i < kWarp; ++i) rows[i] = threads_[first + i]->rows;
      load_matrices(rows);
    }
    if (operation == Together::MultiplyAsync) begin_product(first);
    if (operation == Together::CommitProducts) ++warps_[first / kWarp].sets;
    if (operation == Together::WaitForProducts) finish_products(first, values[0]);
    const uint result = combined(values, operation);
    for (uint i = 0; i < kWarp; ++i) {
      threads_[first + i]->value = result;
      threads_[first + i]->state = State::Ready;
    }
  }

  bool release_group() {
    for (uint i = 0; i < launch_->threads; ++i) {
      if (threads_[i]->state != State::AtBarrier) return false;
    }
    for (uint i = 0; i < launch_->threads; ++i) threads_[i]->state = State::Ready;
    return true;
  }

  Order order_;
  std::mt19937_64 random_;
  const Kernel* kernel_ = nullptr;
  const Launch* launch_ = nullptr;
  std::vector<uint64_t> shared_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Warp> warps_;
  std::vector<uint> turns_;
  std::vector<size_t> groups_;  ///< in execution order
};

thread_local Machine::Group* Machine::Group::running = nullptr;

Machine::Machine(Order order, uint64_t seed) : group_(std::make_unique<Group>(order, seed)) {}
Machine::~Machine() = default;
void Machine::run(const Kernel& kernel, const Launch& launch) { group_->run(kernel, launch); }

void wait_for_group() { Machine::wait_for_group(); }
uint together(uint value, Together operation) { return Machine::together(value, operation); }

void multiply_together(const Fragments& own) { Machine::multiply_together(own); }
void load_matrices_together(const MatrixRows& own) { Machine::load_matrices_together(own); }
void multiply_async_together(const AsyncFragments& own) { Machine::multiply_async_together(own); }
void commit_products() { Machine::commit_products(); }
void wait_for_products(uint pending) { Machine::wait_for_products(pending); }
void shared_fence() { Machine::shared_fence(); }
void begin_copy(void* to, const void* from) { Machine::begin_copy(to, from); }
void commit_copies() { Machine::commit_copies(); }
void wait_for_copies(uint pending) { Machine::wait_for_copies(pending); }
uint subtract_halves(uint a, uint b) {
  const float difference =
      f16_to_f32(static_cast<uint16_t>(a)) - f16_to_f32(static_cast<uint16_t>(b));
  return f32_to_f16(difference);
}

void Machine::multiply_together(const Fragments& own) { Group::running->multiply_together(own); }
void Machine::load_matrices_together(const MatrixRows& own) {
  Group::running->load_matrices_together(own);
}
void Machine::multiply_async_together(const AsyncFragments& own) {
  Group::running->multiply_async_together(own);
}
void Machine::commit_products() { Group::running->commit_products(); }
void Machine::wait_for_products(uint pending) { Group::running->wait_for_products(pending); }
void Machine::shared_fence() { Group::running->shared_fence(); }
void Machine::begin_copy(void* to, const void* from) { Group::running->begin_copy(to, from); }
void Machine::commit_copies() { Group::running->commit_copies(); }
void Machine::wait_for_copies(uint pending) { Group::running->wait_for_copies(pending); }
void Machine::wait_for_group() { Group::running->wait_for_group(); }
uint Machine::together(uint value, Together operation) {
  return Group::running->together(value, operation);
}

}  // namespace tenon::cuda::emulator
