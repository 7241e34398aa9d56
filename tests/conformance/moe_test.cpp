// Mixtures of experts: routes, products with chosen experts, and combinations that a backend may
// fuse.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "program/operations.h"
#include "quant/formats.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

/// Builds a mixture of `experts` experts on x [T, 96], or on gathered rows.
struct Mixture {
  ProgramBuilder b;
  uint32_t experts = 5;
  uint32_t used = 2;
  bool gathered = false;
  Format format = Format::F32;

  Slot table(const char* name, uint64_t width) {
    const Slot x = op::embed(b, b.weight(name, Format::F32, kVocab, width));
    return gathered ? op::gather_rows(b, x) : x;
  }
  Slot x() { return table("table_x", kWidth); }
  /// Routes by logits with the size of a real router's.
  Route routes(const char* name = "table_logits") {
    return op::moe_route(b, table(name, experts), {.used = used});
  }
  Slot weight(const char* name, uint64_t rows, uint64_t columns, Format own) {
    return b.weight(name, own, experts * rows, columns);
  }
  Slot each(Slot input, const Route& route, const char* name, uint64_t rows,
            uint64_t columns = kWidth) {
    return op::moe_linear(b, input, route, weight(name, rows, columns, format), experts);
  }
  Slot sum(Slot input, const Route& route, const char* name, uint64_t rows,
           uint64_t columns = kWidth) {
    return op::moe_linear_sum(b, input, route, weight(name, rows, columns, format), experts);
  }
};

void check(Mixture setup, double tolerance, const std::function<Slot(Mixture& m)>& make) {
  for (const bool gathered : {false, true}) {
    SCOPED_TRACE(testing::Message()
                 << setup.used << " of " << setup.experts << " experts, "
                 << find_format(setup.format)->name << (gathered ? ", gathered" : ""));
    Mixture m{{}, setup.experts, setup.used, gathered, setup.format};
    Slot out = make(m);
    if (!gathered) out = op::gather_rows(m.b, out);
    expect_like_reference(std::move(m.b).finish(out, kLimits), all_counts(), tolerance);
  }
}

void check_route(uint32_t experts, const RouteOptions& options, float scale = 1.0f) {
  for (const bool gathered : {false, true}) {
    SCOPED_TRACE(testing::Message() << options.used << " of " << experts);
    Mixture m{{}, experts, options.used, gathered, Format::F32};
    const Slot logits = m.table("table_logits", experts);
    const Route route =
        op::moe_route(m.b, scale == 1.0f ? logits : op::scale(m.b, logits, scale), options);
    m.b.result(route.ids);
    m.b.result(route.weights);
    expect_like_reference(std::move(m.b).finish(kNoSlot, kLimits), all_counts(), float_tolerance());
  }
}

TEST(MoeRoute, ChoosesTheLargest) {
  for (const uint32_t experts : {1, 2, 7, 32, 33, 128}) {
    for (const uint32_t used : {1u, 2u, 8u, experts}) {
      if (used > experts) continue;
      for (const uint32_t softmax : {TENON_MOE_SOFTMAX_ALL, TENON_MOE_SOFTMAX_CHOSEN}) {
        check_route(experts, {used, softmax, 2.5f});
      }
    }
  }
}

TEST(MoeRoute, OfEveryScoring) {
  for (const uint32_t experts : {1, 2, 7, 33, 128}) {
    for (const uint32_t used : {1u, 2u, 8u, experts}) {
      if (used > experts) continue;
      check_route(experts, {used, TENON_MOE_SIGMOID, 2.5f});
      check_route(experts, {used, TENON_MOE_SIGMOID, 2.5f, true, 1e-20f});
      check_route(experts, {used, TENON_MOE_SIGMOID, 1.0f, true, 100.0f});
      check_route(experts, {used, TENON_MOE_SOFTMAX_ALL, 0.5f, true, 0.0f});
      check_route(experts, {used, TENON_MOE_SQRT_SOFTPLUS, 2.5f});
      check_route(experts, {used, TENON_MOE_SQRT_SOFTPLUS, 1.5f, true, 1e-20f});
    }
  }
}

