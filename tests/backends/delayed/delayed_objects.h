// Device, buffer and executable of the delayed backend, over those of the inner backend.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "backends/delayed/delayed_host.h"
#include "backends/delayed/step_copy.h"
#include "backends/delayed/work_queue.h"
#include "tenon/backend.h"

namespace tenon::delayed {

/// Options of create_device.
struct Settings {
  std::chrono::microseconds step_time{0};
  std::chrono::microseconds draw_time{0};
  uint32_t steps_under_way = 2;
  uint32_t step_tokens = 256;
  uint32_t block_tokens = 32;
  uint32_t fail_step = 0;  ///< failing step of an executable, from 1; 0 means none
  uint32_t fail_draw = 0;

  /// Throws ARGUMENT for an unknown key, a non-numeric value, or a value out of range.
  void set(std::string_view key, std::string_view value);
};

/// Table of the inner backend.
const tenon_backend_api& inner_api();

/// Throws a failure of the inner backend, whose sentence the host already has.
void check_inner(tenon_status status);

class Device {
 public:
  Device(const tenon_host* host, const Settings& settings);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const tenon_host* host() const { return host_.real(); }
  [[nodiscard]] tenon_device* inner() const { return inner_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] WorkQueue& queue() { return queue_; }

 private:
  DelayedHost host_;
  Settings settings_;
  tenon_device* inner_ = nullptr;
  WorkQueue queue_;  // last, so that its thread ends before data used by its jobs
};

struct Buffer {
  Device* device;
  tenon_buffer* inner;
};

class Executable {
 public:
  Executable(Device& device, const tenon_program& program);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] tenon_executable* inner() const { return inner_; }

  uint64_t run(const tenon_step& step);
  uint64_t draw(uint64_t step, const tenon_draw* draws, uint32_t num_draws, uint32_t draw_size);
  void wait(uint64_t ticket);

 private:
  tenon_status run_now(StepCopy& copy, uint64_t ticket);
  tenon_status draw_now(const DrawCopy& copy, uint64_t step);
  [[nodiscard]] uint64_t inner_step(uint64_t ticket) const;

  Device& device_;
  StepShape shape_;
  tenon_executable* inner_ = nullptr;
  uint64_t last_step_ = TENON_NO_TICKET;  // on the host's thread
  // On the queue's thread: number of jobs, and the last successful step, in both numberings.
  uint32_t num_steps_ = 0;
  uint32_t num_draws_ = 0;
  uint64_t ran_ = TENON_NO_TICKET;
  uint64_t inner_ran_ = TENON_NO_TICKET;
};

}  // namespace tenon::delayed
