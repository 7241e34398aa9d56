#include "input_files.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "failure.h"
#include "host.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

[[noreturn]] void fail_reading(const std::string& path) {
  throw Failure(path + ": " + std::strerror(errno) + "; check the path and the permissions");
}

// Bound far above any prompt and any list of ids, since devices and pipes may never end.
constexpr size_t kMaxBytes = size_t{256} << 20;

constexpr std::string_view kWhitespace = " \t\r\n\f\v";

}  // namespace

std::string read_file(const std::string& path) {
  errno = 0;
  const std::unique_ptr<std::FILE, CloseFile> file(path == "-" ? stdin : open_file(path, "rb"));
  if (!file) fail_reading(path);
  std::string content;
  std::array<char, 65536> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    if (count > kMaxBytes - content.size()) {
      throw Failure(path + ": holds more than " + std::to_string(kMaxBytes) +
                    " bytes; give a shorter text");
    }
    content.append(buffer.data(), count);
  }
  if (std::ferror(file.get()) != 0) fail_reading(path);
  return content;
}

std::vector<tenon::Token> read_token_ids(const std::string& path) {
  const std::string content = read_file(path);
  std::string_view rest = content;
  std::vector<tenon::Token> ids;
  for (;;) {
    const size_t begin = rest.find_first_not_of(kWhitespace);
    if (begin == std::string_view::npos) return ids;
    rest.remove_prefix(begin);
    const std::string_view word = rest.substr(0, rest.find_first_of(kWhitespace));
    tenon::Token id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc{} || end != word.data() + word.size()) {
      throw Failure(path + ": \"" + printable(word, 32) + "\" after " + std::to_string(ids.size()) +
                    " ids is no token id; write whole numbers separated by spaces");
    }
    ids.push_back(id);
    rest.remove_prefix(word.size());
  }
}

}  // namespace tenon_program
