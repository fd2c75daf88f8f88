/* SPDX-License-Identifier: MIT */
/*
 * codec.h - the image decoders: one table, a row for each format, over the library that reads it.
 *
 * They run only in the confined child (child.h). All memory comes from malloc, which the child has
 * given its room beforehand; none of them opens a file. Without GLib's library: the helper is
 * linked without it.
 */
#ifndef FC_MEDIA_CODEC_H
#define FC_MEDIA_CODEC_H

#include "media/image/image.h"

G_BEGIN_DECLS

typedef struct fc_decode_task {
  fc_image_kind kind;
  const guint8 *file;
  gsize size;
  gint64 width, height;    /* that the header says, before scaling */
  int channels;            /* likewise, of JPEG: 1 or 3 */
  int scale;               /* 1, 2, 4 or 8: decode at 1/scale; more than 1 only of JPEG */
  fc_decode_window window; /* what is looked at of the scaled picture; others may be left as they are */
  gboolean lenient;        /* a picture of which a part is missing or damaged is wanted */
  guint8 *pixels; /* rows from the top, dense; zeros for the first image of a child, which alone may be
                     delivered in part */
  gsize room;     /* bytes there */
} fc_decode_task;

/* Cut off, or corrupted in parts: a picture could be decoded with `lenient`; corrupted: there is none;
 * foreign: the library does not decode this kind. */
typedef enum fc_damage {
  FC_UNDAMAGED,
  FC_CUT_OFF,
  FC_CORRUPTED_IN_PARTS,
  FC_CORRUPTED,
  FC_FOREIGN
} fc_damage;

/* What a decoder says. Written by a process that the file may have taken over: see fc_image_take_report. */
typedef struct fc_decode_report {
  gint32 done; /* it has come to the end, well or not */
  gint32 decoded;
  gint32 width, height, channels, bits;
  gint32 damage;   /* fc_damage; a picture that is not whole is only made when the task is lenient */
  char reason[80]; /* what is wrong */
} fc_decode_report;

/* Sets width, height, channels and bits, and fills the pixels; on failure returns FALSE with reason and
 * damage. */
typedef gboolean fc_decode_fn(const fc_decode_task *task, fc_decode_report *report);
fc_decode_fn fc_decode_png, fc_decode_jpeg, fc_decode_webp, fc_decode_tiff, fc_decode_stb;

/* By the table. Calls nothing but malloc's family of what might make a system call. */
void fc_decode(const fc_decode_task *task, fc_decode_report *report);

/* Bytes of malloc's that the decoder of this kind takes at most for so many pixels of a file of this size. */
gsize fc_decode_heap(fc_image_kind kind, gsize pixels, gsize file_size);

/* Of TIFF: bytes of the heap for each pixel. */
#define FC_TIFF_HEAP 24

/* Notes what is wrong; returns FALSE. */
gboolean fc_decode_fail(fc_decode_report *report, fc_damage damage, const char *reason);
/* Notes the picture's form; FALSE if the pixels have no room for it. */
gboolean fc_decode_shape(const fc_decode_task *task, fc_decode_report *report, gint64 width, gint64 height,
                         int channels, int bits);

G_END_DECLS

#endif
