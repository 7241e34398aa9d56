// Contract of the plugin ABI besides results: cancelling, failures with a sentence, exhausted
// memory, structures that grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "program/operations.h"
#include "quant/formats.h"
#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/conformance/mini_model.h"
#include "tests/conformance/program_runner.h"

namespace tenon::conformance {
namespace {

using testing::HasSubstr;
using testing::Not;

MiniModel small_model() {
  MiniModel model;
  model.layers = 1;
  model.formats = {Format::F32, Format::Q8_0};
  return model;
}

TEST(Cancel, StopsAStepAndTheNextRunsAsIfNothingHadBeen) {
  const Program program = build(small_model());
  Runner runner(target(), program);
  Runner undisturbed(target(), program);
  const StepPlan prompt = one_sequence(9, 67);
  EXPECT_EQ(runner.run(prompt), undisturbed.run(prompt));
  uint32_t flag = 1;
  StepPlan next{{{0, tokens(2, 67, 9)}}};
  next.cancel = &flag;
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { runner.run(next); });
  flag = 0;
  EXPECT_EQ(runner.run(next), undisturbed.run(next));
}

TEST(Memory, EveryAllocationMayFail) {
  const Program program = build(small_model());
  const StepPlan step = one_sequence(9, 67);
  uint64_t num_failures = 0;
  for (uint64_t n = 0;; ++n) {
    auto system = std::make_shared<FaultySystem>(n, ENOMEM);
    try {
      Runner runner(target(), program, {.host = {.system = system}});
      runner.run(step);
    } catch (const Error& error) {
      ++num_failures;
      EXPECT_EQ(error.code(), Code::NoMemory) << "call " << n << ": " << error.what();
      EXPECT_THAT(error.what(), HasSubstr("memory")) << "call " << n;
    }
    EXPECT_TRUE(system->all_released()) << "call " << n;
    if (!system->failed()) break;
  }
  // At least weights, activations and KV, if the device has no memory of its own.
  EXPECT_GE(num_failures, target_info().memory_total > 0 ? 0u : 3u);
}

TEST(Memory, WithFewerThreadsThanAskedForResultsAreTheSame) {
  const Program program = build(small_model());
  const StepPlan step = one_sequence(9, 67);
  Runner undisturbed(target(), program);
  const std::vector<float> expected = undisturbed.run(step);
  for (uint64_t n = 0;; ++n) {
    auto system = std::make_shared<FaultySystem>(n, EAGAIN);
    try {
      Runner runner(target(), program, {.host = {.threads = 3, .system = system}});
      EXPECT_EQ(runner.run(step), expected);
    } catch (const Error&) {  // the failure was an allocation
    }
    if (!system->failed()) break;
  }
}

// ---- load_rows ----------------------------------------------------------------------------------

/// A linear [70, 96] and its embedding.
class LoadRows : public testing::TestWithParam<Format> {
 protected:
  LoadRows() {
    ProgramBuilder b;
    const Slot x = op::embed(b, b.weight("table", Format::F32, 67, 96));
    weight_ = b.weight("w", GetParam(), kRows, 96);
    bias_ = b.weight("bias", Format::F32, 1, kRows);
    const Slot out = op::gather_rows(b, op::linear(b, x, weight_, bias_));
    activation_ = x;
    program_ = std::make_unique<Program>(std::move(b).finish(out, {4, 4}));
    executable_ = std::make_unique<Executable>(make_device(target()), program_->view());
    blocks_ = random_blocks(program_->slots()[static_cast<uint32_t>(weight_)]);
    row_bytes_ = blocks_.size() / kRows;
  }

  static constexpr uint64_t kRows = 70;

  void load(Slot slot, uint64_t first, uint64_t count, uint64_t size_bytes) {
    executable_->load_rows(static_cast<uint32_t>(slot), first, count,
                           std::span(blocks_).first(size_bytes));
  }
  /// Expects a refusal with the backend's own sentence.
  void expect_refused(Slot slot, uint64_t first, uint64_t count, uint64_t size_bytes) {
    SCOPED_TRACE(testing::Message() << "rows " << first << " + " << count << ", " << size_bytes);
    expect_error(Code::Argument, Not(HasSubstr("load_rows failed")),
                 [&] { load(slot, first, count, size_bytes); });
  }

