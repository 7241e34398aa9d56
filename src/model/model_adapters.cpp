#include "model/model_adapters.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "arch/adapter/merged_model.h"
#include "base/error.h"

namespace tenon {
namespace {

/// Splits "PATH:SCALE". A colon without a number after it is part of the path.
std::string path_of_adapter(const std::string& text, float& scale) {
  const size_t colon = text.rfind(':');
  if (colon != text.npos && colon + 1 < text.size()) {
    const char* end = text.data() + text.size();
    float number = 0;
    const auto read = std::from_chars(text.data() + colon + 1, end, number);
    if (read.ec == std::errc() && read.ptr == end && std::isfinite(number)) {
      scale = number;
      return text.substr(0, colon);
    }
  }
  return text;
}

}  // namespace

std::shared_ptr<const ModelFile> with_merged_adapters(std::shared_ptr<const ModelFile> file,
                                                      const ModelOptions& options) {
  if (options.merged_adapters.empty()) return file;
  std::vector<ScaledAdapter> adapters;
  for (const std::string& text : options.merged_adapters) {
    ScaledAdapter& one = adapters.emplace_back();
    const std::string path = path_of_adapter(text, one.scale);
    if (path.empty()) {
      fail(Code::Argument, "merged_adapters: \"{}\" has no path before the colon", text);
    }
    one.adapter = read_adapter(path, *file, options.system);
    options.log(LogLevel::Info, "{}: merged with scale {}: {} changes, {} replaced tensors", path,
                one.scale, one.adapter->changes.size(), one.adapter->replaced.size());
  }
  return merge_adapters(file, adapters);
}

}  // namespace tenon
