#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(NormStage)
#include "backends/gpu/kernels/norm.inl"
