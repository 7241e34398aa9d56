// What the systems of POSIX share: files, libraries, threads and clocks. A system adds its memory
// and what it does better than POSIX.
#pragma once

#include <pthread.h>

#include "base/system.h"

namespace tenon {

class PosixSystem : public System {
 public:
  void* map_pages(uint64_t size_bytes) noexcept override;
  void unmap_pages(void* pages, uint64_t size_bytes) noexcept override;
  int duplicate(int fd) noexcept override;
  int stat(int fd, FileStat& out) noexcept override;
  int64_t read_at(int fd, void* buffer, uint64_t size_bytes, uint64_t offset) noexcept override;
  int close(int fd) noexcept override;
  int create(const char* path) noexcept override;
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
  int start_thread(ThreadHandle& out, uint64_t stack_bytes, void* (*entry)(void*),
                   void* arg) noexcept override;
  void join_thread(ThreadHandle thread) noexcept override;
  uint64_t now_ns() noexcept override;
  uint64_t thread_time_ns() noexcept override;
  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override;
  void release(void* memory, uint64_t size_bytes, uint64_t alignment) noexcept override;
  void* find_symbol(void* library, const char* name) noexcept override;
  void keep_library(const char* path) noexcept override;

 protected:
  /// Extra flags of mmap for map_pages.
  [[nodiscard]] virtual int map_flags() const noexcept { return 0; }
  /// Adds what the system has for a thread of the library to the attributes of a new one.
  virtual void prepare_thread(pthread_attr_t&) noexcept {}

  static uint64_t page_bytes() noexcept;
  static uint64_t round_up(uint64_t value, uint64_t alignment) noexcept {
    return (value + alignment - 1) & ~(alignment - 1);
  }
};

}  // namespace tenon
