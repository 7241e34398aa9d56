#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(ColumnsStage)
#include "backends/gpu/kernels/columns.inl"
