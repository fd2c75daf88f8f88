/* SPDX-License-Identifier: MIT */
/*
 * function.c - device functions without a device: the text is compiled by the installed C++ compiler, for the
 * compute type, and compared with process on samples of that type, to the bit; a function of neighbours with
 * the border that was chosen. What it says of its results is held against them (claims.h). Of other windows
 * the text is the host's, so its sums are made here, by the definition in device_function.h, where it lies
 * within the signal. Statistics and transforms are left to the library's own tests.
 */
#include "check/probes.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check/claims.h"
#include "check/compare.h"

/* Number of compilations; each takes a few tenths of a second. */
#define MOST_TEXTS 12

/* What the host provides to a text (device_function.h), CUDA's functions for the bits of a double, and a
 * loop that calls it. */
static const char begin_text[] =
    "#include <cmath>\n#include <cstdint>\n#include <cstring>\n#define FC_DEVICE inline\n"
    "struct fc_position { int64_t x, y, c, width, height; };\n"
    "template <typename F> inline F fc_at_least(F v, F low) { return v < low ? low : v; }\n"
    "template <typename F> inline F fc_at_most(F v, F high) { return v > high ? high : v; }\n"
    "inline float fc_fma(float a, float b, float c) { return fmaf(a, b, c); }\n"
    "inline double fc_fma(double a, double b, double c) { return fma(a, b, c); }\n"
    "inline unsigned long long bits_of(double v) { unsigned long long b; memcpy(&b, &v, 8); return b; }\n"
    "inline int __double2hiint(double v) { return (int)(bits_of(v) >> 32); }\n"
    "inline int __double2loint(double v) { return (int)bits_of(v); }\n"
    "inline double __hiloint2double(int high, int low) {\n"
    "  const unsigned long long b = (unsigned long long)(unsigned)high << 32 | (unsigned)low;\n"
    "  double v; memcpy(&v, &b, 8); return v;\n}\n";
static const char around_text[] =
    "struct neighbours {\n  const %s *middle; long column, row;\n"
    "  %s operator()(int dx, int dy) const { return middle[dy * row + dx * column]; }\n};\n";
/* Of samples with a border of NX - 1 columns and NY - 1 rows. */
static const char neighbours_text[] =
    "    const long c = i %% channels, x = i / channels %% width, y = i / channels / width,\n"
    "               row = (width + %u - 1) * channels, n = y / height;\n"
    "    to[i] = f(stage::fc_around{from + (y + n * (%u - 1) + %u / 2) * row + (x + %u / 2) * channels + c,\n"
    "                               channels, row});\n";
static const char samples_text[] = "    to[i] = f(from[i]%s);\n";
static const char pixels_text[] = "    real x[%u], y[%u];\n"
                                  "    for (int c = 0; c < %u; c++) x[c] = from[i * %u + c];\n"
                                  "    f(x, y%s);\n"
                                  "    for (int c = 0; c < %u; c++) to[i * %u + c] = y[c];\n";

const char *function_compiler(void) {
  static char *found;
  static gboolean looked;
  if (looked) return found;
  const char *named = g_getenv("CXX");
  looked = TRUE;
  if (named && *named) return found = g_strdup(named);
  static const char *const usual[] = {"c++", "g++", "clang++"};
  for (guint i = 0; i < G_N_ELEMENTS(usual) && !found; i++) found = g_find_program_in_path(usual[i]);
  return found;
}

