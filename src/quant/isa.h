// The namespace that separates inline functions compiled for different instruction sets.
#pragma once

// The linker keeps one copy of an inline function, whatever file it came from. A copy compiled for
// AVX2 must never run on a machine without AVX2, so every function of this folder lives in an
// inline namespace named after the instruction set of its file.
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
