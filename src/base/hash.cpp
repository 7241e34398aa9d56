#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace tenon {

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.low64, hash.high64};
}

struct Hasher::State {
  State() : xxh(XXH3_createState()) {
    if (xxh == nullptr) throw std::bad_alloc();
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  XXH3_state_t* xxh;
};

Hasher::Hasher(uint64_t seed) : state_(std::make_unique<State>()) {
  XXH3_128bits_reset_withSeed(state_->xxh, seed);
}

Hasher::~Hasher() = default;

void Hasher::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

Hash128 Hasher::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
  return {hash.low64, hash.high64};
}

}  // namespace tenon
