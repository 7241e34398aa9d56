// What every shader begins with: addresses as references, the step, and the size of a workgroup.
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
// Of memory that threads of a workgroup write for one another.
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

#define kInfinity uintBitsToFloat(0x7F800000u)

// By their bits: a compiler may take NaN for impossible.
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7FFFFFFFu) > 0x7F800000u; }

// Rows of a class in the step (TENON_ROWS_*).
uint rows_of(Step step, uint row_class) {
  if (row_class == 1) return step.header.tokens;
  return row_class == 2 ? step.header.outputs : step.header.sequences;
}
