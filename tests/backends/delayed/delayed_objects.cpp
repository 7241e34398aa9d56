#include "backends/delayed/delayed_objects.h"

#include <fmt/core.h>

#include <charconv>
#include <memory>
#include <utility>

#include "abi/failure.h"

extern "C" const tenon_backend_api* tenon_reference_backend_entry(uint32_t major, uint32_t minor);

namespace tenon::delayed {
namespace {

/// The longest latency, in microseconds.
constexpr uint32_t kMostTime = 10'000'000;
/// Most steps that an info may report.
constexpr uint32_t kMostSteps = 64;
constexpr uint32_t kMostStepTokens = 65536;
constexpr uint32_t kMostBlockTokens = 4096;

uint32_t number_in(std::string_view key, std::string_view value, uint32_t least, uint32_t most) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || number < least ||
      number > most) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "option \"{}\" is \"{}\", not in {}..{}", key, value,
                     least, most);
  }
  return number;
}

tenon_status fail_as_asked(const char* job, uint32_t number) {
  *WorkQueue::sentence() = fmt::format("delayed: {} {} fails, as it was asked to", job, number);
  return TENON_BACKEND_INTERNAL;
}

}  // namespace

const tenon_backend_api& inner_api() {
  return *tenon_reference_backend_entry(TENON_BACKEND_MAJOR, TENON_BACKEND_MINOR);
}

void check_inner(tenon_status status) {
  if (status != TENON_BACKEND_OK) backends::fail_as_host(status);
}

void Settings::set(std::string_view key, std::string_view value) {
  if (key == "step_us") {
    step_time = std::chrono::microseconds(number_in(key, value, 0, kMostTime));
  } else if (key == "draw_us") {
    draw_time = std::chrono::microseconds(number_in(key, value, 0, kMostTime));
  } else if (key == "steps") {
    steps_under_way = number_in(key, value, 1, kMostSteps);
  } else if (key == "step_tokens") {
    step_tokens = number_in(key, value, 1, kMostStepTokens);
  } else if (key == "block_tokens") {
    block_tokens = number_in(key, value, 1, kMostBlockTokens);
  } else if (key == "fail_step") {
    fail_step = number_in(key, value, 0, UINT32_MAX);
  } else if (key == "fail_draw") {
    fail_draw = number_in(key, value, 0, UINT32_MAX);
  } else {
    backends::refuse(TENON_BACKEND_ARGUMENT, "unknown option \"{}\"", key);
  }
}

Device::Device(const tenon_host* host, const Settings& settings)
    : host_(host), settings_(settings) {
  check_inner(inner_api().create_device(host_.table(), 0, nullptr, 0, &inner_));
}

Device::~Device() {
  queue_.drain();
  inner_api().destroy_device(inner_);
}

Executable::Executable(Device& device, const tenon_program& program) : device_(device) {
  shape_.groups = groups_of(program).copies();
  shape_.position_parts = program.position_parts;
  shape_.token_history = program.token_history;
  if (program.logits < program.num_slots) shape_.vocab = slots_of(program)[program.logits].columns;
  check_inner(inner_api().compile(device.inner(), &program, &inner_));
}

Executable::~Executable() {
  device_.queue().drain();
  inner_api().destroy_executable(inner_);
}

uint64_t Executable::run(const tenon_step& step) {
  const auto inner_slab = [](tenon_buffer* slab) {
    return slab == nullptr ? nullptr : reinterpret_cast<Buffer*>(slab)->inner;
  };
  const auto copy = std::make_shared<StepCopy>(step, shape_, inner_slab);
  if (step.after != TENON_NO_TICKET && step.after != last_step_) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "step: after {}, not the last one", step.after);
  }
  WorkQueue::Job job;
  job.work = [this, copy](uint64_t ticket) { return run_now(*copy, ticket); };
  job.least = device_.settings().step_time;
  job.cancel = step.cancel;
  job.is_step = true;
  last_step_ = device_.queue().add(std::move(job), device_.settings().steps_under_way);
  return last_step_;
}

tenon_status Executable::run_now(StepCopy& copy, uint64_t ticket) {
  tenon_step& step = copy.step();
  step.after = inner_step(step.after);
  ran_ = TENON_NO_TICKET;
  if (++num_steps_ == device_.settings().fail_step) return fail_as_asked("step", num_steps_);
  uint64_t inner_ticket = 0;
  tenon_status status = inner_api().run(inner_, &step, &inner_ticket);
  if (status == TENON_BACKEND_OK) status = inner_api().wait(inner_, inner_ticket);
  if (status != TENON_BACKEND_OK) return status;
  ran_ = ticket;
  inner_ran_ = inner_ticket;
  return status;
}

uint64_t Executable::inner_step(uint64_t ticket) const {
  if (ticket == TENON_NO_TICKET) return TENON_NO_TICKET;
  // An invalid ticket makes the inner backend report the fault.
  return ticket == ran_ ? inner_ran_ : UINT64_MAX;
}

uint64_t Executable::draw(uint64_t step, const tenon_draw* draws, uint32_t num_draws,
                          uint32_t draw_size) {
  if (step == TENON_NO_TICKET || step != last_step_) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "draw: {} is not the last step", step);
  }
  const auto copy = std::make_shared<DrawCopy>(draws, num_draws, draw_size, shape_.vocab);
  WorkQueue::Job job;
  job.work = [this, copy, step](uint64_t) { return draw_now(*copy, step); };
  job.least = device_.settings().draw_time;
  return device_.queue().add(std::move(job), device_.settings().steps_under_way);
}

tenon_status Executable::draw_now(const DrawCopy& copy, uint64_t step) {
  if (++num_draws_ == device_.settings().fail_draw) return fail_as_asked("draw", num_draws_);
  uint64_t inner_ticket = 0;
  const auto count = static_cast<uint32_t>(copy.draws().size());
  const tenon_status status = inner_api().draw(inner_, inner_step(step), copy.draws().data(), count,
                                               sizeof(tenon_draw), &inner_ticket);
  return status == TENON_BACKEND_OK ? inner_api().wait(inner_, inner_ticket) : status;
}

void Executable::wait(uint64_t ticket) {
  WorkQueue::Ended ended = device_.queue().wait(ticket);
  if (ended.status == TENON_BACKEND_OK) return;
  const tenon_host* host = device_.host();
  if (!ended.text.empty()) host->set_error(host->user, ended.text.data(), ended.text.size());
  backends::fail_as_host(ended.status);
}

}  // namespace tenon::delayed
