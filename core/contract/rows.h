/* SPDX-License-Identifier: MIT */
/*
 * rows.h - rows of samples between their element type and the values that are computed with.
 * Part of the contract with plugins (plugin.h); as plain as view.h.
 */
#ifndef FC_ROWS_H
#define FC_ROWS_H

#include <stdint.h>

/*
 * Loads and stores of rows: scaled as fc_scaling_of says, rounded half to even and clamped on the way to
 * integers; vectorised. `stride` is the distance of neighbours in bytes and may be negative; the values that
 * are computed with lie side by side and overlap nothing. `notes` as in fc_job, or NULL. Any thread.
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
