#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint kCacheType = 0;
#define cache_type() kCacheType
layout(constant_id = 2) const uint kColumns = 64;  // at least those of a row
shared float rotated[kColumns];
shared float values[kColumns];
shared float highest[kColumns];
shared float weights[kColumns];
shared float results[kColumns];

TENON_STAGE(CompressStage)
#include "backends/gpu/kernels/compress.inl"
