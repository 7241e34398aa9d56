#include "backend/host_services.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

/// Least size that gets whole pages, possibly of 2 MiB; smaller blocks come from the allocator.
constexpr uint64_t kPagesFrom = uint64_t{1} << 20;
constexpr uint64_t kSmallAlignment = 64;
constexpr uint64_t kPageAlignment = 4096;
/// Default alignment of a block of this size.
constexpr uint64_t usual_alignment(uint64_t size) {
  if (size >= kHugePageBytes) return kHugePageBytes;
  return size >= kPagesFrom ? kPageAlignment : kSmallAlignment;
}
/// Longest text of a backend that is stored or logged.
constexpr uint64_t kMaxTextBytes = 4096;
/// Size of a job in version 2.0 of the plugin ABI: later versions only add to it.
constexpr uint32_t kFirstJobBytes =
    offsetof(tenon_parallel_job, before_phase) + sizeof(tenon_parallel_job::before_phase);

/// A backend's text, cleaned for messages, because plugins are not trusted.
std::string shown(const char* text, uint64_t length) {
  return text == nullptr ? std::string()
                         : printable({text, static_cast<size_t>(length)}, kMaxTextBytes);
}

/// A running job.
struct JobRun {
  const tenon_parallel_job* job;
  int32_t stopped = 0;              // written before a phase, while the other threads wait
  std::atomic<bool> threw = false;  // skips the rest of the job

  static void phase(void* arg, uint32_t phase, uint32_t thread, uint32_t threads) noexcept {
    auto& self = *static_cast<JobRun*>(arg);
    if (self.threw.load(std::memory_order_relaxed)) return;
    try {
      self.job->run(self.job->arg, phase, thread, threads);
    } catch (...) {
      self.threw.store(true, std::memory_order_relaxed);
    }
  }
  static bool before_phase(void* arg, uint32_t phase) noexcept {
    auto& self = *static_cast<JobRun*>(arg);
    if (self.threw.load(std::memory_order_relaxed)) return false;
    try {
      if (self.job->before_phase == nullptr) return true;
      self.stopped = self.job->before_phase(self.job->arg, phase);
      return self.stopped == 0;
    } catch (...) {
      self.threw.store(true, std::memory_order_relaxed);
      return false;
    }
  }
};

}  // namespace

HostServices::HostServices(std::shared_ptr<System> system, Log log,
                           std::shared_ptr<ThreadTeam> team, ServiceOptions options)
    : system_(std::move(system)), log_(log), team_(std::move(team)), options_(std::move(options)) {
  table_.struct_size = sizeof(table_);
  table_.user = this;
  table_.allocate = allocate;
  table_.release = release;
  table_.log = write_log;
  table_.num_threads = num_threads;
  table_.parallel = parallel;
  table_.set_error = set_error;
  if (options_.kernel_cache == nullptr) return;
  table_.cache_get = cache_get;
  table_.cache_put = cache_put;
}

std::string HostServices::take_error() {
  const std::lock_guard lock(mutex_);
  const auto found = errors_.find(std::this_thread::get_id());
  if (found == errors_.end()) return {};
  std::string text = std::move(found->second);
  errors_.erase(found);
  return text;
}

void* HostServices::allocate(void* user, uint64_t size, uint64_t alignment, uint32_t purpose) {
  if (size == 0 || alignment > kHugePageBytes) return nullptr;
  if (alignment != 0 && !std::has_single_bit(alignment)) return nullptr;
  System& system = *self(user).system_;
  if (alignment > usual_alignment(size)) return self(user).allocate_aligned(size, alignment);
  if (size >= kPagesFrom) return self(user).allocate_pages(size, purpose);
  void* memory = system.allocate(size, kSmallAlignment);
  if (memory != nullptr) std::memset(memory, 0, size);
  return memory;
}

void HostServices::release(void* user, void* memory, uint64_t size, uint32_t) {
  if (memory == nullptr || self(user).release_aligned(memory, size)) return;
  if (self(user).release_pages(memory) || size >= kPagesFrom) return;
  self(user).system_->release(memory, size, kSmallAlignment);
}

bool HostServices::release_pages(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(memory);
  if (found == pages_.end()) return false;
  system_->unmap_pages(memory, found->second.size);
  pages_.erase(found);
  return true;
}

void* HostServices::allocate_aligned(uint64_t size, uint64_t alignment) {
  void* memory = system_->allocate(size, alignment);
  if (memory == nullptr) return nullptr;
  try {
    const std::lock_guard lock(mutex_);
    alignments_[memory] = alignment;
  } catch (...) {
    system_->release(memory, size, alignment);
    return nullptr;
  }
  std::memset(memory, 0, size);
  return memory;
}

