// Sessions saved while others take their blocks. Whichever piece is lost, the written snapshot
// restores and continues bit by bit.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/leading_pieces.h"
#include "tests/engine/tiny_engine.h"
#include "tests/engine/tiny_kinds.h"

namespace tenon {
namespace {

using Bytes = std::vector<std::byte>;

TEST(LeadingPieces, EndAtTheFirstThatIsMissing) {
  for (uint64_t missing = 0; missing <= 4; ++missing) {
    std::vector<uint64_t> asked;
    const uint64_t taken = take_leading_pieces(4, [&](uint64_t index) {
      asked.push_back(index);
      return index != missing;
    });
    EXPECT_EQ(taken, missing);
    // Skips existing pieces after the gap.
    std::vector<uint64_t> expected;
    for (uint64_t i = 0; i <= missing && i < 4; ++i) expected.push_back(i);
    EXPECT_EQ(asked, expected);
  }
}

TEST(LeadingPieces, OfNoneAreNone) {
  EXPECT_EQ(take_leading_pieces(0, [](uint64_t) { return true; }), 0u);
}

struct Saved {
  Bytes bytes;
  size_t num_parts = 0;
};

/// Saves a session; another session fills the cache before part `at` is taken.
Saved save_disturbed(Session& session, const std::shared_ptr<Engine>& engine, size_t at) {
  Saved saved;
  session.save([&](std::span<const std::byte> part) {
    saved.bytes.insert(saved.bytes.end(), part.begin(), part.end());
    if (saved.num_parts++ != at) return;
    Session other(engine, SessionOptions{256});
    other.append(make_tokens(150, 5));
    other.prefill();
  });
  return saved;
}

class SavedMeanwhile : public testing::TestWithParam<bool> {
 protected:
  static std::shared_ptr<const Model> load() {
    if (!GetParam()) return load_tiny();
    ModelOptions options;
    options.slice = 32;
    return load_tiny(tiny_window(40), std::move(options));
  }
  const std::shared_ptr<const Model> model_ = load();
};

TEST_P(SavedMeanwhile, IsASnapshotWheneverBlocksAreTaken) {
  const auto plenty = Engine::create(model_);
  size_t num_shorter = 0;
  size_t num_parts = SIZE_MAX;
  size_t whole_bytes = 0;
  for (size_t at = num_parts; at == SIZE_MAX || at < num_parts; at = at == SIZE_MAX ? 0 : at + 1) {
    SCOPED_TRACE(testing::Message() << "at part " << at);
    // Room for the other session's text only.
    EngineOptions narrow = unbounded_engine();
    for (const auto& pool : plenty->pools()) narrow.cache_bytes += 6 * pool->block_bytes();
    const auto engine = Engine::create(model_, narrow);
    Session session(engine, SessionOptions{256});
    session.append(make_tokens(140));
    const std::vector<Token> begun = generate(session, 3);
    const Saved saved = save_disturbed(session, engine, at);
    if (at == SIZE_MAX) {
      num_parts = saved.num_parts;
      whole_bytes = saved.bytes.size();
      ASSERT_GT(num_parts, 5u);
    } else {
      num_shorter += saved.bytes.size() < whole_bytes ? 1 : 0;
    }
    Session restored(plenty, SessionOptions{256});
    restored.restore(*ByteSource::from_memory(saved.bytes, "snapshot"));
    Session expected(plenty, SessionOptions{256});
    expected.append(make_tokens(140));
    EXPECT_EQ(generate(expected, 3), begun);
    EXPECT_TRUE(same_bits(restored.logits(), expected.logits()));
    EXPECT_EQ(generate(restored, 4), generate(expected, 4));
  }
  EXPECT_GT(num_shorter, 1u) << "blocks were taken in the middle";
}

std::string name_of_cache(const testing::TestParamInfo<bool>& info) {
  return info.param ? "Windows" : "Whole";
}
INSTANTIATE_TEST_SUITE_P(Caches, SavedMeanwhile, testing::Bool(), name_of_cache);

}  // namespace
}  // namespace tenon
