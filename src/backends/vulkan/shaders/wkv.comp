#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint kOperation = 30;  // TENON_OP_*
#define operation() kOperation

TENON_STAGE(WkvStage)
#include "backends/gpu/kernels/wkv.inl"
