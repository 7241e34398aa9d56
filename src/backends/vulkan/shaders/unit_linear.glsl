// What products with weights in units have in common, of few rows of x and of many. The including file has declared
// extensions and says how many rows of the weight and of x are in shared memory.
#include "common.glsl"

layout(constant_id = 1) const uint kLanes = 32;  // of a subgroup

TENON_STAGE(UnitLinearStage)

const uint kSubgroups = kThreads / kLanes;
