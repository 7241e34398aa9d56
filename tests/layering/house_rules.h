// The rules of the house that a program can check: who may include whom, words that must not
// appear, the size of files. Reads source text only; builds nothing.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "layering/source_scan.h"

namespace tenon::layering {

/// One offence.
struct Finding {
  std::string path;
  size_t line = 0;  ///< 0: the file as a whole
  std::string text;
};

/// Rooms by floor, counted from the ground.
class Floors {
 public:
  /// text: one floor a line, rooms side by side on it, '#' starts a comment (cmake/floors.txt).
  static Floors parse(std::string_view text);

  [[nodiscard]] bool has(std::string_view room) const { return floor_.contains(room); }
  /// Whether a file of `room` may include a header of `other`.
  [[nodiscard]] bool may_include(std::string_view room, std::string_view other) const;
  [[nodiscard]] std::vector<std::string> rooms() const;

 private:
  std::map<std::string, size_t, std::less<>> floor_;
};

/// Every source file under src, capi, include, examples, tests and bench of `root`, sorted by path;
/// by the ending of their names.
std::vector<SourceFile> read_tree(const std::filesystem::path& root);

/// The offences in `files`.
std::vector<Finding> check_house(const std::vector<SourceFile>& files, const Floors& floors);

}  // namespace tenon::layering
