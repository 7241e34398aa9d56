// A session as bytes: its tokens and their cache. Session::save writes them, Session::restore reads
// them; the caller stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/hash.h"
#include "model/model.h"

namespace tenon {

/// Properties that must match between saving and restoring.
struct SnapshotIdentity {
  /// Model::fingerprint.
  Hash128 model;
  /// Backend, device, type and geometry of the cache, as text for messages.
  std::string cache;
};

SnapshotIdentity snapshot_identity(const Model& model);

/// A snapshot, little-endian:
///   0   "TENONSES"
///   8   u32 version, 4
///   12  u32 0x01020304, byte order mark
///   16  u128 SnapshotIdentity::model, low half first
///   32  u64 tokens
///   40  u64 of these, generated since the text last changed otherwise
///   48  u64 of these, covered by the saved blocks
///   56  u32 positions in a block
///   60  u32 bytes of SnapshotIdentity::cache, which follows
/// Then follow: i64 seed of the answer, or -1; u64 number of source tokens and those tokens, i32;
/// the tokens, i32; the pieces of Engine::read_piece, without gaps; the XXH3-128 of all bytes
/// before. Source rows are not saved but encoded again. Version 3 has no seed; version 2 also has
/// no source. Only full blocks are saved: later tokens are computed again, and no rows of other
/// texts can leak.
struct SnapshotHeader {
  static constexpr uint64_t kFixedBytes = 64;
  static constexpr uint64_t kMaxCacheText = 4096;
  static constexpr uint32_t kVersion = 4;
  static constexpr uint32_t kOldestVersion = 2;
  static constexpr uint32_t kSourceVersion = 3;

  Hash128 model;
  uint64_t num_source_tokens = 0;
  uint64_t num_tokens = 0;
  uint64_t num_generated = 0;
  uint64_t position = 0;
  uint32_t block_tokens = 0;
  std::string cache;
  int64_t seed = -1;  ///< seed of the answer at the end of the text
};

/// Receives the bytes of a snapshot piece by piece; an exception ends the saving.
using SnapshotSink = std::function<void(std::span<const std::byte>)>;

}  // namespace tenon
