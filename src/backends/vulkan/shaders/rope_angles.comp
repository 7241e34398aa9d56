#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(RopeAnglesStage)
#include "backends/gpu/kernels/rope_angles.inl"
