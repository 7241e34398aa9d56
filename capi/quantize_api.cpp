// tenon_quantize*.
#include "fence.h"
#include "file/open.h"
#include "model/open_model.h"
#include "quantize/file_types.h"
#include "quantize/quantize.h"
#include "values.h"

using namespace tenon::capi;

namespace {

constexpr uint32_t kFlags = TENON_QUANTIZE_PURE | TENON_QUANTIZE_KEEP_OUTPUT | TENON_QUANTIZE_AGAIN;

tenon::QuantizeOptions options_in(const tenon_quantize_options* given) {
  const auto in = struct_in(given, "tenon_quantize_options");
  check_flags(in.flags, kFlags);
  if (in.threads > tenon::ThreadTeam::kMaxThreads) {
    tenon::fail(tenon::Code::Argument, "threads: {} is not in 0..{}", in.threads,
                tenon::ThreadTeam::kMaxThreads);
  }
  const auto text = [](const char* value) { return std::string(value != nullptr ? value : ""); };
  return {.type = std::string(name_in(in.type, "type")),
          .tensor_formats = text(in.tensor_formats),
          .output_format = text(in.output_format),
          .embedding_format = text(in.embedding_format),
          .pure = (in.flags & TENON_QUANTIZE_PURE) != 0,
          .keep_output = (in.flags & TENON_QUANTIZE_KEEP_OUTPUT) != 0,
          .requantize = (in.flags & TENON_QUANTIZE_AGAIN) != 0,
          .without_importance = (in.flags & TENON_QUANTIZE_WITHOUT_IMPORTANCE) != 0,
          .threads = static_cast<uint32_t>(in.threads)};
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

tenon_status tenon_quantize(const char* path, const char* target,
                            const tenon_quantize_options* options, tenon_progress_callback progress,
                            void* user) {
  return fence([&] {
    tenon::QuantizeOptions in = options_in(options);
    const std::string out(name_in(target, "target"));
    if (progress != nullptr) {
      in.progress = [progress, user](std::string_view, double fraction) {
        return call_host("progress", [&] { return progress(user, fraction); }) == 0;
      };
    }
    tenon::write_quantized(tenon::System::real(), *source_of(path), out, in);
  });
}

tenon_status tenon_quantize_plan(const char* path, const tenon_quantize_options* options,
                                 tenon_tensor_callback visit, void* user) {
  return fence([&] {
    const tenon::QuantizeOptions in = options_in(options);
    if (visit == nullptr) tenon::fail(tenon::Code::Argument, "visit is NULL");
    for (const tenon::TensorChange& each : tenon::plan_quantization(*source_of(path), in)) {
      const tenon_tensor_change change{.struct_size = sizeof change,
                                       .reserved = 0,
                                       .name = each.name.c_str(),
                                       .from = tenon::find_format(each.from)->name,
                                       .to = tenon::find_format(each.to)->name,
                                       .bytes_before = each.bytes_before,
                                       .bytes_after = each.bytes_after};
      if (call_host("visit", [&] { return visit(user, &change); }) != 0) {
        tenon::fail(tenon::Code::Cancelled, "visit ended the plan");
      }
    }
  });
}
