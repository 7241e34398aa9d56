// A System whose N-th call fails and which counts held resources. For tests only.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/system.h"

namespace tenon {

/// Forwards every call to the real system, except that call number `fail_at` (from 0, over all
/// calls that can fail) returns its failure: null, or -error. A typical test:
///     for (uint64_t n = 0;; ++n) {
///       auto system = std::make_shared<FaultySystem>(n);
///       try { do_it(system); } catch (const Error&) {}
///       EXPECT_TRUE(system->all_released());
///       if (!system->failed()) break;  // fewer than n calls: every one has failed once
///     }
class FaultySystem : public System {
 public:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  explicit FaultySystem(uint64_t fail_at = kNever, int error = EIO)
      : fail_at_(fail_at), error_(error) {}

  /// Calls so far that could have failed.
  [[nodiscard]] uint64_t num_calls() const { return num_calls_; }
  /// True if the failure has happened.
  [[nodiscard]] bool failed() const { return num_calls_ > fail_at_; }
  /// True if all memory, files, libraries and threads are released.
  [[nodiscard]] bool all_released() const {
    return num_blocks_ == 0 && num_files_ == 0 && num_threads_ == 0 && num_libraries_ == 0;
  }
  /// Sets the result of available_memory().
  void set_available_memory(uint64_t size_bytes) { available_bytes_ = size_bytes; }
  /// Limits the bytes per read.
  void set_longest_read(uint64_t size_bytes) { longest_read_ = size_bytes; }
  /// Limits the bytes per write.
  void set_longest_write(uint64_t size_bytes) { longest_write_ = size_bytes; }
  /// Imitates a file system without unnamed files.
  void set_no_unnamed_files() { no_unnamed_files_ = true; }
  /// Bytes read so far.
  [[nodiscard]] uint64_t bytes_read() const { return bytes_read_; }

