// InternVL 2.5 to 3.5 ("internvl"): InternViT with a class row and layer scales.
#include "arch/towers/tower.h"
#include "program/operations.h"

namespace tenon {
namespace {

uint64_t internvl_positions(const TowerSpec& spec) { return square_patches(spec.rules) + 1; }

Slot project_internvl(TowerBuilder& builder, Slot x) {
  x = builder.layer_norm(x, "mm.model.mlp.0", 1e-5f);
  x = builder.linear(x, "mm.model.mlp.1");
  x = op::activate(builder.ops(), TENON_ACTIVATION_GELU_ERF, x);
  return builder.linear(x, "mm.model.mlp.3", builder.spec().text_width);
}

}  // namespace

extern constexpr TowerForm kInternVlTower{.projector_type = "internvl",
                                          .activation = TENON_ACTIVATION_GELU_ERF,
                                          .layer_scales = true,
                                          .class_row = true,
                                          .num_positions = internvl_positions,
                                          .most_patches = square_patches,
                                          .project = project_internvl};

}  // namespace tenon
