// Draws of a backend in host memory against the sampler chain: two implementations of one
// definition.
#include "backends/common/host_draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "sampler/sampler.h"

namespace tenon {
namespace {

std::vector<float> random_row(uint64_t number, uint32_t vocab) {
  std::vector<float> row(vocab);
  for (uint32_t i = 0; i < vocab; ++i) {
    // Coarse values, so that ties occur.
    row[i] = std::round(static_cast<float>(uniform_at(number, i)) * 80) / 8;
  }
  return row;
}

tenon_draw drawn_by(const Sampler& sampler, uint64_t position, tenon_drawn& drawn) {
  const SamplerValues& values = sampler.values();
  tenon_draw draw{};
  draw.kind = values.real("temperature") == 0 ? TENON_DRAW_GREEDY : TENON_DRAW_DRAWN;
  draw.temperature = values.real("temperature");
  draw.top_k = static_cast<uint32_t>(values.integer("top_k"));
  draw.top_p = values.real("top_p");
  draw.min_p = values.real("min_p");
  draw.seed = static_cast<uint64_t>(values.integer("seed"));
  draw.position = position;
  draw.drawn = &drawn;
  return draw;
}

TEST(HostDraw, DrawsWhatTheSamplerDraws) {
  constexpr uint32_t kVocab = 300;
  backends::HostDraw host;
  for (const double temperature : {0.0, 0.3, 0.8, 1.0, 3.0}) {
    for (const int64_t top_k : {0, 1, 7, 40, 1000}) {
      for (const double top_p : {0.0, 0.5, 0.95, 1.0}) {
        for (const double min_p : {0.0, 0.05, 1.0}) {
          Sampler sampler;
          sampler.set("seed", int64_t{0});
          sampler.set("temperature", temperature);
          sampler.set("top_k", top_k);
          sampler.set("top_p", top_p);
          sampler.set("min_p", min_p);
          sampler.set("seed", top_k * 31 + 5);
          for (uint64_t position = 0; position < 20; ++position) {
            const std::vector<float> row = random_row(position, kVocab);
            tenon_drawn drawn{};
            host.run(drawn_by(sampler, position, drawn), row);
            ASSERT_EQ(drawn.flags, 0u);
            EXPECT_EQ(drawn.token, sampler.sample(row, {}, position))
                << temperature << " " << top_k << " " << top_p << " " << min_p << " " << position;
          }
        }
      }
    }
  }
}

TEST(HostDraw, BiasesAndForbiddenTokensCountAsTheSamplers) {
  backends::HostDraw host;
  for (uint64_t position = 0; position < 200; ++position) {
    const std::vector<float> row = random_row(position, 100);
    Sampler sampler;
    sampler.set("seed", int64_t{0});
    sampler.set_logit_bias(3, 5.0F);
    sampler.set_logit_bias(70, -INFINITY);
    const int32_t forbidden[] = {0, 63, 64, 99};
    tenon_drawn drawn{};
    tenon_draw draw = drawn_by(sampler, position, drawn);
    const tenon_draw_bias biases[] = {{3, 5.0F}, {70, -INFINITY}};
    draw.biases = biases;
    draw.num_biases = 2;
    const uint64_t allowed[] = {~(uint64_t{1} | uint64_t{1} << 63),
                                ~(uint64_t{1} | uint64_t{1} << 35)};
    draw.allowed = allowed;
    host.run(draw, row);
    EXPECT_EQ(drawn.token, sampler.sample(row, {}, position, forbidden)) << position;
  }
}

}  // namespace
}  // namespace tenon