TEST(MoeRoute, OfSparseMixer) {
  for (const uint32_t experts : {1, 2, 7, 33, 128}) {
    for (const uint32_t used : {1u, 2u, 8u, experts}) {
      if (used > experts) continue;
      // With 0 an expert is alone, with 10 it joins all experts not chosen before it.
      for (const float closeness : {0.0f, 0.02f, 0.3f, 10.0f}) {
        check_route(experts, {.used = used,
                              .scoring = TENON_MOE_SPARSE_MIXER,
                              .scale = 1.5f,
                              .closeness = closeness});
      }
    }
  }
  check_route(9, {.used = 4, .scoring = TENON_MOE_SPARSE_MIXER, .closeness = 0.02f}, 0.0f);
}

/// The vectors of a route, random and larger than scores, so that they matter.
void check_route_with_vectors(uint32_t experts, RouteOptions options, bool bias, bool scale) {
  for (const bool gathered : {false, true}) {
    SCOPED_TRACE(testing::Message() << options.used << " of " << experts << ", scoring "
                                    << options.scoring << ", groups " << options.groups);
    Mixture m{{}, experts, options.used, gathered, Format::F32};
    if (bias) options.selection_bias = m.b.weight("bias", Format::F32, 1, experts);
    if (scale) options.expert_scale = m.b.weight("scale", Format::F16, 1, experts);
    const Route route = op::moe_route(m.b, m.table("table_logits", experts), options);
    m.b.result(route.ids);
    m.b.result(route.weights);
    expect_like_reference(std::move(m.b).finish(kNoSlot, kLimits), all_counts(), float_tolerance());
  }
}

constexpr uint32_t kScorings[] = {TENON_MOE_SOFTMAX_ALL, TENON_MOE_SOFTMAX_CHOSEN,
                                  TENON_MOE_SIGMOID, TENON_MOE_SQRT_SOFTPLUS};

TEST(MoeRoute, WithASelectionBiasAndExpertScales) {
  for (const uint32_t scoring : kScorings) {
    for (const uint32_t experts : {1u, 7u, 64u}) {
      const RouteOptions options{.used = std::min(experts, 4u), .scoring = scoring, .scale = 1.5f};
      check_route_with_vectors(experts, options, true, false);
      check_route_with_vectors(experts, options, false, true);
      check_route_with_vectors(experts, options, true, true);
    }
  }
}

TEST(MoeRoute, OfTheLargestGroups) {
  struct Shape {
    uint32_t experts, used, groups, groups_used;
  };
  for (const Shape& s : {Shape{8, 2, 8, 2}, Shape{8, 2, 4, 1}, Shape{64, 6, 8, 3},
                         Shape{64, 8, 2, 2}, Shape{33, 11, 3, 1}}) {
    for (const uint32_t scoring : kScorings) {
      const RouteOptions options{
          .used = s.used, .scoring = scoring, .groups = s.groups, .groups_used = s.groups_used};
      check_route_with_vectors(s.experts, options, false, false);
      check_route_with_vectors(s.experts, options, true, false);
    }
  }
}

TEST(MoeRoute, TakesTheLowerGroupOfEqualOnes) {
  check_route(12, {.used = 3, .scoring = TENON_MOE_SIGMOID, .groups = 4, .groups_used = 2}, 0.0f);
}

/// Expert numbers from the rows, including some out of range.
TEST(MoeRoute, TakesTheExpertsThatItIsTold) {
  for (const uint32_t scoring : kScorings) {
    for (const uint32_t experts : {1u, 7u, 64u}) {
      for (const bool gathered : {false, true}) {
        RouteOptions options{.used = std::min(experts, 4u), .scoring = scoring, .scale = 1.5f};
        options.normalise = scoring == TENON_MOE_SIGMOID || scoring == TENON_MOE_SQRT_SOFTPLUS;
        Mixture m{{}, experts, options.used, gathered, Format::F32};
        const Slot numbers = m.table("table_numbers", options.used);
        options.numbers = op::scale(m.b, numbers, 2.0f * static_cast<float>(experts));
        const Route route = op::moe_route(m.b, m.table("table_logits", experts), options);
        m.b.result(route.ids);
        m.b.result(route.weights);
        m.b.result(m.sum(m.x(), route, "w", 33));
        expect_like_reference(std::move(m.b).finish(kNoSlot, kLimits), all_counts(),
                              linear_tolerance(Format::F32));
      }
    }
  }
}

