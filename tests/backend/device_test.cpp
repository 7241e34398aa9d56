// A backend that breaks the rules of its interface costs its user an Error that names it.
#include "backend/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/device_buffer.h"
#include "backend/executable.h"
#include "base/error.h"
#include "tests/backend/plugins/stub_table.h"
#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr uint64_t kVocab = 5;
char object;  // the address of all objects of the honest backend

template <typename Object>
tenon_status give(Object** out) {
  *out = reinterpret_cast<Object*>(&object);
  return TENON_BACKEND_OK;
}

void fill(tenon_device_info& info) {
  info.kind = TENON_DEVICE_ACCELERATOR;
  info.step_tokens = info.step_outputs = info.token_multiple = info.block_tokens = 1;
  info.slab_bytes = 1;
  info.steps_under_way = 1;
}

float* logits_of(const tenon_step& step) { return static_cast<float*>(step.bindings[0].data); }

/// Answers a draw with these candidates if it lists, else with a token.
tenon_status list_candidates(const tenon_draw& draw, const std::vector<int32_t>& tokens,
                             const std::vector<float>& logits, uint64_t* ticket) {
  *ticket = 2;
  draw.drawn->token = kVocab - 1;
  if (draw.kind != TENON_DRAW_CANDIDATES) return tenon_status{0};
  draw.drawn->num_candidates = static_cast<uint32_t>(tokens.size());
  std::copy(tokens.begin(), tokens.end(), draw.candidates);
  std::copy(logits.begin(), logits.end(), draw.logits);
  return tenon_status{0};
}

/// A backend that keeps to the rules; its logits are 1.
constexpr tenon_backend_api honest() {
  tenon_backend_api api = stub_table();
  api.create_device = [](const tenon_host*, uint32_t, const tenon_backend_option*, uint32_t,
                         tenon_device** out) { return give(out); };
  api.describe = [](tenon_device*, tenon_device_info* info) {
    fill(*info);
    return tenon_status{0};
  };
  api.supports = [](tenon_device*, const tenon_program*, uint32_t) { return int32_t{1}; };
  api.compile = [](tenon_device*, const tenon_program*, tenon_executable** out) {
    return give(out);
  };
  api.buffer_create = [](tenon_device*, uint64_t, uint32_t, tenon_buffer** out) {
    return give(out);
  };
  api.block_bytes = [](const tenon_executable*, uint32_t) { return uint64_t{64}; };
  api.seal = [](tenon_executable*) { return tenon_status{0}; };
  api.run = [](tenon_executable*, const tenon_step* step, uint64_t* ticket) {
    for (uint64_t i = 0; i < step->num_outputs * kVocab; ++i) logits_of(*step)[i] = 1;
    *ticket = 1;
    return tenon_status{0};
  };
  api.draw = [](tenon_executable*, uint64_t, const tenon_draw* draws, uint32_t, uint32_t,
                uint64_t* ticket) {
    return list_candidates(*draws, {1, 4}, {3.0F, 3.0F}, ticket);
  };
  api.wait = [](tenon_executable*, uint64_t) { return tenon_status{0}; };
  return api;
}

/// Collects log lines.
struct Lines {
  std::vector<std::string> all;
  Log log() {
    Log log;
    log.user = this;
    log.write = [](void* user, int32_t, const char* text, size_t length) {
      static_cast<Lines*>(user)->all.emplace_back(text, length);
    };
    return log;
  }
};

std::shared_ptr<Device> device_of(const tenon_backend_api& api, const Log& log = {},
                                  bool plugin = true) {
  auto services =
      std::make_unique<HostServices>(System::real(), log, std::make_unique<ThreadTeam>(1));
  std::shared_ptr<const void> library;
  if (plugin) library.reset(&object, [](const void*) {});
  return Device::create({&api, library}, std::move(services), {});
}

/// One cache group and logits of kVocab columns.
struct Small {
  tenon_slot slot{};
  tenon_cache_group group{};
  tenon_op op{};
  uint32_t result = 0;
  tenon_program program{};
  Small() {
    slot.columns = kVocab;
    slot.kind = TENON_SLOT_ACTIVATION;
    slot.row_class = TENON_ROWS_OUTPUTS;
    program.num_results = 1;
    program.results = &result;
    program.num_slots = 1;
    program.slot_size = sizeof(slot);
    program.slots = &slot;
    program.num_groups = 1;
    program.group_size = sizeof(group);
    program.groups = &group;
    program.num_ops = 1;
    program.op_size = sizeof(op);
    program.ops = &op;
  }
};

