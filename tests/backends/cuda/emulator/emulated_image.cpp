// The image that the fake driver takes for its kernels.
#include "backends/cuda/cuda_image.h"

const unsigned char tenon_cuda_kernel_image[] = "emulated";
