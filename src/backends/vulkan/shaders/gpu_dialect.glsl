// GLSL dialect of the texts that both plugins compile (gpu/kernels); the C++ dialect is
// cuda/kernels/gpu_dialect.h. A group is a workgroup here, a warp a subgroup.
//
//   TENON_DEVICE                  stands before a function
//   TENON_CONSTANT type           stands before a constant outside of functions
//   TENON_VARIABLE(type, name)    variable of the kernel, one per thread
//   TENON_GROUP_ARRAY(type, name, count)
//                                 array of the kernel that the threads of a group share
//   TENON_OUT(type, name, count)  parameter: an array that the function fills
//   TENON_MAKE(type)(members...)  value of a structure
//   TENON_STAGE(type)             declares the kernel's parameters (gpu/stage_parameters.h)
//   stage                         the parameters
//   run                           the kernel's entry
//   Floats, Ints, Words, ...      memory of the device at an address: values at[i]
//   SharedFloats, SharedWords     memory that threads of a group write for each other
//   memory_barrier()              barrier() that also orders such memory; a statement of its own
//   Pair, FloatPair               x and y, uint and float
//
// The functions of threads, warps, atomics and numbers are below.
#define TENON_DEVICE
#define TENON_CONSTANT const
#define TENON_VARIABLE(type, name) type name
#define TENON_GROUP_ARRAY(type, name, count) shared type name[count];
#define TENON_OUT(type, name, count) out type name[count]
#define TENON_MAKE(type) type
#define Pair uvec2
#define FloatPair vec2

#define TENON_STAGE(type)                                                          \
  layout(buffer_reference, scalar) readonly buffer Parameters { type of_kernel; }; \
  layout(push_constant) uniform Push { Parameters parameters; };
#define stage parameters.of_kernel
#define run main

const uint kMostWarps = 128;  // a workgroup has no more subgroups

#define thread_number() gl_LocalInvocationID.x
#define num_threads() kThreads
#define group_x() gl_WorkGroupID.x
#define group_y() gl_WorkGroupID.y
#define num_groups() gl_NumWorkGroups.x
#define global_thread() gl_GlobalInvocationID.x
#define lane() gl_SubgroupInvocationID
#define warp() gl_SubgroupID
#define num_warps() gl_NumSubgroups
#define memory_barrier() memoryBarrierBuffer(); barrier()

#define add_shared(to, value) atomicAdd(to, value)
#define fetch_add_shared(to, value) atomicAdd(to, value)

#define infinity() uintBitsToFloat(0x7F800000u)
#define bits_to_float(bits) uintBitsToFloat(bits)
#define float_to_bits(x) floatBitsToUint(x)
#define count_bits(x) bitCount(x)
#define highest_bit(x) findMSB(x)
#define round_even(x) roundEven(x)
#define root(x) sqrt(x)
#define absolute(x) abs(x)
#define larger(a, b) max(a, b)
#define smaller(a, b) min(a, b)
#define limited(x, low, high) clamp(x, low, high)
#define sign_of(x) sign(x)
// Bits [offset, offset + 8) as a two's complement number.
#define signed_byte_from(word, offset) float(bitfieldExtract(int(word), int(offset), 8))
float signed_byte(uint value) { return signed_byte_from(value, 0); }

// Sum over the lanes by a fixed tree: all lanes get the same bits.
float warp_sum(float x) {
  for (uint far = gl_SubgroupSize / 2; far > 0; far /= 2) x += subgroupShuffleXor(x, far);
  return x;
}
float warp_max(float x) {
  for (uint far = gl_SubgroupSize / 2; far > 0; far /= 2) x = max(x, subgroupShuffleXor(x, far));
  return x;
}
uint warp_max(uint x) {
  for (uint far = gl_SubgroupSize / 2; far > 0; far /= 2) x = max(x, subgroupShuffleXor(x, far));
  return x;
}

// Lanes before this one that vote yes (x), and all that do (y).
#ifdef TENON_VOTES
#extension GL_KHR_shader_subgroup_ballot : require
uvec2 warp_votes(bool yes) {
  const uvec4 votes = subgroupBallot(yes);
  return uvec2(subgroupBallotExclusiveBitCount(votes), subgroupBallotBitCount(votes));
}
#endif
