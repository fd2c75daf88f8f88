/* SPDX-License-Identifier: MIT */
/*
 * jpeg.c - JPEG by libjpeg-turbo, also at 1/2, 1/4 and 1/8 of its size: then it computes the
 * smaller picture from fewer coefficients of each block.
 *
 * What libjpeg-turbo only warns of, as coded data that make no sense, is damage here.
 */
#include <string.h>
#include <turbojpeg.h>

#include "media/image/decoder/codec.h"

static gboolean begins_with_one_of(const char *said, const char *const *words) {
  for (; *words; words++)
    if (strncmp(said, *words, strlen(*words)) == 0) return TRUE;
  return FALSE;
}

/* Of oddities, not of damage. */
static gboolean is_harmless(const char *said) {
  static const char *const words[] = {"Unknown Adobe color", "Warning: unknown JFIF",
                                      "Invalid SOS parameters", NULL};
  return begins_with_one_of(said, words);
}

/* After a failure with other words there is no picture. */
static gboolean take_damage(const fc_decode_task *task, const char *said, fc_decode_report *report) {
  static const char *const words[] = {"Corrupt JPEG data", "Inconsistent progression", "Premature end", NULL};
  if (!begins_with_one_of(said, words)) return fc_decode_fail(report, FC_CORRUPTED, said);
  fc_decode_fail(report, strstr(said, "Premature end") ? FC_CUT_OFF : FC_CORRUPTED_IN_PARTS, said);
  return task->lenient;
}

/* Inks as Adobe's programs store them, and so nearly all such files: 255 is none. Each colour is what its ink
 * and black leave of light, rounded as Pillow rounds it; colour profiles of inks are not heeded. In place. */
static void inks_to_rgb(guint8 *pixels, gsize count) {
  for (gsize i = 0; i < count; i++) {
    const guint8 *from = pixels + 4 * i;
    guint8 rgb[3];
    for (int c = 0; c < 3; c++) {
      const unsigned taken = (255u - from[c]) * from[3] + 128;
      const int left = from[3] - (int)((taken + (taken >> 8)) >> 8);
      rgb[c] = (guint8)(left > 0 ? left : 0);
    }
    memcpy(pixels + 3 * i, rgb, 3);
  }
}

static gboolean decode_into(tjhandle jpeg, const fc_decode_task *task, int width, int height, int format,
                            fc_decode_report *report) {
  /* Up to the first warning; or to the end, where that was no matter or the rest is wanted. */
  for (int flags = TJFLAG_LIMITSCANS | (task->lenient ? 0 : TJFLAG_STOPONWARNING);;
       flags = TJFLAG_LIMITSCANS) {
    if (tjDecompress2(jpeg, task->file, task->size, task->pixels, width, width * tjPixelSize[format], height,
                      format, flags) == 0)
      return TRUE;
    const char *said = tjGetErrorStr2(jpeg);
    if (!is_harmless(said)) return take_damage(task, said, report);
    if (flags == TJFLAG_LIMITSCANS) return tjGetErrorCode(jpeg) == TJERR_WARNING;
  }
}

static gboolean decode(tjhandle jpeg, const fc_decode_task *task, fc_decode_report *report) {
  const tjscalingfactor factor = {1, task->scale};
  const int channels = task->channels, format = channels == 1 ? TJPF_GRAY : TJPF_RGB;
  /* Into another size than the file's it would scale. What this call cannot say of odd subsamplings is no
   * matter. */
  int width = 0, height = 0, subsampling = 0, space = 0;
  tjDecompressHeader3(jpeg, task->file, task->size, &width, &height, &subsampling, &space);
  width = TJSCALED(width, factor), height = TJSCALED(height, factor);
  if (!fc_decode_shape(task, report, width, height, channels, 8)) return FALSE;
  const gboolean inks = space == TJCS_CMYK || space == TJCS_YCCK;
  const gsize count = (gsize)width * (gsize)height;
  if (inks && (channels != 3 || 4 * count > task->room))
    return fc_decode_fail(report, FC_CORRUPTED, "it holds more than its header says");
  if (!decode_into(jpeg, task, width, height, inks ? TJPF_CMYK : format, report)) return FALSE;
  if (inks) inks_to_rgb(task->pixels, count);
  return TRUE;
}

gboolean fc_decode_jpeg(const fc_decode_task *task, fc_decode_report *report) {
  tjhandle jpeg = tjInitDecompress();
  if (!jpeg) return fc_decode_fail(report, FC_CORRUPTED, "out of memory");
  gboolean done = decode(jpeg, task, report);
  tjDestroy(jpeg);
  return done;
}
