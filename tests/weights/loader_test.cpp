// The loader: every row once, in granules, with rising progress; cancellation and failures.
#include "weights/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "file/open.h"
#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_model.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Keeps every row and the shape of the pieces.
class KeepingSink : public WeightSink {
 public:
  struct Piece {
    uint32_t slot;
    uint64_t first_row, num_rows, bytes;
  };

  KeepingSink(const ModelFile& file, uint64_t granularity) : granularity_(granularity) {
    for (const TensorInfo& tensor : file.tensors()) bytes_.emplace_back(tensor.bytes);
  }
  uint64_t row_granularity(Slot) override { return granularity_; }
  void load_rows(Slot slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks) override {
    const std::scoped_lock lock(mutex_);
    const auto i = static_cast<uint32_t>(slot);
    std::copy(blocks.begin(), blocks.end(),
              bytes_.at(i).begin() +
                  static_cast<ptrdiff_t>(num_rows == 0 ? 0 : first_row * blocks.size() / num_rows));
    pieces.push_back({i, first_row, num_rows, blocks.size()});
    if (on_piece) on_piece();
  }
  [[nodiscard]] const std::vector<std::byte>& bytes(size_t tensor) const { return bytes_[tensor]; }

  std::vector<Piece> pieces;
  std::function<void()> on_piece;

 private:
  uint64_t granularity_;
  std::mutex mutex_;
  std::vector<std::vector<std::byte>> bytes_;  // [tensors]
};

std::vector<BoundWeight> all_tensors(const ModelFile& file) {
  std::vector<BoundWeight> bound;
  for (const TensorInfo& tensor : file.tensors()) {
    bound.push_back({Slot(bound.size()), RowSource(tensor)});
  }
  return bound;
}

LoadOptions load_options(uint64_t chunk_bytes = 3000) {
  LoadOptions options;
  options.system = System::real();
  options.chunk_bytes = chunk_bytes;
  return options;
}

uint64_t rows_of(const TensorInfo& tensor) { return tensor.num_values() / tensor.row_values(); }

void expect_all_loaded(const ModelFile& file, const KeepingSink& sink) {
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    std::vector<std::byte> expected(file.tensors()[i].bytes);
    file.read(file.tensors()[i], 0, expected);
    EXPECT_EQ(sink.bytes(i), expected) << file.tensors()[i].name;
  }
}

TEST(Loader, CarriesEveryRowOnceWhateverTheChunksAndThreads) {
  const auto file = open_model_file(tiny_source());
  ThreadTeam team(3);
  for (const uint64_t chunk : {1u, 100u, 3000u, 1u << 22}) {
    for (ThreadTeam* threads : {static_cast<ThreadTeam*>(nullptr), &team}) {
      KeepingSink sink(*file, 1);
      LoadOptions options = load_options(chunk);
      options.team = threads;
      load_weights(*file, all_tensors(*file), sink, options);
      expect_all_loaded(*file, sink);
      uint64_t rows = 0;
      uint64_t expected_rows = 0;
      for (const auto& piece : sink.pieces) rows += piece.num_rows;
      for (const TensorInfo& tensor : file->tensors()) expected_rows += rows_of(tensor);
      EXPECT_EQ(rows, expected_rows) << "chunks of " << chunk;
    }
  }
}

TEST(Loader, SamplesWhatItLoadsOnceWhateverTheChunksAndThreads) {
  const auto file = open_model_file(tiny_source());
  TensorSamples expected(*file);
  expected.read_rest();
  std::vector<BoundWeight> weights = all_tensors(*file);
  weights.push_back(weights.front());  // shared by two slots, as tied embeddings are
  ThreadTeam team(3);
  for (const uint64_t chunk : {1u, 100u, 3000u, 1u << 22}) {
    KeepingSink sink(*file, 1);
    TensorSamples samples(*file);
    LoadOptions options = load_options(chunk);
    options.team = &team;
    options.samples = &samples;
    load_weights(*file, weights, sink, options);
    for (uint32_t i = 0; i < file->tensors().size(); ++i) {
      ASSERT_FALSE(samples.of(i).empty());
      EXPECT_TRUE(std::ranges::equal(samples.of(i), expected.of(i))) << file->tensors()[i].name;
      EXPECT_FALSE(samples.claim(i, 0, file->tensors()[i].bytes));
    }
  }
}