static char *text_of(const fc_device_function *f, int compute) {
  GString *text = g_string_new(begin_text);
  const char *real = fc_dtype_is_float(compute) && compute == FC_F64 ? "double" : "float";
  const gboolean around = (f->flags & FC_FUNCTION_AROUND) != 0;
  if (around) g_string_append_printf(text, around_text, real, real);
  g_string_append_printf(
      text, "namespace stage {\ntypedef %s real;\n%s#line 1 \"device function\"\n%s\n}\nusing stage::real;\n",
      real, around ? "typedef neighbours fc_around;\n" : "", f->source);
  g_string_append_printf(
      text,
      "static_assert(sizeof(stage::%s) == %u, \"the members are not laid out as the bytes are\");\n"
      "extern \"C\" void apply(const void *params, const real *from, real *to, long count, long channels,\n"
      "                      long width, long height) {\n"
      "  stage::%s f;\n  std::memcpy(static_cast<void *>(&f), params, %u);\n"
      "  for (long i = 0; i < count; i++) {\n"
      "    const fc_position at = {i / channels %% width, i / channels / width %% height, i %% channels, "
      "width,\n"
      "                            height};\n"
      "    (void)at;\n",
      f->entry, MAX(f->n_bytes, 1), f->entry, f->n_bytes);
  const char *at = f->flags & FC_FUNCTION_POSITION ? ", at" : "";
  if (around)
    g_string_append_printf(text, neighbours_text, f->window_x, f->window_y, f->window_y, f->window_x);
  else if (f->in)
    g_string_append_printf(text, pixels_text, f->in, f->out, f->in, f->in, at, f->out, f->out);
  else
    g_string_append_printf(text, samples_text, at);
  return g_string_free(g_string_append(text, "  }\n}\n"), FALSE);
}

/* The first line of the compiler's output that contains "error". */
static char *error_in(const char *said) {
  g_auto(GStrv) lines = g_strsplit(said ? said : "", "\n", -1);
  for (guint i = 0; lines[i]; i++)
    if (strstr(lines[i], "error")) return g_strdup(lines[i]);
  return g_strdup(lines[0] ? lines[0] : "");
}

/* NULL with `why`; g_free. */
static function_apply build(const char *text, char **why) {
  g_autofree char *folder = g_dir_make_tmp("filterchain-check-XXXXXX", NULL);
  g_autofree char *file = g_build_filename(folder ? folder : "/tmp", "function.cc", NULL);
  g_autofree char *object = g_build_filename(folder ? folder : "/tmp", "function.so", NULL);
  g_autofree char *line = g_strdup_printf("%s -std=c++17 -O1 -w -ffp-contract=off -shared -fPIC -o '%s' '%s'",
                                          function_compiler(), object, file);
  g_autofree char *said = NULL;
  g_autoptr(GError) error = NULL;
  int status = -1;
  function_apply fn = NULL;
  if (folder && g_file_set_contents(file, text, -1, NULL) &&
      g_spawn_command_line_sync(line, NULL, &said, &status, &error) && status == 0) {
    void *module = dlopen(object, RTLD_NOW | RTLD_LOCAL), *symbol = module ? dlsym(module, "apply") : NULL;
    memcpy(&fn, &symbol, sizeof fn);
  }
  if (!fn) *why = error ? g_strdup(error->message) : error_in(said);
  g_remove(file);
  g_remove(object);
  if (folder) g_rmdir(folder);
  return fn;
}

static function_apply built(const char *text, char **why) {
  static GHashTable *known; /* of char *: function_apply */
  if (!known) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  function_apply fn = NULL;
  void *symbol = g_hash_table_lookup(known, text);
  memcpy(&fn, &symbol, sizeof fn);
  if (fn || g_hash_table_size(known) >= MOST_TEXTS) return fn;
  fn = build(text, why);
  memcpy(&symbol, &fn, sizeof symbol);
  if (fn) g_hash_table_insert(known, g_strdup(text), symbol);
  return fn;
}

/* Asks for the device function; FALSE: none, or not for these formats. */
static gboolean describe(trial *t, fc_device_function *f, char entry[FC_FUNCTION_ENTRY], void *bytes) {
  const fc_fusible *fusible = t->op->extension ? t->op->extension(t->op, FC_DEVICE_FUNCTION) : NULL;
  fc_format in = t->ins[0], out = t->out;
  const fc_format *ins[] = {&in};
  for (int a = FC_AXIS_N; a <= FC_AXIS_X; a++) in.extent[a] = out.extent[a] = FC_UNKNOWN;
  const fc_setup setup = {sizeof setup, FC_HOST, t->compute, 1, ins, &out};
  *f = (fc_device_function){
      .size = sizeof *f, .entry = entry, .bytes = bytes, .low = 1, .high = 0, .growth = -1};
  return fusible && t->n_in == 1 && fusible->describe(&t->host.base, t->self, &setup, f) == FC_OK;
}

