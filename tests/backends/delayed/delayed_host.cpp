#include "backends/delayed/delayed_host.h"

#include <exception>

#include "backends/delayed/work_queue.h"

namespace tenon::delayed {
namespace {

const tenon_host& real_of(void* user) { return *static_cast<DelayedHost*>(user)->real(); }

int32_t run_serially(const tenon_parallel_job& job) {
  for (uint32_t phase = 0; phase < job.num_phases; ++phase) {
    const int32_t stop = job.before_phase == nullptr ? 0 : job.before_phase(job.arg, phase);
    if (stop != 0) return stop;
    job.run(job.arg, phase, 0, 1);
  }
  return 0;
}

void leave_sentence(void* user, const char* text, uint64_t length) {
  std::string* const of_job = WorkQueue::sentence();
  if (of_job == nullptr) return real_of(user).set_error(real_of(user).user, text, length);
  try {
    of_job->assign(text, length);
  } catch (...) {  // the status must do
  }
}

}  // namespace

DelayedHost::DelayedHost(const tenon_host* real) : real_(real), table_{} {
  table_.struct_size = sizeof(table_);
  table_.user = this;
  table_.allocate = [](void* user, uint64_t size, uint64_t alignment, uint32_t purpose) {
    return real_of(user).allocate(real_of(user).user, size, alignment, purpose);
  };
  table_.release = [](void* user, void* memory, uint64_t size, uint32_t purpose) {
    real_of(user).release(real_of(user).user, memory, size, purpose);
  };
  table_.log = [](void* user, uint32_t level, const char* text, uint64_t length) {
    real_of(user).log(real_of(user).user, level, text, length);
  };
  table_.num_threads = [](void*) { return uint32_t{1}; };
  table_.parallel = [](void*, const tenon_parallel_job* job) { return run_serially(*job); };
  table_.set_error = leave_sentence;
}

}  // namespace tenon::delayed
