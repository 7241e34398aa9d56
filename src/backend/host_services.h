// The host's side of the plugin ABI's service table: memory, log, threads and error texts for a
// model's backend.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "backend/kernel_cache.h"
#include "base/log.h"
#include "base/system.h"
#include "base/thread_team.h"
#include "tenon/backend.h"

namespace tenon {

/// Options that differ between uses of a backend.
struct ServiceOptions {
  /// Cache of compiled kernels; may be null.
  std::shared_ptr<KernelCache> kernel_cache{};
  /// Compiles programs for their sizes only (TENON_PROGRAM_PLAN).
  bool plans_only = false;
};

/// Implements a tenon_host table. Must outlive every device made with it.
class HostServices {
 public:
  HostServices(std::shared_ptr<System> system, Log log, std::shared_ptr<ThreadTeam> team,
               ServiceOptions options = {});
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  [[nodiscard]] const tenon_host& table() const { return table_; }
  [[nodiscard]] ThreadTeam& team() { return *team_; }

  [[nodiscard]] const Log& log() const { return log_; }
  [[nodiscard]] bool plans_only() const { return options_.plans_only; }

  /// Bytes of the large blocks allocated for `purpose`, and the part of them on 2 MiB pages.
  struct PageUse {
    uint64_t bytes = 0;
    uint64_t huge_bytes = 0;
  };
  [[nodiscard]] PageUse page_use(uint32_t purpose);

  /// Returns and clears the text of the calling thread's last failure.
  std::string take_error();

 private:
  static HostServices& self(void* user) { return *static_cast<HostServices*>(user); }
  static void* allocate(void* user, uint64_t size, uint64_t alignment, uint32_t purpose);
  static void release(void* user, void* memory, uint64_t size, uint32_t purpose);
  static void write_log(void* user, uint32_t level, const char* text, uint64_t length);
  static uint32_t num_threads(void* user);
  static int32_t parallel(void* user, const tenon_parallel_job* job);
  static void set_error(void* user, const char* text, uint64_t length);
  static uint64_t cache_get(void* user, const void* key, uint64_t key_size, void* bytes,
                            uint64_t capacity);
  static void cache_put(void* user, const void* key, uint64_t key_size, const void* bytes,
                        uint64_t size);
  /// Handles alignments above the default, which `release` is not told.
  void* allocate_aligned(uint64_t size, uint64_t alignment);
  bool release_aligned(void* memory, uint64_t size);
  void* allocate_pages(uint64_t size, uint32_t purpose);
  /// Releases by the size at allocation, whatever the backend says now. Returns false for foreign
  /// blocks.
  bool release_pages(void* memory);
  void warn_of_small_pages(uint64_t size, uint32_t purpose);

  std::shared_ptr<System> system_;
  Log log_;
  std::shared_ptr<ThreadTeam> team_;  // shared by a model's devices
  ServiceOptions options_;
  tenon_host table_{};
  std::mutex mutex_;
  std::map<std::thread::id, std::string> errors_;
  std::map<const void*, uint64_t> alignments_;
  struct Pages {
    uint64_t size;
    uint32_t purpose;
  };
  std::map<const void*, Pages> pages_;
};

}  // namespace tenon