/* `entry` and `bytes`: the buffers that it was given. */
static gboolean is_sound(const trial *t, const fc_device_function *f, const char *entry, const void *bytes,
                         verdict *v) {
  const gint64 in = t->ins[0].extent[FC_AXIS_C], out = t->out.extent[FC_AXIS_C];
  if (f->entry != entry || f->bytes != bytes)
    return blame(v, FAULT_FUNCTION,
                 "%s: the device function's name, or its members, are not in the buffers of the host",
                 t->who);
  if (!f->source || !memchr(f->entry, 0, FC_FUNCTION_ENTRY) || !f->entry[0])
    return blame(v, FAULT_FUNCTION, "%s: the device function has no text, or no name", t->who);
  if (f->n_bytes > FC_FUNCTION_BYTES)
    return blame(v, FAULT_FUNCTION, "%s: the device function has %u bytes of members, more than %d", t->who,
                 f->n_bytes, FC_FUNCTION_BYTES);
  if ((f->in == 0) != (f->out == 0) || (f->in && (f->in != in || f->out != out)))
    return blame(v, FAULT_FUNCTION,
                 "%s: the device function is for %u to %u channels, the formats have %" G_GINT64_FORMAT
                 " and %" G_GINT64_FORMAT,
                 t->who, f->in, f->out, in, out);
  return TRUE;
}

/* The input with what a window sees beyond its ends, of so many elements. */
static void *with_border(const case_setting *s, const trial *t, const fc_device_function *f, gint64 *count) {
  const gint64 *extent = s->signals[0].format.extent, size = (gint64)fc_dtype_size(t->compute);
  range where[FC_AXES] = {{0, extent[FC_AXIS_N]}, {0}, {0}, {0, extent[FC_AXIS_C]}};
  gint64 stride[FC_AXES] = {0, 0, 0, size};
  where[FC_AXIS_Y] = (range){-(gint64)(f->window_y / 2), extent[FC_AXIS_Y] + (f->window_y - 1) / 2};
  where[FC_AXIS_X] = (range){-(gint64)(f->window_x / 2), extent[FC_AXIS_X] + (f->window_x - 1) / 2};
  for (int a = FC_AXIS_X; a >= 0; a--) stride[a] = stride[a + 1] * (where[a + 1].hi - where[a + 1].lo);
  void *to = g_malloc0((gsize)(stride[FC_AXIS_N] * extent[FC_AXIS_N] + size));
  *count = stride[FC_AXIS_N] * extent[FC_AXIS_N] / size;
  source_write(&s->signals[0], where, t->needs[0].border, t->needs[0].border_value, to, stride);
  return to;
}

