/* SPDX-License-Identifier: MIT */
/*
 * mask2d.h - code shared by sepconv and conv2d: the parameters flip and normalize, and masks from their
 * tables to device memory.
 */
#ifndef FC_PLUGINS_MASK2D_H
#define FC_PLUGINS_MASK2D_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/filter2d/choice.h"
#include "plugins/state.h"

#define MASK2D_FLIP_PARAM                                                                                    \
  FC_BOOL_PARAM(0, "flip",                                                                                   \
                "yes convolves: a single bright pixel becomes the mask itself, whose centre is (n-1)/2 on "  \
                "either axis. no correlates: the mask lies on the image as it is written, n/2 of it left "   \
                "of and above the pixel, as in OpenCV's filter2D and PyTorch.",                              \
                "yes")
#define MASK2D_NORMALIZE_PARAM                                                                               \
  FC_BOOL_PARAM(0, "normalize",                                                                              \
                "Divide each mask by the sum of its taps, so that an even area keeps its value.", "no")

/* The elements of a table in the order in which a filter reads its input: reversed for a convolution. */
static inline void mask2d_read(double *to, const fc_table *table, int flip) {
  int64_t count = table->rows * table->cols;
  for (int64_t i = 0; i < count; i++) to[flip ? count - 1 - i : i] = table->data[i];
}

/* The sum that normalize=yes divides by. Refused if it is only the rounding error of its terms (a
 * differentiating mask). */
static inline fc_status mask2d_sum(const fc_host *host, const fc_table *table, double *total) {
  double sum = 0, size = 0;
  for (int64_t i = 0; i < table->rows * table->cols; i++) sum += table->data[i], size += fabs(table->data[i]);
  *total = sum;
  if (fabs(sum) > 1e-9 * size) return FC_OK;
  return host->fail(host, FC_INVALID, "%s: normalize=yes divides by the sum of the mask, which is %s",
                    table->name, sum == 0 ? "0" : "close to 0");
}

/* Taps in the compute type: in host memory, and in device memory for a device. */
typedef struct mask2d_taps {
  void *host, *device;
} mask2d_taps;

static inline void mask2d_taps_clear(const fc_host *host, int device, mask2d_taps *taps) {
  host->free(host, device, taps->device);
  host->free(host, FC_HOST, taps->host);
  taps->host = taps->device = NULL;
}

/* On failure *taps holds what has been made so far, for mask2d_taps_clear. */
static inline fc_status mask2d_taps_make(const fc_host *host, const fc_setup *setup, const double *from,
                                         int64_t count, mask2d_taps *taps) {
  size_t bytes = (size_t)count * fc_dtype_size(setup->compute);
  fc_status status = FC_NO_MEMORY;
  if ((taps->host = host->alloc(host, FC_HOST, bytes))) {
    state_numbers(taps->host, setup->compute, from, count);
    if (setup->device == FC_HOST) return FC_OK;
    status = state_upload(host, setup->device, taps->host, bytes, &taps->device);
  }
  return status == FC_NO_MEMORY
             ? host->fail(host, status, "no memory for a mask of %lld taps", (long long)count)
             : status;
}

/* Their sum of magnitudes; `positive` becomes FALSE where some are below 0, or no numbers. */
static inline double mask2d_size(const double *taps, int64_t count, int *positive) {
  double sum = 0;
  for (int64_t k = 0; k < count; k++) sum += fabs(taps[k]), *positive &= taps[k] >= 0;
  return sum;
}

/* Whether separable sums are integers (sepconv/bytes.cu), with other bits than a composed kernel would give.
 */
static inline int mask2d_in_integers(const fc_setup *setup, int64_t nx, int64_t ny) {
  const fc_format *in = setup->in[0];
  return in->dtype == FC_U8 && setup->out->dtype == FC_U8 && !fc_sepconv_in_floats(nx, ny, in->extent);
}

/* The device function of a filter with nx taps along X and ny along Y; `y` NULL: with ny rows of nx in `x`.
 * It is worth using alone where no precompiled kernel is as fast. */
static inline fc_status mask2d_describe(const fc_setup *setup, int64_t nx, int64_t ny, const double *x,
                                        const double *y, fc_device_function *f) {
  const fc_format *in = setup->in[0];
  fc_signal2d signal = {y != NULL, in->dtype, setup->out->dtype, nx, ny, {0}};
  const fc_status status = fc_describe_window(setup, f, nx, ny, x, y);
  if (status != FC_OK) return status;
  int positive = 1;
  const double along_x = mask2d_size(x, y ? nx : nx * ny, &positive),
               along_y = y ? mask2d_size(y, ny, &positive) : 1;
  memcpy(signal.extent, in->extent, sizeof signal.extent);
  f->flags |=
      (positive ? FC_FUNCTION_NONNEGATIVE : 0) | (fc_filter2d_is_quick(&signal) ? 0 : FC_FUNCTION_ALONE);
  /* If the factors are far from 1 their product is no bound: f32 may not represent them, or intermediate
   * results. */
  const int near = along_x > 1e-9 && along_x < 1e9 && along_y > 1e-9 && along_y < 1e9;
  f->growth = near ? along_x * along_y : NAN;
  return FC_OK;
}

/* What a filter with such a window does as numbers, except for these: `count` of them. */
static inline void mask2d_map(fc_linear_map *map, int32_t form, int64_t ny, int64_t nx, int64_t count) {
  map->form = form, map->masks = 1, map->nx = nx, map->ny = ny, map->before_x = nx / 2,
  map->before_y = ny / 2;
  map->count = count;
}

/* A mask of `taps` with zeros ahead of it, and behind, so that its middle is where a map has it. */
typedef struct mask2d_room {
  int64_t taps, ahead;
} mask2d_room;

static inline mask2d_room mask2d_room_of(int64_t taps, int64_t before) {
  if (before > taps / 2) return (mask2d_room){2 * before, 0};
  const int64_t ahead = before < taps / 2 ? taps - 1 - 2 * before : 0;
  return (mask2d_room){taps + ahead, ahead};
}

/* The terms of a filter with a window of ny x nx taps, except its cost. */
static inline void mask2d_terms(fc_terms *terms, int64_t ny, int64_t nx) {
  terms->needs[0]->reach[FC_AXIS_Y].before = ny / 2;
  terms->needs[0]->reach[FC_AXIS_Y].after = ny - 1 - ny / 2;
  terms->needs[0]->reach[FC_AXIS_X].before = nx / 2;
  terms->needs[0]->reach[FC_AXIS_X].after = nx - 1 - nx / 2;
}

#endif
