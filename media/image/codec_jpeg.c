/* SPDX-License-Identifier: MIT */
/*
 * codec_jpeg.c - JPEG by libjpeg-turbo, also at 1/2, 1/4 and 1/8 of its size: then it computes the
 * smaller picture from fewer coefficients of each block.
 *
 * What libjpeg-turbo only warns of, as coded data that make no sense, is damage here.
 */
#include <string.h>
#include <turbojpeg.h>

#include "media/image/codec.h"

static gboolean begins_with_one_of(const char *said, const char *const *words) {
  for (; *words; words++)
    if (strncmp(said, *words, strlen(*words)) == 0) return TRUE;
  return FALSE;
}

/* What was said of a decoding that failed, or was warned of; after other words there is no picture. */
static gboolean take_warning(const fc_decode_task *task, const char *said, fc_decode_report *report) {
  static const char *const harmless[] = {"Unknown Adobe color", "Warning: unknown JFIF",
                                         "Invalid SOS parameters", NULL},
                           *const damage[] = {"Corrupt JPEG data", "Inconsistent progression",
                                              "Premature end", NULL};
  if (begins_with_one_of(said, harmless)) return TRUE;
  if (!begins_with_one_of(said, damage)) return fc_decode_fail(report, FC_CORRUPTED, said);
  fc_decode_fail(report, strstr(said, "Premature end") ? FC_CUT_OFF : FC_CORRUPTED_IN_PARTS, said);
  return task->lenient;
}

gboolean fc_decode_jpeg(const fc_decode_task *task, fc_decode_report *report) {
  tjhandle jpeg = tjInitDecompress();
  if (!jpeg) return fc_decode_fail(report, FC_CORRUPTED, "out of memory");
  const tjscalingfactor factor = {1, task->scale};
  const int width = TJSCALED((int)task->width, factor), height = TJSCALED((int)task->height, factor);
  const int channels = task->channels;
  /* Into another size than the file's it would scale. What this call cannot say of odd subsamplings is no
   * matter. */
  int own_width = 0, own_height = 0, subsampling, space;
  tjDecompressHeader3(jpeg, task->file, task->size, &own_width, &own_height, &subsampling, &space);
  gboolean done =
      fc_decode_shape(task, report, TJSCALED(own_width, factor), TJSCALED(own_height, factor), channels, 8);
  if (done && tjDecompress2(jpeg, task->file, task->size, task->pixels, width, width * channels, height,
                            channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_LIMITSCANS) != 0) {
    done = tjGetErrorCode(jpeg) == TJERR_WARNING && take_warning(task, tjGetErrorStr2(jpeg), report);
    if (!done && !*report->reason) fc_decode_fail(report, FC_CORRUPTED, tjGetErrorStr2(jpeg));
  }
  tjDestroy(jpeg);
  return done;
}
