// Rows of tables that stay in the file: equal to those of a table in memory, through caches of all
// sizes, and after failed reads.
#include "weights/row_fetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstring>

#include "abi/cancel_flag.h"
#include "file/open.h"
#include "tests/base/expect_error.h"
#include "tests/engine/tiny_model.h"

namespace tenon {
namespace {

using testing::HasSubstr;

constexpr uint32_t kMostTokens = 40;

/// A host's reader over bytes, which can be made to fail.
struct Reader {
  explicit Reader(std::vector<std::byte> held) : bytes(std::move(held)) {}
  [[nodiscard]] std::shared_ptr<const ByteSource> source() {
    const auto read = [](void* user, uint64_t offset, void* buffer, uint64_t size) -> int64_t {
      auto& self = *static_cast<Reader*>(user);
      if (self.fails_after-- == 0) return -1;
      if (self.on_read) self.on_read();
      const uint64_t count = std::min(size, self.longest.load());
      std::memcpy(buffer, self.bytes.data() + offset, count);
      return static_cast<int64_t>(count);
    };
    return ByteSource::from_reader({this, bytes.size(), read, true}, "host.gguf");
  }

  std::vector<std::byte> bytes;
  std::atomic<int64_t> fails_after{INT64_MAX};  ///< reads from now
  std::atomic<uint64_t> longest{UINT64_MAX};    ///< bytes at a time
  std::function<void()> on_read;
};

tenon_step step_of(std::span<const int32_t> tokens) {
  tenon_step step{};
  step.tokens = tokens.data();
  step.num_tokens = static_cast<uint32_t>(tokens.size());
  return step;
}

class RowFetcherTest : public testing::Test {
 protected:
  RowFetcherTest() : reader_(file_bytes()) {
    file_ = open_model_file(reader_.source(), {System::real(), {}});
    for (const char* name : {"token_embd.weight", "blk.0.attn_q.weight"}) {
      const RowSource all(*file_->find(name));
      tables_.push_back({Slot{static_cast<uint32_t>(7 + tables_.size())}, all.rows(0, 90)});
    }
  }
  static std::vector<std::byte> file_bytes() {
    TinyModel tiny;
    tiny.formats = {Format::Q5_1, Format::F16};
    // Small steps above a large minimum: sums have more bits than f32 and are rounded.
    tiny.edit = [](const std::string& name, std::span<float> values) {
      if (name != "token_embd.weight") return;
      for (float& value : values) value = 1000 + value / 64;
    };
    return tiny.file();
  }
  [[nodiscard]] std::unique_ptr<RowFetcher> fetcher(uint64_t cache_bytes) {
    return std::make_unique<RowFetcher>(
        *file_, tables_, RowFetcher::Options{cache_bytes, kMostTokens, 0, &team_, System::real()});
  }
  /// Bytes of caches with `rows` rows of each table.
  [[nodiscard]] uint64_t bytes_of(uint64_t rows) const {
    uint64_t bytes = 0;
    for (const DemandTable& table : tables_) {
      bytes += rows * RowCache::bytes_of_row(table.source.row_bytes());
    }
    return bytes;
  }
  /// Rows of a table, read and decoded directly.
  [[nodiscard]] std::vector<float> expected(size_t table, std::span<const int32_t> tokens) const {
    const RowSource& source = tables_[table].source;
    std::vector<std::byte> blocks(source.row_bytes());
    std::vector<float> values(tokens.size() * source.num_columns());
    for (size_t t = 0; t < tokens.size(); ++t) {
      source.read(*file_, static_cast<uint64_t>(tokens[t]), 1, blocks);
      find_format(source.format())
          ->decode_row(blocks.data(), values.data() + t * source.num_columns(),
                       source.num_columns());
    }
    return values;
  }
  void fetch(RowFetcher& fetcher, std::span<const int32_t> tokens,
             const uint32_t* cancel = nullptr) {
    fetcher.fetch(step_of(tokens), rows_, cancel);
  }
  void expect_rows(RowFetcher& fetcher, const std::vector<int32_t>& tokens) {
    fetch(fetcher, tokens);
    ASSERT_EQ(rows_.bindings().size(), 2u);
    for (size_t table = 0; table < 2; ++table) {
      const tenon_binding& binding = rows_.bindings()[table];
      EXPECT_EQ(binding.slot, 7 + table);
      const std::vector<float> wanted = expected(table, tokens);
      EXPECT_EQ(std::memcmp(binding.data, wanted.data(), wanted.size() * sizeof(float)), 0)
          << "table " << table;
    }
  }
  static std::vector<int32_t> some_tokens(uint32_t count, uint32_t seed) {
    std::vector<int32_t> tokens;
    for (uint32_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<int32_t>((seed + i * i * 7919) % 90));
    }
    return tokens;
  }

