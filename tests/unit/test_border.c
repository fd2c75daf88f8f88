/* SPDX-License-Identifier: MIT */
/*
 * test_border.c - borders made on the host against fc_border_map, position by position: every mode, element
 * size and axis, halos of several periods, and memory in either order. What is not wanted stays as it was.
 */
#include "core/base/buffer.h"

#include <string.h>

typedef struct box {
  fc_format format;
  fc_range wanted[FC_AXES], held[FC_AXES];
  fc_buffer buffer;
} box;

static gint64 draw(gint64 lo, gint64 hi) {
  return g_test_rand_int_range((gint32)lo, (gint32)hi + 1);
}

static box random_box(void) {
  static const int dtypes[] = {FC_U8, FC_I16, FC_F32, FC_F64};
  static const gint64 most[FC_AXES] = {2, 7, 12, 4};
  box b = {.format = {.dtype = dtypes[draw(0, 3)], .layout = (int)draw(FC_INTERLEAVED, FC_PLANAR)}};
  gint64 shape[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) {
    const gint64 extent = b.format.extent[a] = draw(1, most[a]), halo = a == FC_AXIS_N ? 0
                                                                        : draw(0, 1)   ? draw(0, 30)
                                                                                       : 0;
    b.wanted[a] = (fc_range){-draw(0, halo), extent + draw(0, halo)};
    b.held[a] = (fc_range){b.wanted[a].lo - draw(0, 1), b.wanted[a].hi + draw(0, 1)};
    shape[a] = fc_range_length(b.held[a]);
  }
  g_assert_true(fc_buffer_layout(&b.buffer, &b.format, shape));
  fc_buffer_hold(&b.buffer, b.held, 0);
  b.buffer.memory = g_malloc(b.buffer.bytes);
  for (gsize i = 0; i < b.buffer.bytes; i++) ((guint8 *)b.buffer.memory)[i] = (guint8)draw(0, 255);
  return b;
}

/* What position p must be: an element of the signal, `code`, or as it was. */
static const char *expected(const box *b, const fc_view *before, const gint64 p[FC_AXES], int border,
                            const char *code) {
  gint64 q[FC_AXES];
  gboolean wanted = TRUE, image = TRUE;
  for (int a = 0; a < FC_AXES; a++) {
    wanted &= p[a] >= b->wanted[a].lo && p[a] < b->wanted[a].hi;
    q[a] = fc_border_map(border, p[a], b->format.extent[a]);
    image &= q[a] >= 0;
  }
  if (wanted && !image) return code;
  const gint64 *at = wanted ? q : p;
  return fc_view_at(before, at[0] - b->held[0].lo, at[1] - b->held[1].lo, at[2] - b->held[2].lo,
                    at[3] - b->held[3].lo);
}

static void check(const box *b, const fc_view *before, int border, const char *code) {
  const fc_view after = fc_buffer_view(&b->buffer, b->held, &b->format);
  const gsize size = fc_dtype_size(b->format.dtype);
  gint64 p[FC_AXES];
  for (p[0] = b->held[0].lo; p[0] < b->held[0].hi; p[0]++)
    for (p[1] = b->held[1].lo; p[1] < b->held[1].hi; p[1]++)
      for (p[2] = b->held[2].lo; p[2] < b->held[2].hi; p[2]++)
        for (p[3] = b->held[3].lo; p[3] < b->held[3].hi; p[3]++) {
          const char *is = fc_view_at(&after, p[0] - b->held[0].lo, p[1] - b->held[1].lo,
                                      p[2] - b->held[2].lo, p[3] - b->held[3].lo);
          g_assert_cmpmem(is, size, expected(b, before, p, border, code), size);
        }
}

static void test_random(void) {
  const char code[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int i = 0; i < 2000; i++) {
    const int border = i % FC_BORDER_NONE;
    box b = random_box();
    fc_buffer copy = b.buffer;
    copy.memory = g_memdup2(b.buffer.memory, b.buffer.bytes);
    const fc_view before = fc_buffer_view(&copy, b.held, &b.format);
    fc_range all[FC_AXES];
    for (int a = 0; a < FC_AXES; a++) all[a] = (fc_range){0, b.format.extent[a]};
    const fc_view view = fc_buffer_view(&b.buffer, all, &b.format);
    fc_view_fill_border(&view, b.wanted, border, code);
    check(&b, &before, border, code);
    g_free(copy.memory);
    g_free(b.buffer.memory);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/border/random", test_random);
  return g_test_run();
}
