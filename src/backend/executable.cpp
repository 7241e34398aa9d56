#include "backend/executable.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "abi/step_rules.h"
#include "base/error.h"

namespace tenon {
namespace {

/// A NaN that no arithmetic produces; marks values that a step left unwritten.
constexpr uint32_t kUnwritten = 0x7FE5A5A5u;

void mark_unwritten(std::span<uint32_t> values) {
  std::fill(values.begin(), values.end(), kUnwritten);
}

uint64_t num_unwritten(std::span<const uint32_t> values) {
  return static_cast<uint64_t>(std::count(values.begin(), values.end(), kUnwritten));
}

tenon_executable* compile(const Device& device, tenon_program program) {
  if (device.host().plans_only()) program.flags |= TENON_PROGRAM_PLAN;
  return device.make<tenon_executable>("compile", "executable", [&](tenon_executable** out) {
    return device.api().compile(device.get(), &program, out);
  });
}

}  // namespace

void Executable::Destroy::operator()(tenon_executable* executable) const noexcept {
  device->guarded_destroy("destroy_executable",
                          [&] { device->api().destroy_executable(executable); });
}

Executable::Executable(std::shared_ptr<Device> device, const tenon_program& program)
    : device_(std::move(device)), executable_(compile(*device_, program), Destroy{device_.get()}) {
  steps_.reserve(2 * size_t{device_->info().steps_under_way});  // and their draws
  for (uint32_t i = 0; i < program.num_results; ++i) {
    const uint32_t number = program.results[i];
    if (number >= program.num_slots) continue;
    const tenon_slot& slot = slots_of(program)[number];
    results_.push_back({number, slot.row_class, slot.columns});
    if (number == program.logits) vocab_ = slot.columns;
  }
  for (uint32_t group = 0; group < program.num_groups; ++group) {
    block_bytes_.push_back(device_->size(
        "block_bytes", 1, [&] { return device_->api().block_bytes(executable_.get(), group); }));
  }
}

uint64_t Executable::row_granularity(uint32_t slot) const {
  return device_->size("row_granularity", 1,
                       [&] { return device_->api().row_granularity(executable_.get(), slot); });
}

uint64_t Executable::memory_bytes(uint32_t purpose) const {
  return device_->size("memory_bytes", 0,
                       [&] { return device_->api().memory_bytes(executable_.get(), purpose); });
}

void Executable::load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows,
                           std::span<const std::byte> blocks) {
  device_->call("load_rows", [&] {
    return device_->api().load_rows(executable_.get(), slot, first_row, num_rows, blocks.data(),
                                    blocks.size());
  });
}

void Executable::seal() {
  device_->call("seal", [&] { return device_->api().seal(executable_.get()); });
}

uint64_t Executable::submit(const tenon_step& step) {
  Step started{0, step.cancel, {}, {}};
  // A pass over memory that a matrix product is about to fill.
  if (device_->is_plugin()) started.results = results_of(step);
  for (const std::span<uint32_t> values : started.results) mark_unwritten(values);
  device_->call(
      "run", [&] { return device_->api().run(executable_.get(), &step, &started.ticket); },
      step.cancel);
  if (started.ticket == TENON_NO_TICKET) device_->break_with("run gave no ticket");
  steps_.push_back(std::move(started));
  return steps_.back().ticket;
}

uint64_t Executable::draw(uint64_t step, std::span<const tenon_draw> draws) {
  if (!this->draws()) fail(Code::Internal, "backend \"{}\" does not draw", device_->name());
  Step started{0, nullptr, {}, {}};
  for (const tenon_draw& draw : draws) {
    if (draw.kind != TENON_DRAW_ROW) started.draws.push_back(draw);
  }
  device_->call("draw", [&] {
    return device_->api().draw(executable_.get(), step, draws.data(),
                               static_cast<uint32_t>(draws.size()), sizeof(tenon_draw),
                               &started.ticket);
  });
  if (started.ticket == TENON_NO_TICKET) device_->break_with("draw gave no ticket");
  steps_.push_back(std::move(started));
  return steps_.back().ticket;
}

bool Executable::has_ended(uint64_t ticket) const {
  if (!device_->can_poll()) return true;
  uint32_t ended = 0;
  device_->call("poll", [&] { return device_->api().poll(executable_.get(), ticket, &ended); });
  return ended != 0;
}

void Executable::wait(uint64_t ticket) {
  const auto found = std::find_if(steps_.begin(), steps_.end(),
                                  [&](const Step& step) { return step.ticket == ticket; });
  if (found == steps_.end()) fail(Code::Internal, "no step under way has ticket {}", ticket);
  const Step ended = std::move(*found);
  steps_.erase(found);
  device_->call(
      "wait", [&] { return device_->api().wait(executable_.get(), ticket); }, ended.cancel);
  for (const std::span<uint32_t> values : ended.results) {
    if (const uint64_t unwritten = num_unwritten(values); unwritten != 0) {
      device_->break_with(fmt::format("run did not write its results: {} of {} values are missing",
                                      unwritten, values.size()));
    }
  }
  for (const tenon_draw& draw : ended.draws) check_drawn(draw);
}

/// Throws Plugin if the draw breaks the rules of tenon_draw.
void Executable::check_drawn(const tenon_draw& draw) const {
  const tenon_drawn& drawn = *draw.drawn;
  if (drawn.flags != 0) return;
  const auto is_token = [this](int32_t token) {
    return token >= 0 && static_cast<uint64_t>(token) < vocab_;
  };
  if (draw.kind != TENON_DRAW_CANDIDATES) {
    if (!is_token(drawn.token)) {
      device_->break_with(fmt::format("drew token {} of {}", drawn.token, vocab_));
    }
    return;
  }
  const uint32_t count = drawn.num_candidates;
  if (count == 0 || count > draw.num_candidates) {
    device_->break_with(fmt::format("listed {} candidates of {}", count, draw.num_candidates));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const float logit = draw.logits[i];
    const bool is_in_order =
        i == 0 || logit < draw.logits[i - 1] ||
        (logit == draw.logits[i - 1] && draw.candidates[i] > draw.candidates[i - 1]);
    if (is_token(draw.candidates[i]) && std::isfinite(logit) && is_in_order) continue;
    device_->break_with(fmt::format("listed token {} with logit {} in place {} of {}",
                                    draw.candidates[i], logit, i, count));
  }
}

/// Memory that a step binds to results and must fill.
std::vector<std::span<uint32_t>> Executable::results_of(const tenon_step& step) const {
  std::vector<std::span<uint32_t>> memory;
  for (const Result& result : results_) {
    const uint64_t rows = backends::num_rows(step, result.row_class);
    auto* data = static_cast<uint32_t*>(backends::bound_memory(step, result.slot));
    if (rows > 0 && data != nullptr) memory.emplace_back(data, rows * result.columns);
  }
  return memory;
}

}  // namespace tenon
