#include "weights/foreign/group_reader.h"

#include <algorithm>
#include <utility>

#include "quant/formats.h"

namespace tenon::foreign {
namespace {

/// The format of the largest block that divides the groups; nothing for others.
std::optional<Format> format_of(uint64_t columns, const CodeGroups& groups) {
  if (groups.scale_type != ElementType::F16 && groups.scale_type != ElementType::BF16) {
    return std::nullopt;  // a head has 24 bits of the scale
  }
  const auto fits = [&](Format format) {
    const uint64_t block = find_format(format)->block_values;
    return columns % block == 0 && (groups.count == 1 || groups.size % block == 0);
  };
  const bool has_zero = groups.second == GroupSecond::Zero;
  std::vector<Format> formats;
  if (groups.bits > 4) {
    formats = {has_zero ? Format::U8G32 : Format::U8P32};
  } else if (has_zero) {
    formats = {Format::U4G128, Format::U4G64, Format::U4G32};
  } else {
    formats = {Format::U4P64, Format::U4P32};
  }
  const auto found = std::ranges::find_if(formats, fits);
  return found == formats.end() ? std::nullopt : std::optional(*found);
}

/// One row.
struct RowOfGroups {
  const uint8_t* codes;
  const float* scales;
  const float* seconds;
};

template <typename Block>
void put_row(const RowOfGroups& row, uint64_t columns, uint64_t group, bool is_bias,
             std::byte* out) {
  for (uint64_t c = 0; c < columns; c += Block::kValues, out += sizeof(Block)) {
    const uint64_t g = c / group;
    Block block;
    if constexpr (Block::kHeads == 1) {
      put_word(block.heads, code_head(row.scales[g], static_cast<uint8_t>(row.seconds[g])));
    } else {
      put_word(block.heads, code_head(row.scales[g], is_bias ? 0 : 1));
      put_word(block.heads + 4, std::bit_cast<uint32_t>(row.seconds[g]));
    }
    put_codes(row.codes + c, block);
    std::memcpy(out, &block, sizeof(block));
  }
}

using PutRow = void (*)(const RowOfGroups&, uint64_t, uint64_t, bool, std::byte*);

PutRow put_row_of(Format format) {
  switch (format) {
    case Format::U4G32:
      return put_row<BlockU4G32>;
    case Format::U4G64:
      return put_row<BlockU4G64>;
    case Format::U4G128:
      return put_row<BlockU4G128>;
    case Format::U8G32:
      return put_row<BlockU8G32>;
    case Format::U4P32:
      return put_row<BlockU4P32>;
    case Format::U4P64:
      return put_row<BlockU4P64>;
    default:
      return put_row<BlockU8P32>;
  }
}

}  // namespace

GroupReader::GroupReader(MatrixSize size, const CodeGroups& groups, std::vector<uint32_t> index)
    : RowReader(size), groups_(groups), index_(std::move(index)) {
  if (index_.empty()) format_ = format_of(size.columns, groups);
}

template <typename Use>
void GroupReader::each_row(uint64_t first, uint64_t count, Use use) const {
  const uint64_t columns = size().columns;
  const uint64_t band = std::min(count, kGroupBand);
  std::vector<uint8_t> codes(band * columns);
  std::vector<float> scales(band * groups_.count);
  std::vector<float> seconds(band * groups_.count);
  for (uint64_t done = 0; done < count; done += band) {
    const uint64_t rows = std::min(band, count - done);
    read_groups(first + done, rows, codes.data(), scales.data(), seconds.data());
    for (uint64_t i = 0; i < rows; ++i) {
      use(done + i, RowOfGroups{codes.data() + i * columns, scales.data() + i * groups_.count,
                                seconds.data() + i * groups_.count});
    }
  }
}

void GroupReader::read_rows(uint64_t first, uint64_t count, float* out) const {
  const uint64_t columns = size().columns;
  const bool is_bias = groups_.second == GroupSecond::Bias;
  each_row(first, count, [&](uint64_t i, const RowOfGroups& row) {
    float* values = out + i * columns;
    const auto decode = [&](uint64_t c, uint64_t g) {
      const auto code = static_cast<float>(row.codes[c]);
      values[c] =
          is_bias ? code * row.scales[g] + row.seconds[g] : (code - row.seconds[g]) * row.scales[g];
    };
    if (!index_.empty()) {
      for (uint64_t c = 0; c < columns; ++c) decode(c, index_[c]);
      return;
    }
    for (uint64_t g = 0, c = 0; g < groups_.count; ++g) {
      const uint64_t end = std::min(columns, (g + 1) * groups_.size);
      for (; c < end; ++c) decode(c, g);
    }
  });
}

void GroupReader::read_blocks(uint64_t first, uint64_t count, std::byte* out) const {
  const FormatInfo& format = *find_format(*format_);
  const uint64_t columns = size().columns;
  const uint64_t bytes = columns / format.block_values * format.block_bytes;
  const PutRow put = put_row_of(*format_);
  const uint64_t group = groups_.count == 1 ? columns : groups_.size;
  each_row(first, count, [&](uint64_t i, const RowOfGroups& row) {
    put(row, columns, group, groups_.second == GroupSecond::Bias, out + i * bytes);
  });
}

}  // namespace tenon::foreign