  void* map_pages(uint64_t size_bytes) noexcept override {
    if (fails()) return nullptr;
    void* pages = real_->map_pages(size_bytes);
    num_blocks_ += pages != nullptr;
    return pages;
  }
  void unmap_pages(void* pages, uint64_t size_bytes) noexcept override {
    num_blocks_ -= pages != nullptr;
    real_->unmap_pages(pages, size_bytes);
  }
  int advise_huge_pages(void* pages, uint64_t size_bytes) noexcept override {
    return fails() ? -error_ : real_->advise_huge_pages(pages, size_bytes);
  }
  int64_t huge_page_bytes(const void* pages, uint64_t size_bytes) noexcept override {
    return fails() ? -error_ : real_->huge_page_bytes(pages, size_bytes);
  }
  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override {
    if (fails()) return nullptr;
    void* memory = real_->allocate(size_bytes, alignment);
    num_blocks_ += memory != nullptr;
    return memory;
  }
  void release(void* memory, uint64_t size_bytes, uint64_t alignment) noexcept override {
    num_blocks_ -= memory != nullptr;
    real_->release(memory, size_bytes, alignment);
  }
  uint64_t available_memory() noexcept override {
    return available_bytes_ != 0 ? available_bytes_.load() : real_->available_memory();
  }
  int open(const char* path, OpenMode mode) noexcept override {
    return opened(fails() ? -error_ : real_->open(path, mode));
  }
  int duplicate(int fd) noexcept override {
    return opened(fails() ? -error_ : real_->duplicate(fd));
  }
  int stat(int fd, FileStat& out) noexcept override {
    return fails() ? -error_ : real_->stat(fd, out);
  }
  int64_t read_at(int fd, void* buffer, uint64_t size_bytes, uint64_t offset) noexcept override {
    if (fails()) return -error_;
    const int64_t count = real_->read_at(
        fd, buffer, size_bytes < longest_read_ ? size_bytes : longest_read_.load(), offset);
    if (count > 0) bytes_read_ += static_cast<uint64_t>(count);
    return count;
  }
  int close(int fd) noexcept override {
    --num_files_;
    return real_->close(fd);
  }
  int create(const char* path) noexcept override {
    return opened(fails() ? -error_ : real_->create(path));
  }
  int create_unnamed(const char* folder) noexcept override {
    if (no_unnamed_files_) return -EOPNOTSUPP;
    return opened(fails() ? -error_ : real_->create_unnamed(folder));
  }
  int link_unnamed(int fd, const char* path) noexcept override {
    return fails() ? -error_ : real_->link_unnamed(fd, path);
  }
  int64_t write_at(int fd, const void* buffer, uint64_t size_bytes,
                   uint64_t offset) noexcept override {
    if (fails()) return -error_;
    const uint64_t most = longest_write_;
    return real_->write_at(fd, buffer, size_bytes < most ? size_bytes : most, offset);
  }
  int sync(int fd) noexcept override { return fails() ? -error_ : real_->sync(fd); }
  int rename(const char* from, const char* to) noexcept override {
    return fails() ? -error_ : real_->rename(from, to);
  }
  int64_t read_link(const char* path, char* target, uint64_t size_bytes) noexcept override {
    return fails() ? -error_ : real_->read_link(path, target, size_bytes);
  }
  // Cleanup never fails: callers could do nothing about it.
  int remove(const char* path) noexcept override { return real_->remove(path); }
  int open_private(const char* path) noexcept override {
    return opened(fails() ? -error_ : real_->open_private(path));
  }
  int make_folder(const char* path) noexcept override {
    return fails() ? -error_ : real_->make_folder(path);
  }
  int try_lock(int fd) noexcept override { return fails() ? -error_ : real_->try_lock(fd); }
  int unlock(int fd) noexcept override { return real_->unlock(fd); }
  int touch(int fd) noexcept override { return fails() ? -error_ : real_->touch(fd); }
  void* map_file(int fd, uint64_t offset, uint64_t size_bytes, int& error) noexcept override {
    error = -error_;
    if (fails()) return nullptr;
    void* pages = real_->map_file(fd, offset, size_bytes, error);
    num_blocks_ += pages != nullptr;
    return pages;
  }
  void unmap_file(void* pages, uint64_t size_bytes) noexcept override {
    --num_blocks_;
    real_->unmap_file(pages, size_bytes);
  }
  int list_directory(const char* path, void (*visit)(void* user, const char* name),
                     void* user) override {
    return fails() ? -error_ : real_->list_directory(path, visit, user);
  }
  void* load_library(const char* path, const char*& error) noexcept override {
    error = "it was made to fail";
    if (fails()) return nullptr;
    void* library = real_->load_library(path, error);
    num_libraries_ += library != nullptr;
    return library;
  }
  void unload_library(void* library) noexcept override {
    --num_libraries_;
    real_->unload_library(library);
  }
  void* find_symbol(void* library, const char* name) noexcept override {
    return fails() ? nullptr : real_->find_symbol(library, name);
  }
  void keep_library(const char* path) noexcept override { real_->keep_library(path); }
  int start_thread(ThreadHandle& out, uint64_t stack_bytes, void* (*entry)(void*),
                   void* arg) noexcept override {
    if (fails()) return -error_;
    const int result = real_->start_thread(out, stack_bytes, entry, arg);
    num_threads_ += result == 0;
    return result;
  }
  void join_thread(ThreadHandle thread) noexcept override {
    --num_threads_;
    real_->join_thread(thread);
  }
  uint32_t num_usable_cpus() noexcept override { return real_->num_usable_cpus(); }
  uint64_t now_ns() noexcept override { return real_->now_ns(); }
  int random_bytes(void* out, uint64_t size_bytes) noexcept override {
    return real_->random_bytes(out, size_bytes);
  }
  uint64_t thread_time_ns() noexcept override { return real_->thread_time_ns(); }

 private:
  bool fails() { return num_calls_++ == fail_at_; }
  int opened(int fd) {
    num_files_ += fd >= 0;
    return fd;
  }

  std::shared_ptr<System> real_ = System::real();
  uint64_t fail_at_;
  int error_;
  std::atomic<uint64_t> num_calls_{0};
  std::atomic<int64_t> num_blocks_{0};
  std::atomic<int64_t> num_files_{0};
  std::atomic<int64_t> num_threads_{0};
  std::atomic<int64_t> num_libraries_{0};
  std::atomic<uint64_t> available_bytes_{0};
  std::atomic<uint64_t> longest_read_{kNever};
  std::atomic<uint64_t> longest_write_{kNever};
  std::atomic<uint64_t> bytes_read_{0};
  std::atomic<bool> no_unnamed_files_{false};
};

}  // namespace tenon
