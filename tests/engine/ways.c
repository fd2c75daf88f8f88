/* SPDX-License-Identifier: MIT */
/*
 * ways.c - see ways.h.
 */
#include "tests/device/hosted.h" /* first: its parameters have names that are types below */

#include "tests/engine/ways.h"

#include "check/compare.h"
#include "check/layout.h"
#include "tests/engine/alone.h"

#include <glib/gstdio.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARGIN   64     /* bytes of a pattern around an output */
#define TOO_LONG 150000 /* microseconds of a run whose chunks would compute most of it anew */

typedef struct bench {
  const ways *w;
  const graph *g;
  built b;
  source signal;
  fc_format out;
  gboolean generates;
  GPtrArray *hosted;    /* versions of its operators for the fake device */
  unsigned char *codes; /* of the run that others are held against */
  fc_result *result;
  gint64 lasted; /* microseconds */
  dice d;
  char **fault;
} bench;

static gboolean differs(bench *b, const char *how, const char *format, ...) G_GNUC_PRINTF(3, 4);
static gboolean differs(bench *b, const char *how, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *what = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  if (!*b->fault) *b->fault = g_strdup_printf("%s: %s", how, what);
  return FALSE;
}

/* ---- comparing -------------------------------------------------------------------------------- */

static gboolean same_codes(bench *b, const char *how, const unsigned char *codes) {
  gint64 at = 0;
  if (compare_bits(&b->out, b->codes, codes, &at)) return TRUE;
  const gsize size = fc_dtype_size(b->out.dtype);
  return differs(b, how, "element %" G_GINT64_FORMAT " of %" G_GSIZE_FORMAT " is %.17g, not %.17g", at,
                 format_bytes(&b->out) / size, element_code(codes + (gsize)at * size, b->out.dtype),
                 element_code(b->codes + (gsize)at * size, b->out.dtype));
}

