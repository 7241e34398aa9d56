#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

TENON_STAGE(SsmScanStage)
#include "backends/gpu/kernels/ssm_scan.inl"
