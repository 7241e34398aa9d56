#include "file/gguf.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/error.h"
#include "base/source_reader.h"
#include "base/utf8.h"
#include "file/gguf_metadata.h"
#include "quant/formats.h"

namespace tenon {
namespace {

// Smallest key and value: length, one byte of key, type, one byte of value.
constexpr uint64_t kMinKeyValueBytes = 8 + 1 + 4 + 1;
// Smallest directory entry: length, one byte of name, rank, one dimension, type, offset.
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

struct Counts {
  uint64_t tensors;
  uint64_t keys;
};

/// Checks a count before allocating for it. Throws Limit for a count beyond any model, Format for a
/// count that the rest of the file cannot hold.
void check_count(const SourceReader& reader, uint64_t count, uint64_t limit,
                 uint64_t min_bytes_each, std::string_view what) {
  if (count > limit) {
    fail(Code::Limit, "{}: number of {} is {}, the limit is {}", reader.name(), what, count, limit);
  }
  if (count > reader.remaining() / min_bytes_each) {
    fail(Code::Format, "{}: ends at byte {} inside the {} {}{}", reader.name(),
         reader.offset() + reader.remaining(), count, what, kCutShort);
  }
}

Counts read_counts(SourceReader& reader) {
  const auto magic = reader.read<uint32_t>("magic");
  if (magic != kGgufMagic) {
    fail(Code::Format, "{}: magic is 0x{:08x}, not that of GGUF", reader.name(), magic);
  }
  const auto version = reader.read<uint32_t>("version");
  if (version != 2 && version != 3) {
    const uint32_t swapped = __builtin_bswap32(version);
    const bool big_endian = swapped >= 1 && swapped <= 0xFFFF;
    const char* advice = big_endian ? " (this is a big-endian file); convert the model again"
                         : version < 2
                             ? "; files of version 1 are of 2023: fetch or convert the model again"
                             : "; a newer version of Tenon may know it";
    fail(Code::Unsupported, "{}: GGUF version {} is not supported, only 2 and 3{}", reader.name(),
         version, advice);
  }
  Counts counts{};
  counts.tensors = reader.read<uint64_t>("number of tensors");
  counts.keys = reader.read<uint64_t>("number of keys");
  check_count(reader, counts.keys, kMaxGgufKeys, kMinKeyValueBytes, "keys");
  check_count(reader, counts.tensors, kMaxGgufTensors, kMinTensorBytes, "tensors");
  return counts;
}

uint64_t read_alignment(const Metadata& metadata) {
  const auto alignment = metadata.get_or<uint32_t>("general.alignment", kDefaultGgufAlignment);
  if (!std::has_single_bit(alignment) || alignment > kMaxGgufAlignment) {
    fail(Code::Format, "{}: key \"general.alignment\": {} is no power of two in 1..{}",
         metadata.file_name(), alignment, kMaxGgufAlignment);
  }
  return alignment;
}

std::string read_tensor_name(SourceReader& reader, uint64_t index) {
  const std::string place = fmt::format("name of tensor {}", index);
  std::string name = read_gguf_string(reader, kMaxGgufTensorNameBytes, place);
  if (name.empty()) fail(Code::Format, "{}: {} is empty", reader.name(), place);
  if (name.find('\0') != name.npos || !is_utf8(name)) {
    fail(Code::Format, "{}: {} {} is not UTF-8 without zero bytes", reader.name(), place,
         quoted(name));
  }
  return name;
}

/// Reads rank and dimensions; GGUF stores the innermost first.
void read_shape(SourceReader& reader, const std::string& what, TensorInfo& tensor) {
  tensor.rank = reader.read<uint32_t>(what);
  if (tensor.rank < 1 || tensor.rank > kMaxTensorRank) {
    fail(Code::Format, "{}: {}: {} dimensions, expected 1..{}", reader.name(), what, tensor.rank,
         kMaxTensorRank);
  }
  tensor.shape.fill(1);
  for (uint32_t i = tensor.rank; i-- > 0;) {
    const auto extent = reader.read<uint64_t>(what);
    if (extent < 1 || extent > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail(Code::Format, "{}: {}: dimension {} is {}", reader.name(), what, tensor.rank - 1 - i,
           static_cast<int64_t>(extent));
    }
    tensor.shape[i] = extent;
  }
}

/// Computes the size of a tensor from format and shape with checked arithmetic.
void read_format(SourceReader& reader, const std::string& what, TensorInfo& tensor) {
  const auto type = reader.read<uint32_t>(what);
  const FormatInfo* format = find_format(type);
  if (format == nullptr || is_memory_format(format->id)) {
    fail(Code::Unsupported,
         "{}: {}: type {} is unknown or was removed from the specification; a newer version of "
         "Tenon "
         "may know it",
         reader.name(), what, type);
  }
  tensor.format = format->id;
  if (tensor.row_values() % format->block_values != 0) {
    fail(Code::Format, "{}: {}: rows of {} values are no whole blocks of {} ({})", reader.name(),
         what, tensor.row_values(), format->block_values, format->name);
  }
  const std::string place = reader.name() + ": " + what;
  uint64_t rows = 1;
  for (uint32_t i = 0; i + 1 < tensor.rank; ++i) rows = checked_mul(rows, tensor.shape[i], place);
  checked_mul(rows, tensor.row_values(), place);
  const uint64_t row_blocks = tensor.row_values() / format->block_values;
  tensor.bytes = checked_mul(checked_mul(row_blocks, format->block_bytes, place), rows, place);
}

TensorInfo read_tensor(SourceReader& reader, uint64_t index, uint64_t alignment) {
  TensorInfo tensor;
  tensor.name = read_tensor_name(reader, index);
  const std::string what = "tensor " + quoted(tensor.name);
  read_shape(reader, what, tensor);
  read_format(reader, what, tensor);
  tensor.offset = reader.read<uint64_t>(what);
  if (tensor.offset % alignment != 0) {
    fail(Code::Format, "{}: {}: offset {} is no multiple of the alignment {}", reader.name(), what,
         tensor.offset, alignment);
  }
  return tensor;
}

/// Makes offsets relative to the source, and checks that each tensor lies in the source and
/// overlaps no other.
void place_tensors(const ByteSource& source, uint64_t data_begin, std::span<TensorInfo> tensors) {
  for (TensorInfo& tensor : tensors) {
    const std::string place = source.name() + ": tensor " + quoted(tensor.name);
    tensor.offset = checked_add(tensor.offset, data_begin, place);
    const uint64_t end = checked_add(tensor.offset, tensor.bytes, place);
    if (end > source.size()) {
      fail(Code::Format,
           "{} ends at byte {} but the file has {}; the download is probably incomplete: fetch the "
           "file again",
           place, end, source.size());
    }
  }
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) { return tensors[i].offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = tensors[order[i - 1]];
    const TensorInfo& tensor = tensors[order[i]];
    if (tensor.offset < before.offset + before.bytes) {
      fail(Code::Format, "{}: tensor {} begins at byte {} inside tensor {}, which ends at {}",
           source.name(), quoted(tensor.name), tensor.offset, quoted(before.name),
           before.offset + before.bytes);
    }
  }
}

/// Checks the padding to the alignment after every tensor, including the last one. A file of
/// metadata alone may lack it.
void check_padding(const ByteSource& source, uint64_t alignment,
                   std::span<const TensorInfo> tensors) {
  uint64_t end = 0;
  for (const TensorInfo& tensor : tensors) end = std::max(end, tensor.offset + tensor.bytes);
  const uint64_t padded = checked_align_up(end, alignment, source.name());
  if (source.size() < padded) {
    fail(Code::Format,
         "{}: ends at byte {} inside the padding up to {}; the download is probably incomplete: "
         "fetch the file again",
         source.name(), source.size(), padded);
  }
}

}  // namespace

GgufContents read_gguf(const ByteSource& source, const std::shared_ptr<System>& system) {
  SourceReader reader(source, system);
  const Counts counts = read_counts(reader);

  GgufContents contents;
  contents.metadata = Metadata(source.name());
  for (uint64_t i = 0; i < counts.keys; ++i) {
    read_gguf_key_value(reader, system, i, contents.metadata);
  }
  const uint64_t alignment = read_alignment(contents.metadata);

  contents.tensors.reserve(counts.tensors);
  for (uint64_t i = 0; i < counts.tensors; ++i) {
    contents.tensors.push_back(read_tensor(reader, i, alignment));
  }
  contents.header_bytes = reader.offset();
  place_tensors(source, checked_align_up(reader.offset(), alignment, source.name()),
                contents.tensors);
  check_padding(source, alignment, contents.tensors);
  return contents;
}

}  // namespace tenon
