// The list of architectures.
#include "arch/architectures.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace tenon {

extern const Architecture kLlama;
extern const Architecture kQwen2;
extern const Architecture kQwen2Moe;
extern const Architecture kQwen3;
extern const Architecture kQwen3Moe;

namespace {

constexpr const Architecture* kArchitectures[] = {&kLlama, &kQwen2, &kQwen2Moe, &kQwen3,
                                                  &kQwen3Moe};

const Architecture& find_architecture(const ModelFile& file, std::string_view name) {
  std::string known;
  for (const Architecture* architecture : kArchitectures) {
    if (architecture->name == name) return *architecture;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture->name);
  }
  fail(Code::Unsupported, "{}: architecture \"{}\" is not known; known are {}", file.name(),
       name.substr(0, 64), known);
}

void check_experts(const ModelFile& file, const Architecture& architecture,
                   const HyperParameters& model) {
  if (model.experts.count > 0 && architecture.experts == Presence::Absent) {
    fail(Code::Unsupported, "{}: key \"{}.expert_count\" is {}, but \"{}\" has no experts",
         file.name(), architecture.name, model.experts.count, architecture.name);
  }
  if (model.experts.count == 0 && architecture.experts == Presence::Required) {
    fail(Code::Format, "{}: key \"{}.expert_count\" is 0 or missing, but \"{}\" has experts",
         file.name(), architecture.name, architecture.name);
  }
}

}  // namespace

std::span<const Architecture* const> architectures() { return kArchitectures; }

BuiltProgram build_program(const ModelFile& file, const ProgramOptions& options) {
  // First: what numbers there are is up to the architecture.
  (void)find_architecture(file, file.metadata().get_string("general.architecture"));
  return build_program(file, read_hyper_parameters(file), options);
}

BuiltProgram build_program(const ModelFile& file, const HyperParameters& model,
                           const ProgramOptions& options) {
  const Architecture& architecture = find_architecture(file, model.architecture);
  check_experts(file, architecture, model);
  ProgramBuilder builder;
  TensorBinder tensors(file, builder);
  const Slot logits = architecture.build(model, options, tensors, builder);
  std::vector<BoundWeight> bound = std::move(tensors).finish();
  return {model, std::move(builder).finish(logits, options.limits), std::move(bound)};
}

}  // namespace tenon