static gboolean same_number(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static gboolean same_measurements(bench *b, const char *how, const fc_result *r) {
  if (r->n_measured != b->result->n_measured)
    return differs(b, how, "%" G_GSIZE_FORMAT " measurements, not %" G_GSIZE_FORMAT, r->n_measured,
                   b->result->n_measured);
  for (gsize i = 0; i < r->n_measured; i++) {
    const fc_measured *x = r->measured[i], *y = b->result->measured[i];
    if (strcmp(x->name, y->name) || x->channel != y->channel || !same_number(x->value, y->value) ||
        g_strcmp0(x->exact, y->exact))
      return differs(b, how, "%s is %.17g, not %.17g", x->name, x->value, y->value);
  }
  return TRUE;
}

static gboolean as_alone(bench *b) {
  const char *how = "operator after operator";
  g_autofree char *why = NULL;
  alone made;
  if (!alone_run(b->g, &b->b, &b->signal, &made, &why)) return differs(b, how, "%s", why);
  b->w->count->alone++;
  gboolean ok = same_codes(b, how, made.codes);
  gsize n = 0;
  for (guint s = 0; ok && !made.empty && s < made.measured->len; s++) {
    const GArray *stage = g_ptr_array_index(made.measured, s);
    for (guint i = 0; ok && i < stage->len; i++, n++) {
      const measured *m = &g_array_index(stage, measured, i);
      const fc_measured *r = n < b->result->n_measured ? b->result->measured[n] : NULL;
      if (!r || strcmp(m->name, r->name) || m->channel != r->channel || !same_number(m->value, r->value))
        ok = differs(b, how, "measured is %s %.17g, not %.17g", m->name, m->value, r ? r->value : NAN);
    }
  }
  if (ok && !made.empty && n != b->result->n_measured) ok = differs(b, how, "less is measured");
  alone_clear(&made);
  return ok;
}

/* ---- memory --------------------------------------------------------------------------------------- */

/* A view of samples that lie in some layout, with a pattern around them. */
typedef struct laid_out {
  fc_view view;
  unsigned char *memory;
  gsize bytes;
} laid_out;

static laid_out lay_out(const fc_format *f, int layout, unsigned char pattern, dice *d) {
  laid_out l = {.view = dense_view(f, NULL)};
  const gint64 size = (gint64)fc_dtype_size(f->dtype);
  l.bytes = (gsize)layout_strides(layout, f->extent, size, d, l.view.stride) + 2 * MARGIN;
  l.memory = g_malloc(l.bytes);
  memset(l.memory, pattern, l.bytes);
  l.view.data = l.memory + MARGIN;
  return l;
}

static void copy_elements(const fc_view *to, const fc_view *from) {
  const gsize size = fc_dtype_size(to->dtype);
  for (gint64 n = 0; n < to->shape[0]; n++)
    for (gint64 y = 0; y < to->shape[1]; y++)
      for (gint64 x = 0; x < to->shape[2]; x++)
        for (gint64 c = 0; c < to->shape[3]; c++)
          memcpy(fc_view_at(to, n, y, x, c), fc_view_at(from, n, y, x, c), size);
}

/* All that is no element keeps the pattern. */
static gboolean gaps_intact(const laid_out *l, unsigned char pattern, const fc_format *f) {
  const gsize size = fc_dtype_size(f->dtype);
  const fc_view *v = &l->view;
  for (gint64 n = 0; n < v->shape[0]; n++)
    for (gint64 y = 0; y < v->shape[1]; y++)
      for (gint64 x = 0; x < v->shape[2]; x++)
        for (gint64 c = 0; c < v->shape[3]; c++) memset(fc_view_at(v, n, y, x, c), pattern, size);
  for (gsize i = 0; i < l->bytes; i++)
    if (l->memory[i] != pattern) return FALSE;
  return TRUE;
}

static fc_options options_of(const bench *b, int threads, gint64 chunk) {
  fc_options o = graph_options(b->g);
  o.device = b->w->fake && !b->hosted ? "cpu" : b->w->device, o.threads = threads, o.chunk = chunk,
  o.meaning = &b->g->in;
  return o;
}

/* A generator's signal goes to memory as a file's does. */
static gboolean run_generator(bench *b, fc_chain *chain, const fc_view *out, const fc_options *o,
                              fc_result **told, GError **error) {
  g_autoptr(fc_loader) loader = fc_chain_load_file(chain, NULL, o, error);
  return loader && fc_loader_run(loader, out, told, error);
}

/* The codes, dense; NULL with an error. */
static unsigned char *run_memory(bench *b, fc_chain *chain, const fc_options *o, int layout_in,
                                 int layout_out, fc_result **told, GError **error) {
  const unsigned char pattern = (unsigned char)dice_int(&b->d, 1, 254);
  laid_out in = lay_out(&b->g->in, layout_in, pattern, &b->d),
           out = lay_out(&b->out, layout_out, pattern, &b->d);
  const fc_view dense = dense_view(&b->g->in, b->signal.codes);
  copy_elements(&in.view, &dense);
  unsigned char *codes = NULL;
  if (b->generates ? run_generator(b, chain, &out.view, o, told, error)
                   : fc_chain_run_host(chain, &in.view, &out.view, o, told, error)) {
    codes = g_malloc0(format_bytes(&b->out) + 1);
    const fc_view to = dense_view(&b->out, codes);
    copy_elements(&to, &out.view);
    if (!gaps_intact(&out, pattern, &b->out)) {
      g_set_error(error, FC_ERROR, FC_FATAL, "something was written where no element is");
      g_clear_pointer(&codes, g_free);
    }
  }
  g_free(in.memory);
  g_free(out.memory);
  return codes;
}

static gint64 random_chunk(bench *b) {
  static const gint64 primes[] = {2, 3, 5, 7, 11, 13, 31, 97, 211};
  gint64 chunk = 0;
  switch (dice_int(&b->d, 0, 4)) {
  case 0: chunk = 1; break;
  case 1: chunk = DICE_PICK(&b->d, primes); break;
  case 2: chunk = (gint64)1 << dice_int(&b->d, 1, 10); break;
  case 3: chunk = dice_int(&b->d, 1, 700); break;
  default: return b->w->fake ? 512 : 0; /* whose memory is filled with a pattern, used or not */
  }
  /* Each chunk may take as long as the whole. */
  const gint64 extent =
      MAX(b->out.extent[FC_AXIS_X], b->out.extent[FC_AXIS_Y]) * MAX(b->out.extent[FC_AXIS_N], 1);
  return MAX(chunk, extent * b->lasted / TOO_LONG);
}

/* One random way. */
static gboolean run_otherwise(bench *b, fc_chain *chain, const char *whose) {
  fc_options o = options_of(b, (int)dice_int(&b->d, 1, 8), random_chunk(b));
  const int in = (int)dice_int(&b->d, 0, LAYOUT_COUNT - 1), out = (int)dice_int(&b->d, 0, LAYOUT_COUNT - 1);
  o.fuse = dice_chance(&b->d, 90) ? FC_FUSE_NO : FC_FUSE_WAIT; /* for the compiler */
  g_autofree char *how = g_strdup_printf("%s, chunk %" G_GINT64_FORMAT ", threads %d, %s to %s", whose,
                                         o.chunk, o.threads, layout_name(in), layout_name(out));
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) told = NULL;
  g_autofree char *why = NULL;
  if (o.chunk && !alone_has_room(b->g, &b->b, o.chunk, &why)) return differs(b, how, "%s", why);
  g_autofree unsigned char *codes = run_memory(b, chain, &o, in, out, &told, &error);
  b->w->count->memory++;
  if (!codes) return differs(b, how, "%s", error->message);
  return same_codes(b, how, codes) && same_measurements(b, how, told);
}

