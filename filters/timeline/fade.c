/* SPDX-License-Identifier: MIT */
/* fade.c - see fade.h. The vectorised version processes rows with all their channels; only samples in a
 * fade are multiplied. */
#include "filters/timeline/fade.h"

#include "filters/base/lines.h"
#include "filters/timeline/fade_math.h"

#define TILE 1024 /* values per tile */

fc_status fc_fade_ref(const fc_fade *fade, const fc_view *in, const fc_view *out, uint32_t *notes) {
  for (int64_t t = 0; t < out->shape[FC_AXIS_T]; t++) {
    const double factor = fc_fade_factor(fade, out->origin[FC_AXIS_T] + t, out->extent[FC_AXIS_T]);
    for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) {
      double v;
      fc_load_f64(&v, fc_view_at(in, 0, 0, t, c), 0, 1, in->kind, in->dtype);
      const float rounded = (float)v * (float)factor;
      v *= factor;
      fc_store(fc_view_at(out, 0, 0, t, c), 0, fade->compute == FC_F64 ? (const void *)&v : &rounded,
               fade->compute, 1, out->kind, out->dtype, notes);
    }
  }
  return FC_OK;
}

size_t fc_fade_scratch(const fc_fade *fade) {
  return TILE * fc_dtype_size(fade->compute);
}

/* `count` samples of `channels` values each. */
static void multiply(const fc_fade *fade, int64_t t, int64_t extent, void *values, int64_t count,
                     int64_t channels) {
  for (int64_t i = 0; i < count; i++) {
    if (t + i >= fade->in && (extent < 0 || t + i < extent - fade->out)) continue;
    const double factor = fc_fade_factor(fade, t + i, extent);
    for (int64_t c = 0; c < channels; c++) {
      if (fade->compute == FC_F64)
        ((double *)values)[i * channels + c] *= factor;
      else
        ((float *)values)[i * channels + c] *= (float)factor;
    }
  }
}

fc_status fc_fade_cpu(const fc_fade *fade, const fc_view *in, const fc_view *out, void *scratch,
                      uint32_t *notes) {
  const int64_t first = out->origin[FC_AXIS_T], extent = out->extent[FC_AXIS_T], all = out->shape[FC_AXIS_C];
  if (fc_view_count(out) == 0) return FC_OK;
  const fc_lines l = fc_lines_of(in, out, all <= TILE);
  const int64_t together = l.channels == 1 ? all : 1, length = out->shape[FC_AXIS_T], step = TILE / together;
  for (int64_t c = 0; c < l.channels; c++)
    for (int64_t t = 0, count; t < length; t += count) {
      count = length - t < step ? length - t : step;
      fc_load(scratch, fade->compute, fc_view_at(in, 0, 0, t, c), l.in_step, count * together, in->kind,
              in->dtype);
      multiply(fade, first + t, extent, scratch, count, together);
      fc_store(fc_view_at(out, 0, 0, t, c), l.out_step, scratch, fade->compute, count * together, out->kind,
               out->dtype, notes);
    }
  return FC_OK;
}
