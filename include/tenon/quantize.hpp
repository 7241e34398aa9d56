// Model files with their matrices in formats of fewer bits.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
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
  /// Formats of single matrices, as lines PATTERN=FORMAT. The first PATTERN, a regular expression,
  /// that is found in a tensor's name decides.
  std::string tensor_formats{};
  std::string output_format{};      ///< of the output matrix; empty: as the type says
  std::string embedding_format{};   ///< of the embedding; empty: as the type says
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

inline tenon_quantize_options quantize_options(const QuantizeOptions& options) {
  tenon_quantize_options out{};
  out.struct_size = sizeof out;
  out.type = options.type.c_str();
  out.tensor_formats = options.tensor_formats.c_str();
  out.output_format = options.output_format.c_str();
  out.embedding_format = options.embedding_format.c_str();
  out.threads = options.threads;
  if (options.pure) out.flags |= TENON_QUANTIZE_PURE;
  if (options.keep_output) out.flags |= TENON_QUANTIZE_KEEP_OUTPUT;
  if (options.again) out.flags |= TENON_QUANTIZE_AGAIN;
  if (options.without_importance) out.flags |= TENON_QUANTIZE_WITHOUT_IMPORTANCE;
  return out;
}

/// Collects what tenon_quantize_plan reports.
struct TensorChanges {
  std::vector<TensorChange> list{};
  std::exception_ptr thrown{};

  static int32_t add(void* user, const tenon_tensor_change* change) noexcept {
    auto* self = static_cast<TensorChanges*>(user);
    try {
      self->list.push_back(
          {change->name, change->from, change->to, change->bytes_before, change->bytes_after});
      return 0;
    } catch (...) {
      self->thrown = std::current_exception();
      return 1;
    }
  }
};

}  // namespace detail

/// Writes the GGUF file `target` from the GGUF file `path`; tenon.h, section 17, has the rules and
/// the errors.
inline void quantize(const std::string& path, const std::string& target,
                     const QuantizeOptions& options = {}) {
  detail::Progress progress{options.progress};
  const tenon_quantize_options in = detail::quantize_options(options);
  const tenon_status status =
      tenon_quantize(path.c_str(), target.c_str(), &in,
                     options.progress ? &detail::Progress::call : nullptr, &progress);
  progress.check(status);
}

/// Format and size of each tensor; writes nothing.
inline std::vector<TensorChange> quantize_plan(const std::string& path,
                                               const QuantizeOptions& options = {}) {
  const tenon_quantize_options in = detail::quantize_options(options);
  detail::TensorChanges changes;
  const tenon_status status =
      tenon_quantize_plan(path.c_str(), &in, &detail::TensorChanges::add, &changes);
  if (changes.thrown) std::rethrow_exception(changes.thrown);
  check(status);
  return std::move(changes.list);
}

inline std::vector<std::string> quantize_types() {
  std::vector<std::string> names;
  while (const char* name = tenon_quantize_type(names.size())) names.emplace_back(name);
  return names;
}

}  // namespace v1
}  // namespace tenon
