/* SPDX-License-Identifier: MIT */
/*
 * stream.h - the interfaces of sources and sinks.
 *
 * media/ implements these for files; the engine knows no file format. A source or sink is used by one thread
 * at a time (the reader or writer thread of a run).
 *
 * The stream axis is X for audio and N for images and arrays: a source delivers, and a sink takes,
 * consecutive stretches of it, from position 0 to the end. Images and arrays may also be transferred by rows,
 * where both support it: then the axis is Y, through one frame after another.
 */
#ifndef FC_STREAM_H
#define FC_STREAM_H

#include "core/base/demand.h"
#include "core/contract/filterchain.h"

G_BEGIN_DECLS

typedef struct fc_source fc_source;
typedef struct fc_sink fc_sink;

struct fc_source {
  /* The format delivered: the element type in which samples are exact (i16 for 16-bit PCM, u8 for an 8-bit
   * PNG), interleaved unless the data are planar, and the extent (FC_UNKNOWN on the stream axis if only
   * the end shows it). Constant. */
  fc_format format;
  char *name; /* for messages: the path, or "standard input" */

  /* constant: it can deliver rows, of one frame at a time (a stretch never spans two frames) */
  gboolean can_rows;
  gboolean by_rows; /* set by the run before the first read: deliver rows; N is known then */

  /*
   * Fills `into`, of the format's element type and any strides on Y and X but with
   * C adjacent when interleaved (X stride = C * element size for audio), with the
   * next into->shape[stream axis] elements. Returns how many it delivered: fewer
   * only at the end, 0 at the end; -1 with an error. A source whose extent is known
   * and that ends early reports that as an error (a truncated file).
   */
  gint64 (*read)(fc_source *source, const fc_view *into, GError **error);

  /* NULL, or for sound of known length: the next read begins at this frame. */
  gboolean (*seek)(fc_source *source, gint64 position, GError **error);

  /* NULL, or the user wants it: before the first read, makes it deliver an image of 1/divisor of its size (2,
   * 4 or 8), sides rounded up, for less than the whole costs; its format's extent changes. */
  void (*shrink)(fc_source *source, int divisor);

  /* NULL, or: before the first read, is told which rows and columns of an image are looked at; what it
   * delivers of others may be anything. */
  void (*window)(fc_source *source, fc_range rows, fc_range columns);
  void (*free)(fc_source *source); /* frees the struct too */
};

struct fc_sink {
  char *name;        /* for messages */
  gboolean can_rows; /* constant: it can take rows, of one frame at a time */
  gboolean by_rows;  /* set by the run before begin: it is given rows */

  /*
   * Called before the plan is made, and does not touch the disk. Looks at the format that the chain makes
   * (format->dtype is the chain's own: f32, f64 or the input's) and changes dtype and bits to what it
   * prefers; fails, with what to do, if it cannot hold such data (five channels in a PNG). The type in
   * format->stored has priority over the input's type where it can be held. The sink accepts any dtype
   * regardless, and converts.
   */
  gboolean (*accept)(fc_sink *sink, fc_format *format, GError **error);
  /* Set by accept: bytes of a sample in the output; 0: the size does not follow from the format (a codec). */
  int sample_bytes;

  /* NULL, or: free bytes where the output is written; negative where that is not known (a pipe). */
  double (*room)(const fc_sink *sink);

  /* May be NULL. Creates the temporary file. The extent on the stream axis may be FC_UNKNOWN. */
  gboolean (*begin)(fc_sink *sink, const fc_format *format, GError **error);

  /* Takes the next stretch, in host memory, any strides, of the format's element type. */
  gboolean (*write)(fc_sink *sink, const fc_view *from, GError **error);

  /* May be NULL. Completes and checks everything written, and puts the output in place. */
  gboolean (*commit)(fc_sink *sink, GError **error);

  /* Frees the struct; without a successful commit, leaves no trace on disk. */
  void (*free)(fc_sink *sink);

  /* Set by the run before begin, for sound: the input's frame that is the first of the output; or that
   * output frames do not correspond to input frames, so that positions in metadata are no longer valid. */
  gint64 lead;
  gboolean unrelated;

  /* Set by begin: output cannot be taken back once written (a pipe), so that a failed run cannot be
   * started over. */
  gboolean direct;
};

static inline fc_axis fc_stream_axis(int kind) {
  return kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N;
}

static inline fc_axis fc_source_axis(const fc_source *source) {
  return source->by_rows ? FC_AXIS_Y : fc_stream_axis(source->format.kind);
}

/* The stream axis of a sink that was begun with this kind. */
static inline fc_axis fc_sink_axis(const fc_sink *sink, int kind) {
  return sink->by_rows ? FC_AXIS_Y : fc_stream_axis(kind);
}

G_END_DECLS

#endif
