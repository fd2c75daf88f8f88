/* SPDX-License-Identifier: MIT */
/*
 * test_parts.c - outputs cut into an inside and borders: every element is in one part, the inside looks at
 * nothing beyond the input, parts begin where a stage and a reader of whole vectors would have them, and what
 * is looked at is what demand says. Random reaches, extents and stretches; one axis at a time is easy to see.
 */
#include "core/plan/parts.h"

#include <string.h>

#define MOST 64

static gint64 draw(gint64 lo, gint64 hi) {
  return g_test_rand_int_range((gint32)lo, (gint32)hi + 1);
}

/* A stage, its input, and a stretch of its output as a chunk would ask for. */
typedef struct question {
  fc_plan_stage stage;
  fc_format in;
  fc_range out[FC_AXES];
} question;

static question random_question(void) {
  question q = {.stage = {.border = (int)draw(FC_BORDER_ZERO, FC_BORDER_NONE)}};
  for (int a = 0; a < FC_AXES; a++) {
    gboolean plane = a == FC_AXIS_Y || a == FC_AXIS_X;
    gint64 extent = q.in.extent[a] = plane ? draw(1, MOST) : draw(1, 2),
           align = plane && draw(0, 3) == 0 ? draw(2, 8) : 1;
    gint64 before = plane ? draw(-3, 20) : 0, after = plane ? draw(-MIN(3, before), 20) : 0;
    if (draw(0, 9) == 0) before = after = FC_WHOLE;
    q.stage.reach[a] = (fc_reach){before, after, 1, 1, align};
    fc_range some = {draw(0, extent), 0};
    some.hi = draw(some.lo, extent);
    q.out[a] = draw(0, 1) ? (fc_range){0, extent} : fc_reach_align(&q.stage.reach[a], some, extent);
  }
  return q;
}

static gboolean is_in(const fc_range range[FC_AXES], const gint64 p[FC_AXES]) {
  for (int a = 0; a < FC_AXES; a++)
    if (p[a] < range[a].lo || p[a] >= range[a].hi) return FALSE;
  return TRUE;
}

/* Each position of the plane of `out` is in one part, and there is nothing else in any. */
static void check_cover(const question *q, const fc_part *parts, guint n) {
  gint64 p[FC_AXES] = {q->out[FC_AXIS_N].lo, 0, 0, q->out[FC_AXIS_C].lo};
  for (p[FC_AXIS_Y] = -1; p[FC_AXIS_Y] <= MOST; p[FC_AXIS_Y]++)
    for (p[FC_AXIS_X] = -1; p[FC_AXIS_X] <= MOST; p[FC_AXIS_X]++) {
      guint in = 0;
      for (guint i = 0; i < n; i++) in += is_in(parts[i].out, p);
      g_assert_cmpuint(in, ==, is_in(q->out, p));
    }
  for (guint i = 0; i < n; i++)
    for (int a = 0; a < FC_AXES; a++) {
      if (a == FC_AXIS_Y || a == FC_AXIS_X) continue;
      g_assert_cmpint(parts[i].out[a].lo, ==, q->out[a].lo);
      g_assert_cmpint(parts[i].out[a].hi, ==, q->out[a].hi);
    }
}

static void check_part(const question *q, const fc_part *part, fc_lines lines, gboolean inside) {
  for (int a = 0; a < FC_AXES; a++) {
    fc_span need = fc_reach_need(&q->stage.reach[a], q->stage.border, part->out[a], q->in.extent[a]);
    g_assert_cmpmem(&need.view, sizeof need.view, &part->view[a], sizeof part->view[a]);
    g_assert_cmpmem(&need.virt, sizeof need.virt, &part->virt[a], sizeof part->virt[a]);
    g_assert_cmpmem(&need.real, sizeof need.real, &part->real[a], sizeof part->real[a]);
    g_assert_cmpmem(&need.held, sizeof need.held, &part->held[a], sizeof part->held[a]);
    if (inside) g_assert_true(part->held[a].lo >= 0 && part->held[a].hi <= q->in.extent[a]);
    /* Where it does not begin with the stretch it begins with a block of the stage's. */
    const gint64 lo = part->out[a].lo, step = q->stage.reach[a].align;
    const gint64 first = step > 1 ? 0 : lines.first;
    if (lo != q->out[a].lo && a == FC_AXIS_X) g_assert_cmpint((lo - first) % lines.step, ==, 0);
    if (lo != q->out[a].lo) g_assert_cmpint(lo % step, ==, 0);
  }
}