  Reader reader_;
  std::shared_ptr<const ModelFile> file_;
  std::vector<DemandTable> tables_;
  ThreadTeam team_{3};
  FetchedRows rows_;
};

TEST_F(RowFetcherTest, GivesTheRowsOfTheTablesThroughCachesOfAllSizes) {
  for (const uint64_t cached : {0, 1, 3, 8, 20, 1000}) {
    SCOPED_TRACE(cached);
    const auto fetcher = this->fetcher(std::max<uint64_t>(1, bytes_of(cached)));
    for (uint32_t i = 0; i < 20; ++i) expect_rows(*fetcher, some_tokens(1 + i * 2, i));
    expect_rows(*fetcher, {5, 5, 5, 6, 5});
    expect_rows(*fetcher, {});
  }
}

TEST_F(RowFetcherTest, ReadsARowOnceWhileItIsKept) {
  const auto fetcher = this->fetcher(bytes_of(90));
  expect_rows(*fetcher, {1, 2, 3, 2, 1});
  EXPECT_EQ(fetcher->rows_read(), 6u);
  expect_rows(*fetcher, {3, 1});
  EXPECT_EQ(fetcher->rows_read(), 6u);
  expect_rows(*fetcher, {4});
  EXPECT_EQ(fetcher->rows_read(), 8u);
}

TEST_F(RowFetcherTest, DecodesAsTheTeamComputesWhateverTheHostRounds) {
  const auto fetcher = this->fetcher(bytes_of(90));
  const std::vector<int32_t> tokens = some_tokens(kMostTokens, 3);
  const std::vector<float> wanted = expected(0, tokens);
  std::vector<float> fetched;
  const auto add = [&](std::span<const int32_t> some) {
    fetch(*fetcher, some);
    const auto* values = static_cast<const float*>(rows_.bindings()[0].data);
    fetched.insert(fetched.end(), values, values + some.size() * 96);
  };
  std::fesetround(FE_UPWARD);
  const std::vector<float> rounded = expected(0, tokens);
  add(std::span(tokens).first(20));
  for (size_t t = 20; t < tokens.size(); ++t) add(std::span(tokens).subspan(t, 1));
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(fetched, wanted);
  const std::span<const float> alone = std::span(wanted).last(20 * 96);
  EXPECT_FALSE(std::ranges::equal(std::span(rounded).last(20 * 96), alone)) << "shows nothing";
}

TEST_F(RowFetcherTest, TakesReadsThatBringLess) {
  const auto fetcher = this->fetcher(bytes_of(4));
  reader_.longest = 5;
  expect_rows(*fetcher, some_tokens(20, 1));
}

TEST_F(RowFetcherTest, EveryReadThatFailsIsAnErrorAndTheNextStepReadsAgain) {
  const std::vector<int32_t> tokens = some_tokens(kMostTokens, 5);
  for (const uint64_t cached : {0, 2, 8, 90}) {
    for (int64_t good = 0;; ++good) {
      SCOPED_TRACE(testing::Message() << cached << " rows, read " << good);
      const auto fetcher = this->fetcher(std::max<uint64_t>(1, bytes_of(cached)));
      expect_rows(*fetcher, some_tokens(3, 40));
      reader_.fails_after = good;
      bool failed = false;
      try {
        fetch(*fetcher, tokens);
      } catch (const Error& error) {
        failed = true;
        EXPECT_EQ(error.code(), Code::Io);
        EXPECT_THAT(error.what(), HasSubstr("host.gguf"));
      }
      reader_.fails_after = INT64_MAX;
      expect_rows(*fetcher, tokens);
      if (!failed) break;
    }
  }
}

TEST_F(RowFetcherTest, EndsBetweenTwoRowsWhenCancelled) {
  const auto fetcher = this->fetcher(bytes_of(90));
  CancelFlag cancel;
  std::atomic<uint32_t> reads{0};
  reader_.on_read = [&] {
    ++reads;
    cancel.set();
  };
  const std::vector<int32_t> tokens = some_tokens(kMostTokens, 5);
  expect_error(Code::Cancelled, HasSubstr("cancelled"),
               [&] { fetch(*fetcher, tokens, cancel.word()); });
  EXPECT_LE(reads, team_.num_threads());
  reader_.on_read = {};
  expect_rows(*fetcher, tokens);
}

TEST_F(RowFetcherTest, RefusesTokensOutsideTheTables) {
  const auto fetcher = this->fetcher(bytes_of(4));
  for (const int32_t token : {-1, -7, 90, INT32_MAX}) {
    const std::vector<int32_t> tokens = {1, token};
    expect_error(Code::Internal, HasSubstr("of 90"), [&] { fetch(*fetcher, tokens); });
  }
  const std::vector<int32_t> many(kMostTokens + 1);
  expect_error(Code::Internal, HasSubstr("at most 40"), [&] { fetch(*fetcher, many); });
  expect_rows(*fetcher, {1, 2});
}

TEST_F(RowFetcherTest, CachesTakeWhatIsSaid) {
  const uint64_t whole = table_bytes(tables_);
  EXPECT_EQ(whole, 90 * (tables_[0].source.row_bytes() + tables_[1].source.row_bytes()));
  EXPECT_LE(row_cache_bytes(tables_, 0), whole / 4);
  EXPECT_GT(row_cache_bytes(tables_, 0), whole / 8);
  for (const uint64_t bytes : {uint64_t{1}, bytes_of(2), bytes_of(20) + 3}) {
    EXPECT_LE(row_cache_bytes(tables_, bytes), bytes);
  }
  EXPECT_EQ(row_cache_bytes(tables_, bytes_of(16)), bytes_of(16));
  EXPECT_LE(row_cache_bytes(tables_, UINT64_MAX), bytes_of(90)) << "no more than the tables have";
  EXPECT_EQ(row_cache_bytes({}, 0), 0u);
  EXPECT_EQ(fetched_row_bytes(tables_, 3), 3u * (96 + 96) * sizeof(float));
}

}  // namespace
}  // namespace tenon
