// All kernels in one translation unit, which becomes one image.
#include "backends/cuda/kernels/attention.cu"
#include "backends/cuda/kernels/linear.cu"
#include "backends/cuda/kernels/linear_narrow.cu"
#include "backends/cuda/kernels/linear_warpgroup.cu"
#include "backends/cuda/kernels/linear_wide.cu"
#include "backends/cuda/kernels/moe_linear.cu"
#include "backends/cuda/kernels/pack_rows.cu"
#include "backends/cuda/kernels/shared_kernels.cu"
