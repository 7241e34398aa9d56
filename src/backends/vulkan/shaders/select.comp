#version 460
#extension GL_GOOGLE_include_directive : require
#define TENON_VOTES
#include "common.glsl"

layout(constant_id = 1) const uint kCacheType = 0;
#define cache_type() kCacheType
layout(constant_id = 2) const uint kOperation = 33;  // TENON_OP_*
#define operation() kOperation

TENON_STAGE(SelectStage)
#include "backends/gpu/kernels/select.inl"
