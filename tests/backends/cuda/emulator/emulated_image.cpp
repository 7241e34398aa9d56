// The image that the fake driver accepts.
#include "backends/cuda/cuda_image.h"

const unsigned char tenon_cuda_kernel_image[] = "emulated";