/* Whether some stretch of the output needs no border, whatever parts may begin at. */
static gboolean has_inside(const question *q) {
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &q->stage.reach[a];
    if (r->before == FC_WHOLE) continue;
    if (MAX(q->out[a].lo, r->before) >= MIN(q->out[a].hi, q->in.extent[a] - r->after)) return FALSE;
  }
  return TRUE;
}

static void test_random(void) {
  guint cut[FC_PARTS + 1] = {0};
  for (int i = 0; i < 20000; i++) {
    question q = random_question();
    fc_part parts[FC_PARTS];
    fc_lines lines = {.step = draw(1, 16)};
    lines.first = draw(0, lines.step - 1);
    guint n = fc_parts_cut(&q.stage, &q.in, q.out, lines, parts);
    g_assert_true(n <= FC_PARTS);
    cut[MIN(n, FC_PARTS)]++;
    if (n) check_cover(&q, parts, n);
    if (n) g_assert_true(has_inside(&q));
    for (guint p = 0; p < n; p++) check_part(&q, &parts[p], lines, p == 0);
  }
  for (guint n = 0; n <= FC_PARTS; n++) g_assert_cmpuint(cut[n], >, 20); /* all ways were seen */
}

/* A window of 7 x 5 over 100 x 60, and the chunk that is its rows 20 to 39. */
static void test_window(void) {
  question q = {.stage = {.border = FC_BORDER_REFLECT101}, .in = {.extent = {1, 60, 100, 3}}};
  fc_part parts[FC_PARTS];
  for (int a = 0; a < FC_AXES; a++) {
    q.stage.reach[a] = (fc_reach){0, 0, 1, 1, 1};
    q.out[a] = (fc_range){0, q.in.extent[a]};
  }
  q.stage.reach[FC_AXIS_Y].before = q.stage.reach[FC_AXIS_Y].after = 2;
  q.stage.reach[FC_AXIS_X].before = q.stage.reach[FC_AXIS_X].after = 3;
  g_assert_cmpuint(fc_parts_cut(&q.stage, &q.in, q.out, (fc_lines){16, 0}, parts), ==, 5);
  const fc_range y = parts[0].out[FC_AXIS_Y], x = parts[0].out[FC_AXIS_X];
  g_assert_true(y.lo == 2 && y.hi == 58 && x.lo == 16 && x.hi == 96);
  g_assert_cmpuint(fc_parts_cut(&q.stage, &q.in, q.out, (fc_lines){16, 12}, parts), ==, 5);
  g_assert_true(parts[0].out[FC_AXIS_X].lo == 12 && parts[0].out[FC_AXIS_X].hi == 92);
  q.out[FC_AXIS_Y] = (fc_range){20, 40};
  g_assert_cmpuint(fc_parts_cut(&q.stage, &q.in, q.out, (fc_lines){1, 0}, parts), ==, 3);
  g_assert_true(parts[0].out[FC_AXIS_X].lo == 3 && parts[0].out[FC_AXIS_X].hi == 97);
  q.stage.reach[FC_AXIS_X].num = 2; /* where its output comes from is not told by a shift */
  g_assert_cmpuint(fc_parts_cut(&q.stage, &q.in, q.out, (fc_lines){1, 0}, parts), ==, 0);
}

/* A line is 64 bytes. Elements of 12 bytes: one in 16 begins a line. Of 3 bytes at an odd place: one in 64.
 */
static void test_lines(void) {
  const struct {
    gintptr origin;
    gint64 stride, step, first;
  } cases[] = {{0, 4, 16, 0}, {16, 4, 16, 12}, {4, 12, 16, 5}, {1, 3, 64, 21},  {8, 64, 1, 0},
               {0, 0, 1, 0},  {2, 4, 16, 0},   {0, 8, 8, 0},   {16, -4, 16, 4}, {8, G_MAXINT64, 64, 8}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    fc_lines lines = fc_lines_of((const void *)cases[i].origin, cases[i].stride);
    g_assert_cmpint(lines.step, ==, cases[i].step);
    g_assert_cmpint(lines.first, ==, cases[i].first);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/parts/window", test_window);
  g_test_add_func("/parts/lines", test_lines);
  g_test_add_func("/parts/random", test_random);
  return g_test_run();
}
