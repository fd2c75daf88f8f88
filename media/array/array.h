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
  gint64 offset; /* of the first element */
  int outermost; /* axis that is the first in the file, and shorter when the file is cut off */
  int dims;      /* of .npy; 0: raw samples; -1: another file */
  fc_tags *tags; /* of a sound with a header, taken over; or NULL */
  /* Bytes between neighbours on each axis when `strided`; else elements lie in the
   * order N, Y, X, C and are read as they come. */
  gboolean strided;
  gint64 stride[FC_AXES];
} fc_array_file;

/*
 * A source over an input that stands at the first element, and which it takes over, also when it fails. The
 * extent of the outermost axis may be FC_UNKNOWN.
 */
fc_source *fc_array_source_new(fc_input *input, const fc_array_file *file, const fc_media_options *options,
                               GError **error);

/* The `dims` of such a source; -1 of any other, and of NULL. */
int fc_array_source_dims(const fc_source *source);

G_END_DECLS

#endif
