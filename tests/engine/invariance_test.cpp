// Bits of a sequence's logits depend on its tokens only: not on neighbours, slices, threads,
// drivers, or the cache's history.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

struct Subject {
  std::string name;
  TinyModel tiny;
  CacheType cache_type = CacheType::F16;
  /// More than four cache blocks and a partial one.
  uint32_t length = 150;
  uint32_t context = 256;
};

/// Shows the name in test reports.
void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

TinyModel with_formats(std::vector<Format> formats) {
  TinyModel tiny;
  tiny.formats = std::move(formats);
  return tiny;
}

/// Rows of whole blocks of every format.
TinyModel wide(std::vector<Format> formats) {
  TinyModel tiny = with_formats(std::move(formats));
  tiny.width = tiny.feed_forward = 256;
  tiny.heads = 4;
  tiny.kv_heads = 2;
  tiny.key_dim = tiny.value_dim = 64;
  tiny.distinct_rows = 7;
  return tiny;
}

TinyModel k_mixed() {
  return wide({Format::Q4_K, Format::Q6_K, Format::Q4_K, Format::Q5_K, Format::Q8_0, Format::Q3_K,
               Format::Q2_K});
}

TinyModel k_experts() {
  TinyModel tiny = wide({Format::Q4_K, Format::Q6_K, Format::Q5_K, Format::Q3_K, Format::Q2_K});
  tiny.architecture = "qwen3moe";
  tiny.layers = 1;
  tiny.experts = 5;
  tiny.experts_used = 2;
  return tiny;
}

/// Has at least as many matrices as formats.
TinyModel codebooks() {
  return wide({Format::IQ1_S, Format::IQ1_M, Format::IQ2_XXS, Format::IQ2_XS, Format::IQ2_S,
               Format::IQ3_XXS, Format::IQ3_S, Format::IQ4_XS});
}

TinyModel few_bits() {
  return wide(
      {Format::MXFP4, Format::TQ1_0, Format::TQ2_0, Format::NVFP4, Format::Q1_0, Format::Q2_0});
}

TinyModel of_architecture(const char* architecture) {
  TinyModel tiny;
  tiny.architecture = architecture;
  tiny.tied = false;
  return tiny;
}

TinyModel experts(const char* architecture, std::vector<Format> formats) {
  TinyModel tiny = with_formats(std::move(formats));
  tiny.architecture = architecture;
  tiny.feed_forward = 64;
  tiny.experts = 9;
  tiny.experts_used = 3;
  return tiny;
}

std::vector<Subject> subjects() {
  return {{"float", with_formats({Format::F32, Format::F16, Format::BF16}), CacheType::F32},
          {"q8_0", with_formats({Format::Q8_0})},
          {"bf16_mixed", with_formats({Format::BF16, Format::Q8_0})},
          {"bf16_experts", experts("qwen3moe", {Format::BF16, Format::Q4_0})},
          {"k_mixed", k_mixed()},
          {"codebooks", codebooks()},
          {"few_bits", few_bits()},
          {"qwen2", of_architecture("qwen2")},
          {"qwen3", of_architecture("qwen3")},
          {"qwen3moe", experts("qwen3moe", {Format::Q4_0, Format::F16, Format::Q8_0})},
          {"qwen2moe", experts("qwen2moe", {Format::Q5_1, Format::Q4_0})},
          {"int8_cache", with_formats({Format::Q8_0}), CacheType::Int8},
          {"q4_cache", with_formats({Format::Q8_0}), CacheType::Q4},
          {"k_experts_int8_cache", k_experts(), CacheType::Int8},
          {"k_experts_q4_cache", k_experts(), CacheType::Q4},
          // Attention sums spans of 256 positions.
          {"two_spans", with_formats({Format::Q8_0}), CacheType::F16, 300, 384}};
}

class Invariance : public testing::TestWithParam<Subject> {
 protected:
  /// One thread, one step, no neighbours.
  void SetUp() override {
    auto session = make_session(options(1));
    expected_ = evaluate_all(*session, tokens_);
    ASSERT_EQ(expected_.size(), size_t{length_} * vocab_);
  }

  static ModelOptions options(uint32_t threads, uint32_t slice = 512) {
    ModelOptions options;
    options.threads = threads;
    options.slice = slice;
    options.cache_type = GetParam().cache_type;
    return options;
  }
  [[nodiscard]] std::shared_ptr<Engine> make_engine(ModelOptions options) const {
    return Engine::create(load_source(file_, std::move(options)));
  }
  [[nodiscard]] std::unique_ptr<Session> make_session(ModelOptions options) const {
    return std::make_unique<Session>(make_engine(std::move(options)),
                                     SessionOptions{GetParam().context});
  }
  [[nodiscard]] std::span<const float> expected() const { return expected_; }
  [[nodiscard]] std::span<const float> expected_row(uint32_t row) const {
    return std::span(expected_).subspan(size_t{row} * vocab_, vocab_);
  }

  // Encoded once: some encoders take longer than the test.
  const std::shared_ptr<const ByteSource> file_ = tiny_source(GetParam().tiny);
  const uint32_t vocab_ = GetParam().tiny.vocab;
  const uint32_t length_ = GetParam().length;
  const std::vector<Token> tokens_ = make_tokens(length_);
  std::vector<float> expected_;  // [length, vocab]
};

TEST_P(Invariance, ThreadsChangeNoBit) {
  for (const uint32_t threads : {2u, 3u, 5u}) {
    EXPECT_TRUE(same_bits(evaluate_all(*make_session(options(threads)), tokens_), expected()))
        << threads << " threads";
  }
}

