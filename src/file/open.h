// Opening a model file of any supported kind: finds out what it is and gives the common view.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/system.h"
#include "file/model_file.h"

namespace tenon {

struct OpenOptions {
  std::shared_ptr<System> system = System::real();
  /// Applied in order after the file's own metadata.
  std::vector<MetadataOverride> overrides;
};

/// Opens a file by path. For a split file, the path of any part opens all of them, which must lie
/// beside it. Reads the header only. Throws Io, Format, Unsupported, Limit, NoMemory; the message
/// begins with the file.
std::shared_ptr<const ModelFile> open_model_file(const std::string& path, OpenOptions options = {});

/// The same from sources: one, or all parts of a split file in any order. Memory and host readers
/// must outlive the result.
std::shared_ptr<const ModelFile> open_model_file(
    std::span<const std::shared_ptr<const ByteSource>> sources, OpenOptions options = {});

/// The same from one source.
inline std::shared_ptr<const ModelFile> open_model_file(std::shared_ptr<const ByteSource> source,
                                                        OpenOptions options = {}) {
  return open_model_file(std::span(&source, 1), std::move(options));
}

}  // namespace tenon
