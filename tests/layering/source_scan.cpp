#include "layering/source_scan.h"

#include <cctype>
#include <optional>
#include <utility>

namespace tenon::layering {
namespace {

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// Length of the literal or comment that starts at text[i]; 0 when none does.
size_t skipped_length(std::string_view text, size_t i) {
  const std::string_view rest = text.substr(i);
  const auto up_to = [&](std::string_view end, size_t from) {
    const size_t at = rest.find(end, from);
    return at == std::string_view::npos ? rest.size() : at + end.size();
  };
  if (rest.starts_with("//")) return up_to("\n", 2) - (rest.find('\n') != rest.npos ? 1 : 0);
  if (rest.starts_with("/*")) return up_to("*/", 2);
  if (rest.starts_with("R\"") && (i == 0 || !is_identifier(text[i - 1]))) {
    const size_t open = rest.find('(');
    if (open == std::string_view::npos) return rest.size();
    return up_to(")" + std::string(rest.substr(2, open - 2)) + "\"", open);
  }
  // 1'000 is a number, not a character.
  const bool character = rest[0] == '\'' && (i == 0 || !is_identifier(text[i - 1]));
  if (rest[0] != '"' && !character) return 0;
  size_t end = 1;
  while (end < rest.size() && rest[end] != rest[0] && rest[end] != '\n') {
    end += rest[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, rest.size());
}

std::string blank_out(std::string_view text) {
  std::string code(text);
  for (size_t i = 0; i < text.size();) {
    const size_t length = skipped_length(text, i);
    for (size_t j = i; j < i + length; ++j) {
      if (code[j] != '\n') code[j] = ' ';
    }
    i += length == 0 ? 1 : length;
  }
  return code;
}

std::optional<Include> read_include(std::string_view line, std::string_view code, size_t number) {
  const size_t hash = code.find_first_not_of(" \t");
  if (hash == std::string_view::npos || code[hash] != '#') return std::nullopt;
  const size_t word = code.find_first_not_of(" \t", hash + 1);
  if (word == std::string_view::npos || !code.substr(word).starts_with("include")) {
    return std::nullopt;
  }
  const size_t open = line.find_first_of("\"<", word);
  if (open == std::string_view::npos) return std::nullopt;
  const bool quoted = line[open] == '"';
  const size_t close = line.find(quoted ? '"' : '>', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return Include{number, quoted, std::string(line.substr(open + 1, close - open - 1))};
}

}  // namespace

SourceFile scan_source(std::string path, std::string_view text) {
  SourceFile file{std::move(path), split_lines(text), split_lines(blank_out(text)), {}};
  for (size_t i = 0; i < file.lines.size(); ++i) {
    if (auto include = read_include(file.lines[i], file.code[i], i + 1)) {
      file.includes.push_back(std::move(*include));
    }
  }
  return file;
}

size_t find_identifier(std::string_view code, std::string_view word, size_t start) {
  for (size_t at = code.find(word, start); at != std::string_view::npos;
       at = code.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !is_identifier(code[at - 1]);
    if (starts && (end == code.size() || !is_identifier(code[end]))) return at;
  }
  return std::string_view::npos;
}

}  // namespace tenon::layering
