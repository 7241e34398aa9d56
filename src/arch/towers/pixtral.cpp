// Mistral Small 3.x and LightOnOCR's kind ("pixtral" with a patch merger): a ViT whose heads turn
// by rows and columns.
#include "arch/towers/tower.h"
#include "program/operations.h"

namespace tenon {
namespace {

uint64_t pixtral_patches(const media::PictureRules& rules) {
  const uint64_t cells = (rules.image_size + rules.cell() - 1) / rules.cell();
  return cells * cells * rules.merge * rules.merge;
}

Slot project_pixtral(TowerBuilder& builder, Slot x) {
  x = builder.linear(x, "mm.patch_merger", builder.spec().width);
  x = op::activate(builder.ops(), TENON_ACTIVATION_GELU_ERF, builder.linear(x, "mm.1"));
  return builder.linear(x, "mm.2", builder.spec().text_width);
}

}  // namespace

extern constexpr TowerForm kPixtralTower{.projector_type = "pixtral",
                                         .rms_norms = true,
                                         .gated = true,
                                         .activation = TENON_ACTIVATION_SILU,
                                         .rope = true,
                                         .first_norm = "v.pre_ln",
                                         .last_norm = "mm.input_norm",
                                         .epsilon = 1e-5,
                                         .channels_outermost = true,
                                         .most_patches = pixtral_patches,
                                         .project = project_pixtral,
                                         // The token itself stands in the text.
                                         .ignored = "v.token_embd.img_break"};

}  // namespace tenon
