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
  /// Type of the file: "Q4_K_M"; quantize_types() lists all. Empty: every tensor keeps its format.
  std::string type = "Q4_K_M";
  /// Formats of single matrices, as lines PATTERN=FORMAT; tenon.h, section 17, has the rules.
  std::string formats{};
  bool pure = false;                ///< one format for all matrices
  bool keep_output = false;         ///< leaves the output matrix as it is
  bool again = false;               ///< accepts matrices that are quantised already
  bool without_importance = false;  ///< accepts such types without an importance matrix
  std::string importance{};         ///< path of an importance matrix, or empty
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

/// Points into `options`, which must stay as it is.
inline tenon_quantize_options quantize_options(const QuantizeOptions& options) {
  tenon_quantize_options out{};
  out.struct_size = sizeof out;
  out.flags = (options.pure ? TENON_QUANTIZE_PURE : 0) |
              (options.keep_output ? TENON_QUANTIZE_KEEP_OUTPUT : 0) |
              (options.again ? TENON_QUANTIZE_AGAIN : 0) |
              (options.without_importance ? TENON_QUANTIZE_WITHOUT_IMPORTANCE : 0);
  out.type = options.type.empty() ? nullptr : options.type.c_str();
  out.formats = options.formats.c_str();
  out.importance = options.importance.empty() ? nullptr : options.importance.c_str();
  out.threads = options.threads;
  return out;
}

}  // namespace detail

/// Writes the GGUF file `target` from the GGUF file or folder `path`; tenon.h, section 17, has the rules and
/// the errors.
inline void quantize(const std::string& path, const std::string& target,
                     const QuantizeOptions& options = {}) {
  detail::Progress progress{options.progress};
  const tenon_quantize_options known = detail::quantize_options(options);
  progress.check(tenon_quantize(path.c_str(), target.c_str(), &known,
                                options.progress ? &detail::Progress::call : nullptr, &progress));
}

/// Format and size of each tensor; writes nothing.
inline std::vector<TensorChange> quantize_plan(const std::string& path,
                                               const QuantizeOptions& options = {}) {
  const tenon_quantize_options known = detail::quantize_options(options);
  // Room for most models, whose file is then opened once.
  std::string text(size_t{1} << 16, '\0');
  for (bool fits = false; !fits;) {
    size_t length = 0;
    check(tenon_quantize_plan(path.c_str(), &known, text.data(), text.size(), &length));
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

struct ImportanceOptions {
  bool parse_special = false;  ///< the text may spell control tokens
  bool with_output = false;    ///< also the output matrix
  uint64_t chunk_tokens = 0;   ///< 0: 512; each part of the text is computed by itself
  uint64_t max_chunks = 0;     ///< 0: all
  std::string dataset{};       ///< name of the text, kept in the file
  std::string add_to{};        ///< path of a matrix to which the text is added, or empty
  ModelOptions model{};        ///< to compute: device, threads
  /// Returns false to cancel; it may throw.
  std::function<bool(double fraction)> progress{};
};

/// Computes the model `path` on a text and writes its importance matrix to `target`; tenon.h,
/// section 17, has the rules and the errors.
inline void write_importance(const std::string& path, std::string_view text,
                             const std::string& target, const ImportanceOptions& options = {}) {
  detail::Progress progress{options.progress};
  tenon_importance_options known{};
  known.struct_size = sizeof known;
  known.flags = (options.parse_special ? TENON_IMPORTANCE_SPECIAL : 0) |
                (options.with_output ? TENON_IMPORTANCE_OUTPUT : 0);
  known.chunk_tokens = options.chunk_tokens;
  known.max_chunks = options.max_chunks;
  known.dataset = options.dataset.empty() ? nullptr : options.dataset.c_str();
  known.add_to = options.add_to.empty() ? nullptr : options.add_to.c_str();
  progress.check(tenon_importance_write(
      path.c_str(), Options(options.model).get(), text.data(), text.size(), target.c_str(), &known,
      options.progress ? &detail::Progress::call : nullptr, &progress));
}

inline std::vector<std::string> quantize_types() {
  std::vector<std::string> names;
  while (const char* name = tenon_quantize_type(names.size())) names.emplace_back(name);
  return names;
}

}  // namespace v1
}  // namespace tenon