TEST_P(Invariance, SlicesChangeNoBit) {
  for (const uint32_t slice : {1u, 7u, 48u}) {
    EXPECT_TRUE(same_bits(evaluate_all(*make_session(options(2, slice)), tokens_), expected()))
        << "slices of " << slice;
  }
}

TEST_P(Invariance, AHostsExecutorChangesNoBit) {
  for (const uint32_t concurrency : {1u, 4u}) {
    ModelOptions on_host = options(0);
    on_host.executor = Executor{nullptr, concurrency,
                                [](void*, uint32_t n, void (*task)(void*, uint32_t), void* arg) {
                                  for (uint32_t i = n; i > 0; --i) task(arg, i - 1);
                                }};
    EXPECT_TRUE(same_bits(evaluate_all(*make_session(std::move(on_host)), tokens_), expected()))
        << concurrency << " tasks, one after another, last first";
  }
}

/// A sequence and its share of each step.
struct Lane {
  Lane(Engine& engine, std::vector<Token> text)
      : sequence(engine.pools(), text.size()), logits(text.size() * engine.model().spec().vocab) {
    sequence.append(text);
  }
  BatchItem next(uint32_t count) {
    count = static_cast<uint32_t>(std::min<uint64_t>(count, sequence.num_pending()));
    const size_t vocab = logits.size() / sequence.size();
    const uint64_t begin = sequence.cached();
    return {
        &sequence, begin, begin + count, Outputs::All, logits.data() + sequence.cached() * vocab,
        nullptr};
  }
  Sequence sequence;
  std::vector<float> logits;  // [tokens, vocab]
};

TEST_P(Invariance, NeighboursChangeNoBit) {
  for (uint32_t neighbours = 1; neighbours <= 4; ++neighbours) {
    const auto engine = make_engine(options(2));
    std::deque<Lane> lanes;
    const uint32_t place = neighbours / 2;
    for (uint32_t i = 0; i <= neighbours; ++i) {
      lanes.emplace_back(*engine, i == place ? tokens_ : make_tokens(11 + 37 * i, 100 + i));
    }
    const auto counts = make_tokens(1000, neighbours, 40);
    for (size_t step = 0; lanes[place].sequence.num_pending() > 0; ++step) {
      std::vector<BatchItem> items;
      for (size_t i = 0; i < lanes.size(); ++i) {
        const auto count = static_cast<uint32_t>(counts[(step * lanes.size() + i) % 1000]);
        // Often a single token, like a sequence that generates.
        items.push_back(lanes[i].next(count > 25 ? 1 : count));
      }
      engine->run(items);
    }
    EXPECT_TRUE(same_bits(lanes[place].logits, expected())) << neighbours << " neighbours";
  }
}

TEST_P(Invariance, StepsFilledByManySequencesChangeNoBit) {
  // All tokens together exceed a step, so the engine splits them.
  const auto engine = make_engine(options(2, 64));
  std::deque<Lane> lanes;
  for (uint32_t i = 0; i < 4; ++i) lanes.emplace_back(*engine, make_tokens(60 + i, 7 + i));
  lanes.emplace_front(*engine, tokens_);
  lanes.emplace_back(*engine, tokens_);
  std::vector<BatchItem> items;
  for (Lane& lane : lanes) items.push_back(lane.next(length_));
  engine->run(items);
  EXPECT_TRUE(same_bits(lanes.front().logits, expected()));
  EXPECT_TRUE(same_bits(lanes.back().logits, expected()));
}

TEST_P(Invariance, TokenByTokenChangesNoBit) {
  const auto session = make_session(options(2));
  const std::span<const Token> all(tokens_);
  for (uint32_t i = 0; i < length_; ++i) {
    // From the beginning, and across the end of a block or span.
    if (i == 40) i = length_ - 60;
    if (i == length_ - 60) evaluate_all(*session, all.subspan(40, i - 40));
    session->append(all.subspan(i, 1));
    ASSERT_TRUE(same_bits(last_logits(*session), expected_row(i))) << "token " << i;
  }
}

TEST_P(Invariance, ForksChangeNoBit) {
  for (const uint32_t at : {1u, 32u, 45u, 64u, length_ - 1}) {
    const auto session = make_session(options(2));
    const std::span<const Token> all(tokens_);
    evaluate_all(*session, all.first(at));
    const auto copy = session->fork();
    // The original writes to the shared block first.
    evaluate_all(*session, make_tokens(length_ - at, 99));
    EXPECT_TRUE(same_bits(last_logits(*copy), expected_row(at - 1))) << "fork at " << at;
    evaluate_all(*copy, all.subspan(at));
    EXPECT_TRUE(same_bits(last_logits(*copy), expected_row(length_ - 1))) << "fork at " << at;
  }
}

TEST_P(Invariance, RewindAndAppendChangeNoBit) {
  const auto session = make_session(options(2));
  for (const uint32_t at : {length_ - 10, 65u, 64u, 31u, 1u, 0u}) {
    session->rewind(0);
    evaluate_all(*session, std::span(tokens_).first(at));
    evaluate_all(*session, make_tokens(GetParam().context - at, 55));
    session->rewind(at);
    const std::vector<float> rest = evaluate_all(*session, std::span(tokens_).subspan(at));
    EXPECT_TRUE(same_bits(rest, std::span(expected_).subspan(size_t{at} * vocab_)))
        << "rewound to " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Invariance, testing::ValuesIn(subjects()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace tenon
