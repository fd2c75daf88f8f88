// SPDX-License-Identifier: MIT
//
// kernel.cu - see kernel.h.
#include "core/device/kernel.h"

#include <cuda.h>
#include <cuda_runtime.h>

struct fc_kernel {
  CUmodule module;
  CUfunction function;
  guint resident;
  guint shared; // bytes of dynamic shared memory that a block may have
  bool awaits;  // the chip can launch it early (fc_await_earlier of filters/gpu/map.cuh)
};

namespace {

// A function of the driver, in the version that the headers use; NULL where there is no driver.
template <typename Fn> Fn driver(const char *name) {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &result);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<Fn>(found);
}

using load_fn = CUresult (*)(CUmodule *, const void *);
using unload_fn = CUresult (*)(CUmodule);
using function_fn = CUresult (*)(CUfunction *, CUmodule, const char *);
using launch_fn = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, CUstream, void **, void **);
using launch_early_fn = CUresult (*)(const CUlaunchConfig *, CUfunction, void **, void **);
using attribute_fn = CUresult (*)(int *, CUfunction_attribute, CUfunction);
using set_fn = CUresult (*)(CUfunction, CUfunction_attribute, int);
using occupancy_fn = CUresult (*)(int *, CUfunction, int, size_t);

// Composed kernels are launched with the number of threads in their launch bounds.
guint resident_of(CUfunction f) {
  const attribute_fn attribute = driver<attribute_fn>("cuFuncGetAttribute");
  const occupancy_fn occupancy = driver<occupancy_fn>("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  int threads = 0, blocks = 0;
  if (!attribute || !occupancy ||
      attribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f) != CUDA_SUCCESS ||
      occupancy(&blocks, f, threads, 0) != CUDA_SUCCESS)
    return 0;
  return static_cast<guint>(blocks);
}

// As much shared memory as a block can have; beyond 48 KB a kernel must be allowed it.
guint allow_shared(CUfunction f) {
  const attribute_fn attribute = driver<attribute_fn>("cuFuncGetAttribute");
  const set_fn set = driver<set_fn>("cuFuncSetAttribute");
  int device = 0, most = 0, own = 0;
  if (!attribute || !set || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess ||
      attribute(&own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f) != CUDA_SUCCESS || own >= most ||
      set(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - own) != CUDA_SUCCESS)
    return 0;
  return static_cast<guint>(most - own);
}

// Captured graphs get no programmatic edges: other libraries that capture the stream may not support them.
bool is_captured(CUstream stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status != cudaStreamCaptureStatusNone;
  (void)cudaGetLastError();
  return true;
}

bool awaits_earlier(void) {
  int device = 0, major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         major >= 9;
}

} // namespace

extern "C" {

fc_kernel *fc_kernel_load(GBytes *code, GError **error) {
  const load_fn load = driver<load_fn>("cuModuleLoadData");
  const function_fn function = driver<function_fn>("cuModuleGetFunction");
  fc_kernel kernel = {nullptr, nullptr, 0, 0, false};
  // cudaFree(nullptr) makes the device's context current
  if (!load || !function || cudaFree(nullptr) != cudaSuccess) {
    fc_fail(error, FC_DEVICE, "there is no CUDA driver that loads kernels");
    return nullptr;
  }
  if (load(&kernel.module, g_bytes_get_data(code, nullptr)) != CUDA_SUCCESS ||
      function(&kernel.function, kernel.module, "kernel") != CUDA_SUCCESS) {
    fc_kernel_unload(static_cast<fc_kernel *>(g_memdup2(&kernel, sizeof kernel)));
    fc_fail(error, FC_UNSUPPORTED, "the driver refuses a composed kernel");
    return nullptr;
  }
  kernel.resident = resident_of(kernel.function);
  kernel.shared = allow_shared(kernel.function);
  kernel.awaits = awaits_earlier();
  return static_cast<fc_kernel *>(g_memdup2(&kernel, sizeof kernel));
}

guint fc_kernel_resident(const fc_kernel *kernel) {
  return kernel->resident;
}

void fc_kernel_unload(fc_kernel *kernel) {
  const unload_fn unload = driver<unload_fn>("cuModuleUnload");
  if (kernel && kernel->module && unload) (void)unload(kernel->module);
  g_free(kernel);
}

fc_status fc_kernel_launch(const fc_kernel *kernel, const fc_composed *composed, void *stream) {
  static const launch_fn launch = driver<launch_fn>("cuLaunchKernel");
  static const launch_early_fn launch_early = driver<launch_early_fn>("cuLaunchKernelEx");
  size_t bytes = composed->n_params;
  void *params[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<guint8 *>(composed->params),
                    CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  const CUstream on = static_cast<CUstream>(stream);
  if (!launch || composed->shared > kernel->shared) return FC_DEVICE;
  CUresult result;
  if (kernel->awaits && launch_early && !is_captured(on)) {
    CUlaunchAttribute early = {};
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = composed->grid[0], config.gridDimY = composed->grid[1],
    config.gridDimZ = composed->grid[2];
    config.blockDimX = composed->threads, config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = composed->shared, config.hStream = on;
    config.attrs = &early, config.numAttrs = 1;
    result = launch_early(&config, kernel->function, nullptr, params);
  } else {
    result = launch(kernel->function, composed->grid[0], composed->grid[1], composed->grid[2],
                    composed->threads, 1, 1, composed->shared, on, nullptr, params);
  }
  return result == CUDA_SUCCESS ? FC_OK : result == CUDA_ERROR_OUT_OF_MEMORY ? FC_NO_MEMORY : FC_DEVICE;
}

fc_status fc_kernel_device(int *major, int *minor, guint *processors) {
  int device = 0, count = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    (void)cudaGetLastError();
    return FC_DEVICE;
  }
  *processors = static_cast<guint>(count);
  return FC_OK;
}

} // extern "C"
