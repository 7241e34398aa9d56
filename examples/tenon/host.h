// What the program needs of its operating system. Words and paths are UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon_program {

/// Prepares the standard streams (bytes pass unchanged; a closed pipe is an error, not a signal) and
/// returns the words after the program's name.
std::vector<std::string> begin_program(int argc, char** argv);

enum class Stream { Input, Output, Errors };
bool is_terminal(Stream stream);
/// True if the stream is a terminal that shows colours.
bool shows_colours(Stream stream);
/// Width of the terminal at standard output; 0 without a terminal.
size_t width_of_terminal();

/// Standard input as far as it can be told before reading.
enum class InputKind { Terminal, FileOrPipe, Other };
InputKind kind_of_input();
/// Waits until standard input has bytes or ends, at most `milliseconds`; false if neither happened.
bool wait_for_input(int milliseconds);

/// Opens a file as std::fopen does; null with errno on failure.
std::FILE* open_file(const std::string& path, const char* mode);
std::filesystem::path path_of(const std::string& text);
std::string text_of(const std::filesystem::path& path);

std::tm local_time_of(std::time_t time);

/// Calls `handler` at Ctrl-C during its lifetime; reads of standard input then end early. The
/// handler runs in a signal handler or on another thread. One object at a time, besides those that
/// it replaces for a while.
class OnInterrupt {
 public:
  explicit OnInterrupt(void (*handler)());
  ~OnInterrupt();
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;

 private:
  void (*before_)();
};

/// Zero-filled memory, aligned to 2 MiB and on huge pages where the system has them.
class HugeBlock {
 public:
  /// Throws Failure.
  explicit HugeBlock(size_t size);
  ~HugeBlock();
  HugeBlock(const HugeBlock&) = delete;
  HugeBlock& operator=(const HugeBlock&) = delete;
  [[nodiscard]] char* data() const { return data_; }

 private:
  char* base_ = nullptr;
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tenon_program