TEST(TensorSamples, WhatIsLoadedInPartsIsNotedAndTheRestIsRead) {
  const auto file = open_model_file(tiny_source());
  const TensorInfo& tensor = file->tensors().front();
  ASSERT_GT(tensor.bytes, 2 * TensorSamples::kSampleBytes);
  TensorSamples samples(*file);
  EXPECT_FALSE(samples.claim(0, TensorSamples::kSampleBytes, 1)) << "no byte of a sample";
  ASSERT_TRUE(samples.claim(0, 8, 24));
  EXPECT_FALSE(samples.claim(0, 16, 100)) << "claimed in part";
  const std::vector<std::byte> loaded(24, std::byte{0xAB});
  samples.note(0, 8, loaded);
  samples.read_rest();
  TensorSamples expected(*file);
  expected.read_rest();
  std::vector<std::byte> wanted(expected.of(0).begin(), expected.of(0).end());
  std::copy(loaded.begin(), loaded.end(), wanted.begin() + 8);
  EXPECT_TRUE(std::ranges::equal(samples.of(0), wanted));
}

TEST(Loader, CutsInGranulesOfRows) {
  const auto file = open_model_file(tiny_source());
  for (const uint64_t granularity : {2u, 8u, 16u, 300u, 1u << 20}) {
    KeepingSink sink(*file, granularity);
    load_weights(*file, all_tensors(*file), sink, load_options());
    expect_all_loaded(*file, sink);
    for (const auto& piece : sink.pieces) {
      const uint64_t rows = rows_of(file->tensors()[piece.slot]);
      EXPECT_EQ(piece.first_row % granularity, 0u);
      if (piece.first_row + piece.num_rows == rows) continue;
      EXPECT_EQ(piece.num_rows % granularity, 0u);
    }
  }
}

TEST(Loader, ReadsNoMoreAtOnceThanItMay) {
  const auto file = open_model_file(tiny_source());
  KeepingSink sink(*file, 4);
  load_weights(*file, all_tensors(*file), sink, load_options(2000));
  for (const auto& piece : sink.pieces) {
    const uint64_t granule = piece.bytes / piece.num_rows * 4;
    EXPECT_LE(piece.bytes, std::max<uint64_t>(2000, granule));
  }
}

TEST(Loader, LoadsComposedSourcesInChunksAndNamesTheirTensors) {
  TinyModel tiny;
  tiny.formats = {Format::F32};
  tiny.edit = [](const std::string& name, std::span<float> values) {
    if (name == "blk.0.attn_q.weight") values[50 * 96 + 7] = std::nanf("");
  };
  const auto file = open_model_file(tiny_source(tiny));
  // [96 + 48, 96]: a transpose, then half of another matrix.
  const RowSource parts[] = {RowSource(*file->find("blk.1.attn_q.weight")).transposed(),
                             RowSource(*file->find("blk.0.attn_q.weight")).rows(48, 48)};
  const BoundWeight weights[] = {{Slot(0), RowSource::stacked(parts)}};
  std::vector<std::byte> expected(144 * 96 * 4);
  weights[0].source.read(*file, 0, 144, expected);
  std::vector<std::byte> loaded(expected.size());
  class Sink : public WeightSink {
   public:
    explicit Sink(std::vector<std::byte>& out) : out_(out) {}
    uint64_t row_granularity(Slot) override { return 16; }
    void load_rows(Slot, uint64_t first_row, uint64_t, std::span<const std::byte> rows) override {
      std::copy(rows.begin(), rows.end(), out_.begin() + ptrdiff_t(first_row * 96 * 4));
    }

   private:
    std::vector<std::byte>& out_;
  } sink(loaded);
  load_weights(*file, weights, sink, load_options(9000));
  EXPECT_EQ(loaded, expected);
  LoadOptions options = load_options(9000);
  options.check_finite = true;
  expect_error(
      Code::Format,
      AllOf(HasSubstr("\"blk.0.attn_q.weight\""), HasSubstr("row 50"), HasSubstr("column 7")),
      [&] { load_weights(*file, weights, sink, options); });
}

