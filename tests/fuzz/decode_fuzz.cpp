// Fuzz target: any bytes as a file, through the whole decoding. Only Error and std::bad_alloc may come
// out, and what comes out is no larger than told.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/error.h"
#include "decode/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::decoding;
  Limits limits;
  limits.max_pixels = 1 << 20;
  limits.max_samples = 1 << 20;
  try {
    const Decoded decoded = decode(std::as_bytes(std::span(data, size)), limits);
    const size_t bytes = decoded.info.kind == Kind::Picture ? 1 : sizeof(float);
    if (decoded.data.size() < decoded.info.values() * bytes) std::abort();
    if (decoded.info.values() > uint64_t{4} << 20) std::abort();
  } catch (const tenon::Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
