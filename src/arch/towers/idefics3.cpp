// Idefics3, SmolVLM and Granite-Docling ("idefics3"): SigLIP over tiles, one matrix after it.
#include "arch/towers/tower.h"
#include "program/operations.h"

namespace tenon {
namespace {

uint64_t idefics3_positions(const TowerSpec& spec) { return square_patches(spec.rules); }

Slot project_idefics3(TowerBuilder& builder, Slot x) {
  return builder.linear(x, "mm.model.fc", builder.spec().text_width);
}

}  // namespace

extern constexpr TowerForm kIdefics3Tower{.projector_type = "idefics3",
                                          .activation = TENON_ACTIVATION_GELU_TANH,
                                          .last_norm = "v.post_ln",
                                          .num_positions = idefics3_positions,
                                          .most_patches = square_patches,
                                          .project = project_idefics3};

}  // namespace tenon