TEST(Loader, OnlyLoadsWhatIsAsked) {
  const auto file = open_model_file(tiny_source());
  KeepingSink sink(*file, 1);
  const BoundWeight one[] = {{Slot(2), RowSource(file->tensors()[2])}};
  load_weights(*file, one, sink, load_options());
  for (const auto& piece : sink.pieces) EXPECT_EQ(piece.slot, 2u);
  EXPECT_FALSE(sink.pieces.empty());
  sink.pieces.clear();
  std::vector<double> seen;
  LoadOptions options = load_options();
  options.progress = [&seen](double fraction) {
    seen.push_back(fraction);
    return true;
  };
  load_weights(*file, {}, sink, options);
  EXPECT_TRUE(sink.pieces.empty());
  EXPECT_THAT(seen, testing::ElementsAre(1.0));
}

TEST(Loader, ProgressRisesToOne) {
  const auto file = open_model_file(tiny_source());
  ThreadTeam team(2);
  for (ThreadTeam* threads : {static_cast<ThreadTeam*>(nullptr), &team}) {
    KeepingSink sink(*file, 1);
    std::vector<double> seen;
    LoadOptions options = load_options();
    options.team = threads;
    options.progress = [&seen](double fraction) {
      seen.push_back(fraction);
      return true;
    };
    load_weights(*file, all_tensors(*file), sink, options);
    ASSERT_FALSE(seen.empty());
    EXPECT_GE(seen.front(), 0.0);
    EXPECT_EQ(seen.back(), 1.0);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1.0), 1);
  }
}

TEST(Loader, ProgressCanCancel) {
  const auto file = open_model_file(tiny_source());
  KeepingSink sink(*file, 1);
  LoadOptions options = load_options();
  options.progress = [](double fraction) { return fraction < 0.5; };
  expect_error(Code::Cancelled, AllOf(HasSubstr("tiny.gguf"), HasSubstr("cancelled")),
               [&] { load_weights(*file, all_tensors(*file), sink, options); });
  uint64_t bytes = 0;
  for (const auto& piece : sink.pieces) bytes += piece.bytes;
  EXPECT_LT(bytes, file->tensor_bytes());
  options.progress = [](double fraction) { return fraction < 1.0; };
  expect_error(Code::Cancelled, HasSubstr("100 %"),
               [&] { load_weights(*file, all_tensors(*file), sink, options); });
}

TEST(Loader, ThrowsWhatTheSinkThrows) {
  const auto file = open_model_file(tiny_source());
  ThreadTeam team(2);
  KeepingSink sink(*file, 1);
  sink.on_piece = [] { fail(Code::State, "device lost"); };
  LoadOptions options = load_options();
  options.team = &team;
  expect_error(Code::State, HasSubstr("device lost"),
               [&] { load_weights(*file, all_tensors(*file), sink, options); });
  EXPECT_LE(sink.pieces.size(), 2u) << "nobody goes on after a failure";
}

TEST(Loader, FindsWeightsThatAreNotFinite) {
  for (const Format format : {Format::F32, Format::F16, Format::BF16}) {
    for (const float broken : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
      TinyModel tiny;
      tiny.formats = {format};
      tiny.edit = [&](const std::string& name, std::span<float> values) {
        if (name == "blk.1.ffn_up.weight") values[123 * tiny.width + 64] = broken;
      };
      const auto file = open_model_file(tiny_source(tiny));
      KeepingSink sink(*file, 8);
      LoadOptions options = load_options();
      load_weights(*file, all_tensors(*file), sink, options);
      options.check_finite = true;
      expect_error(
          Code::Format,
          AllOf(HasSubstr("\"blk.1.ffn_up.weight\""), HasSubstr("row 123"), HasSubstr("column 64")),
          [&] { load_weights(*file, all_tensors(*file), sink, options); });
    }
  }
}

