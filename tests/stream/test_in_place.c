/* SPDX-License-Identifier: MIT */
/*
 * test_in_place.c - a caller's memory is filtered where it lies, but for its borders: the same to the bit as
 * a copy of it, for each operator with its examples and every border, windows larger than the image, and
 * memory in several orders with gaps between its rows. The input lies between pages that may not be touched,
 * right behind the first or right ahead of the second.
 *
 * The copy is a stage that keeps everything: what it hands on lies where there is room for a border.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/stream/chains.h"

typedef struct signal_kind {
  const char *name;
  int kind, dtype;
  gint64 y, x, c;
  gboolean planar;
  gint64 gap; /* elements between rows */
} signal_kind;

static const signal_kind signals[] = {
    {"f32 image", FC_IMAGE, FC_F32, 97, 2100, 1, FALSE, 0},
    {"f32 image with gaps", FC_IMAGE, FC_F32, 47, 2048, 1, FALSE, 37},
    {"u8 RGB image", FC_IMAGE, FC_U8, 53, 2200, 3, FALSE, 0},
    {"u16 planes", FC_IMAGE, FC_U16, 40, 3001, 2, TRUE, 5},
    {"f32 stereo", FC_AUDIO, FC_F32, 1, 40003, 2, FALSE, 0},
    {"i16 sound", FC_AUDIO, FC_I16, 1, 50000, 1, FALSE, 0},
    {"f32 stereo, planar", FC_AUDIO, FC_F32, 1, 30011, 2, TRUE, 3},
};

/* More than examples have: long windows along either axis, of more rows than there are, and some that lie a
 * page apart. */
static const char *const more[] = {"winstat:window=101x9:stat=mean", "winstat:window=5x301:stat=mean,max",
                                   "winstat:window=3001x3:stat=sum", "winstat:window=31x17:stat=std",
                                   "sepconv:[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]/190"};

typedef struct test {
  fc_context *context;
  const signal_kind *s;
  fc_view in;
  guint runs, failed;
} test;

/* ---- memory between pages of nobody's ------------------------------------------------ */

typedef struct fenced {
  char *pages;
  gsize length;
} fenced;

static char *fence(fenced *f, gsize bytes, gboolean at_end) {
  const gsize page = (gsize)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
  f->length = room + 2 * page;
  f->pages = mmap(NULL, f->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (f->pages == MAP_FAILED || mprotect(f->pages + page, room, PROT_READ | PROT_WRITE)) exit(99);
  return f->pages + page + (at_end ? room - bytes : 0);
}

/* Interleaved or planar, `gap` elements from row to row - of nothing behind the last. */
static gsize lay_out(const signal_kind *s, fc_view *v) {
  const gint64 size = (gint64)fc_dtype_size(s->dtype);
  *v = (fc_view){.size = sizeof *v, .dtype = s->dtype, .kind = s->kind, .device = FC_HOST};
  const gint64 shape[FC_AXES] = {1, s->y, s->x, s->c};
  for (int a = 0; a < FC_AXES; a++) v->shape[a] = v->extent[a] = shape[a];
  v->stride[FC_AXIS_C] = s->planar ? (s->x + s->gap) * s->y * size : size;
  v->stride[FC_AXIS_X] = s->planar ? size : s->c * size;
  v->stride[FC_AXIS_Y] = s->planar ? (s->x + s->gap) * size : (s->x * s->c + s->gap) * size;
  v->stride[FC_AXIS_N] = s->y * s->c * (s->x + s->gap) * size;
  gint64 last = size;
  for (int a = FC_AXIS_Y; a <= FC_AXIS_C; a++) last += (shape[a] - 1) * v->stride[a];
  return (gsize)last;
}

static void fill(const fc_view *v, dice *d) {
  for (gint64 y = 0; y < v->shape[1]; y++)
    for (gint64 x = 0; x < v->shape[2]; x++)
      for (gint64 c = 0; c < v->shape[3]; c++) {
        void *p = fc_view_at(v, 0, y, x, c);
        if (v->dtype == FC_F32)
          *(float *)p = (float)dice_real(d, -1, 1);
        else
          for (gsize i = 0; i < fc_dtype_size(v->dtype); i++) ((guint8 *)p)[i] = (guint8)dice_int(d, 0, 255);
      }
}

/* ---- runs ---------------------------------------------------------------------------- */

/* Output, packed; NULL where it is refused. */
static char *run(test *t, const char *const *stages, guint64 seed, gint64 chunk, int threads,
                 const char *trace, gsize *bytes) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_chain) chain = fc_chain_parse(t->context, stages, &error);
  fc_options options = FC_OPTIONS_INIT;
  fc_format in = {.size = sizeof in}, out = {.size = sizeof out, .dtype = -1};
  in.kind = t->s->kind, in.dtype = t->s->dtype, in.bits = 8 * (int)fc_dtype_size(t->s->dtype);
  in.layout = t->s->planar ? FC_PLANAR : FC_INTERLEAVED;
  memcpy(in.extent, t->in.extent, sizeof in.extent);
  if (!chain || !fc_chain_output_format(chain, &in, &options, &out, &error)) return NULL;
  fc_view to = {.size = sizeof to, .dtype = out.dtype, .kind = out.kind, .device = FC_HOST};
  *bytes = fc_dtype_size(out.dtype);
  for (int a = FC_AXES; a-- > 0;) {
    to.shape[a] = to.extent[a] = out.extent[a], to.stride[a] = (gint64)*bytes;
    *bytes *= (gsize)MAX(out.extent[a], 0);
  }
  char *codes = g_malloc0(*bytes + 1);
  to.data = codes;
  options.device = "cpu", options.chunk = chunk, options.threads = threads, options.trace = trace;
  options.seed = seed;
  t->runs++;
  if (fc_chain_run_host(chain, &t->in, &to, &options, NULL, &error)) return codes;
  printf("FAILED %s on %s: %s\n", stages[0], t->s->name, error->message);
  t->failed++;
  g_free(codes);
  return NULL;
}

