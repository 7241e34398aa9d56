// Fuzz target: any bytes restored as a session. The first byte says what of them is mended first
// (bit 0: the fingerprint of the model, bit 1: the checksum), so that what comes after both is
// reached, and whether the text alone will do (bit 2). Only Error and std::bad_alloc may come out,
// and what was restored must be computable.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "engine/session.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

/// Its backend describes itself in the same words on every machine, as the seeds do.
std::shared_ptr<Engine> make_engine() {
  TinyModel tiny;
  tiny.layers = 1;
  tiny.width = 32;
  tiny.heads = 1;
  tiny.key_dim = tiny.value_dim = 8;
  tiny.feed_forward = 32;
  tiny.vocab = 260;
  tiny.formats = {Format::F32};
  ModelOptions options;
  options.threads = 1;
  options.backend = "reference";
  return tiny_engine(tiny, std::move(options));
}

void mend(std::vector<std::byte>& bytes, uint8_t how, const Hash128& model) {
  if ((how & 1) != 0 && bytes.size() >= 32) {
    std::memcpy(bytes.data() + 16, &model.low, 8);
    std::memcpy(bytes.data() + 24, &model.high, 8);
  }
  if ((how & 2) == 0 || bytes.size() < 16) return;
  const Hash128 sum = hash_bytes(std::span(bytes).first(bytes.size() - 16));
  std::memcpy(bytes.data() + bytes.size() - 16, &sum.low, 8);
  std::memcpy(bytes.data() + bytes.size() - 8, &sum.high, 8);
}

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  static const std::shared_ptr<Engine> engine = make_engine();
  if (size == 0) return 0;
  const auto given = std::as_bytes(std::span(data + 1, size - 1));
  std::vector<std::byte> bytes(given.begin(), given.end());
  mend(bytes, data[0], engine->snapshot_identity().model);
  Session session(engine, SessionOptions{128});
  try {
    session.restore(*ByteSource::from_memory(bytes, "fuzz"), (data[0] & 4) != 0);
  } catch (const Error&) {
    if (session.position() != 0) __builtin_trap();
    return 0;
  } catch (const std::bad_alloc&) {
    return 0;
  }
  try {
    if (session.position() > 0) (void)session.logits();
  } catch (const Error& error) {
    if (error.code() != Code::State) __builtin_trap();  // values that are no numbers
  }
  return 0;
}
