#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(MixStreamsStage)
#include "backends/gpu/kernels/mix_streams.inl"
