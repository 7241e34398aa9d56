#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#include "backends/gpu/draw_arithmetic.h"

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Draws {
  DeviceDraw at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Biases {
  DrawBias at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Candidates {
  DrawCandidate at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer Results {
  DrawResult at[];
};

TENON_STAGE(DrawStage)
#include "backends/gpu/kernels/draw.inl"
