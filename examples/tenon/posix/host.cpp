#include "host.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "failure.h"

namespace tenon_program {
namespace {

void (*at_interrupt)() = nullptr;

void interrupted(int) {
  if (at_interrupt != nullptr) at_interrupt();
}

struct sigaction first_action {};

int descriptor_of(Stream stream) { return static_cast<int>(stream); }

}  // namespace

std::vector<std::string> begin_program(int argc, char** argv) {
  // Ignore SIGPIPE: a closed pipe then fails write(), which ends the work in an orderly way.
  (void)::signal(SIGPIPE, SIG_IGN);
  return {argv + (argc > 0 ? 1 : 0), argv + argc};
}

bool is_terminal(Stream stream) { return isatty(descriptor_of(stream)) == 1; }

bool shows_colours(Stream stream) {
  if (!is_terminal(stream)) return false;
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

size_t width_of_terminal() {
  winsize size{};
  if (!is_terminal(Stream::Output) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

InputKind kind_of_input() {
  struct stat kind {};
  if (is_terminal(Stream::Input) || fstat(STDIN_FILENO, &kind) != 0) return InputKind::Terminal;
  const bool has_end = S_ISREG(kind.st_mode) || S_ISFIFO(kind.st_mode);
  return has_end ? InputKind::FileOrPipe : InputKind::Other;
}

bool wait_for_input(int milliseconds) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, milliseconds) != 0;
}

std::FILE* open_file(const std::string& path, const char* mode) {
  return std::fopen(path.c_str(), mode);
}

std::filesystem::path path_of(const std::string& text) { return text; }
std::string text_of(const std::filesystem::path& path) { return path.string(); }

std::tm local_time_of(std::time_t time) {
  std::tm parts{};
  (void)localtime_r(&time, &parts);
  return parts;
}

OnInterrupt::OnInterrupt(void (*handler)()) : before_(at_interrupt) {
  at_interrupt = handler;
  struct sigaction action {};
  action.sa_handler = interrupted;  // without SA_RESTART, so that a read ends
  sigaction(SIGINT, &action, before_ == nullptr ? &first_action : nullptr);
}

OnInterrupt::~OnInterrupt() {
  if (before_ == nullptr) sigaction(SIGINT, &first_action, nullptr);
  at_interrupt = before_;
}

HugeBlock::HugeBlock(size_t size) {
  constexpr size_t kHugePage = size_t{2} << 20;
  size_ = size + kHugePage;
  void* pages = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw Failure("no memory to measure the stream read; free 1 GiB");
  base_ = static_cast<char*>(pages);
#ifdef MADV_HUGEPAGE  // macOS chooses sizes of pages by itself
  (void)madvise(base_, size_, MADV_HUGEPAGE);
#endif
  data_ = base_ + (kHugePage - reinterpret_cast<uintptr_t>(base_) % kHugePage) % kHugePage;
}

HugeBlock::~HugeBlock() { munmap(base_, size_); }

}  // namespace tenon_program
