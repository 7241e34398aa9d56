#include "model/model_executable.h"

#include <utility>

#include "backend/choose_device.h"
#include "base/thread_team.h"
#include "program/ops.h"

namespace tenon {
namespace {

std::unique_ptr<HostServices> make_services(const ModelOptions& options) {
  std::unique_ptr<ThreadTeam> team;
  if (options.executor) {
    team = std::make_unique<ThreadTeam>(*options.executor);
  } else {
    const uint32_t threads =
        options.threads > 0 ? options.threads : options.system->num_usable_cpus();
    team = std::make_unique<ThreadTeam>(threads, options.system);
  }
  return std::make_unique<HostServices>(options.system, options.log, std::move(team));
}

std::shared_ptr<Device> device_for(const Program& program, const ModelOptions& options) {
  DeviceChoice choice;
  choice.backend = options.backend;
  choice.options = options.backend_options;
  choice.plugin_paths = options.plugin_paths;
  choice.system = options.system;
  choice.log = options.log;
  choice.make_services = [&options] { return make_services(options); };
  choice.op_label = [&program](uint32_t op) { return op_label(op, program.ops()[op].kind); };
  return choose_device(program.view(), choice);
}

}  // namespace

std::unique_ptr<Executable> make_executable(const Program& program, const ModelOptions& options) {
  return std::make_unique<Executable>(device_for(program, options), program.view());
}

std::unique_ptr<Executable> make_executable(BuiltProgram& built, const ModelOptions& options,
                                            const BuildProgram& build) {
  std::shared_ptr<Device> device = device_for(built.program, options);
  const tenon_device_info& info = device->info();
  const StepSizes usual;
  const bool other_steps = options.slice == 0 && info.step_tokens != usual.step_tokens;
  if (other_steps || info.block_tokens != usual.block_tokens) {
    built = build({info.step_tokens, info.block_tokens});
  }
  return std::make_unique<Executable>(std::move(device), built.program.view());
}

}  // namespace tenon
