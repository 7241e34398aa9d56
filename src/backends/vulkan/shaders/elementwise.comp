#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint kOperation = 0;  // TENON_OP_*
#define operation() kOperation

TENON_STAGE(ElementwiseStage)
#include "backends/gpu/kernels/elementwise.inl"
