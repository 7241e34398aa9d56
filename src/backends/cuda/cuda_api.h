// The part of NVIDIA's driver API that this backend calls, with types and numbers from its
// documentation (CUDA Driver API, "Data types", "Driver entry point access"); needs no toolkit
// header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cuda {

using Result = int;  // CUresult
inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kNoBinaryForDevice = 209;
inline constexpr Result kNotReady = 600;
inline constexpr Result kLaunchOutOfResources = 701;

using DeviceNumber = int;        // CUdevice
using DevicePointer = uint64_t;  // CUdeviceptr
using ContextHandle = struct OpaqueContext*;
using StreamHandle = struct OpaqueStream*;
using EventHandle = struct OpaqueEvent*;
using LibraryHandle = struct OpaqueLibrary*;
using KernelHandle = struct OpaqueKernel*;  // a CUkernel, usable as a CUfunction

// CUdevice_attribute
inline constexpr int kMaxThreadsPerBlock = 1;
inline constexpr int kMaxSharedMemoryPerBlock = 8;
inline constexpr int kWarpSize = 10;
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kComputeMode = 20;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;
inline constexpr int kMaxSharedMemoryPerBlockOptin = 97;
inline constexpr int kComputeModeProhibited = 2;

inline constexpr int kMaxDynamicSharedSizeBytes = 8;  // CUfunction_attribute

inline constexpr unsigned kScheduleBlocking = 4;   // CU_CTX_SCHED_BLOCKING_SYNC
inline constexpr unsigned kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kEventBlocking =
    1 | 2;  // CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING

/// X(name, version, parameters): each function with the CUDA version that introduced these
/// parameters. The driver keeps all versions (cuGetProcAddress). Versions before kMinimumVersion
/// are the newest available.
// clang-format off
#define TENON_CUDA_FUNCTIONS(X)                                                               \
  X(cuInit, 2000, (unsigned flags))                                                           \
  X(cuDriverGetVersion, 2020, (int* version))                                                 \
  X(cuGetErrorName, 6000, (Result error, const char** name))                                  \
  X(cuDeviceGetCount, 2000, (int* count))                                                     \
  X(cuDeviceGet, 2000, (DeviceNumber* device, int index))                                     \
  X(cuDeviceGetName, 2000, (char* name, int size, DeviceNumber device))                       \
  X(cuDeviceGetAttribute, 2000, (int* value, int attribute, DeviceNumber device))             \
  X(cuDeviceTotalMem, 3020, (size_t* bytes, DeviceNumber device))                             \
  X(cuCtxCreate, 3020, (ContextHandle* context, unsigned flags, DeviceNumber device))         \
  X(cuCtxDestroy, 4000, (ContextHandle context))                                              \
  X(cuCtxPushCurrent, 4000, (ContextHandle context))                                          \
  X(cuCtxPopCurrent, 4000, (ContextHandle* context))                                          \
  X(cuMemGetInfo, 3020, (size_t* available, size_t* total))                                   \
  X(cuMemAlloc, 3020, (DevicePointer* memory, size_t bytes))                                  \
  X(cuMemFree, 3020, (DevicePointer memory))                                                  \
  X(cuMemHostAlloc, 2020, (void** memory, size_t bytes, unsigned flags))                      \
  X(cuMemFreeHost, 2000, (void* memory))                                                      \
  X(cuMemcpyHtoDAsync, 3020, (DevicePointer to, const void* from, size_t bytes, StreamHandle stream)) \
  X(cuMemcpyDtoHAsync, 3020, (void* to, DevicePointer from, size_t bytes, StreamHandle stream))       \
  X(cuMemcpyDtoDAsync, 3020, (DevicePointer to, DevicePointer from, size_t bytes, StreamHandle stream)) \
  X(cuMemsetD8Async, 3020, (DevicePointer to, unsigned char value, size_t bytes, StreamHandle stream)) \
  X(cuStreamCreate, 2000, (StreamHandle* stream, unsigned flags))                             \
  X(cuStreamDestroy, 4000, (StreamHandle stream))                                             \
  X(cuEventCreate, 2000, (EventHandle* event, unsigned flags))                                \
  X(cuEventDestroy, 4000, (EventHandle event))                                                \
  X(cuEventRecord, 2000, (EventHandle event, StreamHandle stream))                            \
  X(cuEventSynchronize, 2000, (EventHandle event))                                            \
  X(cuEventQuery, 2000, (EventHandle event))                                                  \
  X(cuStreamSynchronize, 2000, (StreamHandle stream))                                         \
  X(cuLibraryLoadData, 12000, (LibraryHandle* library, const void* image, int* jit_options,   \
      void** jit_values, unsigned num_jit, int* options, void** values, unsigned num_options)) \
  X(cuLibraryUnload, 12000, (LibraryHandle library))                                          \
  X(cuLibraryGetKernel, 12000, (KernelHandle* kernel, LibraryHandle library, const char* name)) \
  X(cuKernelSetAttribute, 12000, (int attribute, int value, KernelHandle kernel,              \
      DeviceNumber device))                                                                   \
  X(cuLaunchKernel, 4000, (KernelHandle kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,            \
      StreamHandle stream, void** parameters, void** extra))
// clang-format on

/// cuGetProcAddress of CUDA 12, exported under this name.
inline constexpr char kGetProcAddress[] = "cuGetProcAddress_v2";
using GetProcAddress = Result (*)(const char* name, void** function, int version, uint64_t flags,
                                  int* found);

}  // namespace tenon::cuda
