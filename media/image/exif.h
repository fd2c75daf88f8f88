/* SPDX-License-Identifier: MIT */
/*
 * exif.h - directories of fields: those of a TIFF file, and EXIF data, which are a TIFF structure of their
 * own. Of a directory no more than 4096 fields are looked at.
 */
#ifndef FC_MEDIA_EXIF_H
#define FC_MEDIA_EXIF_H

#include "media/file/tags.h"

G_BEGIN_DECLS

/* ---- any structure --------------------------------------------------------- */

/* The orientation in a TIFF structure, as EXIF has it; 1 when it says none. */
int fc_exif_orientation(const guint8 *tiff, gsize size);
/* Makes it say 1. */
void fc_exif_set_upright(guint8 *tiff, gsize size);

/* A field of the first directory of a TIFF structure: its values' type and number, and where the first one
 * is; FALSE when there is none, or it does not lie within. */
typedef struct fc_tiff_field {
  guint type;
  gsize count, at, size; /* in bytes from the beginning */
} fc_tiff_field;
gboolean fc_tiff_find(const guint8 *tiff, gsize size, guint tag, fc_tiff_field *field);
/* The first value of such a field of whole numbers; `otherwise` where there is none. */
guint32 fc_tiff_number(const guint8 *tiff, gsize size, guint tag, guint32 otherwise);
/* Is there another directory behind the first? */
gboolean fc_tiff_has_more(const guint8 *tiff, gsize size);

/* ---- EXIF data ------------------------------------------------------------- */

gboolean fc_exif_is_valid(const guint8 *data, gsize size);
/* Exchanges width and height, for a picture that was rotated by 90 degrees. */
void fc_exif_exchange_sides(guint8 *data, gsize size);
/* The texts of a TIFF file and its EXIF and GPS directories; nothing where there are none. FALSE, and
 * nothing, when they are larger than the file. */
gboolean fc_exif_of_tiff(const guint8 *file, gsize size, fc_blob *to);
#define FC_TIFF_ICC 34675
/* Names the fields of a TIFF file that go nowhere: of those that are registered or private. */
void fc_tiff_name_others(const guint8 *file, gsize size, fc_tags *tags);
/* Adds a text of the first directory, unless there is one of that tag. */
void fc_exif_add_text(fc_blob *exif, guint tag, const char *text);
/* For a TIFF file that begins with these EXIF data, but with a header of its own: makes a first directory
 * that has the fields of both, which is to follow the file, and sets the header so. Nothing without such
 * data. */
void fc_exif_into_tiff(guint8 *file, gsize size, const fc_blob *exif, fc_blob *to);

G_END_DECLS

#endif
