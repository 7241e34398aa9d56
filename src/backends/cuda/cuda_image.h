// The kernels as the driver loads them: one image with code for every architecture. The build makes it of
// kernels/all_kernels.cu (cmake/cuda.cmake); tests have another (tests/backends/cuda/emulator).
#pragma once

extern "C" const unsigned char tenon_cuda_kernel_image[];
