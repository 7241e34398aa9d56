#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint kCacheType = 0;
#define cache_type() kCacheType
layout(constant_id = 2) const uint kColumns = 64;  // at least those of a key or value
shared float rotated[kColumns];

TENON_STAGE(KvWriteStage)
#include "backends/gpu/kernels/kv_write.inl"
