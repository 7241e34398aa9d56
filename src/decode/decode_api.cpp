// C interface of the decoders: tenon/media.h.
#include <tenon/media.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "capi/host_struct.h"
#include "capi/last_error.h"
#include "decode/decode.h"

struct tenon_decoded {
  tenon::decoding::Decoded decoded;
};

namespace {

using namespace tenon::decoding;
using tenon::Code;
using tenon::Error;

constinit thread_local tenon::capi::LastError<Error> decode_error;

Limits limits_of(const tenon_decode_options* options) {
  Limits limits;
  if (options == nullptr) return limits;
  const auto given =
      tenon::capi::host_struct_in(options, "tenon_decode_options", tenon::capi::kRefuse<Error>);
  if (given.max_side != 0) limits.max_side = std::min<uint64_t>(given.max_side, INT32_MAX);
  if (given.max_pixels != 0) limits.max_pixels = std::min(given.max_pixels, uint64_t{1} << 40);
  if (given.max_samples != 0) limits.max_samples = std::min(given.max_samples, uint64_t{1} << 40);
  return limits;
}

Bytes bytes_of(const void* bytes, size_t size) {
  if (bytes == nullptr) tenon::fail(Code::Argument, "bytes is NULL");
  return {static_cast<const std::byte*>(bytes), size};
}

void write_decode_info(const Info& info, tenon_decode_info* into) {
  tenon_decode_info told{};
  told.kind = static_cast<uint32_t>(info.kind);
  told.format = info.format;
  told.width = info.width;
  told.height = info.height;
  told.channels = info.channels;
  const bool is_picture = info.kind == Kind::Picture;
  told.orientation = is_picture ? info.orientation : 0;
  told.is_animated = info.is_animated ? 1 : 0;
  told.rate = info.rate;
  told.frames = info.frames;
  told.bytes = info.values() * (is_picture ? 1 : sizeof(float));
  tenon::capi::host_struct_out(told, into, "tenon_decode_info", tenon::capi::kRefuse<Error>);
}

}  // namespace

tenon_status tenon_decode_inspect(const void* bytes, size_t size,
                                  const tenon_decode_options* options, tenon_decode_info* info) {
  return decode_error.fence([&] {
    const Limits limits = limits_of(options);
    (void)tenon::capi::host_struct_size(info, "tenon_decode_info", tenon::capi::kRefuse<Error>);
    write_decode_info(inspect(bytes_of(bytes, size), limits), info);
  });
}

tenon_status tenon_decode(const void* bytes, size_t size, const tenon_decode_options* options,
                          tenon_decoded** decoded) {
  return decode_error.fence([&] {
    if (decoded == nullptr) tenon::fail(Code::Argument, "decoded is NULL");
    const Limits limits = limits_of(options);
    auto made = std::make_unique<tenon_decoded>();
    made->decoded = decode(bytes_of(bytes, size), limits);
    *decoded = made.release();
  });
}

tenon_status tenon_decode_get_info(const tenon_decoded* decoded, tenon_decode_info* info) {
  return decode_error.fence([&] {
    if (decoded == nullptr) tenon::fail(Code::Argument, "decoded is NULL");
    write_decode_info(decoded->decoded.info, info);
  });
}

const uint8_t* tenon_decode_pixels(const tenon_decoded* decoded) {
  const bool is_picture = decoded != nullptr && decoded->decoded.info.kind == Kind::Picture;
  return is_picture ? decoded->decoded.pixels() : nullptr;
}

const float* tenon_decode_samples(const tenon_decoded* decoded) {
  const bool is_sound = decoded != nullptr && decoded->decoded.info.kind == Kind::Sound;
  return is_sound ? decoded->decoded.samples() : nullptr;
}

void tenon_decode_destroy(tenon_decoded* decoded) { delete decoded; }

const char* tenon_decode_last_error(void) { return decode_error.text(); }
