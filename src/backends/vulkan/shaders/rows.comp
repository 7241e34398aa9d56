#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#include "weights.glsl"

TENON_STAGE(RowsStage)
#include "backends/gpu/kernels/rows.inl"
