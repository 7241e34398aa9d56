#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(SinkhornStage)
#include "backends/gpu/kernels/sinkhorn.inl"
