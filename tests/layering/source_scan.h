// Reads C and C++ source the way the house rules need it: lines, includes, and code without
// comments and literals. Knows nothing of the rules.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::layering {

struct Include {
  size_t line = 0;      ///< counted from 1
  bool quoted = false;  ///< "name" rather than <name>
  std::string name;
};

struct SourceFile {
  std::string path;  ///< from the project root, with '/'
  std::vector<std::string> lines;
  std::vector<std::string> code;  ///< the lines with comments and literals blanked out
  std::vector<Include> includes;
};

/// Splits `text` into the parts above.
SourceFile scan_source(std::string path, std::string_view text);

/// Where `word` stands in `code` as a whole identifier, from `start` on; npos when nowhere.
size_t find_identifier(std::string_view code, std::string_view word, size_t start = 0);

}  // namespace tenon::layering