bool HostServices::release_aligned(void* memory, uint64_t size) {
  const std::lock_guard lock(mutex_);
  const auto found = alignments_.find(memory);
  if (found == alignments_.end()) return false;
  system_->release(memory, size, found->second);
  alignments_.erase(found);
  return true;
}

void* HostServices::allocate_pages(uint64_t size, uint32_t purpose) {
  void* pages = system_->map_pages(size);
  if (pages == nullptr) return nullptr;
  try {
    const std::lock_guard lock(mutex_);
    pages_[pages] = {size, purpose};
  } catch (...) {
    system_->unmap_pages(pages, size);
    return nullptr;
  }
  if (system_->advise_huge_pages(pages, size) != 0) warn_of_small_pages(size, purpose);
  return pages;
}

HostServices::PageUse HostServices::page_use(uint32_t purpose) {
  const std::lock_guard lock(mutex_);
  PageUse use;
  for (const auto& [memory, pages] : pages_) {
    if (pages.purpose != purpose) continue;
    use.bytes += pages.size;
    const int64_t huge = system_->huge_page_bytes(memory, pages.size);
    if (huge > 0) use.huge_bytes += static_cast<uint64_t>(huge);
  }
  return use;
}

void HostServices::warn_of_small_pages(uint64_t size, uint32_t purpose) {
  if (purpose != TENON_MEMORY_WEIGHTS) return;
  try {
    log_(LogLevel::Warning, "the system gives no 2 MiB pages for {} bytes of weights: slower",
         size);
  } catch (...) {  // a warning must not become a failure
  }
}

void HostServices::write_log(void* user, uint32_t level, const char* text, uint64_t length) {
  static constexpr LogLevel kLevels[] = {LogLevel::Error, LogLevel::Warning, LogLevel::Info,
                                         LogLevel::Debug};
  try {
    const LogLevel known = level < 4 ? kLevels[level] : LogLevel::Debug;
    self(user).log_(known, "{}", shown(text, length));
  } catch (...) {  // a message that cannot be formatted is lost
  }
}

uint32_t HostServices::num_threads(void* user) { return self(user).team_->num_threads(); }

int32_t HostServices::parallel(void* user, const tenon_parallel_job* job) {
  const auto refuse = [user](int32_t status, std::string_view text) {
    set_error(user, text.data(), text.size());
    return status;
  };
  if (job == nullptr) return refuse(TENON_BACKEND_ARGUMENT, "parallel: the job is NULL");
  if (job->struct_size < kFirstJobBytes) {
    return refuse(TENON_BACKEND_ARGUMENT, "parallel: struct_size of the job is too small");
  }
  if (job->run == nullptr) return refuse(TENON_BACKEND_ARGUMENT, "parallel: run is NULL");
  JobRun run{job};
  Phases phases;
  phases.num_phases = job->num_phases;
  phases.arg = &run;
  phases.phase = JobRun::phase;
  phases.before_phase = JobRun::before_phase;
  try {
    self(user).team_->run(phases);
  } catch (const Error& error) {
    return refuse(static_cast<int32_t>(error.code()), error.what());
  } catch (const std::exception& error) {
    return refuse(TENON_BACKEND_STATE, error.what());
  } catch (...) {
    return refuse(TENON_BACKEND_INTERNAL, "parallel: the host's executor threw an exception");
  }
  if (!run.threw.load(std::memory_order_relaxed)) return run.stopped;
  return refuse(TENON_BACKEND_INTERNAL, "parallel: the job threw an exception");
}

void HostServices::set_error(void* user, const char* text, uint64_t length) {
  HostServices& host = self(user);
  try {
    std::string kept = shown(text, length);
    const std::lock_guard lock(host.mutex_);
    host.errors_[std::this_thread::get_id()] = std::move(kept);
  } catch (...) {  // no memory for the text: the status must do
  }
}

uint64_t HostServices::cache_get(void* user, const void* key, uint64_t key_size, void* bytes,
                                 uint64_t capacity) {
  if (key == nullptr) return 0;
  const auto kept =
      self(user).options_.kernel_cache->get({static_cast<const std::byte*>(key), key_size});
  if (!kept) return 0;
  if (bytes != nullptr && kept->size() <= capacity) {
    std::memcpy(bytes, kept->data(), kept->size());
  }
  return kept->size();
}

void HostServices::cache_put(void* user, const void* key, uint64_t key_size, const void* bytes,
                             uint64_t size) {
  if (key == nullptr || bytes == nullptr) return;
  self(user).options_.kernel_cache->put({static_cast<const std::byte*>(key), key_size},
                                        {static_cast<const std::byte*>(bytes), size});
}

}  // namespace tenon
