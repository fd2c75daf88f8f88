/* SPDX-License-Identifier: MIT */
/*
 * views.h - signals for the tests of filters/: views of any layout with a halo around
 * them, in memory with guard bands, filled with random samples.
 */
#ifndef FC_TESTS_VIEWS_H
#define FC_TESTS_VIEWS_H

#include "core/contract/plugin.h"
#include "tests/filters/check.h"

/* How samples lie in memory. */
typedef enum layout {
  LAYOUT_INTERLEAVED, /* N Y X C, dense */
  LAYOUT_PLANAR,      /* N C Y X, dense */
  LAYOUT_PADDED,      /* interleaved with a gap after each row */
  LAYOUT_SCATTERED,   /* gaps everywhere */
  LAYOUT_COUNT
} layout;

static inline const char *layout_name(int l) {
  static const char *const names[] = {"interleaved", "planar", "padded", "scattered"};
  return names[l];
}

/* A view and the memory it lies in: `memory` is the host's, with guard bands. */
typedef struct signal {
  fc_view view;
  guarded memory;
  int64_t before[FC_AXES], after[FC_AXES]; /* the halo */
} signal;

/* A gap of `gap` elements after each step on an axis. */
static inline void signal_strides(signal *s, int lay, const int64_t full[4], int64_t size) {
  static const int interleaved[] = {FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N};
  static const int planar[] = {FC_AXIS_X, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N};
  const int *order = lay == LAYOUT_PLANAR ? planar : interleaved;
  int64_t stride = lay == LAYOUT_SCATTERED ? 2 * size : size;
  for (int i = 0; i < FC_AXES; i++) {
    s->view.stride[order[i]] = stride;
    stride *= full[order[i]];
    if (lay == LAYOUT_SCATTERED || (lay == LAYOUT_PADDED && order[i] == FC_AXIS_X)) stride += 3 * size;
  }
}

/* `shape` is N Y X C; the halo is on one axis. Every byte is the guard pattern. */
static inline signal signal_new(int kind, int dtype, const int64_t shape[4], int lay, int axis,
                                int64_t before, int64_t after) {
  signal s;
  memset(&s, 0, sizeof s);
  int64_t full[FC_AXES], size = (int64_t)fc_dtype_size(dtype), last = 0, count = 1;
  s.before[axis] = before, s.after[axis] = after;
  s.view.size = sizeof s.view;
  s.view.dtype = dtype, s.view.kind = kind, s.view.device = FC_HOST;
  for (int a = 0; a < FC_AXES; a++) {
    s.view.shape[a] = s.view.extent[a] = shape[a];
    full[a] = shape[a] + s.before[a] + s.after[a];
  }
  signal_strides(&s, lay, full, size);
  for (int a = 0; a < FC_AXES; a++) last += (full[a] - 1) * s.view.stride[a], count *= full[a];
  s.memory = guarded_new(count > 0 ? (size_t)(last + size) : 0);
  s.view.data = (char *)s.memory.data + (count > 0 ? before * s.view.stride[axis] : 0);
  return s;
}

static inline void signal_free(signal *s) {
  guarded_free(&s->memory);
}

static inline double view_get(const fc_view *v, const int64_t at[4]) {
  return element_get(fc_view_at(v, at[0], at[1], at[2], at[3]), v->dtype);
}

static inline void view_set(const fc_view *v, const int64_t at[4], double value) {
  element_set(fc_view_at(v, at[0], at[1], at[2], at[3]), v->dtype, value);
}

/* Calls `body` with at[] at every element of the view, the halo included. */
#define FOR_EACH_WITH_HALO(s, at)                                                                            \
  for (at[0] = -(s)->before[0]; at[0] < (s)->view.shape[0] + (s)->after[0]; at[0]++)                         \
    for (at[1] = -(s)->before[1]; at[1] < (s)->view.shape[1] + (s)->after[1]; at[1]++)                       \
      for (at[2] = -(s)->before[2]; at[2] < (s)->view.shape[2] + (s)->after[2]; at[2]++)                     \
        for (at[3] = -(s)->before[3]; at[3] < (s)->view.shape[3] + (s)->after[3]; at[3]++)

#define FOR_EACH(v, at)                                                                                      \
  for (at[0] = 0; at[0] < (v)->shape[0]; at[0]++)                                                            \
    for (at[1] = 0; at[1] < (v)->shape[1]; at[1]++)                                                          \
      for (at[2] = 0; at[2] < (v)->shape[2]; at[2]++)                                                        \
        for (at[3] = 0; at[3] < (v)->shape[3]; at[3]++)

/* Random codes of the element type, halo included; `most` > 0 keeps integers small. */
static inline void signal_fill(signal *s, int64_t most) {
  int64_t at[FC_AXES];
  FOR_EACH_WITH_HALO(s, at) {
    double v = element_random(s->view.dtype);
    if (most > 0) v = (double)random_int(s->view.dtype == FC_U8 || s->view.dtype == FC_U16 ? 0 : -most, most);
    view_set(&s->view, at, v);
  }
}

/* The cut of a view that starts at `from` on an axis and has `count` elements there. */
static inline fc_view view_cut(const fc_view *v, int axis, int64_t from, int64_t count) {
  fc_view cut = *v;
  cut.data = (char *)v->data + from * v->stride[axis];
  cut.shape[axis] = count;
  cut.origin[axis] += from;
  return cut;
}

/* Nothing but the view's elements was written: gaps and bands keep the pattern. Sets the
 * elements to the pattern, so call it last. */
static inline int signal_only_written(signal *s) {
  int64_t at[FC_AXES];
  FOR_EACH(&s->view, at)
  memset(fc_view_at(&s->view, at[0], at[1], at[2], at[3]), GUARD_PATTERN, fc_dtype_size(s->view.dtype));
  for (size_t i = 0; i < s->memory.bytes; i++)
    if (((unsigned char *)s->memory.data)[i] != GUARD_PATTERN) return 0;
  return guarded_intact(&s->memory);
}

/* Where position i of a signal of `count` lies under a border rule (fc_border), by
 * walking there step by step; -1 is outside. */
static inline int64_t border_position(int64_t i, int64_t count, int border) {
  if (border == FC_BORDER_REPLICATE) return i < 0 ? 0 : i >= count ? count - 1 : i;
  while (i < 0 || i >= count) {
    switch (border) {
    case FC_BORDER_REFLECT: i = i < 0 ? -1 - i : 2 * count - 1 - i; break;
    case FC_BORDER_REFLECT101: i = count == 1 ? 0 : i < 0 ? -i : 2 * count - 2 - i; break;
    case FC_BORDER_WRAP: i += i < 0 ? count : -count; break;
    default: return -1;
    }
  }
  return i;
}

#endif
