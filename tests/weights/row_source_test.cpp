// Row sources: every way to assemble a matrix from tensors, against the result by hand.
#include "weights/row_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "file/open.h"
#include "quant/f16.h"
#include "tests/base/expect_error.h"
#include "tests/engine/tiny_model.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A file of two tensors [6, 4] of f32 (row r, column c is 10 r + c; the second adds 100), one [2,
/// 96] of q8_0 and one [3, 2500] of f16.
class RowSources : public testing::Test {
 protected:
  RowSources() {
    GgufWriter writer;
    std::vector<float> values;
    for (int row = 0; row < 6; ++row) {
      for (int column = 0; column < 4; ++column) {
        values.push_back(static_cast<float>(10 * row + column));
      }
    }
    writer.add_tensor("a", {6, 4}, values);
    for (float& value : values) value += 100;
    writer.add_tensor("b", {6, 4}, values);
    std::vector<float> ramp(2 * 96);
    std::iota(ramp.begin(), ramp.end(), 0.0f);
    std::vector<std::byte> blocks(2 * 3 * 34);
    find_format(Format::Q8_0)->encode_row(ramp.data(), blocks.data(), ramp.size());
    writer.add_tensor("q", {2, 96}, Format::Q8_0, blocks);
    std::vector<float> wide(3 * 2500);
    for (size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<float>(i % 1999);
    std::vector<std::byte> halves(wide.size() * 2);
    find_format(Format::F16)->encode_row(wide.data(), halves.data(), wide.size());
    writer.add_tensor("h", {3, 2500}, Format::F16, halves);
    file_ = open_model_file(std::make_shared<OwnedSource>(writer.finish()), {});
  }

  [[nodiscard]] RowSource tensor(const char* name) const { return RowSource(*file_->find(name)); }

  /// All rows, read at once and again two at a time: equal bytes.
  [[nodiscard]] std::vector<std::byte> bytes(const RowSource& source) const {
    std::vector<std::byte> all(source.num_rows() * source.row_bytes());
    source.read(*file_, 0, source.num_rows(), all);
    std::vector<std::byte> pieces;
    for (uint64_t row = 0; row < source.num_rows(); row += 2) {
      const uint64_t count = std::min<uint64_t>(2, source.num_rows() - row);
      std::vector<std::byte> piece(count * source.row_bytes());
      source.read(*file_, row, count, piece);
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(pieces, all);
    return all;
  }

  [[nodiscard]] std::vector<float> floats(const RowSource& source) const {
    EXPECT_EQ(source.format(), Format::F32);
    const std::vector<std::byte> raw = bytes(source);
    std::vector<float> values(raw.size() / sizeof(float));
    std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }

  std::shared_ptr<const ModelFile> file_;
};

TEST_F(RowSources, AWholeTensorIsItsBytes) {
  for (const TensorInfo& info : file_->tensors()) {
    std::vector<std::byte> expected(info.bytes);
    file_->read(info, 0, expected);
    EXPECT_EQ(bytes(RowSource(info)), expected) << info.name;
  }
}

TEST_F(RowSources, RowsOfRows) {
  const RowSource part = tensor("a").rows(1, 4).rows(2, 2);
  EXPECT_EQ(part.num_rows(), 2u);
  EXPECT_THAT(floats(part), ElementsAre(30, 31, 32, 33, 40, 41, 42, 43));
}

TEST_F(RowSources, StacksAndCutsAcrossTheSeam) {
  const RowSource parts[] = {tensor("a").rows(4, 2), tensor("b").rows(0, 3)};
  const RowSource stack = RowSource::stacked(parts);
  EXPECT_EQ(stack.num_rows(), 5u);
  EXPECT_THAT(floats(stack.rows(1, 2)), ElementsAre(50, 51, 52, 53, 100, 101, 102, 103));
  EXPECT_THAT(floats(stack.rows(3, 2)), ElementsAre(110, 111, 112, 113, 120, 121, 122, 123));
}

TEST_F(RowSources, ColumnsOfFloatsAndOfBlocks) {
  EXPECT_THAT(floats(tensor("a").columns(1, 2).rows(0, 3)), ElementsAre(1, 2, 11, 12, 21, 22));
  const RowSource middle = tensor("q").columns(32, 32);
  EXPECT_EQ(middle.row_bytes(), 34u);
  const std::vector<std::byte> whole = bytes(tensor("q"));
  std::vector<std::byte> expected(whole.begin() + 34, whole.begin() + 68);
  expected.insert(expected.end(), whole.begin() + 4 * 34, whole.begin() + 5 * 34);
  EXPECT_EQ(bytes(middle), expected);
  expect_error(Code::Unsupported, testing::AllOf(HasSubstr("\"q\""), HasSubstr("16..47")),
               [&] { (void)tensor("q").columns(16, 32); });
}

TEST_F(RowSources, SpreadsColumns) {
  const RowSource apart = tensor("a").rows(1, 3).spread(3);
  EXPECT_EQ(apart.num_columns(), 10u);
  EXPECT_THAT(floats(apart.rows(0, 1)), ElementsAre(10, 0, 0, 11, 0, 0, 12, 0, 0, 13));
  EXPECT_THAT(floats(tensor("a").rows(5, 1).spread(1)), ElementsAre(50, 51, 52, 53));
  EXPECT_EQ(apart.stored(0, 1), std::nullopt);
  EXPECT_EQ(apart.place(1, 6).column, 2u);
  const std::vector<float> plain = floats(tensor("q").decoded());
  const std::vector<float> wide = floats(tensor("q").spread(2));
  ASSERT_EQ(wide.size(), 2u * 191);
  for (size_t i = 0; i < 96; ++i) EXPECT_EQ(wide[191 + 2 * i], plain[96 + i]);
}

TEST_F(RowSources, FillsColumns) {
  const RowSource filled = tensor("a").rows(0, 3).filled(2, 0.5f);
  EXPECT_EQ(filled.num_rows(), 3u);
  EXPECT_THAT(floats(filled), ElementsAre(0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f));
  EXPECT_EQ(filled.stored(0, 1), std::nullopt);
  EXPECT_EQ(floats(tensor("a").transposed().filled(5, 2.0f)), std::vector<float>(20, 2.0f));
}

TEST_F(RowSources, TakesRowsThatComeInTurn) {
  const RowSource column = tensor("a").columns(0, 1);  // 0, 10, ... 50
  EXPECT_THAT(floats(column.in_turn(1, 3, 1)), ElementsAre(10, 40));
  EXPECT_THAT(floats(column.in_turn(1, 3, 2)), ElementsAre(20, 30));
  EXPECT_THAT(floats(column.in_turn(0, 2, 1)), ElementsAre(0, 20, 40));
  EXPECT_THAT(floats(column.in_turn(0, 2, 1).rows(1, 2)), ElementsAre(20, 40));
  EXPECT_THAT(floats(column.in_turn(1, 2, 3)), ElementsAre(30, 40, 50));
  EXPECT_THAT(floats(column.rows(2, 4).in_turn(1, 2, 1)), ElementsAre(30, 50));
  const RowSource twice[] = {column, column};
  EXPECT_THAT(floats(RowSource::stacked(twice).in_turn(1, 2, 2)),
              ElementsAre(20, 30, 0, 10, 40, 50));
}

TEST_F(RowSources, TransposesAndSplitsTheTranspose) {
  const RowSource turned = tensor("a").transposed();
  EXPECT_EQ(turned.num_rows(), 4u);
  EXPECT_EQ(turned.num_columns(), 6u);
  EXPECT_THAT(floats(turned.rows(2, 2)), ElementsAre(2, 12, 22, 32, 42, 52, 3, 13, 23, 33, 43, 53));
  EXPECT_THAT(floats(turned.rows(3, 1).columns(4, 2)), ElementsAre(43, 53));
  // Longer than a piece, and still in its own format.
  const std::vector<std::byte> there = bytes(tensor("h").transposed());
  const std::vector<std::byte> whole = bytes(tensor("h"));
  for (size_t row = 0; row < 3; ++row) {
    for (size_t column = 0; column < 2500; ++column) {
      EXPECT_EQ(there[(column * 3 + row) * 2], whole[(row * 2500 + column) * 2]);
    }
  }
  expect_error(Code::Unsupported, HasSubstr("\"q\""), [&] { (void)tensor("q").transposed(); });
}

TEST_F(RowSources, TransposesBlocksOnceTheyAreDecoded) {
  const std::vector<float> plain = floats(tensor("q").decoded());
  const RowSource turned = tensor("q").decoded().transposed();
  EXPECT_EQ(turned.num_rows(), 96u);
  EXPECT_EQ(turned.num_columns(), 2u);
  // Rows that begin and end inside blocks.
  const std::vector<float> some = floats(turned.rows(29, 40));
  ASSERT_EQ(some.size(), 80u);
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(some[2 * i], plain[29 + i]);
    EXPECT_EQ(some[2 * i + 1], plain[96 + 29 + i]);
  }
}

TEST_F(RowSources, BecomeOneRow) {
  const RowSource row = tensor("a").as_row();
  EXPECT_EQ(row.num_rows(), 1u);
  EXPECT_EQ(row.num_columns(), 24u);
  EXPECT_EQ(floats(row), floats(tensor("a")));
  EXPECT_EQ(bytes(tensor("q").as_row()), bytes(tensor("q")));
  const RowSource::Place place = row.place(0, 9);
  EXPECT_EQ(place.row, 2u);
  EXPECT_EQ(place.column, 1u);
  expect_error(Code::Internal, HasSubstr("whole"), [&] { (void)tensor("a").rows(0, 2).as_row(); });
}

TEST_F(RowSources, DecodesAndAdds) {
  const std::vector<float> plain = floats(tensor("q").decoded());
  EXPECT_EQ(plain.size(), 2u * 96);
  EXPECT_NEAR(plain[191], 191, 1);
  const std::vector<float> more = floats(tensor("q").plus(1));
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(more[i], plain[i] + 1.0f);
  const std::vector<float> wide = floats(tensor("h").plus(1).rows(1, 2));
  for (size_t i = 0; i < wide.size(); ++i) {
    EXPECT_EQ(wide[i], static_cast<float>((i + 2500) % 1999) + 1.0f);
  }
  EXPECT_THAT(floats(tensor("a").transposed().plus(1).rows(0, 1)),
              ElementsAre(1, 11, 21, 31, 41, 51));
  EXPECT_THAT(floats(tensor("a").plus(1).columns(1, 1).rows(0, 2)), ElementsAre(2, 12));
}

TEST_F(RowSources, TellWhereAValueStands) {
  const RowSource parts[] = {tensor("a").rows(4, 2), tensor("b").columns(0, 4)};
  const RowSource::Place place = RowSource::stacked(parts).columns(1, 3).place(3, 2);
  EXPECT_EQ(place.tensor->name, "b");
  EXPECT_EQ(place.row, 1u);
  EXPECT_EQ(place.column, 3u);
  const RowSource::Place turned = tensor("a").transposed().rows(1, 3).place(0, 5);
  EXPECT_EQ(turned.row, 5u);
  EXPECT_EQ(turned.column, 1u);
}

TEST_F(RowSources, RefuseWhatDoesNotFit) {
  const RowSource a = tensor("a");
  expect_error(Code::Internal, HasSubstr("rows"), [&] { (void)a.rows(5, 2); });
  expect_error(Code::Internal, HasSubstr("rows"), [&] { (void)a.rows(0, 0); });
  expect_error(Code::Internal, HasSubstr("rows"), [&] { (void)a.rows(UINT64_MAX, 2); });
  expect_error(Code::Internal, HasSubstr("columns"), [&] { (void)a.columns(0, 5); });
  expect_error(Code::Internal, HasSubstr("in turns"), [&] { (void)a.in_turn(2, 2, 1); });
  expect_error(Code::Internal, HasSubstr("in turns"), [&] { (void)a.in_turn(0, 4, 1); });
  expect_error(Code::Internal, HasSubstr("in turns"), [&] { (void)a.in_turn(0, 2, 2); });
  expect_error(Code::Internal, HasSubstr("in turns"),
               [&] { (void)a.in_turn(0, 2, 1).in_turn(0, 3, 1); });
  expect_error(Code::Internal, HasSubstr("transposes"), [&] { (void)a.rows(0, 2).transposed(); });
  const RowSource parts[] = {a, tensor("q")};
  expect_error(Code::Internal, HasSubstr("stacked"), [&] { (void)RowSource::stacked(parts); });
}

}  // namespace
}  // namespace tenon
