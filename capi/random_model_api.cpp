// tenon_random_model_*.
#include "fence.h"
#include "quantize/file_types.h"
#include "random_model/random_model.h"
#include "random_model/random_shapes.h"
#include "values.h"

using namespace tenon::capi;

const char* tenon_random_model_shape(size_t index) {
  const auto shapes = tenon::random_shapes();
  return index < shapes.size() ? shapes[index].name : nullptr;
}

const char* tenon_random_model_format(size_t index) {
  for (const tenon::FormatInfo& info : tenon::kFormats) {
    if (info.encode_row == nullptr || !info.weight || tenon::is_memory_format(info.id)) continue;
    if (index-- == 0) return info.name;
  }
  for (const tenon::FileType& type : tenon::file_types()) {
    if (type.is_mix() && index-- == 0) return type.name;
  }
  return nullptr;
}

tenon_status tenon_random_model_write(const char* path, const char* shape, const char* format,
                                      uint64_t seed, tenon_progress_callback progress, void* user) {
  return fence([&] {
    tenon::RandomModelOptions options{seed, {}};
    if (progress != nullptr) {
      options.progress = [progress, user](double fraction) {
        return call_host("progress", [&] { return progress(user, fraction); }) == 0;
      };
    }
    tenon::write_random_model(tenon::System::real(), std::string(name_in(path, "path")),
                              name_in(shape, "shape"), name_in(format, "format"), options);
  });
}
