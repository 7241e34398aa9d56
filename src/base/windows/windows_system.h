// The system calls of Windows. A descriptor is the value of a HANDLE.
#pragma once

#include "base/system.h"

namespace tenon {

class WindowsSystem : public System {
 public:
  void* map_pages(uint64_t size_bytes) noexcept override;
  void unmap_pages(void* pages, uint64_t size_bytes) noexcept override;
  int advise_huge_pages(void* pages, uint64_t size_bytes) noexcept override;
  int64_t huge_page_bytes(const void* pages, uint64_t size_bytes) noexcept override;
  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override;
  void release(void* memory, uint64_t size_bytes, uint64_t alignment) noexcept override;
  uint64_t available_memory() noexcept override;
  int open(const char* path, OpenMode mode) noexcept override;
  int duplicate(int fd) noexcept override;
  int stat(int fd, FileStat& out) noexcept override;
  int64_t read_at(int fd, void* buffer, uint64_t size_bytes, uint64_t offset) noexcept override;
  int close(int fd) noexcept override;
  int create(const char* path) noexcept override;
  int create_unnamed(const char* folder) noexcept override;
  int link_unnamed(int fd, const char* path) noexcept override;
  int64_t write_at(int fd, const void* buffer, uint64_t size_bytes,
                   uint64_t offset) noexcept override;
  int sync(int fd) noexcept override;
  int rename(const char* from, const char* to) noexcept override;
  int64_t read_link(const char* path, char* target, uint64_t size_bytes) noexcept override;
  int remove(const char* path) noexcept override;
  int open_private(const char* path) noexcept override;
  int make_folder(const char* path) noexcept override;
  int try_lock(int fd) noexcept override;
  int unlock(int fd) noexcept override;
  int touch(int fd) noexcept override;
  void* map_file(int fd, uint64_t offset, uint64_t size_bytes, int& error) noexcept override;
  void unmap_file(void* pages, uint64_t size_bytes) noexcept override;
  int list_directory(const char* path, void (*visit)(void* user, const char* name),
                     void* user) override;
  void* load_library(const char* path, const char*& error) noexcept override;
  void unload_library(void* library) noexcept override;
  void* find_symbol(void* library, const char* name) noexcept override;
  void keep_library(const char* path) noexcept override;
  int start_thread(ThreadHandle& out, uint64_t stack_bytes, void* (*entry)(void*),
                   void* arg) noexcept override;
  void join_thread(ThreadHandle thread) noexcept override;
  uint32_t num_usable_cpus() noexcept override;
  uint64_t now_ns() noexcept override;
  int random_bytes(void* out, uint64_t size_bytes) noexcept override;
  uint64_t thread_time_ns() noexcept override;

 protected:
  /// Reserves a block as map_pages does, and commits it if asked to.
  static void* map_aligned(uint64_t size_bytes, bool commit) noexcept;
};

}  // namespace tenon