static void compare(test *t, const char *stage) {
  static const struct {
    gint64 chunk;
    int threads;
  } ways[] = {{0, 1}, {0, 3}, {23, 2}, {5000, 2}};
  const char *const copied[] = {"crop", stage, NULL}, *const alone[] = {stage, NULL};
  gsize bytes = 0, same = 0;
  g_autofree char *expected = run(t, copied, 0, 0, 1, NULL, &same),
                  *other = run(t, copied, 1, 0, 1, NULL, &bytes);
  /* What an operator draws depends on its place in the chain, too. */
  if (expected && other && (bytes != same || memcmp(other, expected, same) != 0)) return;
  for (guint i = 0; expected && i < G_N_ELEMENTS(ways); i++) {
    if (t->s->kind == FC_AUDIO && ways[i].chunk == 23) continue;
    g_autofree char *codes = run(t, alone, 0, ways[i].chunk, ways[i].threads, NULL, &bytes);
    if (codes && bytes == same && memcmp(codes, expected, bytes) == 0) continue;
    printf("FAILED %s on %s, chunk %d, %d threads: not as from a copy\n", stage, t->s->name,
           (int)ways[i].chunk, ways[i].threads);
    t->failed++;
  }
}

/* How many bytes of the input were copied. */
static gint64 copied_bytes(test *t, const char *stage) {
  const char *const alone[] = {stage, NULL};
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "filterchain-in-place-XXXXXX", NULL),
                  *text = NULL;
  gsize bytes;
  gint64 sum = 0;
  int file = g_mkstemp(path);
  if (file < 0) return -1;
  close(file);
  g_free(run(t, alone, 0, 0, 2, path, &bytes));
  g_file_get_contents(path, &text, NULL, NULL);
  for (const char *p = text; p && (p = strstr(p, "\"name\":\"copy\"")); p++)
    sum += g_ascii_strtoll(strstr(p, "\"bytes\":") + 8, NULL, 10);
  unlink(path);
  return text ? sum : -1;
}

/* Nothing is copied for what looks at one sample or cuts its windows at the ends, little for a small window
 * (to the next 16 rows, where those of winstat may be cut), and all for one that is larger than the image. */
static void check_copies(test *t, gsize all) {
  const gint64 none = copied_bytes(t, "gain:0.5"), some = copied_bytes(t, "winstat:window=5x5:stat=mean"),
               much = copied_bytes(t, "winstat:window=5x301:stat=mean"), cut = copied_bytes(t, "resize:50");
  if (none == 0 && cut == 0 && some > 0 && some < (gint64)all / 2 && much >= (gint64)all) return;
  printf("FAILED %s of %d bytes: copied %d, %d, %d and %d of it\n", t->s->name, (int)all, (int)none, (int)cut,
         (int)some, (int)much);
  t->failed++;
}

static void try_signal(test *t, guint number) {
  fenced pages;
  dice d = dice_of(7, "in place", number);
  gsize bytes = lay_out(t->s, &t->in);
  char *data = t->in.data = fence(&pages, bytes, number % 2);
  memset(data, 0xff, bytes); /* gaps are NaN */
  fill(&t->in, &d);
  fc_format format = {.size = sizeof format,
                      .kind = t->s->kind,
                      .dtype = t->s->dtype,
                      .extent = {1, t->s->y, t->s->x, t->s->c}};
  g_autoptr(GPtrArray) stages = stages_for(t->context, &format, FALSE);
  for (guint i = 0; i < stages->len; i++) compare(t, g_ptr_array_index(stages, i));
  for (guint i = 0; i < G_N_ELEMENTS(more) && t->s->kind == FC_IMAGE; i++) compare(t, more[i]);
  if (number == 0) check_copies(t, bytes);
  munmap(pages.pages, pages.length);
}

static void ignore(fc_log_level level, const char *message, void *data) {}

int main(void) {
  test t = {.context = fc_context_new()};
  fc_context_set_log(t.context, ignore, NULL);
  for (guint i = 0; i < 2 * G_N_ELEMENTS(signals); i++) {
    t.s = &signals[i / 2];
    try_signal(&t, i);
  }
  printf("%u runs, %u failed\n", t.runs, t.failed);
  fc_context_free(t.context);
  return t.failed || t.runs < 1000;
}