/// Makes all calls that the host makes to a backend, in order, with a step of two rows.
void use(const tenon_backend_api& api, const uint32_t* cancel = nullptr) {
  const std::shared_ptr<Device> device = device_of(api);
  static_cast<void>(device->description());
  const Small small;
  static_cast<void>(device->first_unsupported(small.program));
  Executable executable(device, small.program);
  static_cast<void>(executable.row_granularity(0));
  static_cast<void>(executable.memory_bytes(TENON_MEMORY_WEIGHTS));
  executable.seal();
  const DeviceBuffer buffer(device, 64, TENON_MEMORY_CACHE);
  float logits[2 * kVocab] = {};
  tenon_step step{};
  step.num_outputs = 2;
  const tenon_binding binding{0, 0, logits};
  step.bindings = &binding;
  step.num_bindings = 1;
  step.binding_size = sizeof(binding);
  step.cancel = cancel;
  const uint64_t ticket = executable.submit(step);
  executable.wait(ticket);
  if (!executable.draws()) return;
  tenon_drawn drawn{};
  tenon_draw draw{};
  draw.kind = TENON_DRAW_GREEDY;
  draw.drawn = &drawn;
  executable.wait(executable.draw(ticket, {&draw, 1}));
  int32_t candidates[2] = {};
  draw.kind = TENON_DRAW_CANDIDATES;
  draw.num_candidates = 2;
  draw.candidates = candidates;
  draw.logits = logits;
  executable.wait(executable.draw(ticket, {&draw, 1}));
}

tenon_status describe_one_that_draws(tenon_device*, tenon_device_info* info) {
  fill(*info);
  info->flags = TENON_DEVICE_DRAWS;
  return tenon_status{0};
}

struct Lie {
  const char* text;
  void (*tell)(tenon_backend_api& api);
};

