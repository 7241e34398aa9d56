// A small valid GGUF file with values of every type, and ways to open bytes. For tests only.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "file/open.h"
#include "tests/file/gguf_writer.h"

namespace tenon {

using Bytes = std::vector<std::byte>;

/// Bytes 0, 1, 2, ..., n of them.
inline Bytes counting_bytes(size_t n) {
  Bytes bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

/// Values of every type, and three tensors: "a" [3, 2] f32, "b" [2, 32] q8_0, "c" [5] f16.
inline GgufWriter sample_gguf() {
  GgufWriter writer;
  writer.add("general.architecture", "llama");
  writer.add("u8", uint8_t{200}).add("i8", int8_t{-100});
  writer.add("u16", uint16_t{60000}).add("i16", int16_t{-30000});
  writer.add("u32", uint32_t{4000000000}).add("i32", int32_t{-2000000000});
  writer.add("u64", ~uint64_t{0}).add("i64", std::numeric_limits<int64_t>::min());
  writer.add("f32", 1.5f).add("f64", -2.25).add("bool", true).add("string", "text");
  writer.add("empty", "");
  writer.add("array.u8", std::vector<uint8_t>{1, 255}).add("array.i8", std::vector<int8_t>{-1});
  writer.add("array.u16", std::vector<uint16_t>{2}).add("array.i16", std::vector<int16_t>{-2});
  writer.add("array.u32", std::vector<uint32_t>{3, 4}).add("array.i32", std::vector<int32_t>{-3});
  writer.add("array.u64", std::vector<uint64_t>{5}).add("array.i64", std::vector<int64_t>{-5});
  writer.add("array.f32", std::vector<float>{0.5f}).add("array.f64", std::vector<double>{0.25});
  writer.add("array.bool", std::vector<bool>{true, false});
  writer.add("array.string", std::vector<std::string>{"one", "", "three"});
  writer.add("array.empty", std::vector<uint32_t>{});
  writer.add("array.no_strings", std::vector<std::string>{});
  writer.add_tensor("a", {3, 2}, Format::F32, counting_bytes(24));
  writer.add_tensor("b", {2, 32}, Format::Q8_0, counting_bytes(68));
  writer.add_tensor("c", {5}, Format::F16, counting_bytes(10));
  return writer;
}

inline std::shared_ptr<const ModelFile> open_bytes(const Bytes& bytes, OpenOptions options = {}) {
  return open_model_file(ByteSource::from_memory(bytes, "test.gguf"), std::move(options));
}

}  // namespace tenon
