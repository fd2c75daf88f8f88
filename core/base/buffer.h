/* SPDX-License-Identifier: MIT */
/*
 * buffer.h - how samples lie in memory, and moving them about on the host.
 */
#ifndef FC_CORE_BUFFER_H
#define FC_CORE_BUFFER_H

#include "core/base/demand.h"

G_BEGIN_DECLS

/*
 * The memory of one link of a chain: laid out once for the longest stretch that it has to hold, then pointed
 * at one stretch after another.
 */
typedef struct fc_buffer {
  void *memory;
  gsize bytes;
  int dtype, kind, layout, device;
  gint64 capacity[FC_AXES]; /* elements */
  gint64 stride[FC_AXES];   /* bytes */
  fc_range held[FC_AXES];   /* the range of positions that it holds now */
  gint64 lead;              /* bytes before the first element, for alignment */
} fc_buffer;

/* Computes strides for the capacity, and the `bytes` of memory needed. FALSE when that overflows. */
gboolean fc_buffer_layout(fc_buffer *buffer, const fc_format *format, const gint64 capacity[FC_AXES]);

/* The same without gaps for alignment: elements are contiguous, as in a file. */
gboolean fc_buffer_pack(fc_buffer *buffer, const fc_format *format, const gint64 capacity[FC_AXES]);

/*
 * Points the buffer at a stretch (within capacity), such that position `aligned` on
 * X lies at a multiple of 64 bytes as far as the element size allows.
 */
void fc_buffer_hold(fc_buffer *buffer, const fc_range held[FC_AXES], gint64 aligned);

/* A view of the positions `what`, with the extents of `format`. */
fc_view fc_buffer_view(const fc_buffer *buffer, const fc_range what[FC_AXES], const fc_format *format);

/* A view of this shape at position 0, without memory, for its strides. */
fc_view fc_shaped_view(const fc_format *format, const gint64 shape[FC_AXES]);

/* Significant bits of an element type, unless the format says otherwise. */
int fc_dtype_bits(int dtype);

/* The format of a view that shows a whole signal in the caller's memory. */
void fc_format_of_view(const fc_view *view, fc_format *format);

static inline gint64 fc_view_bytes(const fc_view *view) {
  return fc_view_count(view) * (gint64)fc_dtype_size(view->dtype);
}

/* Copies between host views of equal shape and dtype; they do not overlap. */
void fc_view_copy(const fc_view *to, const fc_view *from);

/* The same with conversion of dtype by fc_rows_table; notes as in fc_job. */
void fc_view_convert(const fc_view *to, const fc_view *from, guint32 *notes);

/* A real value as one element of `dtype`, rounded and clamped; at most 8 bytes. */
void fc_value_encode(void *code, double value, int kind, int dtype);
double fc_value_decode(const void *code, int kind, int dtype);

/* Fills the border on the host; see fc_runner.fill_border. */
void fc_view_fill_border(const fc_view *view, const fc_range wanted[FC_AXES], int border, const void *code);

G_END_DECLS

#endif
