/* SPDX-License-Identifier: MIT */
/* cuda_none.c - replaces cuda.cu in builds without CUDA. */
#include "core/device/runner.h"

const fc_driver *fc_cuda_driver(void) {
  return NULL;
}
