#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(DeltaRuleStage)
#include "backends/gpu/kernels/delta_rule.inl"
