// Head of every shader: addresses as references, the workgroup size, the dialect, and the stateless
// texts shared by both plugins (gpu/kernels).
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "backends/gpu/stage_parameters.h"
#include "backends/gpu/abi_numbers.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kThreads = 32;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Floats { float at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Ints { int at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint at[]; };
// Memory that threads of a workgroup write for each other.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer SharedFloats {
  float at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer SharedWords {
  uint at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Addresses {
  Address at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Places {
  TokenPlace at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Spans {
  SequenceSpan at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Step {
  StepHeader header;
};

#include "gpu_dialect.glsl"

#include "backends/gpu/kernels/common.inl"
#include "backends/gpu/kernels/half.inl"
#include "backends/gpu/kernels/math.inl"
#include "backends/gpu/kernels/state.inl"
