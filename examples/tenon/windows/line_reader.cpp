// Lines of a console, which edits them itself and remembers them.
#include "line_reader.h"

#include <iostream>

#include "host.h"
#include "terminal.h"
#include "windows_api.h"

namespace tenon_program {
namespace {

/// A line of the console as UTF-8. Ctrl-C ends it with ERROR_OPERATION_ABORTED, Ctrl-Z at its start
/// ends the input.
std::optional<std::string> console_line(bool& interrupted) {
  constexpr wchar_t kEndOfInput = 0x1a;
  const HANDLE console = ::GetStdHandle(STD_INPUT_HANDLE);
  std::wstring line;
  while (!line.ends_with(L'\n')) {
    wchar_t part[1024];
    DWORD count = 0;
    ::SetLastError(ERROR_SUCCESS);
    if (!::ReadConsoleW(console, part, static_cast<DWORD>(std::size(part)), &count, nullptr)) {
      return std::nullopt;
    }
    interrupted = ::GetLastError() == ERROR_OPERATION_ABORTED;
    if (interrupted) return "";
    if (count == 0 || (line.empty() && part[0] == kEndOfInput)) return std::nullopt;
    line.append(part, count);
  }
  while (line.ends_with(L'\n') || line.ends_with(L'\r')) line.pop_back();
  return text_of(std::filesystem::path(line));
}

}  // namespace

class LineReader::Editor {};

LineReader::LineReader() = default;
LineReader::~LineReader() = default;

std::optional<std::string> LineReader::read(const std::string& prompt) {
  return read_plain(prompt);
}

std::optional<std::string> LineReader::read_plain(const std::string& prompt) {
  if (stdout_is_terminal()) print(styled(stdout_style(), Style::Prompt, prompt));
  flush();
  interrupted_ = false;
  if (is_terminal(Stream::Input)) {
    const std::optional<std::string> line = console_line(interrupted_);
    if (interrupted_) print("\n");
    return line;
  }
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

void LineReader::remember(const std::string&) {}

}  // namespace tenon_program