  Slot weight_{}, bias_{}, activation_{};
  std::unique_ptr<Program> program_;
  std::unique_ptr<Executable> executable_;
  std::vector<std::byte> blocks_;
  uint64_t row_bytes_ = 0;
};

TEST_P(LoadRows, RefusesWhatIsNoWeight) {
  for (const Slot slot : {activation_, Slot{1000}, kNoSlot}) {
    expect_refused(slot, 0, kRows, blocks_.size());
  }
}

TEST_P(LoadRows, RefusesRowsOutsideTheWeight) {
  expect_refused(weight_, 0, kRows + 1, blocks_.size());
  expect_refused(weight_, kRows, 1, row_bytes_);
  expect_refused(weight_, UINT64_MAX, 1, row_bytes_);
  expect_refused(weight_, 0, UINT64_MAX, row_bytes_);
  expect_refused(weight_, UINT64_MAX - 31, 64, 64 * row_bytes_);
}

TEST_P(LoadRows, RefusesAnotherSize) {
  expect_refused(weight_, 0, kRows, blocks_.size() - 1);
  expect_refused(weight_, 0, kRows, 0);
  expect_refused(weight_, 0, 0, 1);
  expect_refused(bias_, 0, 1, 4);
}

TEST_P(LoadRows, RefusesPartsThatAreNotWholePanels) {
  const uint64_t granularity = executable_->row_granularity(static_cast<uint32_t>(weight_));
  if (granularity == 1) GTEST_SKIP() << "this backend takes any rows";
  expect_refused(weight_, 1, granularity, granularity * row_bytes_);
  expect_refused(weight_, 0, granularity - 1, (granularity - 1) * row_bytes_);
  load(weight_, 0, granularity, granularity * row_bytes_);
}

TEST_P(LoadRows, NoRowsAreNothingToDo) {
  EXPECT_NO_THROW(executable_->load_rows(static_cast<uint32_t>(weight_), 0, 0, {}));
  EXPECT_NO_THROW(executable_->load_rows(static_cast<uint32_t>(weight_), kRows, 0, {}));
  EXPECT_NO_THROW(executable_->load_rows(static_cast<uint32_t>(bias_), 0, 0, {}));
  EXPECT_NO_THROW(executable_->load_rows(static_cast<uint32_t>(bias_), 1, 0, {}));
}

INSTANTIATE_TEST_SUITE_P(Formats, LoadRows,
                         testing::Values(Format::F32, Format::Q8_0, Format::IQ4_NL),
                         [](const auto& test) { return find_format(test.param)->name; });

// ---- Other calls --------------------------------------------------------------------------------

TEST(Device, RefusesAnUnknownOptionByName) {
  Target wrong = target();
  wrong.options = {{"colour", "blue"}};
  expect_error(Code::Argument, HasSubstr("colour"), [&] { make_device(wrong); });
}

TEST(Device, DescribesItselfWithinTheSizeItIsGiven) {
  const auto device = make_device(target());
  EXPECT_NE(device->description(), "");
  tenon_device_info info{};
  std::memset(&info, 0x5A, sizeof(info));
  info.struct_size = offsetof(tenon_device_info, description);  // an older host
  ASSERT_EQ(device->api().describe(device->get(), &info), TENON_BACKEND_OK);
  EXPECT_STREQ(info.name, device->api().name);
  EXPECT_EQ(info.description[0], 0x5A);
}

TEST(Compile, RefusesAnOperationItDoesNotKnow) {
  const Program program = build(small_model());
  std::vector<tenon_op> ops(program.ops().begin(), program.ops().end());
  ops[2].kind = 999;
  tenon_program changed = program.view();
  changed.ops = ops.data();
  const auto device = make_device(target());
  EXPECT_EQ(device->first_unsupported(program.view()), program.view().num_ops);
  EXPECT_EQ(device->first_unsupported(changed), 2u);
  EXPECT_EQ(device->api().supports(device->get(), &changed, changed.num_ops), 0);
  expect_error(Code::Unsupported, HasSubstr("operation 2"),
               [&] { const Executable executable(device, changed); });
}

TEST(Run, RefusesAStepLargerThanTheLimits) {
  ProgramBuilder b;
  const Slot out = op::gather_rows(b, op::embed(b, b.weight("table", Format::F32, 67, 8)));
  const Program program = std::move(b).finish(out, {4, 2});
  Executable executable(make_device(target()), program.view());
  executable.load_rows(0, 0, 67, random_blocks(program.slots()[0]));
  executable.seal();
  std::vector<int32_t> numbers(5);
  std::vector<uint32_t> rows(3);
  std::vector<float> logits(3 * 8);
  tenon_step step{};
  step.struct_size = sizeof(step);
  step.sequence_size = sizeof(tenon_step_sequence);
  step.tokens = step.positions = numbers.data();
  step.output_rows = rows.data();
  const tenon_binding binding{program.view().logits, 0, logits.data()};
  step.bindings = &binding;
  step.num_bindings = 1;
  step.binding_size = sizeof(binding);
  for (const auto& [num_tokens, num_outputs] : {std::pair{5u, 1u}, {4u, 3u}}) {
    step.num_tokens = num_tokens;
    step.num_outputs = num_outputs;
    EXPECT_THROW(executable.run(step), Error);
  }
  step.num_tokens = 4;
  step.num_outputs = 2;
  EXPECT_NO_THROW(executable.run(step));
}

TEST(Run, RefusesBeforeTheWeightsAreSealed) {
  ProgramBuilder b;
  const Slot out = op::gather_rows(b, op::embed(b, b.weight("table", Format::F32, 67, 8)));
  const Program program = std::move(b).finish(out, {4, 2});
  Executable executable(make_device(target()), program.view());
  tenon_step step{};
  step.struct_size = sizeof(step);
  expect_error(Code::State, HasSubstr("seal"), [&] { executable.run(step); });
}

TEST(Buffer, IsZeroedAndReadWrittenCopiedByRange) {
  const Program program = build(small_model());
  Executable executable(make_device(target()), program.view());
  for (const uint64_t size : {uint64_t{1}, uint64_t{1000}, uint64_t{3} << 20}) {
    DeviceBuffer a(executable.device(), size, TENON_MEMORY_CACHE);
    DeviceBuffer b(executable.device(), size, TENON_MEMORY_CACHE);
    std::vector<uint8_t> bytes(size, 1);
    a.read(0, bytes.data(), size);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0), static_cast<int64_t>(size));
    const uint8_t mark = 42;
    a.write(size - 1, &mark, 1);
    b.copy(0, a, size - 1, 1);
    uint8_t read = 0;
    b.read(0, &read, 1);
    EXPECT_EQ(read, mark);
    a.read(size, bytes.data(), 0);
  }
}

