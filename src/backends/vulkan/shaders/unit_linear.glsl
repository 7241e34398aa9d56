// Common part of products with weights in units, for few and for many rows of x. The including file
// declares extensions and the rows of the weight and of x in shared memory.
#include "common.glsl"

layout(constant_id = 1) const uint kLanes = 32;  // per subgroup

TENON_STAGE(UnitLinearStage)

const uint kSubgroups = kThreads / kLanes;
