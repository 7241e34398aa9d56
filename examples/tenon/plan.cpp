// tenon plan: predicted memory and speed of a model before loading; --measure loads it and measures
// both.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "bench_report.h"
#include "commands.h"
#include "failure.h"
#include "format_text.h"
#include "hub_access.h"
#include "number_lists.h"
#include "option_flags.h"
#include "plan_check.h"
#include "terminal.h"

namespace tenon_program {
namespace {

using nlohmann::ordered_json;

struct PlanFlags {
  std::string model;
  uint64_t context = 0;
  uint64_t sessions = 1;
  uint64_t memory_bytes = 0;
  uint64_t process_bytes = 0;
  bool no_speed = false;
  bool measure = false;
  bool json = false;
  OptionFlags model_options;
};

ordered_json hardware_json(const tenon_hardware& hardware) {
  ordered_json json = {{"threads", hardware.threads},
                       {"memory_bytes", hardware.memory_bytes},
                       {"process_bytes", hardware.process_bytes}};
  for (const double rate : hardware.decode_bytes_per_second) {
    json["decode_bytes_per_second"].push_back(rate);
  }
  json["prefill_multiplications_per_second"] = hardware.prefill_multiplications_per_second;
  json["cache_bytes_per_second"] = hardware.cache_bytes_per_second;
  json["attention_multiplications_per_second"] = hardware.attention_multiplications_per_second;
  return json;
}

ordered_json devices_json(const std::vector<tenon::PlacedDevice>& devices) {
  ordered_json json = ordered_json::array();
  for (const tenon::PlacedDevice& device : devices) {
    json.push_back({{"backend", device.backend},
                    {"name", device.name},
                    {"layers", device.layers},
                    {"weights_bytes", device.weights_bytes},
                    {"scratch_bytes", device.scratch_bytes},
                    {"kv_bytes", device.kv_bytes},
                    {"total_bytes", device.total_bytes},
                    {"memory_bytes", device.memory_bytes},
                    {"own_memory", device.has_own_memory},
                    {"fits", device.fits}});
  }
  return json;
}

ordered_json plan_json(const tenon_plan& plan, const std::vector<tenon::PlacedDevice>& devices,
                       const tenon_hardware& hardware) {
  return {{"context", plan.context},
          {"sessions", plan.sessions},
          {"process_bytes", plan.process_bytes},
          {"weights_bytes", plan.weights_bytes},
          {"scratch_bytes", plan.scratch_bytes},
          {"kv_bytes", plan.kv_bytes},
          {"session_bytes", plan.session_bytes},
          {"total_bytes", plan.total_bytes},
          {"fits", plan.fits != 0},
          {"max_context", plan.max_context},
          {"max_sessions", plan.max_sessions},
          {"fitting_cache_type", plan.fitting_cache_type},
          {"fitting_gpu_layers", plan.fitting_gpu_layers},
          {"devices", devices_json(devices)},
          {"prefill_tokens_per_second", plan.prefill_tokens_per_second},
          {"decode_tokens_per_second", plan.decode_tokens_per_second},
          {"hardware", hardware_json(hardware)}};
}

std::string row(const char* title, uint64_t bytes, const std::string& remark = "") {
  return format_text("%-16s %12s%s%s\n", title, size_text(bytes).c_str(),
                     remark.empty() ? "" : "  ", remark.c_str());
}

/// Table with a column per device.
std::string devices_text(const std::vector<tenon::PlacedDevice>& devices) {
  constexpr int kWidth = 22;
  const auto line = [&](const char* title, auto value_of) {
    std::string text = format_text("%-16s", title);
    for (const tenon::PlacedDevice& device : devices) {
      text += format_text(" %*s", kWidth, value_of(device).c_str());
    }
    return text + "\n";
  };
  const auto bytes = [&](const char* title, uint64_t tenon::PlacedDevice::*value) {
    return line(title, [&](const tenon::PlacedDevice& device) { return size_text(device.*value); });
  };
  std::string text = line("device", [](const tenon::PlacedDevice& device) {
    return printable(device.backend + ":" + device.name, kWidth);
  });
  text += line("layers",
               [](const tenon::PlacedDevice& device) { return std::to_string(device.layers); });
  text += bytes("weights", &tenon::PlacedDevice::weights_bytes);
  text += bytes("scratch", &tenon::PlacedDevice::scratch_bytes);
  text += bytes("cache", &tenon::PlacedDevice::kv_bytes);
  text += bytes("sum", &tenon::PlacedDevice::total_bytes);
  text += line("of", [](const tenon::PlacedDevice& device) {
    if (device.memory_bytes != 0) return size_text(device.memory_bytes);
    return std::string(device.has_own_memory ? "?" : "the process's");
  });
  return text + line("", [](const tenon::PlacedDevice& device) {
           return std::string(device.fits ? "fits" : "does not fit");
         });
}

/// True if the process's figures suffice: a single device in its memory, and no placement was
/// requested.
bool is_plain(const std::vector<tenon::PlacedDevice>& devices, const tenon::ExtraOptions& options) {
  const bool asked = std::any_of(options.begin(), options.end(), [](const auto& option) {
    return option.first == "devices" || option.first == "gpu_layers" ||
           option.first == "experts_on";
  });
  return devices.size() == 1 && !devices[0].has_own_memory && devices[0].memory_bytes == 0 &&
         !asked;
}

/// Suggested changes, one per line; empty if none helps.
std::string advice(const tenon_plan& plan) {
  std::string text;
  if (plan.max_context != 0) {
    text += format_text("  --context %llu\n", static_cast<unsigned long long>(plan.max_context));
  }
  if (plan.max_sessions != 0) {
    text += format_text("  --sessions %llu\n", static_cast<unsigned long long>(plan.max_sessions));
  }
  if (*plan.fitting_cache_type != '\0') {
    text += std::string("  --cache-type ") + plan.fitting_cache_type + "\n";
  }
  if (plan.fitting_gpu_layers >= 0) {
    text += format_text("  --gpu-layers %lld\n", static_cast<long long>(plan.fitting_gpu_layers));
  }
  return text;
}

std::string plan_text(const tenon_plan& plan, const std::string& columns,
                      const tenon_hardware& hardware, uint64_t trained_context) {
  std::string text = counted(plan.sessions, "session") + " of " +
                     counted(plan.context, "position") + ", " +
                     counted(hardware.threads, "thread") + "\n\n";
  text += row("process", plan.process_bytes, "header, vocabulary, program");
  text += row("weights", plan.weights_bytes);
  text += row("scratch", plan.scratch_bytes);
  text += row("sessions", plan.session_bytes * plan.sessions,
              size_text(plan.session_bytes) + " each; " + size_text(plan.kv_bytes) +
                  " of it cache (--cache-bytes " + std::to_string(plan.kv_bytes) + ")");
  text += row("peak", plan.total_bytes, "of " + size_text(hardware.memory_bytes));
  if (!columns.empty()) text += "\n" + columns;
  if (plan.fits != 0) {
    text += format_text("\nfits; so do %llu positions, or %llu sessions\n",
                        static_cast<unsigned long long>(plan.max_context),
                        static_cast<unsigned long long>(plan.max_sessions));
    if (trained_context != 0 && std::max(plan.max_context, plan.context) > trained_context) {
      text += format_text("the model was trained for %llu: beyond them answers get worse\n",
                          static_cast<unsigned long long>(trained_context));
    }
  } else {
    const std::string changes = advice(plan);
    text += changes.empty() ? "\ndoes not fit, whatever the context: choose a smaller model\n"
                            : "\ndoes not fit; one of these would\n" + changes;
  }
  if (plan.decode_tokens_per_second > 0) {
    text += format_text(
        "\nprefill %.1f tokens/s over the whole context, decode %.1f tokens/s behind it%s\n",
        plan.prefill_tokens_per_second, plan.decode_tokens_per_second,
        plan.sessions > 1 ? ", all sessions together" : "");
  }
  return text;
}

void make_plan(const PlanFlags& flags) {
  const tenon::Model model(flags.model, {.inspect = true, .extra = flags.model_options.values()});
  tenon_hardware hardware{};
  {
    const Waiting waiting("measuring this machine (--no-speed: memory only)");
    hardware = tenon::measure_hardware(model, !flags.no_speed);
  }
  if (flags.memory_bytes != 0) hardware.memory_bytes = flags.memory_bytes;
  if (flags.process_bytes != 0) hardware.process_bytes = flags.process_bytes;
  const tenon_plan plan =
      tenon::plan(model, hardware, {.context = flags.context, .sessions = flags.sessions});
  const auto devices =
      tenon::placement(model, hardware, {.context = flags.context, .sessions = flags.sessions});
  const std::string columns =
      is_plain(devices, flags.model_options.values()) ? "" : devices_text(devices);
  print(flags.json ? json_text(plan_json(plan, devices, hardware))
                   : plan_text(plan, columns, hardware, model.info().trained_context));
  flush();
}

void measure(const PlanFlags& flags) {
  const Waiting waiting("loading and measuring");
  const PlanCheck check =
      check_plan(flags.model, flags.model_options.values(), flags.context, flags.sessions);
  const ordered_json json = {{"context", check.context},
                             {"sessions", flags.sessions},
                             {"peak_bytes", check.peak_bytes},
                             {"prefill_tokens_per_second", check.prefill_tokens_per_second},
                             {"decode_tokens_per_second", check.decode_tokens_per_second}};
  print(flags.json
            ? json_text(json)
            : row("peak", check.peak_bytes) +
                  format_text("\nprefill %.1f tokens/s, decode %.1f tokens/s\n",
                              check.prefill_tokens_per_second, check.decode_tokens_per_second));
  flush();
}

}  // namespace

void add_plan(CLI::App& app) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand(
      "plan", "Tell what a model will take in memory and how fast it will be, without loading it");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file")->required();
  command
      ->add_option("-c,--context,--ctx-size,--num-ctx", flags->context,
                   "Positions of each session (default: a session's)")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX));
  command->add_option("--sessions", flags->sessions, "Sessions with full contexts (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  CLI::Option* memory = command
                            ->add_option("--memory", flags->memory_bytes,
                                         "Bytes that the process may take (default: what is free)")
                            ->type_name("N")
                            ->check(whole_number(0, INT64_MAX));
  CLI::Option* process =
      command
          ->add_option("--process-bytes", flags->process_bytes,
                       "Bytes that the program holds besides (default: what this one does)")
          ->type_name("N")
          ->check(whole_number(0, INT64_MAX));
  CLI::Option* no_speed = command->add_flag("--no-speed", flags->no_speed,
                                            "Do not measure the machine: memory only, at once");
  command
      ->add_flag("--measure", flags->measure,
                 "Load the model, fill the contexts and measure instead: what the plan predicts")
      ->excludes(memory)
      ->excludes(process)
      ->excludes(no_speed);
  command->add_flag("--json", flags->json, "Print JSON");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model", {"vocabulary_only", "inspect"});
  command->callback([flags] {
    flags->model = model_path(flags->model);
    flags->measure ? measure(*flags) : make_plan(*flags);
  });
}

}  // namespace tenon_program
