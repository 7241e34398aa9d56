// Layers go to devices in order, by size; the rest goes to the CPU.
#include "weights/layer_placement.h"

#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace tenon {
namespace {

LayerRoom device(uint64_t bytes = UINT64_MAX, std::optional<uint32_t> layers = {}) {
  return {"device", bytes, layers, false, {}};
}
LayerRoom cpu(uint64_t bytes = UINT64_MAX, std::optional<uint32_t> layers = {}) {
  return {"cpu", bytes, layers, true, {}};
}

struct Layers {
  std::vector<uint64_t> bytes = std::vector<uint64_t>(6, 10);
  std::vector<bool> may_begin = std::vector<bool>(6, true);
  std::optional<uint32_t> device_layers{};

  std::vector<uint32_t> on(const std::vector<LayerRoom>& rooms) const {
    return place_layers(rooms, {bytes, may_begin, device_layers});
  }
};

using Placed = std::vector<uint32_t>;

TEST(LayerPlacement, EverythingGoesToTheFirstThatHasRoom) {
  EXPECT_EQ(Layers{}.on({device(), cpu()}), Placed(6, 0));
  EXPECT_EQ(Layers{}.on({device(60), device(), cpu()}), Placed(6, 0));
  EXPECT_EQ(Layers{}.on({cpu()}), Placed(6, 0));
}

TEST(LayerPlacement, DevicesFillInOrderAndTheCpuTakesTheFirstLayers) {
  EXPECT_EQ(Layers{}.on({device(25), device(), cpu()}), (Placed{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(Layers{}.on({device(25), device(19), cpu()}), (Placed{2, 2, 2, 0, 0, 1}));
  EXPECT_EQ(Layers{}.on({cpu(), device(30)}), (Placed{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Layers{}.on({device(9), cpu()}), Placed(6, 1));
  EXPECT_EQ(Layers{}.on({device(0), cpu()}), Placed(6, 1));
}

TEST(LayerPlacement, LargeFirstAndLastLayersCount) {
  Layers layers;
  layers.bytes = {50, 10, 10, 10, 10, 50};  // with the embedding, with the output matrix
  EXPECT_EQ(layers.on({device(90), cpu()}), (Placed{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(layers.on({device(70), cpu()}), (Placed{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(layers.on({device(49), cpu()}), Placed(6, 1)) << "not without the last";
}

TEST(LayerPlacement, NumbersAreKept) {
  Layers layers;
  EXPECT_EQ(layers.on({device(UINT64_MAX, 2), device(), cpu()}), (Placed{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(layers.on({device(UINT64_MAX, 2), device(UINT64_MAX, 1), cpu()}),
            (Placed{2, 2, 2, 0, 0, 1}));
  EXPECT_EQ(layers.on({device(), cpu(UINT64_MAX, 4)}), (Placed{1, 1, 1, 1, 0, 0}));
  layers.device_layers = 2;
  EXPECT_EQ(layers.on({device(), cpu()}), (Placed{1, 1, 1, 1, 0, 0}));
  layers.device_layers = 0;
  EXPECT_EQ(layers.on({device(), cpu()}), Placed(6, 1));
  layers.device_layers = 99;
  EXPECT_EQ(layers.on({device(), cpu()}), Placed(6, 0));
}

TEST(LayerPlacement, TiedLayersStayTogether) {
  Layers layers;
  layers.may_begin = {true, true, true, true, false, false};
  EXPECT_EQ(layers.on({device(30), cpu()}), (Placed{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(layers.on({device(29), cpu()}), Placed(6, 1));
  layers.device_layers = 2;
  EXPECT_EQ(layers.on({device(), cpu()}), Placed(6, 1)) << "at most as many as asked for";
  layers.device_layers.reset();
  expect_error(Code::Argument, testing::HasSubstr("\"device\" cannot begin with layer 5"), [&] {
    (void)layers.on({device(UINT64_MAX, 1), cpu()});
  });
}

TEST(LayerPlacement, LayersThatADeviceCannotRunGoElsewhere) {
  LayerRoom some = device();
  some.can_run = {true, false, true, true, true, true};
  EXPECT_EQ(Layers{}.on({some, cpu()}), (Placed{1, 1, 0, 0, 0, 0}));
  some.can_run = {true, true, true, true, true, false};
  EXPECT_EQ(Layers{}.on({some, cpu()}), Placed(6, 1));
}

TEST(LayerPlacement, SaysWhatDoesNotFit) {
  Layers layers;
  expect_error(Code::NoMemory,
               testing::HasSubstr("the 6 layers take 60 bytes, which do not fit \"device\" with "
                                  "room for 10 bytes of layers"),
               [&] {
                 (void)layers.on({device(10), cpu(10)});
               });
  layers.device_layers = 5;
  expect_error(Code::NoMemory, testing::HasSubstr("gpu_layers is 5, but 2 of 6 layers at most fit"),
               [&] {
                 (void)layers.on({device(25), cpu()});
               });
  layers.device_layers.reset();
  expect_error(Code::Argument, testing::HasSubstr("7 layers are asked for, the model has 6"), [&] {
    (void)layers.on({device(99, 4), device(99, 3), cpu()});
  });
  expect_error(Code::Argument, testing::HasSubstr("4 layers are asked for, the model has 6"), [&] {
    (void)layers.on({device(99, 2), cpu(99, 2)});
  });
}

}  // namespace
}  // namespace tenon
