#include "host.h"

#include <fcntl.h>
#include <io.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "failure.h"
#include "windows_api.h"

namespace tenon_program {
namespace {

std::atomic<void (*)()> at_interrupt{nullptr};

BOOL WINAPI console_event(DWORD event) {
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) return FALSE;
  void (*const handler)() = at_interrupt.load();
  if (handler == nullptr) return FALSE;
  handler();
  return TRUE;
}

HANDLE handle_of(Stream stream) {
  constexpr std::array kHandles = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
  return ::GetStdHandle(kHandles[static_cast<size_t>(stream)]);
}

std::string utf8(const wchar_t* text) {
  const int size = ::WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<size_t>(size), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text, -1, out.data(), size, nullptr, nullptr);
  out.resize(out.size() - 1);  // the terminating zero
  return out;
}

std::wstring wide(const std::string& text) {
  const int size = static_cast<int>(text.size());
  std::wstring out(
      static_cast<size_t>(::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0)), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, out.data(), static_cast<int>(out.size()));
  return out;
}

/// A path beyond 260 characters becomes absolute, with the prefix that lifts the limit.
std::wstring wide_path(const std::string& path) {
  constexpr size_t kShortPath = 240;
  std::wstring given = wide(path);
  if (given.size() < kShortPath || given.starts_with(L"\\\\")) return given;
  std::wstring full(::GetFullPathNameW(given.c_str(), 0, nullptr, nullptr), L'\0');
  full.resize(
      ::GetFullPathNameW(given.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr));
  return L"\\\\?\\" + full;
}

}  // namespace

std::vector<std::string> begin_program(int, char**) {
  for (const Stream stream : {Stream::Input, Stream::Output, Stream::Errors}) {
    (void)::_setmode(static_cast<int>(stream), _O_BINARY);
  }
  // The console takes and shows UTF-8 while the program runs.
  (void)::SetConsoleOutputCP(CP_UTF8);
  (void)::SetConsoleCP(CP_UTF8);
  (void)::SetConsoleCtrlHandler(console_event, TRUE);
  int count = 0;
  wchar_t** const words = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  std::vector<std::string> out;
  for (int i = 1; i < count; ++i) out.push_back(utf8(words[i]));
  ::LocalFree(words);
  return out;
}

bool is_terminal(Stream stream) {
  DWORD mode = 0;
  return ::GetConsoleMode(handle_of(stream), &mode) != 0;
}

bool shows_colours(Stream stream) {
  DWORD mode = 0;
  const HANDLE console = handle_of(stream);
  if (::GetConsoleMode(console, &mode) == 0) return false;
  return ::SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

size_t width_of_terminal() {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (!::GetConsoleScreenBufferInfo(handle_of(Stream::Output), &info)) return 0;
  return static_cast<size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

InputKind kind_of_input() {
  if (is_terminal(Stream::Input)) return InputKind::Terminal;
  switch (::GetFileType(handle_of(Stream::Input))) {
    case FILE_TYPE_DISK:
    case FILE_TYPE_PIPE:
      return InputKind::FileOrPipe;
    case FILE_TYPE_CHAR:
      return InputKind::Other;
    default:
      return InputKind::Terminal;  // there is no input
  }
}

bool wait_for_input(int milliseconds) {
  const HANDLE input = handle_of(Stream::Input);
  if (::GetFileType(input) != FILE_TYPE_PIPE) return true;
  constexpr int kStep = 10;
  for (int waited = 0;; waited += kStep) {
    DWORD bytes = 0;
    if (!::PeekNamedPipe(input, nullptr, 0, nullptr, &bytes, nullptr) || bytes > 0) return true;
    if (waited >= milliseconds) return false;
    ::Sleep(kStep);
  }
}

std::FILE* open_file(const std::string& path, const char* mode) {
  return ::_wfopen(wide_path(path).c_str(), wide(mode).c_str());
}

std::filesystem::path path_of(const std::string& text) { return wide_path(text); }
std::string text_of(const std::filesystem::path& path) { return utf8(path.c_str()); }

std::tm local_time_of(std::time_t time) {
  std::tm parts{};
  (void)::localtime_s(&parts, &time);
  return parts;
}

OnInterrupt::OnInterrupt(void (*handler)()) : before_(at_interrupt.exchange(handler)) {}
OnInterrupt::~OnInterrupt() { at_interrupt = before_; }

HugeBlock::HugeBlock(size_t size) {
  constexpr size_t kHugePage = size_t{2} << 20;
  size_ = size + kHugePage;
  void* const pages = ::VirtualAlloc(nullptr, size_, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (pages == nullptr) throw Failure("no memory to measure the stream read; free 1 GiB");
  base_ = static_cast<char*>(pages);
  data_ = base_ + (kHugePage - reinterpret_cast<uintptr_t>(base_) % kHugePage) % kHugePage;
}

HugeBlock::~HugeBlock() { ::VirtualFree(base_, 0, MEM_RELEASE); }

}  // namespace tenon_program
