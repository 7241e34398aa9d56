#include "text_rows.h"

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "failure.h"
#include "host.h"
#include "input_files.h"
#include "terminal.h"

namespace tenon_program {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

constexpr std::string_view kWhitespace = " \t\r\f\v";

[[noreturn]] void fail_writing(const std::string& path) {
  throw Failure(path + ": writing failed: " + std::strerror(errno) +
                "; make room or choose another --output");
}

}  // namespace

std::vector<std::string> read_lines(const std::string& path) {
  const std::string content = read_file(path);
  std::vector<std::string> lines;
  std::string_view rest = content;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.emplace_back(line);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  if (lines.empty()) throw Failure(path + ": holds no text; write one a line");
  return lines;
}

std::vector<std::vector<tenon::Token>> read_token_lines(const std::string& path) {
  std::vector<std::vector<tenon::Token>> texts;
  for (const std::string& line : read_lines(path)) {
    std::vector<tenon::Token>& ids = texts.emplace_back();
    std::string_view rest = line;
    for (;;) {
      const size_t begin = rest.find_first_not_of(kWhitespace);
      if (begin == rest.npos) break;
      rest.remove_prefix(begin);
      const std::string_view word = rest.substr(0, rest.find_first_of(kWhitespace));
      tenon::Token id = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
      if (error != std::errc{} || end != word.data() + word.size()) {
        throw Failure(path + ": line " + std::to_string(texts.size()) + ": \"" +
                      printable(word, 32) + "\" is no token id; write whole numbers");
      }
      ids.push_back(id);
      rest.remove_prefix(word.size());
    }
  }
  return texts;
}

std::string number_text(float value) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::string(text.data(), end) : std::string("0");
}

void write_rows(const std::string& path, std::span<const float> values) {
  std::FILE* const file = open_file(path, "wb");
  if (file == nullptr) fail_writing(path);
  const bool wrote =
      std::fwrite(values.data(), sizeof(float), values.size(), file) == values.size() &&
      std::fflush(file) == 0;
  std::fclose(file);
  if (wrote) return;
  std::error_code ignored;
  // Keep devices (/dev/null, /dev/stdout).
  if (std::filesystem::is_regular_file(path_of(path), ignored))
    std::filesystem::remove(path_of(path), ignored);
  fail_writing(path);
}

}  // namespace tenon_program
