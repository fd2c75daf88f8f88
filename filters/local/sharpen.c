/* SPDX-License-Identifier: MIT */
/*
 * sharpen.c - see sharpen.h: the reference, and loops over rows of one channel or, if they are interleaved,
 * of all channels.
 */
#include "filters/local/sharpen.h"

#include "filters/base/lines.h"
#include "filters/local/sharpen_kernels.h"

#define TILE 2048 /* values */

size_t fc_sharpen_scratch(const fc_sharpen *s, const fc_view *out) {
  const size_t blur = fc_sepconv_scratch(&s->blur, out), tile = TILE * fc_dtype_size(s->blur.compute);
  return fc_sharpen_blurred_bytes(s, out) + (blur > tile ? blur : tile);
}

fc_status fc_sharpen_ref(const fc_sharpen *s, const fc_view *in, const fc_view *out, void *scratch,
                         uint32_t *notes) {
  const fc_view blurred = fc_sharpen_blurred(s, out, scratch);
  const int single = s->blur.compute == FC_F32;
  const double threshold = single ? (double)(float)s->threshold : s->threshold;
  fc_status status = fc_sepconv_ref(&s->blur, in, &blurred, NULL);
  if (status != FC_OK) return status;
  for (int64_t n = 0; n < out->shape[0]; n++)
    for (int64_t y = 0; y < out->shape[1]; y++)
      for (int64_t x = 0; x < out->shape[2]; x++)
        for (int64_t c = 0; c < out->shape[3]; c++) {
          double v, b;
          fc_load_f64(&v, fc_view_at(in, n, y, x, c), 0, 1, in->kind, in->dtype);
          fc_load_f64(&b, fc_view_at(&blurred, n, y, x, c), 0, 1, blurred.kind, blurred.dtype);
          if (single) v = (double)(float)v;
          const double d = v - b;
          if (d > threshold || d < -threshold) v += s->amount * d;
          fc_store_f64(fc_view_at(out, n, y, x, c), 0, &v, 1, out->kind, out->dtype, notes);
        }
  return FC_OK;
}

typedef struct walk {
  const fc_sharpen *s;
  const fc_sharpen_kernels *kernels;
  const fc_view *in, *out;
  void *tile;
  uint32_t *notes;
} walk;

static void sharpen_line(const walk *w, const char *from, int64_t in_step, const char *blurred, char *to,
                         int64_t out_step, int64_t length) {
  const int compute = w->s->blur.compute;
  const int64_t size = (int64_t)fc_dtype_size(compute);
  for (int64_t i = 0; i < length; i += TILE) {
    const int64_t count = length - i < TILE ? length - i : TILE;
    fc_load(w->tile, compute, from + i * in_step, in_step, count, w->in->kind, w->in->dtype);
    if (compute == FC_F64)
      w->kernels->sharpen_f64(w->tile, (const double *)(blurred + i * size), count, w->s->amount,
                              w->s->threshold);
    else
      w->kernels->sharpen_f32(w->tile, (const float *)(blurred + i * size), count, (float)w->s->amount,
                              (float)w->s->threshold);
    fc_store(to + i * out_step, out_step, w->tile, compute, count, w->out->kind, w->out->dtype, w->notes);
  }
}

fc_status fc_sharpen_cpu(const fc_sharpen *s, const fc_view *in, const fc_view *out, void *scratch,
                         uint32_t *notes) {
  fc_view blurred = fc_sharpen_blurred(s, out, scratch);
  char *rest = (char *)scratch + fc_sharpen_blurred_bytes(s, out);
  const fc_lines l = fc_lines_of(in, out, 1);
  const walk w = {s, FC_ISA_PICK(fc_sharpen_kernels, s->blur.isa), in, out, rest, notes};
  if (l.channels > 1) { /* separate channels, in the blurred image too */
    blurred.stride[FC_AXIS_X] = (int64_t)fc_dtype_size(blurred.dtype);
    blurred.stride[FC_AXIS_C] = blurred.shape[FC_AXIS_X] * blurred.stride[FC_AXIS_X];
  }
  fc_status status = fc_sepconv_cpu(&s->blur, in, &blurred, rest, NULL);
  if (status != FC_OK) return status;
  for (int64_t n = 0; n < l.frames; n++)
    for (int64_t y = 0; y < l.rows; y++)
      for (int64_t c = 0; c < l.channels; c++)
        sharpen_line(&w, fc_view_at(in, n, y, 0, c), l.in_step, fc_view_at(&blurred, n, y, 0, c),
                     fc_view_at(out, n, y, 0, c), l.out_step, l.length);
  return FC_OK;
}
