/* SPDX-License-Identifier: MIT */
/* cuda_none.c - in place of cuda.cu where there is no CUDA compiler. */
#include "core/device/runner.h"

const fc_driver *fc_cuda_driver(void) {
  return NULL;
}
