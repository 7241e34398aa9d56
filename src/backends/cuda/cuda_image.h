// The kernels as one image with code for every architecture. The build makes it from
// kernels/all_kernels.cu (cmake/cuda.cmake); tests use another (tests/backends/cuda/emulator).
#pragma once

extern "C" const unsigned char tenon_cuda_kernel_image[];
