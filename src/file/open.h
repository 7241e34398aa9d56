// Opens a model file of any supported format and gives the common view.
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
  /// Applied in order, after the file's own metadata.
  std::vector<MetadataOverride> overrides;
};

/// Opens a file by path. The path of any part of a split file opens all parts, which must lie in
/// one folder. Reads the header only. Throws Io, Format, Unsupported, Limit, NoMemory; messages
/// begin with the file.
std::shared_ptr<const ModelFile> open_model_file(const std::string& path, OpenOptions options = {});

/// Opens a file from a source, or a split file from all its parts in any order. Memory and host
/// readers must outlive the result.
std::shared_ptr<const ModelFile> open_model_file(
    std::span<const std::shared_ptr<const ByteSource>> sources, OpenOptions options = {});

/// Opens a file from one source.
inline std::shared_ptr<const ModelFile> open_model_file(std::shared_ptr<const ByteSource> source,
                                                        OpenOptions options = {}) {
  return open_model_file(std::span(&source, 1), std::move(options));
}

}  // namespace tenon