static gboolean as_in_memory(bench *b) {
  g_autoptr(GError) error = NULL;
  for (guint i = 0; i < b->w->memory; i++)
    if (!run_otherwise(b, b->b.chain, "memory")) return FALSE;
  if (!dice_chance(&b->d, 25)) return TRUE;
  g_autoptr(fc_chain) clone = fc_chain_clone(b->b.chain, &error);
  return clone ? run_otherwise(b, clone, "a clone") : differs(b, "a clone", "%s", error->message);
}

/* ---- sessions ------------------------------------------------------------------------------------------ */

static gboolean pull(bench *b, fc_session *s, unsigned char *codes, gint64 *made, gboolean all,
                     GError **error) {
  const int time = b->out.kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N;
  const fc_view to = dense_view(&b->out, codes);
  for (gint64 got = 1; got > 0 && (all || dice_chance(&b->d, 70));) {
    fc_view room = to;
    const gint64 wish = dice_int(&b->d, 0, 100) ? dice_int(&b->d, 1, 200) : 0;
    room.shape[time] = MIN(to.shape[time] - *made, wish);
    room.data = codes + *made * to.stride[time];
    got = fc_session_pull(s, &room, error);
    if (got < 0) return FALSE;
    *made += got;
    if (room.shape[time] == 0) got = *made < to.shape[time]; /* nothing was asked for */
  }
  return TRUE;
}

/* More is pushed than is looked ahead: what came in first has come out. */
static gboolean session_runs(bench *b, fc_session *s, unsigned char *codes, gint64 *made, GError **error) {
  const int time = b->g->in.kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N;
  const gint64 extent = b->g->in.extent[time], most = dice_chance(&b->d, 50) ? MIN(extent, 9) : extent;
  const fc_view in = dense_view(&b->g->in, b->signal.codes);
  for (gint64 at = 0; at < extent;) {
    const gint64 wish = dice_int(&b->d, 0, most);
    fc_view some = in;
    some.shape[time] = MIN(wish, extent - at);
    some.data = (char *)in.data + at * in.stride[time];
    if (!fc_session_push(s, &some, error) || !pull(b, s, codes, made, FALSE, error)) return FALSE;
    at += some.shape[time];
  }
  return fc_session_drain(s, error) && pull(b, s, codes, made, TRUE, error);
}

