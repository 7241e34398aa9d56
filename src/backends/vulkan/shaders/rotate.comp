#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint kColumns = 64;  // at least a segment
shared float rotated[kColumns];

TENON_STAGE(RotateStage)
#include "backends/gpu/kernels/rotate.inl"