static gboolean compare(case_setting *s, trial *t, const fc_device_function *f, verdict *v) {
  g_autofree char *text = text_of(f, t->compute), *why = NULL;
  const gint64 samples = s->signals[0].count, count = f->in ? samples / f->in : samples;
  const gsize size = fc_dtype_size(t->compute);
  const manner how = {.layout_in = LAYOUT_INTERLEAVED, .layout_out = LAYOUT_INTERLEAVED, .seed = s->c->seed};
  result r;
  gint64 at = 0;
  function_apply fn = built(text, &why);
  if (!fn)
    return why ? blame(v, FAULT_FUNCTION, "%s: the device function does not compile: %s", t->who, why) : TRUE;
  gboolean ok = trial_run(t, s->signals, &how, &r, v);
  unsigned char *made = g_malloc((gsize)r.count * size + 1);
  const gint64 *extent = t->out.extent;
  gint64 args = samples;
  g_autofree void *seen = f->flags & FC_FUNCTION_AROUND ? with_border(s, t, f, &args) : NULL;
  const function_call call = {.f = f,
                              .apply = fn,
                              .compute = t->compute,
                              .from = seen ? seen : s->signals[0].codes,
                              .args = args,
                              .calls = count,
                              .channels = f->in ? 1 : extent[FC_AXIS_C],
                              .width = extent[FC_AXIS_X],
                              .height = extent[FC_AXIS_Y]};
  fn(f->bytes, call.from, made, (long)count, (long)call.channels, (long)call.width, (long)call.height);
  if (ok && !compare_bits(&t->out, r.codes, made, &at))
    ok = blame(v, FAULT_FUNCTION,
               "%s: element %" G_GINT64_FORMAT " is %.17g by process, %.17g by the device function", t->who,
               at, element_code(r.codes + (gsize)at * size, t->compute),
               element_code(made + (gsize)at * size, t->compute));
  if (ok) ok = claims_hold(&call, t->who, v);
  g_free(made);
  result_free(&r);
  return ok;
}

/* ---- windows --------------------------------------------------------------------------- */

/* A sum of products along two axes, which may sharpen what is in the middle. */
typedef struct window {
  int nx, ny;
  gboolean dense, sharpened;
  const float *taps;
} window;

/* FALSE: it is of another kind. */
static gboolean window_of(const fc_device_function *f, window *w) {
  *w = (window){.taps = f->bytes};
  w->dense = sscanf(f->entry, "fc_dense<%d,%d>", &w->nx, &w->ny) == 2;
  w->sharpened = !w->dense && sscanf(f->entry, "fc_sharpened<%d,%d>", &w->nx, &w->ny) == 2;
  return w->dense || w->sharpened || sscanf(f->entry, "fc_separable<%d,%d>", &w->nx, &w->ny) == 2;
}

/* Whether negotiate asks for a window of nx columns and ny rows. */
static gboolean asks_for(const trial *t, gint64 nx, gint64 ny) {
  const fc_reach *x = &t->needs[0].reach[FC_AXIS_X], *y = &t->needs[0].reach[FC_AXIS_Y];
  return x->before == nx / 2 && x->after == nx - 1 - nx / 2 && y->before == ny / 2 &&
         y->after == ny - 1 - ny / 2;
}

static gboolean is_around_sound(const trial *t, const fc_device_function *f, verdict *v) {
  const gint64 nx = f->window_x, ny = f->window_y;
  if (f->in || f->out || !(f->flags & FC_FUNCTION_WINDOW) ||
      f->flags & (FC_FUNCTION_POSITION | FC_FUNCTION_KEEPS_ALL) || MIN(nx, ny) < 1 ||
      MAX(nx, ny) > FC_FUNCTION_AROUND_MOST)
    return blame(v, FAULT_FUNCTION,
                 "%s: a function of neighbours has a window of 1 x 1 to %d x %d, and takes samples; this one "
                 "has %u x %u, flags 0x%x and %u channels",
                 t->who, FC_FUNCTION_AROUND_MOST, FC_FUNCTION_AROUND_MOST, f->window_x, f->window_y, f->flags,
                 f->in);
  return (asks_for(t, nx, ny) && t->needs[0].border < FC_BORDER_NONE) ||
         blame(v, FAULT_FUNCTION,
               "%s: the device function %s does not read what negotiate asks for, with a border", t->who,
               f->entry);
}

