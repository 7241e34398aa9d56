#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(RoundStage)
#include "backends/gpu/kernels/round.inl"
