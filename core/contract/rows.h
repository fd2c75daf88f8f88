/* SPDX-License-Identifier: MIT */
/*
 * rows.h - converts rows of samples between their element type and the compute type. Part of the contract
 * with plugins (plugin.h); no dependencies, like view.h.
 */
#ifndef FC_ROWS_H
#define FC_ROWS_H

#include <stdint.h>

/*
 * Loads and stores of rows: scaled by fc_scaling_of; stores to integers round half to even and clamp.
 * Vectorised. `stride` is the distance of neighbouring elements in bytes and may be negative; the values in
 * the compute type are contiguous and overlap nothing. `notes` as in fc_job, or NULL. Any thread.
 */
typedef struct fc_rows {
  uint32_t size;
  void (*load_f32)(float *to, const void *from, int64_t stride, int64_t count, int kind, int dtype);
  void (*load_f64)(double *to, const void *from, int64_t stride, int64_t count, int kind, int dtype);
  void (*store_f32)(void *to, int64_t stride, const float *from, int64_t count, int kind, int dtype,
                    uint32_t *notes);
  void (*store_f64)(void *to, int64_t stride, const double *from, int64_t count, int kind, int dtype,
                    uint32_t *notes);
} fc_rows;

#endif