/* Why a chain takes memory, and no session, pipe or file: it must know all of the signal or how long it is,
 * there is no signal, files have two rates, or blocks behind decimators are more of an endless signal than a
 * simulated device holds. */
static gboolean is_excused(const GError *error) {
  static const char *const why[] = {"whole signal", "nothing to push", "is not known",
                                    "Hz cannot be", "input twice",     "not enough memory"};
  for (guint i = 0; i < G_N_ELEMENTS(why); i++)
    if (strstr(error->message, why[i])) return TRUE;
  return FALSE;
}

static gboolean as_in_session(bench *b) {
  const char *how = "in a session";
  const fc_options o = options_of(b, 1, b->w->fake || dice_chance(&b->d, 30) ? dice_int(&b->d, 1, 300) : 0);
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_session) session = fc_session_new(b->b.chain, &b->g->in, b->out.dtype, &o, &error);
  const int time = b->out.kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N;
  if (!session) {
    b->w->count->no_sessions++;
    return is_excused(error) || differs(b, how, "%s", error->message);
  }
  b->w->count->sessions++;
  g_autofree unsigned char *codes = g_malloc0(format_bytes(&b->out) + 1);
  gint64 made = 0;
  if (!session_runs(b, session, codes, &made, &error)) return differs(b, how, "%s", error->message);
  if (made != b->out.extent[time])
    return differs(b, how, "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " elements came out", made,
                   b->out.extent[time]);
  const fc_result *told = fc_session_result(session, &error);
  if (!told) return differs(b, how, "%s", error->message);
  return same_codes(b, how, codes) && same_measurements(b, how, told);
}

/* ---- files and pipes -------------------------------------------------- */

typedef struct feeder {
  const char *path;
  const guchar *data;
  gsize bytes;
  guint64 seed;
} feeder;

/* In pieces of any size. Whoever reads may not want all. */
static gpointer feed(gpointer data) {
  feeder *f = data;
  dice d = dice_of(f->seed, "feeder", 0);
  const int fd = open(f->path, O_WRONLY | O_CLOEXEC);
  for (gsize at = 0; fd >= 0 && at < f->bytes;) {
    const gsize wish = (gsize)dice_int(&d, 1, 5000);
    const gssize put = write(fd, f->data + at, MIN(wish, f->bytes - at));
    if (put < 0) break;
    at += (gsize)put;
  }
  if (fd >= 0) close(fd);
  return NULL;
}

static fc_options file_options(bench *b, char **raw) {
  const fc_format *f = &b->g->in;
  fc_options o = options_of(b, (int)dice_int(&b->d, 1, 8), random_chunk(b));
  o.meaning = NULL, *raw = NULL;
  if (f->kind == FC_AUDIO)
    *raw = g_strdup_printf("dtype=%s,channels=%" G_GINT64_FORMAT ",rate=16000", fc_dtype_name(f->dtype),
                           f->extent[3]);
  if (f->kind == FC_IMAGE)
    *raw = g_strdup_printf("dtype=%s,width=%" G_GINT64_FORMAT ",height=%" G_GINT64_FORMAT
                           ",channels=%" G_GINT64_FORMAT,
                           fc_dtype_name(f->dtype), f->extent[2], f->extent[1], f->extent[3]);
  if (*raw && !b->generates) o.in_raw = *raw, o.in_format = "raw";
  return o;
}