TEST(Buffer, RefusesBytesItDoesNotHaveWithASentence) {
  const Program program = build(small_model());
  Executable executable(make_device(target()), program.view());
  const tenon_backend_api& api = executable.device()->api();
  const DeviceBuffer owner(executable.device(), 100, TENON_MEMORY_CACHE);
  tenon_buffer* const buffer = owner.get();
  uint8_t bytes[200] = {};
  const auto refused = [&](tenon_status status) {
    EXPECT_EQ(status, TENON_BACKEND_ARGUMENT);
    EXPECT_NE(executable.device()->host().take_error(), "");
  };
  refused(api.buffer_read(buffer, 0, bytes, 101));
  refused(api.buffer_read(buffer, UINT64_MAX, bytes, 2));
  refused(api.buffer_write(buffer, 100, bytes, 1));
  refused(api.buffer_write(buffer, 1, bytes, UINT64_MAX));
  refused(api.buffer_copy(buffer, 1, buffer, 0, 100));
  refused(api.buffer_copy(buffer, 0, buffer, 101, 0));
}

// ---- Structures that grow -----------------------------------------------------------------------

/// A copy of an array whose elements have additional later members.
template <typename T>
class Later {
 public:
  explicit Later(std::span<const T> list) {
    for (const T& known : list) entries_.push_back({known, {~uint64_t{0}, ~uint64_t{0}}});
  }
  [[nodiscard]] const T* data() const { return &entries_.front().known; }
  static constexpr uint32_t size_bytes() { return sizeof(Entry); }

 private:
  struct Entry {
    T known;
    uint64_t later[2];
  };
  std::vector<Entry> entries_;
};

TEST(Structures, OfALaterVersionAreReadAsFarAsKnown) {
  const Program program = build(small_model());
  const Later slots(program.slots());
  const Later ops(program.ops());
  const Later groups(program.groups());
  struct {
    tenon_program known;
    uint64_t later[2];
  } grown{program.view(), {~uint64_t{0}, ~uint64_t{0}}};
  grown.known.struct_size = sizeof(grown);
  grown.known.slots = slots.data();
  grown.known.slot_size = slots.size_bytes();
  grown.known.ops = ops.data();
  grown.known.op_size = ops.size_bytes();
  grown.known.groups = groups.data();
  grown.known.group_size = groups.size_bytes();
  Runner later(target(), grown.known);
  Runner now(target(), program);
  EXPECT_EQ(later.run(one_sequence(9, 67)), now.run(one_sequence(9, 67)));
}

}  // namespace
}  // namespace tenon::conformance
