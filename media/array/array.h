/* SPDX-License-Identifier: MIT */
/*
 * array.h - plain elements in a file, as .npy and raw files have them, as a source.
 */
#ifndef FC_MEDIA_ARRAY_H
#define FC_MEDIA_ARRAY_H

#include "media/array/item.h"
#include "media/file/formats.h"
#include "media/file/tags.h"

G_BEGIN_DECLS

typedef struct fc_array_file {
  const fc_item *item;
  gboolean swap; /* the bytes of an item are not in this machine's order */
  fc_format format;
  gint64 offset; /* offset of the first element */
  int outermost; /* the outermost axis in the file, which is shorter when the file is truncated */
  int dims;      /* dimensions of .npy; 0: raw samples; -1: another file */
  fc_tags *tags; /* of a sound with a header, owned; or NULL */
  /* Bytes between neighbours on each axis when `strided`; else elements are dense in the order N, Y, X, C. */
  gboolean strided;
  gint64 stride[FC_AXES];
} fc_array_file;

/*
 * A source over an input positioned at the first element. Takes ownership of the input, also on failure. The
 * extent of the outermost axis may be FC_UNKNOWN.
 */
fc_source *fc_array_source_new(fc_input *input, const fc_array_file *file, const fc_media_options *options,
                               GError **error);

/* The `dims` of such a source; -1 for any other, and for NULL. */
int fc_array_source_dims(const fc_source *source);

G_END_DECLS

#endif
