// A host for tests of a backend alone: counts allocations, can refuse the n-th, and runs "threads"
// one by one. Uses no code of the library's host services.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tenon/backend.h"

namespace tenon::testing_reference {

class FakeHost {
 public:
  FakeHost() {
    table_.struct_size = sizeof(table_);
    table_.user = this;
    table_.allocate = allocate;
    table_.release = release;
    table_.log = [](void*, uint32_t, const char*, uint64_t) {};
    table_.num_threads = [](void* user) { return self(user).threads; };
    table_.parallel = parallel;
    table_.set_error = [](void* user, const char* text, uint64_t length) {
      ++self(user).num_errors;
      const uint64_t kept = length < sizeof(error) - 1 ? length : sizeof(error) - 1;
      std::memcpy(self(user).error, text, kept);
      self(user).error[kept] = '\0';
    };
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  [[nodiscard]] const tenon_host* table() const { return &table_; }

  uint32_t threads = 1;
  int64_t allocations_left = INT64_MAX;  ///< number of allocations before one fails
  uint32_t* raised_by_jobs = nullptr;    ///< set to 1 when a job begins
  uint64_t live_bytes = 0;
  uint32_t wrong_releases = 0;
  uint32_t num_errors = 0;
  char error[256] = "";

 private:
  static FakeHost& self(void* user) { return *static_cast<FakeHost*>(user); }

  static void* allocate(void* user, uint64_t size, uint64_t alignment, uint32_t) {
    if (self(user).allocations_left-- <= 0) return nullptr;
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, size) != 0) return nullptr;
    std::memset(memory, 0, size);
    self(user).live_bytes += size;
    return memory;
  }

  static void release(void* user, void* memory, uint64_t size, uint32_t) {
    if (size > self(user).live_bytes) ++self(user).wrong_releases;
    self(user).live_bytes -= size;
    std::free(memory);
  }

  // Last thread first: results must not depend on the order.
  static int32_t parallel(void* user, const tenon_parallel_job* job) {
    if (self(user).raised_by_jobs != nullptr) *self(user).raised_by_jobs = 1;
    for (uint32_t phase = 0; phase < job->num_phases; ++phase) {
      if (job->before_phase != nullptr) {
        if (const int32_t stop = job->before_phase(job->arg, phase)) return stop;
      }
      for (uint32_t t = self(user).threads; t > 0; --t) {
        job->run(job->arg, phase, t - 1, self(user).threads);
      }
    }
    return 0;
  }

  tenon_host table_{};
};

}  // namespace tenon::testing_reference
