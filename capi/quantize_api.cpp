// tenon_quantize*.
#include <fmt/format.h>

#include "base/thread_team.h"
#include "fence.h"
#include "file/open.h"
#include "model/open_model.h"
#include "quantize/file_types.h"
#include "quantize/quantize.h"
#include "values.h"

using namespace tenon::capi;

namespace {

constexpr uint32_t kFlags = TENON_QUANTIZE_PURE | TENON_QUANTIZE_KEEP_OUTPUT |
                            TENON_QUANTIZE_AGAIN | TENON_QUANTIZE_WITHOUT_IMPORTANCE;

tenon::QuantizeOptions options_in(const char* type, const char* formats, uint32_t flags) {
  check_flags(flags, kFlags);
  return {.type = std::string(name_in(type, "type")),
          .formats = std::string(formats != nullptr ? formats : ""),
          .pure = (flags & TENON_QUANTIZE_PURE) != 0,
          .keep_output = (flags & TENON_QUANTIZE_KEEP_OUTPUT) != 0,
          .requantize = (flags & TENON_QUANTIZE_AGAIN) != 0,
          .without_importance = (flags & TENON_QUANTIZE_WITHOUT_IMPORTANCE) != 0};
}

std::shared_ptr<const tenon::ModelFile> source_of(const char* path) {
  const std::string name(name_in(path, "path"));
  const auto system = tenon::System::real();
  if (!tenon::folder_of(name, *system).empty()) {
    tenon::fail(tenon::Code::Unsupported,
                "{}: a Hugging Face folder is not quantised to a GGUF file yet", name);
  }
  return tenon::open_model_file(name, {system, {}});
}

}  // namespace

const char* tenon_quantize_type(size_t index) {
  const auto types = tenon::file_types();
  return index < types.size() ? types[index].name : nullptr;
}

tenon_status tenon_quantize(const char* path, const char* target, const char* type,
                            const char* formats, uint32_t flags, uint64_t threads,
                            tenon_progress_callback progress, void* user) {
  return fence([&] {
    tenon::QuantizeOptions options = options_in(type, formats, flags);
    const std::string out(name_in(target, "target"));
    if (threads > tenon::ThreadTeam::kMaxThreads) {
      tenon::fail(tenon::Code::Argument, "threads: {} is not in 0..{}", threads,
                  tenon::ThreadTeam::kMaxThreads);
    }
    options.threads = static_cast<uint32_t>(threads);
    if (progress != nullptr) {
      options.progress = [progress, user](std::string_view, double fraction) {
        return call_host("progress", [&] { return progress(user, fraction); }) == 0;
      };
    }
    tenon::write_quantized(tenon::System::real(), *source_of(path), out, options);
  });
}

tenon_status tenon_quantize_plan(const char* path, const char* type, const char* formats,
                                 uint32_t flags, char* text, size_t capacity, size_t* length) {
  return fence([&] {
    const tenon::QuantizeOptions options = options_in(type, formats, flags);
    std::string lines;
    for (const tenon::TensorChange& each : tenon::plan_quantization(*source_of(path), options)) {
      lines += fmt::format("{}\t{}\t{}\t{}\t{}\n", each.name, tenon::find_format(each.from)->name,
                           tenon::find_format(each.to)->name, each.bytes_before, each.bytes_after);
    }
    fill_buffer(std::span<const char>(lines), text, capacity, length);
  });
}