const Lie kLies[] = {
    {"create_device threw an exception",
     [](tenon_backend_api& api) {
       api.create_device = [](const tenon_host*, uint32_t, const tenon_backend_option*, uint32_t,
                              tenon_device**) -> tenon_status { throw Error(Code::Io, "mine"); };
     }},
    {"create_device gave no device",
     [](tenon_backend_api& api) {
       api.create_device = [](const tenon_host*, uint32_t, const tenon_backend_option*, uint32_t,
                              tenon_device**) { return tenon_status{0}; };
     }},
    {"describe threw an exception",
     [](tenon_backend_api& api) {
       api.describe = [](tenon_device*, tenon_device_info*) -> tenon_status { throw 1; };
     }},
    {"supports threw an exception",
     [](tenon_backend_api& api) {
       api.supports = [](tenon_device*, const tenon_program*, uint32_t) -> int32_t {
         throw std::runtime_error("supports");
       };
     }},
    {"compile threw an exception",
     [](tenon_backend_api& api) {
       api.compile = [](tenon_device*, const tenon_program*, tenon_executable**) -> tenon_status {
         throw 1;
       };
     }},
    {"compile gave no executable",
     [](tenon_backend_api& api) {
       api.compile = [](tenon_device*, const tenon_program*, tenon_executable**) {
         return tenon_status{0};
       };
     }},
    {"block_bytes is 0",
     [](tenon_backend_api& api) {
       api.block_bytes = [](const tenon_executable*, uint32_t) { return uint64_t{0}; };
     }},
    {"block_bytes is 18446744073709551615",
     [](tenon_backend_api& api) {
       api.block_bytes = [](const tenon_executable*, uint32_t) { return UINT64_MAX; };
     }},
    {"row_granularity is 0",
     [](tenon_backend_api& api) {
       api.row_granularity = [](const tenon_executable*, uint32_t) { return uint64_t{0}; };
     }},
    {"memory_bytes is 18446744073709551615",
     [](tenon_backend_api& api) {
       api.memory_bytes = [](const tenon_executable*, uint32_t) { return UINT64_MAX; };
     }},
    {"buffer_create gave no buffer",
     [](tenon_backend_api& api) {
       api.buffer_create = [](tenon_device*, uint64_t, uint32_t, tenon_buffer**) {
         return tenon_status{0};
       };
     }},
    {"run failed with status 99, which the interface does not know",
     [](tenon_backend_api& api) {
       api.run = [](tenon_executable*, const tenon_step*, uint64_t*) { return tenon_status{99}; };
     }},
    {"run failed with status 9, which",  // a code of tenon.h, not of backend.h
     [](tenon_backend_api& api) {
       api.run = [](tenon_executable*, const tenon_step*, uint64_t*) { return tenon_status{9}; };
     }},
    {"run failed with status 14",
     [](tenon_backend_api& api) {
       api.run = [](tenon_executable*, const tenon_step*, uint64_t*) {
         return tenon_status{TENON_BACKEND_INTERNAL};
       };
     }},
    {"describes itself with a zero",
     [](tenon_backend_api& api) {
       api.describe = [](tenon_device*, tenon_device_info* info) {
         fill(*info);
         info->steps_under_way = 0;
         return tenon_status{0};
       };
     }},
    {"wait was cancelled, which nobody asked for",
     [](tenon_backend_api& api) {
       api.wait = [](tenon_executable*, uint64_t) { return tenon_status{TENON_BACKEND_CANCELLED}; };
     }},
    {"run did not write its results: 1 of 10 values are missing",
     [](tenon_backend_api& api) {
       api.run = [](tenon_executable*, const tenon_step* step, uint64_t* ticket) {
         for (uint64_t i = 0; i + 1 < step->num_outputs * kVocab; ++i) logits_of(*step)[i] = 1;
         *ticket = 1;
         return tenon_status{0};
       };
     }},
    {"run gave no ticket",
     [](tenon_backend_api& api) {
       api.run = [](tenon_executable*, const tenon_step*, uint64_t*) { return tenon_status{0}; };
     }},
    {"draws, but the table has no draw",
     [](tenon_backend_api& api) {
       api.describe = describe_one_that_draws;
       api.draw = nullptr;
     }},
    {"draws, but the table has no draw",
     [](tenon_backend_api& api) {
       api.describe = describe_one_that_draws;
       api.struct_size = offsetof(tenon_backend_api, draw);
     }},
    {"draw gave no ticket",
     [](tenon_backend_api& api) {
       api.describe = describe_one_that_draws;
       api.draw = [](tenon_executable*, uint64_t, const tenon_draw*, uint32_t, uint32_t,
                     uint64_t*) { return tenon_status{0}; };
     }},
    {"drew token 5 of 5",
     [](tenon_backend_api& api) {
       api.describe = describe_one_that_draws;
       api.draw = [](tenon_executable*, uint64_t, const tenon_draw* draws, uint32_t, uint32_t,
                     uint64_t* ticket) {
         draws->drawn->token = kVocab;
         *ticket = 2;
         return tenon_status{0};
       };
     }},
    {"listed 0 candidates of 2",
     [](tenon_backend_api& api) {
       api.describe = describe_one_that_draws;
       api.draw = [](tenon_executable*, uint64_t, const tenon_draw* draws, uint32_t, uint32_t,
                     uint64_t* ticket) { return list_candidates(*draws, {}, {}, ticket); };
     }},
    {"listed token 5 with logit 3 in place 1 of 2",
     [](tenon_backend_api& api) {
       api.describe = describe_one_that_draws;
       api.draw = [](tenon_executable*, uint64_t, const tenon_draw* draws, uint32_t, uint32_t,
                     uint64_t* ticket) {
         return list_candidates(*draws, {1, kVocab}, {3.0F, 3.0F}, ticket);
       };
     }},
    {"listed token 2 with logit 3 in place 1 of 2",
     [](tenon_backend_api& api) {
       api.describe = describe_one_that_draws;
       api.draw = [](tenon_executable*, uint64_t, const tenon_draw* draws, uint32_t, uint32_t,
                     uint64_t* ticket) {
         return list_candidates(*draws, {3, 2}, {3.0F, 3.0F}, ticket);
       };
     }},
    {"listed token 3 with logit inf in place 0 of 2",
     [](tenon_backend_api& api) {
       api.describe = describe_one_that_draws;
       api.draw = [](tenon_executable*, uint64_t, const tenon_draw* draws, uint32_t, uint32_t,
                     uint64_t* ticket) {
         return list_candidates(*draws, {3, 2}, {INFINITY, 3.0F}, ticket);
       };
     }},
};

TEST(Device, AnHonestBackendIsUsed) {
  tenon_backend_api api = honest();
  EXPECT_NO_THROW(use(api));
  api.describe = describe_one_that_draws;
  EXPECT_NO_THROW(use(api));
}

TEST(Device, EveryLieIsAPluginErrorThatNamesTheBackend) {
  for (const Lie& lie : kLies) {
    SCOPED_TRACE(lie.text);
    tenon_backend_api api = honest();
    lie.tell(api);
    expect_error(Code::Plugin, AllOf(StartsWith("backend \"stub\": "), HasSubstr(lie.text)),
                 [&] { use(api); });
  }
}

