/* SPDX-License-Identifier: MIT */
/*
 * cuda.h - of the driver's interface what check/cuda_host.c asks for; see cuda_runtime_api.h beside it.
 */
#ifndef FC_TESTS_FAKE_CUDA_DRIVER_H
#define FC_TESTS_FAKE_CUDA_DRIVER_H

#include <stddef.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr, CUmemGenericAllocationHandle;
typedef enum { CU_MEM_ALLOC_GRANULARITY_MINIMUM } CUmemAllocationGranularity_flags;
typedef struct CUmemLocation {
  enum { CU_MEM_LOCATION_TYPE_DEVICE = 1 } type;
  int id;
} CUmemLocation;
typedef struct CUmemAllocationProp {
  enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1 } type;
  CUmemLocation location;
} CUmemAllocationProp;
typedef struct CUmemAccessDesc {
  CUmemLocation location;
  enum { CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 } flags;
} CUmemAccessDesc;

#endif