TEST(Loader, FindsBlocksWhoseScaleIsNotFinite) {
  TinyModel tiny;
  tiny.left_out = {"blk.0.attn_q.weight"};
  tiny.more = [](GgufWriter& writer) {
    std::vector<std::byte> bytes(96 * 96 / 32 * 34);
    // Row 5, second block of three: the half-precision scale is infinite.
    const size_t block = (5 * 3 + 1) * 34;
    bytes[block + 1] = std::byte{0x7c};
    bytes[block + 2 + 7] = std::byte{1};
    writer.add_tensor("blk.0.attn_q.weight", {96, 96}, Format::Q8_0, bytes);
  };
  const auto file = open_model_file(tiny_source(tiny));
  KeepingSink sink(*file, 1);
  LoadOptions options = load_options();
  options.check_finite = true;
  expect_error(Code::Format, AllOf(HasSubstr("\"blk.0.attn_q.weight\""), HasSubstr("row 5")),
               [&] { load_weights(*file, all_tensors(*file), sink, options); });
}

TEST(Loader, AcceptsFiniteWeightsOfEveryFormat) {
  const auto file = open_model_file(tiny_source());
  KeepingSink sink(*file, 1);
  LoadOptions options = load_options();
  options.check_finite = true;
  load_weights(*file, all_tensors(*file), sink, options);
  expect_all_loaded(*file, sink);
}

TEST(Loader, SaysThatTheFileShrank) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", TinyModel().file());
  const auto file = open_model_file(path);
  KeepingSink sink(*file, 1);
  sink.on_piece = [&] { ASSERT_EQ(::truncate(path.c_str(), 20000), 0); };
  expect_error(Code::Io, AllOf(HasSubstr("m.gguf"), HasSubstr("changed")),
               [&] { load_weights(*file, all_tensors(*file), sink, load_options()); });
}

TEST(Loader, SaysWhatTheDiskSays) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", TinyModel().file());
  const auto count_system = std::make_shared<FaultySystem>();
  (void)open_model_file(path, {count_system, {}});
  // A few calls after opening: a read of weights.
  const auto system = std::make_shared<FaultySystem>(count_system->num_calls() + 8);
  const auto file = open_model_file(path, {system, {}});
  KeepingSink sink(*file, 1);
  expect_error(Code::Io, HasSubstr("m.gguf"),
               [&] { load_weights(*file, all_tensors(*file), sink, load_options()); });
}

TEST(Loader, TakesShortReadsForWhatTheyAre) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", TinyModel().file());
  const auto system = std::make_shared<FaultySystem>();
  system->set_longest_read(777);
  const auto file = open_model_file(path, {system, {}});
  KeepingSink sink(*file, 1);
  load_weights(*file, all_tensors(*file), sink, load_options());
  expect_all_loaded(*file, sink);
}

TEST(Loader, WithoutMemoryLeavesNothingBehind) {
  const auto file = open_model_file(tiny_source());
  ThreadTeam team(3);
  for (uint64_t n = 0; n < 3; ++n) {
    const auto system = std::make_shared<FaultySystem>(n);
    KeepingSink sink(*file, 1);
    LoadOptions options = load_options();
    options.team = &team;
    options.system = system;
    expect_error(Code::NoMemory, HasSubstr("reading weights"),
                 [&] { load_weights(*file, all_tensors(*file), sink, options); });
    EXPECT_TRUE(system->all_released());
    EXPECT_TRUE(sink.pieces.empty());
  }
}

}  // namespace
}  // namespace tenon
