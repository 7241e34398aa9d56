#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(MoeRouteStage)
#include "backends/gpu/kernels/moe_route.inl"
