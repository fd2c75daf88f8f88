/* SPDX-License-Identifier: MIT */
/*
 * array.h - plain elements in a file, as .npy and raw files have them, as a source.
 */
#ifndef FC_MEDIA_ARRAY_H
#define FC_MEDIA_ARRAY_H

#include "media/array/item.h"
#include "media/file/formats.h"

G_BEGIN_DECLS

typedef struct fc_array_file {
  const fc_item *item;
  gboolean swap; /* the bytes of an item are not in this machine's order */
  fc_format format;
  gint64 offset; /* of the first element */
  int outermost; /* axis that is the first in the file, and shorter when the file is cut off */
  int dims;      /* of the file; 0: it does not say */
  /* Bytes between neighbours on each axis when `strided`; else elements lie in the
   * order N, Y, X, C and are read as they come. */
  gboolean strided;
  gint64 stride[FC_AXES];
} fc_array_file;

/*
 * A source over `reader`, which stands at the first element. Takes over `input` and
 * `reader`, also when it fails. The extent of the outermost axis may be FC_UNKNOWN.
 */
fc_source *fc_array_source_new(fc_input *input, fc_reader *reader, const fc_array_file *file,
                               const fc_media_options *options, GError **error);

/* Dimensions that the file of this source has; 0 when it is none or does not say. */
int fc_array_source_dims(const fc_source *source);

G_END_DECLS

#endif