/// Weights are sqrt(ln(1 + exp(x))); expert numbers are rounded and clamped.
TEST(MoeRoute, WeighsToldExpertsBySquareRootsOfSoftplus) {
  Mixture m{{}, 4, 4, false, Format::F32};
  const Slot logits = m.b.input("logits", TENON_ROWS_TOKENS, 4);
  const Slot numbers = m.b.input("numbers", TENON_ROWS_TOKENS, 4);
  const Route route = op::moe_route(
      m.b, logits,
      {.used = 4, .scoring = TENON_MOE_SQRT_SOFTPLUS, .scale = 2.0f, .numbers = numbers});
  m.b.result(route.ids);
  m.b.result(route.weights);
  const Program program = std::move(m.b).finish(kNoSlot, kLimits);
  StepPlan plan = one_sequence(1, 4);
  plan.rows = std::vector<uint32_t>{};
  plan.inputs = {{0.5f, -40.0f, 100.0f, 1.0f}, {2.0f, 7.5f, -3.0f, 0.6f}};
  Runner runner(target(), program);
  const std::vector<float> results = runner.run(plan);
  ASSERT_EQ(results.size(), 8u);
  const float expected[] = {2, 3, 0, 1};
  const double of[] = {100.0, 1.0, 0.5, -40.0};
  for (size_t j = 0; j < 4; ++j) {
    EXPECT_EQ(results[j], expected[j]);
    const double weight = 2 * std::sqrt(std::log1p(std::exp(of[j])));
    EXPECT_NEAR(results[4 + j], weight, 1e-5 * weight);
  }
}

// In f32 all these sigmoids are 1: their order would be lost.
TEST(MoeRoute, OfLargeLogitsBySigmoid) {
  check_route(9, {.used = 4, .scoring = TENON_MOE_SIGMOID}, 10.0f);
}

TEST(MoeRoute, TakesTheLowerNumberOfEqualOnes) { check_route(9, {.used = 4}, 0.0f); }

TEST(MoeRoute, OfLargeLogits) { check_route(9, {4, TENON_MOE_SOFTMAX_ALL, 1.0f}, 1e4f); }

class MoeLinear : public testing::TestWithParam<Format> {
 protected:
  [[nodiscard]] double tolerance() const { return linear_tolerance(GetParam()); }
  [[nodiscard]] Mixture setup(uint32_t experts, uint32_t used) const {
    return {{}, experts, used, false, GetParam()};
  }
  /// Columns of whole blocks.
  [[nodiscard]] uint64_t width() const {
    return find_format(GetParam())->block_values == 256 ? 256 : kWidth;
  }
};

TEST_P(MoeLinear, GivesEachExpertsResult) {
  // 33: panels of experts differ from those of the whole weight.
  for (const uint64_t rows : {1, 33, 64}) {
    check(setup(5, 2), tolerance(), [&](Mixture& m) {
      return m.each(m.table("table_x", width()), m.routes(), "w", rows, width());
    });
  }
}

TEST_P(MoeLinear, AddsThemUp) {
  for (const uint32_t experts : {1, 3, 8}) {
    for (const uint32_t used : {1u, 3u}) {
      if (used > experts) continue;
      check(setup(experts, used), tolerance(), [&](Mixture& m) {
        return m.sum(m.table("table_x", width()), m.routes(), "w", 40, width());
      });
    }
  }
}

/// All weightings, with and without a sum and biases.
TEST_P(MoeLinear, WeighsInputsOrOutputsOrNeither) {
  for (const auto weights : {ExpertWeights::None, ExpertWeights::Outputs, ExpertWeights::Inputs}) {
    for (const bool sum : {false, true}) {
      for (const bool biased : {false, true}) {
        SCOPED_TRACE(testing::Message() << "weights " << static_cast<int>(weights)
                                        << (sum ? ", sum" : "") << (biased ? ", bias" : ""));
        for (const uint64_t parts : {1, 3}) {
          check(setup(5, 3), tolerance(), [&](Mixture& m) {
            const Slot bias = biased ? m.b.weight("bias", Format::F16, 5, 40) : kNoSlot;
            return op::moe_linear(m.b, m.table("table_x", parts * width()), m.routes(),
                                  m.weight("w", 40, width(), GetParam()), {5, sum, weights, bias});
          });
        }
      }
    }
  }
}

TEST_P(MoeLinear, OfAPartForEachExpert) {
  check(setup(5, 3), tolerance(), [&](Mixture& m) {
    return m.sum(m.table("table_x", 3 * width()), m.routes(), "w", 40, width());
  });
}

INSTANTIATE_TEST_SUITE_P(Formats, MoeLinear,
                         testing::Values(Format::F32, Format::F16, Format::BF16, Format::Q8_0,
                                         Format::Q4_0, Format::Q4_K, Format::Q6_K, Format::IQ4_NL),
                         [](const auto& test) {
                           return std::string(find_format(test.param)->name);
                         });

