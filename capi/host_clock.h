// System with the host's clock; forwards everything else to another System.
#pragma once

#include <atomic>
#include <memory>

#include "base/system.h"
#include "fence.h"
#include "tenon/tenon.h"

namespace tenon::capi {

class HostClock : public System {
 public:
  /// host: has now_ns; outlives this object.
  HostClock(std::shared_ptr<System> rest, const tenon_callbacks& host)
      : rest_(std::move(rest)), host_(host) {}

  uint64_t now_ns() noexcept override {
    uint64_t now = 0;
    const bool told = call_host_quietly([&] { now = host_.now_ns(host_.user); });
    // Repeat the last time: another clock would have another origin.
    if (!told) return last_ns_.load(std::memory_order_relaxed);
    last_ns_.store(now, std::memory_order_relaxed);
    return now;
  }

  void* map_pages(uint64_t size_bytes) noexcept override { return rest_->map_pages(size_bytes); }
  void unmap_pages(void* pages, uint64_t size_bytes) noexcept override {
    rest_->unmap_pages(pages, size_bytes);
  }
  int advise_huge_pages(void* pages, uint64_t size_bytes) noexcept override {
    return rest_->advise_huge_pages(pages, size_bytes);
  }
  int64_t huge_page_bytes(const void* pages, uint64_t size_bytes) noexcept override {
    return rest_->huge_page_bytes(pages, size_bytes);
  }
  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override {
    return rest_->allocate(size_bytes, alignment);
  }
  void release(void* memory, uint64_t size_bytes, uint64_t alignment) noexcept override {
    rest_->release(memory, size_bytes, alignment);
  }
  uint64_t available_memory() noexcept override { return rest_->available_memory(); }
  int open(const char* path, OpenMode mode) noexcept override { return rest_->open(path, mode); }
  int duplicate(int fd) noexcept override { return rest_->duplicate(fd); }
  int stat(int fd, FileStat& out) noexcept override { return rest_->stat(fd, out); }
  int64_t read_at(int fd, void* buffer, uint64_t size_bytes, uint64_t offset) noexcept override {
    return rest_->read_at(fd, buffer, size_bytes, offset);
  }
  int close(int fd) noexcept override { return rest_->close(fd); }
  int create(const char* path) noexcept override { return rest_->create(path); }
  int create_unnamed(const char* folder) noexcept override { return rest_->create_unnamed(folder); }
  int link_unnamed(int fd, const char* path) noexcept override {
    return rest_->link_unnamed(fd, path);
  }
  int64_t write_at(int fd, const void* buffer, uint64_t size_bytes,
                   uint64_t offset) noexcept override {
    return rest_->write_at(fd, buffer, size_bytes, offset);
  }
  int sync(int fd) noexcept override { return rest_->sync(fd); }
  int rename(const char* from, const char* to) noexcept override { return rest_->rename(from, to); }
  int64_t read_link(const char* path, char* target, uint64_t size_bytes) noexcept override {
    return rest_->read_link(path, target, size_bytes);
  }
  int remove(const char* path) noexcept override { return rest_->remove(path); }
  int open_private(const char* path) noexcept override { return rest_->open_private(path); }
  int make_folder(const char* path) noexcept override { return rest_->make_folder(path); }
  int try_lock(int fd) noexcept override { return rest_->try_lock(fd); }
  int unlock(int fd) noexcept override { return rest_->unlock(fd); }
  int touch(int fd) noexcept override { return rest_->touch(fd); }
  void* map_file(int fd, uint64_t offset, uint64_t size_bytes, int& error) noexcept override {
    return rest_->map_file(fd, offset, size_bytes, error);
  }
  void unmap_file(void* pages, uint64_t size_bytes) noexcept override {
    rest_->unmap_file(pages, size_bytes);
  }
  int list_directory(const char* path, void (*visit)(void* user, const char* name),
                     void* user) override {
    return rest_->list_directory(path, visit, user);
  }
  void* load_library(const char* path, const char*& error) noexcept override {
    return rest_->load_library(path, error);
  }
  void unload_library(void* library) noexcept override { rest_->unload_library(library); }
  void* find_symbol(void* library, const char* name) noexcept override {
    return rest_->find_symbol(library, name);
  }
  void keep_library(const char* path) noexcept override { rest_->keep_library(path); }
  int start_thread(ThreadHandle& out, uint64_t stack_bytes, void* (*entry)(void*),
                   void* arg) noexcept override {
    return rest_->start_thread(out, stack_bytes, entry, arg);
  }
  void join_thread(ThreadHandle thread) noexcept override { rest_->join_thread(thread); }
  uint32_t num_usable_cpus() noexcept override { return rest_->num_usable_cpus(); }
  int random_bytes(void* out, uint64_t size_bytes) noexcept override {
    return rest_->random_bytes(out, size_bytes);
  }
  uint64_t thread_time_ns() noexcept override { return rest_->thread_time_ns(); }

 private:
  std::shared_ptr<System> rest_;
  const tenon_callbacks& host_;
  std::atomic<uint64_t> last_ns_{0};  // last time from the host
};

}  // namespace tenon::capi
