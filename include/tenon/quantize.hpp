// Model files with their matrices in formats of fewer bits.
#pragma once

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <tenon/error.hpp>
#include <tenon/progress.hpp>
#include <utility>
#include <vector>

namespace tenon {
inline namespace v1 {

struct QuantizeOptions {
  /// Type of the file: "Q4_K_M"; quantize_types() lists all.
  std::string type = "Q4_K_M";
  /// Formats of single matrices, as lines PATTERN=FORMAT; tenon.h, section 17, has the rules.
  std::string formats{};
  bool pure = false;                ///< one format for all matrices
  bool keep_output = false;         ///< leaves the output matrix as it is
  bool again = false;               ///< accepts matrices that are quantised already
  bool without_importance = false;  ///< accepts types that need an importance matrix
  uint32_t threads = 0;             ///< 0: all that the process may use
  /// Returns false to cancel; it may throw.
  std::function<bool(double fraction)> progress{};
};

/// A tensor before and after.
struct TensorChange {
  std::string name;
  std::string from;  ///< name of a format: "f16"
  std::string to;
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
};

namespace detail {

inline uint32_t quantize_flags(const QuantizeOptions& options) {
  return (options.pure ? TENON_QUANTIZE_PURE : 0) |
         (options.keep_output ? TENON_QUANTIZE_KEEP_OUTPUT : 0) |
         (options.again ? TENON_QUANTIZE_AGAIN : 0) |
         (options.without_importance ? TENON_QUANTIZE_WITHOUT_IMPORTANCE : 0);
}

}  // namespace detail

/// Writes the GGUF file `target` from the GGUF file `path`; tenon.h, section 17, has the rules and
/// the errors.
inline void quantize(const std::string& path, const std::string& target,
                     const QuantizeOptions& options = {}) {
  detail::Progress progress{options.progress};
  const tenon_status status =
      tenon_quantize(path.c_str(), target.c_str(), options.type.c_str(), options.formats.c_str(),
                     detail::quantize_flags(options), options.threads,
                     options.progress ? &detail::Progress::call : nullptr, &progress);
  progress.check(status);
}

/// Format and size of each tensor; writes nothing.
inline std::vector<TensorChange> quantize_plan(const std::string& path,
                                               const QuantizeOptions& options = {}) {
  // Room for most models, whose file is then opened once.
  std::string text(size_t{1} << 16, '\0');
  for (bool fits = false; !fits;) {
    size_t length = 0;
    check(tenon_quantize_plan(path.c_str(), options.type.c_str(), options.formats.c_str(),
                              detail::quantize_flags(options), text.data(), text.size(), &length));
    fits = length <= text.size();
    text.resize(length);
  }
  std::vector<TensorChange> changes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    TensorChange change;
    std::getline(parts, change.name, '\t');
    parts >> change.from >> change.to >> change.bytes_before >> change.bytes_after;
    changes.push_back(std::move(change));
  }
  return changes;
}

inline std::vector<std::string> quantize_types() {
  std::vector<std::string> names;
  while (const char* name = tenon_quantize_type(names.size())) names.emplace_back(name);
  return names;
}

}  // namespace v1
}  // namespace tenon