/* Writes a signal where a run will find the same again; FALSE: no file holds it as it is. */
static gboolean save(const bench *b, const source *s, const char *path) {
  static const char *const nothing[] = {NULL};
  const fc_view from = dense_view(&s->format, s->codes);
  g_autoptr(fc_chain) copy = fc_chain_parse(b->w->context, nothing, NULL);
  fc_options o = FC_OPTIONS_INIT;
  o.meaning = &s->format, o.device = "cpu";
  if (format_bytes(&s->format) == 0 || !fc_chain_save_file(copy, &from, path, &o, NULL, NULL)) return FALSE;
  g_autoptr(fc_loader) loader = fc_chain_load_file(copy, path, &o, NULL);
  const fc_format *f = loader ? fc_loader_format(loader) : NULL;
  if (!f || f->kind != s->format.kind || f->dtype != s->format.dtype ||
      memcmp(f->extent, s->format.extent, sizeof f->extent))
    return FALSE;
  g_autofree unsigned char *again = g_malloc0(format_bytes(f) + 1);
  const fc_view to = dense_view(f, again);
  return fc_loader_run(loader, &to, NULL, NULL) && memcmp(again, s->codes, format_bytes(f)) == 0;
}

/* What is coded goes through a library, which knows no strides. */
static const char *ending(const fc_format *f) {
  const gboolean coded = f->dtype == FC_I16 && f->extent[FC_AXIS_C] <= 8;
  return f->kind == FC_AUDIO ? (coded ? "flac" : "wav") : f->kind == FC_IMAGE ? "png" : "npy";
}

/* The signal in a file: its codes alone, or an array. */
static char *save_signal(const bench *b) {
  const gboolean array = b->g->in.kind == FC_ARRAY;
  char *path = g_strdup_printf("%s/in.%s", b->w->folder, array ? "npy" : "raw");
  if (array ? save(b, &b->signal, path)
            : g_file_set_contents(path, (const char *)b->signal.codes, (gssize)format_bytes(&b->g->in), NULL))
    return path;
  g_free(path);
  return NULL;
}

/* What follows the header of a .npy, if it is as much as it should be. */
static const unsigned char *npy_codes(GBytes *file, gsize bytes) {
  gsize size;
  const unsigned char *data = g_bytes_get_data(file, &size);
  const gsize header = size < 12      ? size
                       : data[6] == 1 ? 10 + (gsize)(data[8] | data[9] << 8)
                                      : 12 + (gsize)(data[8] | data[9] << 8 | data[10] << 16);
  return size == header + bytes ? data + header : NULL;
}

static gboolean run_files(bench *b, fc_chain *chain, const char *path, gboolean pipe) {
  g_autofree char *raw = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) told = NULL;
  GBytes *made = NULL;
  fc_options o = file_options(b, &raw);
  o.out_bytes = &made;
  g_autofree char *how = g_strdup_printf("%s, chunk %" G_GINT64_FORMAT ", threads %d",
                                         pipe ? "a pipe" : "files", o.chunk, o.threads);
  const gboolean ok = fc_chain_run_file(chain, b->generates ? NULL : path, "out.npy", &o, &told, &error);
  if (!ok) return is_excused(error) || differs(b, how, "%s", error->message);
  gboolean same = TRUE;
  const unsigned char *codes = npy_codes(made, format_bytes(&b->out));
  if (told->out->dtype != b->out.dtype || memcmp(told->out->extent, b->out.extent, sizeof b->out.extent) ||
      !codes)
    same = differs(b, how, "another format or length");
  same = same && same_codes(b, how, codes) && same_measurements(b, how, told);
  g_bytes_unref(made);
  *(pipe ? &b->w->count->pipes : &b->w->count->files) += 1;
  return same;
}

static gboolean run_pipe(bench *b, fc_chain *chain, const char *path) {
  g_autofree char *fifo = g_strdup_printf("%s/pipe", b->w->folder), *content = NULL;
  gsize bytes;
  if (!g_file_get_contents(path, &content, &bytes, NULL)) return TRUE;
  if (mkfifo(fifo, 0600) != 0) return differs(b, "a pipe", "mkfifo failed");
  feeder f = {fifo, (const guchar *)content, bytes, b->g->seed};
  GThread *thread = g_thread_new("feeder", feed, &f);
  const gboolean ok = run_files(b, chain, fifo, TRUE);
  /* A run that was refused never opened it: the feeder waits for a reader. */
  const int fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  g_thread_join(thread);
  if (fd >= 0) close(fd);
  g_unlink(fifo);
  return ok;
}

