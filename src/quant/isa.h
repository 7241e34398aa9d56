// The namespace that keeps inline functions compiled for one instruction set apart from those of
// another. Nothing else lives here.
#pragma once

// The linker keeps one copy of an inline function, whichever file it came from. A copy that was
// compiled for AVX2 must never be the one that a machine without AVX2 calls, so every function of
// this folder lives in an inline namespace named after what its file is compiled for.
#if defined(__AVX512F__)
#define TENON_QUANT_ISA isa_avx512
#elif defined(__AVX2__)
#define TENON_QUANT_ISA isa_avx2
#elif defined(__AVX__)
#define TENON_QUANT_ISA isa_avx
#elif defined(__ARM_FEATURE_SVE)
#define TENON_QUANT_ISA isa_sve
#elif defined(__ARM_FEATURE_DOTPROD)
#define TENON_QUANT_ISA isa_dotprod
#else
#define TENON_QUANT_ISA isa_base
#endif
