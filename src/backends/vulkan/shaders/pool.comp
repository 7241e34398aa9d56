#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(PoolStage)
#include "backends/gpu/kernels/pool.inl"
