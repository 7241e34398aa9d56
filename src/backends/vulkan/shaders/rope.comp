#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(RopeStage)
#include "backends/gpu/kernels/rope.inl"
