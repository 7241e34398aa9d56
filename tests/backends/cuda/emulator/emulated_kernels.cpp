// All kernels, compiled for the emulator.
#include "backends/cuda/kernels/all_kernels.cu"
