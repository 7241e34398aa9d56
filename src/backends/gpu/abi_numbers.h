// Numbers of the plugin ABI (tenon/backend.h) used by kernels, for C++, GLSL and CUDA, which do not
// include that header. stage_operations.cpp checks that they agree.
#ifdef __cplusplus
#pragma once
#include "backends/gpu/stage_parameters.h"

namespace tenon::gpu {
#endif

// TENON_OP_*
TENON_SHARED_CONSTANT kOpRmsNorm = 2;
TENON_SHARED_CONSTANT kOpLayerNorm = 3;
TENON_SHARED_CONSTANT kOpGlu = 9;
TENON_SHARED_CONSTANT kOpAdd = 10;
TENON_SHARED_CONSTANT kOpScale = 11;
TENON_SHARED_CONSTANT kOpSoftCap = 13;
TENON_SHARED_CONSTANT kOpSigmoidGate = 16;
TENON_SHARED_CONSTANT kOpActivate = 17;
TENON_SHARED_CONSTANT kOpMul = 18;
TENON_SHARED_CONSTANT kOpPositionScale = 24;
TENON_SHARED_CONSTANT kOpWkv7 = 30;
TENON_SHARED_CONSTANT kOpSelect = 33;
TENON_SHARED_CONSTANT kOpSelectBlocks = 34;
TENON_SHARED_CONSTANT kOpSoftmax = 37;
TENON_SHARED_CONSTANT kOpSelectWithin = 42;

// TENON_ACTIVATION_*
TENON_SHARED_CONSTANT kActivationSilu = 0;
TENON_SHARED_CONSTANT kActivationGeluErf = 1;
TENON_SHARED_CONSTANT kActivationGeluTanh = 2;
TENON_SHARED_CONSTANT kActivationRelu = 3;
TENON_SHARED_CONSTANT kActivationReluSquared = 4;
TENON_SHARED_CONSTANT kActivationXielu = 5;
TENON_SHARED_CONSTANT kActivationSigmoid = 6;
TENON_SHARED_CONSTANT kActivationTanh = 7;
TENON_SHARED_CONSTANT kActivationSoftplus = 8;
TENON_SHARED_CONSTANT kActivationExp = 9;

// TENON_MASK_*
TENON_SHARED_CONSTANT kMaskCausal = 0;
TENON_SHARED_CONSTANT kMaskChunked = 1;
TENON_SHARED_CONSTANT kMaskSymmetric = 2;

// TENON_BIAS_*
TENON_SHARED_CONSTANT kBiasNone = 0;
TENON_SHARED_CONSTANT kBiasAlibi = 1;

// TENON_POOL_*
TENON_SHARED_CONSTANT kPoolMean = 0;
TENON_SHARED_CONSTANT kPoolFirst = 1;

// TENON_ROUND_*
TENON_SHARED_CONSTANT kRoundFp8 = 0;
TENON_SHARED_CONSTANT kRoundFp4 = 1;

// TENON_MOE_*
TENON_SHARED_CONSTANT kMoeSoftmaxAll = 0;
TENON_SHARED_CONSTANT kMoeSoftmaxChosen = 1;
TENON_SHARED_CONSTANT kMoeSigmoid = 2;
TENON_SHARED_CONSTANT kMoeSparseMixer = 3;
TENON_SHARED_CONSTANT kMoeSqrtSoftplus = 4;

// Row types of the cache: TENON_TYPE_* and TENON_CACHE_*
TENON_SHARED_CONSTANT kCacheF32 = 0;
TENON_SHARED_CONSTANT kCacheF16 = 1;
TENON_SHARED_CONSTANT kCacheInt8 = 256;
TENON_SHARED_CONSTANT kCacheQ4 = 257;

// TENON_DRAW_* and TENON_DRAWN_*
TENON_SHARED_CONSTANT kDrawGreedy = 1;
TENON_SHARED_CONSTANT kDrawCandidates = 3;
TENON_SHARED_CONSTANT kDrawnNotFinite = 1;
TENON_SHARED_CONSTANT kDrawnNoneAllowed = 2;

#ifdef __cplusplus
}  // namespace tenon::gpu
#endif
