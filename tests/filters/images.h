/* SPDX-License-Identifier: MIT */
/*
 * images.h - images for the tests of 2-D filters: every element type and layout, between
 * guard bands, with the border that a window needs and NaN (or all ones) beyond it, so
 * that a filter that looks further shows.
 */
#ifndef FC_TESTS_IMAGES_H
#define FC_TESTS_IMAGES_H

#include "tests/filters/check.h"

typedef enum image_layout {
  INTERLEAVED = 0,
  PADDED = 1, /* rows some elements apart */
  PLANAR = 2,
  GAPPED = 3,  /* every second element, rows padded */
  SHIFTED = 4, /* interleaved, one element off any alignment */
  LAYOUTS = 5
} image_layout;

/* Elements of border on each side. */
typedef struct image_border {
  int64_t left, right, top, bottom;
} image_border;

typedef struct image {
  guarded memory;
  fc_view view;
} image;

/* What a window of ny x nx taps reads beyond its outputs. */
static inline image_border border_of(int64_t ny, int64_t nx) {
  return (image_border){nx / 2, nx - 1 - nx / 2, ny / 2, ny - 1 - ny / 2};
}

/* shape in N Y X C. Nothing is filled in. */
static inline image image_new(int dtype, const int64_t shape[FC_AXES], image_layout layout,
                              image_border border) {
  int64_t size = (int64_t)fc_dtype_size(dtype), gap = layout == GAPPED ? 2 : 1, shift = layout == SHIFTED;
  int64_t height = shape[1] + border.top + border.bottom, width = shape[2] + border.left + border.right;
  image m = {.view = {sizeof m.view, dtype, FC_IMAGE, FC_HOST}};
  int64_t *stride = m.view.stride;
  stride[3] = layout == PLANAR ? height * width : gap;
  stride[2] = layout == PLANAR ? 1 : gap * shape[3];
  stride[1] = stride[2] * width + (layout == PADDED || layout == GAPPED ? 3 : 0);
  stride[0] = layout == PLANAR ? stride[3] * shape[3] : stride[1] * height;
  m.memory = guarded_new((size_t)((stride[0] * shape[0] + shift) * size));
  memset(m.memory.data, 0xff, m.memory.bytes);
  for (int a = 0; a < FC_AXES; a++) {
    m.view.shape[a] = m.view.extent[a] = shape[a];
    stride[a] *= size;
  }
  m.view.data = (char *)m.memory.data + shift * size + border.top * stride[1] + border.left * stride[2];
  return m;
}

static inline void image_free(image *m) {
  guarded_free(&m->memory);
}

/* Fills image and border with what value(n, y, x, c) says. */
static inline void image_fill(image *m, image_border b,
                              double (*value)(int64_t, int64_t, int64_t, int64_t, void *), void *data) {
  const int64_t *shape = m->view.shape;
  for (int64_t n = 0; n < shape[0]; n++)
    for (int64_t y = -b.top; y < shape[1] + b.bottom; y++)
      for (int64_t x = -b.left; x < shape[2] + b.right; x++)
        for (int64_t c = 0; c < shape[3]; c++)
          element_set(fc_view_at(&m->view, n, y, x, c), m->view.dtype, value(n, y, x, c, data));
}

static inline double value_random(int64_t n, int64_t y, int64_t x, int64_t c, void *dtype) {
  (void)n, (void)y, (void)x, (void)c;
  return element_random(*(int *)dtype);
}

static inline image image_random(int dtype, const int64_t shape[FC_AXES], image_layout layout,
                                 image_border border) {
  image m = image_new(dtype, shape, layout, border);
  image_fill(&m, border, value_random, &dtype);
  return m;
}

static inline double image_get(const image *m, int64_t n, int64_t y, int64_t x, int64_t c) {
  return element_get(fc_view_at(&m->view, n, y, x, c), m->view.dtype);
}

/* The largest magnitude that an element of random images has. */
static inline double largest_of(int dtype) {
  static const double largest[] = {255, 32768, 65535, 2147483648.0, 1, 1};
  return largest[dtype];
}

/* Is `code` what storing a value within `error` of `value` may leave? */
static inline int is_stored(double code, double value, double error, int dtype) {
  static const double low[] = {0, -32768, 0, INT32_MIN}, high[] = {255, 32767, 65535, INT32_MAX};
  if (dtype == FC_F32) error += fabs(value) * 0x1p-24;
  if (dtype >= FC_F32) return fabs(code - value) <= error;
  double nearest = value < low[dtype] ? low[dtype] : value > high[dtype] ? high[dtype] : value;
  return fabs(code - nearest) <= 0.5 + error;
}

/* The part of an image from `from` on, of shape `shape`, in the same memory. */
static inline image image_part(const image *m, const int64_t from[FC_AXES], const int64_t shape[FC_AXES]) {
  image part = *m;
  part.view.data = fc_view_at(&m->view, from[0], from[1], from[2], from[3]);
  for (int a = 0; a < FC_AXES; a++) part.view.shape[a] = shape[a], part.view.origin[a] = from[a];
  return part;
}

/* Are all bytes equal, guard bands and gaps too? */
static inline int image_equal(const image *a, const image *b) {
  return a->memory.bytes == b->memory.bytes && !memcmp(a->memory.data, b->memory.data, a->memory.bytes);
}

#endif