static gboolean as_in_files(bench *b) {
  if (b->g->wanted >= 0 || format_bytes(&b->out) == 0) return TRUE;
  if (!b->generates && format_bytes(&b->g->in) == 0) return TRUE;
  g_autoptr(GError) error = NULL;
  g_auto(GStrv) sides = g_new0(char *, b->b.n_sides + 1);
  for (guint k = 0; k < b->b.n_sides; k++) {
    sides[k] = g_strdup_printf("%s/side%u.%s", b->w->folder, k, ending(&b->b.sides[k].format));
    if (!save(b, &b->b.sides[k], sides[k])) return TRUE;
  }
  g_autofree char *path = b->generates ? g_strdup("") : save_signal(b);
  built files;
  if (!path) return TRUE;
  if (!graph_build(b->g, b->w->context, (const char *const *)sides, &files, &error))
    return differs(b, "files", "%s", error->message);
  const gboolean ok =
      run_files(b, files.chain, path, FALSE) && (b->generates || run_pipe(b, files.chain, path));
  built_clear(&files);
  return ok;
}

/* ---- all of them ------------------------------------------------------ */

static gboolean is_refusal(const GError *error) {
  return g_error_matches(error, FC_ERROR, FC_UNSUPPORTED) || g_error_matches(error, FC_ERROR, FC_INVALID) ||
         g_error_matches(error, FC_ERROR, FC_IO); /* a measurement beyond what the arguments allow */
}

/* The whole at once, by one thread: what the other ways are held against. */
static gboolean run_whole(bench *b, gboolean *refused) {
  g_autoptr(GError) error = NULL;
  const fc_options o = options_of(b, 1, (gint64)1 << 40);
  g_autofree char *why = NULL;
  *refused = FALSE;
  if (!alone_has_room(b->g, &b->b, o.chunk, &why)) return differs(b, "whole", "%s", why);
  const gint64 begun = g_get_monotonic_time();
  b->codes = run_memory(b, b->b.chain, &o, LAYOUT_INTERLEAVED, LAYOUT_INTERLEAVED, &b->result, &error);
  b->lasted = g_get_monotonic_time() - begun;
  *refused = !b->codes && is_refusal(error);
  return b->codes != NULL || *refused || differs(b, "whole", "%s", error->message);
}

/* Values of a GPU are its own; all else is as the operators make it alone. */
static gboolean run_all(bench *b) {
  if ((b->w->fake || strcmp(b->w->device, "cpu") == 0) && !as_alone(b)) return FALSE;
  if (b->w->fake) b->hosted = host_stages(b->b.chain, NULL);
  return as_in_memory(b) && as_in_session(b) && as_in_files(b);
}

gboolean ways_try(const ways *w, const graph *g, char **fault) {
  bench b = {.w = w, .g = g, .d = dice_of(g->seed, "ways", 0), .fault = fault};
  dice of_signal = dice_of(g->seed, "signal", 0);
  gboolean refused = TRUE, ok = TRUE;
  *fault = NULL;
  w->count->graphs++;
  if (graph_build(g, w->context, NULL, &b.b, NULL) && graph_output(g, b.b.chain, &b.out, NULL)) {
    b.generates = fc_chain_length(b.b.chain) && fc_chain_operator(b.b.chain, 0)->flags & FC_OP_GENERATOR;
    static const fill fills[] = {FILL_RANDOM,  FILL_RANDOM, FILL_SMALL,
                                 FILL_EXTREME, FILL_OFFSET, FILL_IMPULSE};
    b.signal = source_new(&g->in, DICE_PICK(&of_signal, fills), &of_signal);
    ok = run_whole(&b, &refused);
    if (ok && !refused) ok = run_all(&b);
    source_free(&b.signal);
  }
  w->count->refused += refused && ok;
  built_clear(&b.b);
  if (b.hosted) g_ptr_array_unref(b.hosted);
  g_free(b.codes);
  fc_result_free(b.result);
  return ok;
}