struct Case {
  const char* name;
  std::function<Slot(Mixture& m)> make;
};

constexpr uint64_t kHidden = 160;

const Case kCases[] = {
    {"GateUpDown",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       const Slot gate = m.each(x, routes, "gate", kHidden);
       const Slot h = op::glu(m.b, TENON_ACTIVATION_SILU, gate, m.each(x, routes, "up", kHidden));
       return op::add(m.b, x, m.sum(h, routes, "down", kWidth, kHidden));
     }},
    {"UpThenGate",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       const Slot up = m.each(x, routes, "up", kHidden);
       const Slot gate = m.each(x, routes, "gate", kHidden);
       const Slot h = op::glu(m.b, TENON_ACTIVATION_GELU_TANH, gate, up);
       return op::add(m.b, m.sum(h, routes, "down", kWidth, kHidden), x);
     }},
    {"GateInFloat",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       const Slot gate = op::moe_linear(m.b, x, routes,
                                        m.weight("gate", kHidden, kWidth, Format::F16), m.experts);
       const Slot h = op::glu(m.b, TENON_ACTIVATION_SILU, gate, m.each(x, routes, "up", kHidden));
       return m.sum(h, routes, "down", kWidth, kHidden);
     }},
    {"DownInFloat",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       const Slot gate = m.each(x, routes, "gate", 70);
       const Slot h = op::glu(m.b, TENON_ACTIVATION_RELU, gate, m.each(x, routes, "up", 70));
       const Slot down = m.weight("down", kWidth, 70, Format::BF16);
       return op::moe_linear_sum(m.b, h, routes, down, m.experts);
     }},
    {"GluIsTheResult",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       const Slot gate = m.each(x, routes, "gate", 70);
       return op::glu(m.b, TENON_ACTIVATION_SILU, gate, m.each(x, routes, "up", 70));
     }},
    {"GateIsUp",
     [](Mixture& m) {
       const Slot y = m.each(m.x(), m.routes(), "w", 70);
       return op::glu(m.b, TENON_ACTIVATION_SILU, y, y);
     }},
    {"GateUpDownWithBiasesAndLimits",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       const auto biased = [&](Slot input, const char* name, uint64_t rows, uint64_t columns,
                               bool sum) {
         const std::string bias = std::string(name) + ".bias";
         return op::moe_linear(m.b, input, routes, m.weight(name, rows, columns, m.format),
                               {m.experts, sum, sum ? ExpertWeights::Outputs : ExpertWeights::None,
                                m.b.weight(bias, Format::F32, m.experts, rows)});
       };
       const Slot gate = biased(x, "gate", kHidden, kWidth, false);
       const Slot up = biased(x, "up", kHidden, kWidth, false);
       const Slot h = op::glu(m.b, GluOptions{TENON_ACTIVATION_SILU, 1.702f, 1.0f, 1.0f}, gate, up);
       return biased(h, "down", kWidth, kHidden, true);
     }},
    {"GateUpDownWithLimitsOfActivatedGates",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       const Slot gate = m.each(x, routes, "gate", kHidden);
       const Slot up = m.each(x, routes, "up", kHidden);
       const GluOptions late{.limit = 0.5f, .limit_after = true};
       return m.sum(op::glu(m.b, late, gate, up), routes, "down", kWidth, kHidden);
     }},
    {"WeightedInputs",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       const auto weighed = [&](const char* name, ExpertWeights weights) {
         return op::moe_linear(m.b, x, routes, m.weight(name, kHidden, kWidth, m.format),
                               {m.experts, false, weights});
       };
       const Slot gate = weighed("gate", ExpertWeights::Inputs);
       const Slot h =
           op::glu(m.b, TENON_ACTIVATION_SILU, gate, weighed("up", ExpertWeights::Inputs));
       const Slot down = m.weight("down", kWidth, kHidden, m.format);
       const Slot y = op::moe_linear(m.b, h, routes, down, {m.experts, true});
       // One input, weighted and unweighted, with weighted results.
       const Slot mixed =
           op::glu(m.b, TENON_ACTIVATION_SILU, weighed("up", ExpertWeights::None), gate);
       const Slot outputs =
           op::glu(m.b, TENON_ACTIVATION_SILU, weighed("gate", ExpertWeights::Outputs),
                   weighed("up", ExpertWeights::Outputs));
       return op::add(
           m.b, op::add(m.b, y, m.sum(mixed, routes, "down", kWidth, kHidden)),
           op::moe_linear(m.b, outputs, routes, down, {m.experts, true, ExpertWeights::Inputs}));
     }},
    {"WeightedHiddenWeightedAgain",
     [](Mixture& m) {
       const Route routes = m.routes();
       const Slot h = op::moe_linear(m.b, m.x(), routes, m.weight("w", kHidden, kWidth, m.format),
                                     {m.experts, false, ExpertWeights::Outputs});
       const Slot down = m.weight("down", kWidth, kHidden, m.format);
       return op::add(
           m.b, op::moe_linear(m.b, h, routes, down, {m.experts, true, ExpertWeights::Inputs}),
           op::moe_linear(m.b, h, routes, down, {m.experts, true}));
     }},
    {"HiddenReadTwice",
     [](Mixture& m) {
       const Route routes = m.routes();
       const Slot h = m.each(m.x(), routes, "w", kHidden);
       return op::add(m.b, m.sum(h, routes, "a", kWidth, kHidden),
                      m.sum(h, routes, "c", kWidth, kHidden));
     }},
    {"HiddenReadByOthers",
     [](Mixture& m) {
       const Route routes = m.routes();
       const Slot h = op::scale(m.b, m.each(m.x(), routes, "w", kHidden), 0.5f);
       return op::add(m.b, m.sum(h, routes, "a", kWidth, kHidden),
                      op::linear(m.b, h, m.b.weight("c", m.format, kWidth, 2 * kHidden)));
     }},
    {"TwoRoutes",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       const Route others = m.routes("table_others");
       const Slot h = m.each(x, routes, "w", kHidden);
       const Slot y = m.each(x, others, "w", kHidden);
       return op::add(m.b, m.sum(h, others, "a", kWidth, kHidden),
                      m.sum(y, others, "a", kWidth, kHidden));
     }},
    {"HiddenTakenWhole",
     [](Mixture& m) {
       const Route routes = m.routes();
       const Slot h = m.each(m.x(), routes, "w", 80);
       return m.sum(h, routes, "a", kWidth, 160);
     }},
    {"Chained",
     [](Mixture& m) {
       const Route routes = m.routes();
       const Slot y = m.sum(m.x(), routes, "a", kWidth);
       return m.sum(y, routes, "c", kWidth);
     }},
    {"RoutesOfALinear",
     [](Mixture& m) {
       const Slot x = op::rms_norm(m.b, m.x(), m.b.weight("n", Format::F32, 1, kWidth), 1e-5f);
       const Slot router = m.b.weight("router", Format::F32, m.experts, kWidth);
       const Route routes = op::moe_route(m.b, op::linear(m.b, x, router), {.used = 3});
       return m.sum(x, routes, "w", kWidth);
     }},
    {"ResultNobodyReads",
     [](Mixture& m) {
       const Slot x = m.x();
       const Route routes = m.routes();
       m.each(x, routes, "unread", 33);
       m.sum(x, routes, "unread too", 33);
       return m.sum(x, routes, "w", kWidth);
     }},
    {"GatedByASigmoid",
     [](Mixture& m) {
       const Slot x = m.x();
       const Slot gate = op::linear(m.b, x, m.b.weight("gate", Format::F32, 1, kWidth));
       const Slot y =
           op::sigmoid_gate(m.b, op::linear(m.b, x, m.b.weight("w", m.format, 70, kWidth)), gate);
       const Slot z = op::linear(m.b, x, m.b.weight("gates", m.format, 1, kWidth));
       return op::sigmoid_gate(m.b, op::sigmoid_gate(m.b, y, z), op::sigmoid_gate(m.b, z, gate));
     }},
};

class MoeFusion : public testing::TestWithParam<std::tuple<const Case*, Format>> {};

TEST_P(MoeFusion, AgreesWithOneByOne) {
  const auto& [one, format] = GetParam();
  const double tolerance = format == Format::F32 ? float_tolerance() : chain_tolerance(format);
  check({{}, 5, 2, false, format}, tolerance, one->make);
}

std::vector<const Case*> all_cases() {
  std::vector<const Case*> cases;
  for (const Case& one : kCases) cases.push_back(&one);
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Patterns, MoeFusion,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::Values(Format::F32, Format::Q8_0)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)->name) + "_" +
                                  find_format(std::get<1>(test.param))->name;
                         });

}  // namespace
}  // namespace tenon::conformance