static gboolean is_window_sound(const trial *t, const fc_device_function *f, const window *w, verdict *v) {
  const gint64 numbers = w->dense ? (gint64)w->nx * w->ny : (gint64)w->nx + w->ny + (w->sharpened ? 2 : 0);
  if (w->nx < 1 || w->ny < 1 || (gint64)f->window_x != w->nx || (gint64)f->window_y != w->ny ||
      (gint64)f->n_bytes != numbers * (gint64)sizeof(float))
    return blame(v, FAULT_FUNCTION,
                 "%s: the device function %s has a window of %u x %u and %u bytes of members", t->who,
                 f->entry, f->window_x, f->window_y, f->n_bytes);
  if (!asks_for(t, w->nx, w->ny))
    return blame(v, FAULT_FUNCTION, "%s: the device function %s does not read what negotiate asks for",
                 t->who, f->entry);
  return TRUE;
}

/* Whether growth and FC_FUNCTION_NONNEGATIVE are true of sums of products. */
static gboolean window_holds(const trial *t, const fc_device_function *f, const window *w, verdict *v) {
  const int across = w->dense ? w->nx * w->ny : w->nx, count = across + (w->dense ? 0 : w->ny);
  double sums[2] = {0, w->dense ? 1 : 0}, least = INFINITY, most = -INFINITY;
  if (w->sharpened) return TRUE;
  for (int i = 0; i < count; i++) {
    sums[i >= across] += fabs((double)w->taps[i]);
    least = fmin(least, (double)w->taps[i]), most = fmax(most, (double)w->taps[i]);
  }
  const double sum = sums[0] * sums[1];
  if (f->growth >= 0 && sum > f->growth * (1 + CLAIMS_ROUNDING) + CLAIMS_TINY)
    return blame(
        v, FAULT_FUNCTION,
        "%s: the device function says that it makes %.9g times its arguments at most, and the sum of "
        "its taps is %.9g",
        t->who, f->growth, sum);
  return !(f->flags & FC_FUNCTION_NONNEGATIVE) || least >= 0 || (!w->dense && most <= 0) ||
         blame(v, FAULT_FUNCTION,
               "%s: the device function says that of arguments >= 0 it makes none that is negative, and has "
               "negative taps",
               t->who);
}

/* Sums of products of `n` taps, `step` apart, from `sum` on. */
static float sum_taps(const float *taps, const float *at, int n, gint64 step, float sum) {
  for (int k = 0; k < n; k++) sum = fmaf(taps[k], at[k * step], sum);
  return sum;
}

/* The sum of the window whose first element this is, in the order of device_function.h; or columns first. */
static float window_sum(const window *w, const float *at, gint64 column, gint64 row, gboolean columns) {
  const float *x = w->taps, *y = w->taps + w->nx;
  const int high = w->nx * w->ny > FC_FUNCTION_DENSE_RUN ? FC_FUNCTION_DENSE_RUN / w->nx : w->ny;
  float sum = 0, runs = 0; /* of dense masks, of rows of this run and of those ahead */
  for (int l = 0; w->dense && l < w->ny; l++) {
    if (l > 0 && l % high == 0) runs += sum, sum = 0;
    sum = sum_taps(x + l * w->nx, at + l * row, w->nx, column, sum);
  }
  if (w->dense && high < w->ny) sum = runs + sum;
  for (int l = 0; !w->dense && !columns && l < w->ny; l++)
    sum = fmaf(y[l], sum_taps(x, at + l * row, w->nx, column, 0), sum);
  for (int k = 0; !w->dense && columns && k < w->nx; k++)
    sum = fmaf(x[k], sum_taps(y, at + k * column, w->ny, row, 0), sum);
  if (!w->sharpened) return sum;
  const float v = at[w->ny / 2 * row + w->nx / 2 * column], d = v - sum, *number = y + w->ny;
  return fabsf(d) > number[1] ? v + number[0] * d : v;
}

/* Makes the outputs whose windows are within the signal. */
static void apply_window(const window *w, const fc_format *format, const float *from, float *to,
                         gboolean columns) {
  const gint64 *extent = format->extent, column = extent[FC_AXIS_C], row = extent[FC_AXIS_X] * column;
  for (gint64 n = 0; n < extent[FC_AXIS_N]; n++)
    for (gint64 y = 0; y + w->ny <= extent[FC_AXIS_Y]; y++)
      for (gint64 x = 0; x < row - (w->nx - 1) * column; x++) {
        const gint64 first = (n * extent[FC_AXIS_Y] + y) * row + x;
        to[first + w->ny / 2 * row + w->nx / 2 * column] = window_sum(w, from + first, column, row, columns);
      }
}

