#include "backend/host_services.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

/// From here on, memory comes as whole pages, which can be 2 MiB ones; below, from the allocator.
constexpr uint64_t kPagesFrom = uint64_t{1} << 20;
constexpr uint64_t kSmallAlignment = 64;
constexpr uint64_t kPageAlignment = 4096;
/// What a block of this size is aligned to without asking.
constexpr uint64_t usual_alignment(uint64_t size) {
  if (size >= kHugePageBytes) return kHugePageBytes;
  return size >= kPagesFrom ? kPageAlignment : kSmallAlignment;
}
/// Longest error text that is kept: a plugin's text is not trusted.
constexpr uint64_t kMaxErrorBytes = 4096;

}  // namespace

HostServices::HostServices(std::shared_ptr<System> system, Log log,
                           std::unique_ptr<ThreadTeam> team)
    : system_(std::move(system)), log_(log), team_(std::move(team)) {
  table_.struct_size = sizeof(table_);
  table_.user = this;
  table_.allocate = allocate;
  table_.release = release;
  table_.log = write_log;
  table_.num_threads = num_threads;
  table_.parallel = parallel;
  table_.set_error = set_error;
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
  System& system = *self(user).system_;
  if (alignment > usual_alignment(size)) return self(user).allocate_aligned(size, alignment);
  if (size >= kPagesFrom) return self(user).allocate_pages(size, purpose);
  void* memory = system.allocate(size, kSmallAlignment);
  if (memory != nullptr) std::memset(memory, 0, size);
  return memory;
}

void HostServices::release(void* user, void* memory, uint64_t size, uint32_t) {
  if (memory == nullptr || self(user).release_aligned(memory, size)) return;
  System& system = *self(user).system_;
  if (size >= kPagesFrom) {
    const std::lock_guard lock(self(user).mutex_);
    self(user).pages_.erase(memory);
    system.unmap_pages(memory, size);
  } else {
    system.release(memory, size, kSmallAlignment);
  }
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
    self(user).log_(known, "{}", std::string_view(text, length));
  } catch (...) {  // a message that cannot be formatted is lost
  }
}

uint32_t HostServices::num_threads(void* user) { return self(user).team_->num_threads(); }

int32_t HostServices::parallel(void* user, const tenon_parallel_job* job) {
  struct Run {
    const tenon_parallel_job* job;
    int32_t stopped;  // written before a phase, while the other threads wait
  };
  Run run{job, 0};
  Phases phases;
  phases.num_phases = job->num_phases;
  phases.arg = &run;
  phases.phase = [](void* arg, uint32_t phase, uint32_t thread, uint32_t threads) noexcept {
    const tenon_parallel_job& j = *static_cast<const Run*>(arg)->job;
    j.run(j.arg, phase, thread, threads);
  };
  if (job->before_phase != nullptr) {
    phases.before_phase = [](void* arg, uint32_t phase) noexcept {
      auto* r = static_cast<Run*>(arg);
      r->stopped = r->job->before_phase(r->job->arg, phase);
      return r->stopped == 0;
    };
  }
  try {
    self(user).team_->run(phases);
    return run.stopped;
  } catch (const std::exception& error) {
    set_error(user, error.what(), std::strlen(error.what()));
    return -1;
  }
}

void HostServices::set_error(void* user, const char* text, uint64_t length) {
  HostServices& host = self(user);
  try {
    const std::lock_guard lock(host.mutex_);
    host.errors_[std::this_thread::get_id()] =
        std::string(text, length < kMaxErrorBytes ? length : kMaxErrorBytes);
  } catch (...) {  // without memory for the text, the status alone has to do
  }
}

}  // namespace tenon
