/* SPDX-License-Identifier: MIT */
/* joined.c - several sounds as one source; see ends.h. */
#include "core/api/ends.h"

#include "core/base/error.h"
#include "core/run/feed.h"

typedef struct joined_source {
  fc_source base;
  fc_source **parts;
  guint n, at; /* the number of sources, and the one that is being read */
} joined_source;

static gboolean check_follower(const fc_source *first, const fc_source *next, GError **error) {
  const fc_format *a = &first->format, *b = &next->format;
  if (a->kind != FC_AUDIO || b->kind != FC_AUDIO)
    return fc_fail(error, FC_INVALID, "%s: only sounds can follow each other in one output",
                   a->kind != FC_AUDIO ? first->name : next->name);
  if (a->rate != b->rate)
    return fc_fail(error, FC_INVALID, "%s: %g Hz cannot follow %g Hz of %s; resample one of them", next->name,
                   b->rate, a->rate, first->name);
  if (a->extent[FC_AXIS_C] != b->extent[FC_AXIS_C])
    return fc_fail(error, FC_INVALID,
                   "%s: %" G_GINT64_FORMAT " channels cannot follow %" G_GINT64_FORMAT
                   " of %s; mix one of them",
                   next->name, b->extent[FC_AXIS_C], a->extent[FC_AXIS_C], first->name);
  return TRUE;
}

/* The element type in which samples of both are exact: the wider of two integers; with floats f32, as long
 * as 24 bits suffice. */
static int common_dtype(int a, int b) {
  if (a == b) return a;
  if (fc_dtype_is_float(a) || fc_dtype_is_float(b))
    return a == FC_F64 || b == FC_F64 || a == FC_I32 || b == FC_I32 ? FC_F64 : FC_F32;
  return a == FC_I32 || b == FC_I32 ? FC_I32 : a == FC_U8 ? b : b == FC_U8 ? a : FC_I32;
}

static gint64 read_joined(fc_source *source, const fc_view *into, GError **error) {
  joined_source *me = (joined_source *)source;
  const gint64 wanted = into->shape[FC_AXIS_X];
  gint64 done = 0;
  while (done < wanted && me->at < me->n) {
    fc_view rest = *into;
    rest.data = fc_view_at(into, 0, 0, done, 0), rest.shape[FC_AXIS_X] = wanted - done;
    const gint64 got = me->parts[me->at]->read(me->parts[me->at], &rest, error);
    if (got < 0) return -1;
    done += got;
    if (done < wanted) me->at++;
  }
  return done;
}

static gboolean seek_joined(fc_source *source, gint64 position, GError **error) {
  joined_source *me = (joined_source *)source;
  for (me->at = 0; me->at + 1 < me->n && position >= me->parts[me->at]->format.extent[FC_AXIS_X]; me->at++)
    position -= me->parts[me->at]->format.extent[FC_AXIS_X];
  for (guint i = me->at; i < me->n; i++, position = 0)
    if (!me->parts[i]->seek(me->parts[i], position, error)) return FALSE;
  return TRUE;
}

static void free_joined(fc_source *source) {
  joined_source *me = (joined_source *)source;
  for (guint i = 0; i < me->n; i++) me->parts[i]->free(me->parts[i]);
  g_free(me->parts);
  g_free(source->name);
  g_free(me);
}

fc_source *fc_joined_source(fc_source **sources, guint n, GError **error) {
  joined_source *me = g_new0(joined_source, 1);
  fc_format *all = &me->base.format;
  gboolean ok = TRUE;
  me->parts = g_memdup2(sources, n * sizeof *sources), me->n = n;
  me->base.name =
      n > 1 ? g_strdup_printf("%s and %u more", sources[0]->name, n - 1) : g_strdup(sources[0]->name);
  me->base.read = read_joined, me->base.free = free_joined;
  *all = sources[0]->format;
  for (guint i = 1; i < n && ok; i++) {
    const fc_format *f = &sources[i]->format;
    ok = check_follower(sources[0], sources[i], error);
    all->dtype = common_dtype(all->dtype, f->dtype);
    all->bits = MAX(all->bits, f->bits);
    if (all->channels != f->channels) all->channels = 0;
    gint64 *extent = &all->extent[FC_AXIS_X], more = f->extent[FC_AXIS_X];
    *extent = *extent < 0 || more < 0 || *extent > G_MAXINT64 - more ? FC_UNKNOWN : *extent + more;
  }
  gboolean seeks = all->extent[FC_AXIS_X] >= 0;
  for (guint i = 0; i < n; i++) seeks = seeks && sources[i]->seek;
  if (seeks) me->base.seek = seek_joined;
  for (guint i = 0; i < n && ok; i++) me->parts[i] = fc_source_cast(me->parts[i], all->dtype, FALSE);
  if (ok) return &me->base;
  free_joined(&me->base);
  return NULL;
}
