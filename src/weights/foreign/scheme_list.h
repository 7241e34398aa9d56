// The one list of schemes by which folders store weights. A new scheme is its file and a line here.
#pragma once

#include <memory>

#include "weights/foreign/module.h"
#include "weights/foreign/row_reader.h"

namespace tenon::foreign {

// clang-format off
/// Enumerator and name, in the order in which they are tried. Each has two functions: whether the
/// tensors of a module are its own, and the reader.
#define TENON_FOREIGN_SCHEMES(X)                                                        \
  X(exl3, "EXL3") X(exl3_table, "EXL3 table") X(exl2, "EXL2") X(hqq, "HQQ")             \
  X(torchao, "torchao") X(awq, "AWQ") X(gptq, "GPTQ")                                   \
  X(bnb4, "bitsandbytes 4-bit") X(bnb8, "bitsandbytes int8")                            \
  X(packed_ints, "compressed-tensors integers") X(micro_scales, "block floats")         \
  X(mlx_affine, "MLX affine") X(modelopt_int4, "ModelOpt int4") X(bitnet, "BitNet")     \
  X(scaled, "scaled FP8 or int8") X(plain, "plain")
// clang-format on

#define TENON_SCHEME(id, name)        \
  bool is_##id(const Module& module); \
  std::unique_ptr<const RowReader> open_##id(const Module& module);
TENON_FOREIGN_SCHEMES(TENON_SCHEME)
#undef TENON_SCHEME

}  // namespace tenon::foreign
