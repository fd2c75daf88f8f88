/* SPDX-License-Identifier: MIT */
/*
 * compose.h - composes stages that read one sample or pixel each, with some among them that read
 * windows, into the text of one CUDA kernel and its parameters.
 *
 * The text is the skeleton map.cuh, march.cuh, few.cuh, row.cuh, slide.cuh, around.cuh or, of several
 * windows, series.cuh of filters/gpu, or overlap.cuh of filters/conv1d, embedded here when the library is
 * built, the stages' device functions (device_function.h), each in its own namespace, and structs that hold
 * them:
 *
 *     in --load--> f0 --link--> f1 --link--> ... fn --store--> out
 *
 * A link of an integer type, or of a type narrower than the compute type, rounds as storing and loading it
 * would: the bits are those of the stages run one by one. Types, kinds, layouts and the order of stages are
 * in the text; numbers are parameters, so that another gain needs no new compilation. No device is needed for
 * any of this.
 */
#ifndef FC_CORE_COMPOSE_H
#define FC_CORE_COMPOSE_H

#include "core/base/error.h"
#include "core/contract/plugin.h"

G_BEGIN_DECLS

/* The first part of a kernel's parameters: struct fc_map_args of map.cuh, where the fields are explained. */
typedef struct fc_map_args {
  const void *in;
  void *out;
  gint64 length, count[3], in_step[4], out_step[4], in_channel, out_channel;
  guint32 *notes;
} fc_map_args;

/* Also as in map.cuh: position of the launch's first output in the signal, and the signal's size; for
 * chains with FC_FUNCTION_POSITION, before the stages' parameters. */
typedef struct fc_map_place {
  gint64 x, y, width, height;
} fc_map_place;

/* How the arguments of all skeletons with windows begin. */
typedef struct fc_window_views {
  const void *in;
  void *out;
  gint64 in_row, out_row, in_image, in_plane, out_image, out_plane;
} fc_window_views;

/* Of rows that begin with the sample `first` of the input. */
static inline fc_window_views fc_window_views_of(const void *first, const fc_view *in, const fc_view *out) {
  return (fc_window_views){first,
                           out->data,
                           in->stride[FC_AXIS_Y],
                           out->stride[FC_AXIS_Y],
                           in->stride[FC_AXIS_N],
                           in->stride[FC_AXIS_C],
                           out->stride[FC_AXIS_N],
                           out->stride[FC_AXIS_C]};
}

/* The same as struct fc_window_args of window.cuh, where the fields are explained, and fc_series_args of
 * series.cuh, with as many windows at most, and of around.cuh. */
typedef struct fc_window_args {
  fc_window_views views;
  gint32 across, planes;
  gint32 begin, extent, total;
  gint32 first, count, each;
  float constant, ahead;
  guint32 *notes;
} fc_window_args;

#define FC_SERIES_WINDOWS 4
typedef struct fc_series_args {
  fc_window_views views;
  gint32 begin, end, total, height, first, count, rows, planes;
  float constant[FC_SERIES_WINDOWS];
  guint32 *notes;
} fc_series_args;

typedef struct fc_around_args {
  fc_window_views views;
  gint32 begin[2], extent[2], total[2];
  gint32 planes;
  double constant;
  guint32 *notes;
} fc_around_args;

typedef struct fc_compose_stage {
  const char *name;                   /* the operator's name, for messages of the compiler */
  const fc_device_function *function; /* for the compute type */
  int dtype, kind;                    /* of its output; for the last stage those of `out` */
  int border;          /* of a prefilter, or a window among several: fc_border; the kernel makes it */
  double border_value; /* as a real value */
} fc_compose_stage;

/* Alignment of the stages' parameters, and limit of all parameters: a kernel takes 4 KB. */
#define FC_COMPOSE_ALIGN 16
#define FC_COMPOSE_MOST  4096
/* Where the stages' parameters begin in a map kernel; in others they begin earlier. */
#define FC_COMPOSE_FIRST ((sizeof(fc_map_args) + FC_COMPOSE_ALIGN - 1) / FC_COMPOSE_ALIGN * FC_COMPOSE_ALIGN)
/* Limits: stages of a kernel, and channels of a pixel. */
#define FC_COMPOSE_STAGES   64
#define FC_COMPOSE_CHANNELS 16

/* Bytes of a stage's parameters among them. */
gsize fc_compose_bytes(const fc_device_function *function);

/* The description of a kernel. */
typedef struct fc_composition {
  const fc_compose_stage *stages;
  guint n;
  int compute;  /* FC_F32 or FC_F64; with sums of products or statistics FC_F32 */
  guint window; /* which stage reads a window (FC_FUNCTION_WINDOW), the first but a prefilter; n: none */
  int border;   /* of that stage: fc_border; the kernel makes the border */
  double border_value; /* as a real value */
  guint windows;       /* how many stages read windows, if that is more than one */
  guint prefilter;     /* how many stages, up to one whose short window comes ahead of `window` and is not
                        * counted (core/compose/prefilter.h); 0: there is none */
  gboolean bounded;    /* what is read is known to be finite, and from `low` to `high`, beyond what its type
                        * says (core/compose/ranges.h) */
  double low, high;
} fc_composition;

/* A launch. */
typedef struct fc_composed {
  /* the arguments, and each stage's bytes at a multiple of FC_COMPOSE_ALIGN */
  guint8 params[FC_COMPOSE_MOST];
  guint n_params;
  guint variant; /* of the text, which otherwise depends only on stages, types, kinds and channels */
  guint grid[3], threads;
  guint shared; /* bytes of shared memory, beyond what the text declares */
} fc_composed;

#define FC_COMPOSE_VARIANTS 1182

/* The skeleton whose kernel a variant is, as its struct is named after fc_ or fc_map_. */
const char *fc_compose_skeleton(guint variant);

/* Whether a kernel exists for such a composition and a signal of this many channels. */
gboolean fc_compose_possible(const fc_composition *c, int in_dtype, gint64 channels);

/* The border that a function sees: zeros, if its windows shrink, whose stage has none; else that of the
 * stage. */
int fc_compose_border(const fc_device_function *function, int border);

/*
 * A launch on `in` into `out`, on a device of so many multiprocessors, each of which holds `resident` of the
 * kernel's blocks at a time (0: not known yet; neither text nor variant depends on it); what is noted goes to
 * `notes`. The views agree but for the channels that pixel-wise stages change; with a window `in` has what
 * the outputs look at of the signal, by origin and extent, and nothing beyond its ends. FALSE where that is
 * no kernel of this kind: more than FC_COMPOSE_CHANNELS channels pixel by pixel, more parameters than a
 * kernel takes, signals whose lines 32 bits do not number, rows with gaps under a window but those of one
 * pixel, stages that do not fit.
 */
gboolean fc_compose(const fc_composition *c, const fc_view *in, const fc_view *out, guint32 *notes,
                    guint processors, guint resident, fc_composed *composed);

/* The kernel's text for such a launch, from the same arguments; g_free. */
char *fc_compose_text(const fc_composition *c, const fc_view *in, const fc_view *out, guint variant);

/* The files that the text includes, in the form that NVRTC takes. */
typedef struct fc_compose_header {
  const char *name, *text;
} fc_compose_header;
extern const fc_compose_header fc_compose_headers[]; /* ends with NULL */

G_END_DECLS

#endif