static gboolean compare_window(case_setting *s, trial *t, const window *w, verdict *v) {
  const manner how = {.layout_in = LAYOUT_INTERLEAVED, .layout_out = LAYOUT_INTERLEAVED, .seed = s->c->seed};
  const float *from = (const float *)(const void *)s->signals[0].codes;
  result r;
  gint64 at = 0;
  gboolean ok = trial_run(t, s->signals, &how, &r, v), same = !ok;
  g_autofree float *made = g_memdup2(r.codes, (gsize)r.count * sizeof *made);
  for (int columns = w->dense ? 0 : 1; columns >= 0 && !same; columns--) {
    apply_window(w, &t->out, from, made, columns == 1);
    same = compare_bits(&t->out, r.codes, (const unsigned char *)made, &at);
  }
  if (!same)
    ok = blame(v, FAULT_FUNCTION,
               "%s: element %" G_GINT64_FORMAT " is %.9g by process, %.9g by the device function", t->who, at,
               element_code(r.codes + (gsize)at * sizeof *made, FC_F32), (double)made[at]);
  result_free(&r);
  return ok;
}

/* ---- a case ---------------------------------------------------------------------------- */

/* Whether what is computed with goes in and comes out, as much of it. */
static gboolean is_plain(const trial *t) {
  for (int a = 0; a < FC_AXIS_C; a++)
    if (t->needs[0].reach[a].num != t->needs[0].reach[a].den || t->out.extent[a] != t->ins[0].extent[a])
      return FALSE;
  return t->ins[0].dtype == t->compute && t->out.dtype == t->compute && !t->measure_bytes;
}

/* Whether it reads what it makes, and no neighbours. */
static gboolean is_still(const trial *t) {
  for (int a = 0; a < FC_AXIS_C; a++)
    if (t->needs[0].reach[a].before || t->needs[0].reach[a].after) return FALSE;
  return TRUE;
}

static void compare_function(case_setting *s, trial *t, verdict *v) {
  double bytes[FC_FUNCTION_BYTES / sizeof(double)] = {0};
  char entry[FC_FUNCTION_ENTRY] = "";
  fc_device_function f;
  window w;
  if (!is_plain(t) || !describe(t, &f, entry, bytes) || !is_sound(t, &f, entry, bytes, v)) return;
  if (f.flags & FC_FUNCTION_AROUND) {
    if (is_around_sound(t, &f, v)) compare(s, t, &f, v);
  } else if (!(f.flags & FC_FUNCTION_WINDOW)) {
    if (is_still(t)) compare(s, t, &f, v);
  } else if (t->compute == FC_F32 && window_of(&f, &w) && is_window_sound(t, &f, &w, v) &&
             window_holds(t, &f, &w, v)) {
    compare_window(s, t, &w, v);
  }
}

case_end case_function(const test_case *c, char **sentence, verdict *v) {
  test_case mine = *c;
  case_setting s;
  trial t = {0};
  mine.in.dtype = mine.wanted = c->compute, mine.in.bits = c->compute == FC_F64 ? 53 : 24;
  mine.layout_in = mine.layout_out = LAYOUT_INTERLEAVED, mine.in.layout = FC_INTERLEAVED;
  if (!case_set(&s, &mine, sentence)) return CASE_REFUSED;
  case_end end = case_start(&s, &t, sentence, v);
  if (end == CASE_RAN) {
    case_fill(&s, &t);
    compare_function(&s, &t, v);
  }
  trial_finish(&t, v);
  case_clear(&s);
  return v->fault == FAULT_NONE ? end : CASE_FAILED;
}