TEST(Device, AFailureKeepsItsCode) {
  tenon_backend_api api = honest();
  api.seal = [](tenon_executable*) { return tenon_status{TENON_BACKEND_NO_MEMORY}; };
  expect_error(Code::NoMemory, StartsWith("backend \"stub\": seal failed"), [&] { use(api); });
}

TEST(Device, ACancelThatWasAskedForIsCancelled) {
  tenon_backend_api api = honest();
  api.run = [](tenon_executable*, const tenon_step*, uint64_t*) {
    return tenon_status{TENON_BACKEND_CANCELLED};
  };
  const uint32_t cancel = 1;
  expect_error(Code::Cancelled, HasSubstr("run failed"), [&] { use(api, &cancel); });
}

TEST(Device, WhatAFailedCreateLeftIsNotDestroyed) {
  static bool destroyed;
  destroyed = false;
  tenon_backend_api api = honest();
  api.create_device = [](const tenon_host*, uint32_t, const tenon_backend_option*, uint32_t,
                         tenon_device** out) {
    static_cast<void>(give(out));
    return tenon_status{TENON_BACKEND_NO_MEMORY};
  };
  api.destroy_device = [](tenon_device*) { destroyed = true; };
  expect_error(Code::NoMemory, HasSubstr("create_device"), [&] { use(api); });
  EXPECT_FALSE(destroyed);
}

TEST(Device, AnExecutableOfNoUseIsDestroyed) {
  static int destroyed;
  destroyed = 0;
  tenon_backend_api api = honest();
  api.block_bytes = [](const tenon_executable*, uint32_t) { return uint64_t{0}; };
  api.destroy_executable = [](tenon_executable*) { ++destroyed; };
  expect_error(Code::Plugin, HasSubstr("block_bytes"), [&] { use(api); });
  EXPECT_EQ(destroyed, 1);
}

TEST(Device, DestroyFunctionsThatThrowAreLogged) {
  Lines lines;
  tenon_backend_api api = honest();
  api.destroy_device = [](tenon_device*) { throw 1; };
  api.destroy_executable = [](tenon_executable*) { throw 1; };
  api.buffer_destroy = [](tenon_buffer*) { throw 1; };
  {
    const Small small;
    Executable executable(device_of(api, lines.log()), small.program);
    const DeviceBuffer buffer(executable.device(), 1, TENON_MEMORY_CACHE);
  }
  EXPECT_THAT(lines.all, testing::ElementsAre(HasSubstr("buffer_destroy threw"),
                                              HasSubstr("destroy_executable threw"),
                                              HasSubstr("destroy_device threw")));
}

TEST(Device, TheSizeOfABlockIsAskedOnce) {
  static uint64_t size;
  size = 64;
  tenon_backend_api api = honest();
  api.block_bytes = [](const tenon_executable*, uint32_t) { return size++; };
  const Small small;
  const Executable executable(device_of(api), small.program);
  EXPECT_EQ(executable.block_bytes(0), 64u);
  EXPECT_EQ(executable.block_bytes(0), 64u);
}

TEST(Device, ADescriptionWithoutAnEndOrUtf8IsShown) {
  tenon_backend_api api = honest();
  api.describe = [](tenon_device*, tenon_device_info* info) {
    fill(*info);
    for (char& c : info->description) c = '\xff';
    return tenon_status{0};
  };
  const std::string text = device_of(api)->description();
  EXPECT_LT(text.size(), sizeof(tenon_device_info::description));
  EXPECT_THAT(text, StartsWith("\\xff\\xff"));
}

TEST(Device, LogitsOfABuiltInBackendAreNotTouched) {
  static float before;
  tenon_backend_api api = honest();
  api.run = [](tenon_executable*, const tenon_step* step, uint64_t* ticket) {
    *ticket = 1;
    before = logits_of(*step)[0];
    return tenon_status{0};
  };
  const Small small;
  Executable executable(device_of(api, {}, false), small.program);
  float logits[kVocab] = {7};
  tenon_step step{};
  step.num_outputs = 1;
  const tenon_binding binding{0, 0, logits};
  step.bindings = &binding;
  step.num_bindings = 1;
  step.binding_size = sizeof(binding);
  executable.run(step);
  EXPECT_EQ(before, 7);
}

}  // namespace
}  // namespace tenon
