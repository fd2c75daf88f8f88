/* SPDX-License-Identifier: MIT */
/*
 * jpeg_out.c - JPEG by libjpeg-turbo, of grey or RGB. The encoder begins with a JFIF segment;
 * the density is written into it, and metadata are put behind it.
 */
#include <string.h>
#include <turbojpeg.h>

#include "media/file/blob.h"
#include "media/file/output.h"
#include "media/image/image.h"

#define FRONT   20 /* SOI and the JFIF segment */
#define DENSITY 13 /* where in them: a unit, and two numbers of 16 bits */

static int subsampling_of(const fc_encode_settings *settings) {
  static const struct {
    const char *name;
    int value;
  } kinds[] = {{"444", TJSAMP_444}, {"422", TJSAMP_422}, {"420", TJSAMP_420}};
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (strcmp(kinds[i].name, settings->subsampling) == 0) return kinds[i].value;
  return settings->quality > 90 ? TJSAMP_444 : TJSAMP_420;
}

static gboolean write_file(struct fc_output *output, guint8 *file, gsize size, const fc_encode_metadata *with,
                           GError **error) {
  static const guint8 none[5];
  if (memcmp(with->jfif, none, sizeof none) != 0) memcpy(file + DENSITY, with->jfif, sizeof with->jfif);
  return fc_output_write(output, file, FRONT, error) &&
         fc_output_write(output, with->pieces.data, with->pieces.size, error) &&
         fc_output_write(output, file + FRONT, size - FRONT, error);
}

gboolean fc_encode_jpeg(const char *name, struct fc_output *output, const fc_picture *p,
                        const fc_encode_settings *settings, const fc_encode_metadata *metadata,
                        GError **error) {
  const gboolean grey = p->channels == 1;
  const int width = (int)p->width, height = (int)p->height,
            samples = grey ? TJSAMP_GRAY : subsampling_of(settings);
  unsigned long size = tjBufSize(width, height, samples);
  g_autofree guint8 *file = g_try_malloc(size);
  tjhandle jpeg = file ? tjInitCompress() : NULL;
  if (!jpeg) return fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", name);
  gboolean done = tjCompress2(jpeg, p->pixels, width, 0, height, grey ? TJPF_GRAY : TJPF_RGB, &file, &size,
                              samples, settings->quality,
                              TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT |
                                  (settings->progressive ? TJFLAG_PROGRESSIVE : 0)) == 0;
  if (!done) fc_fail(error, FC_IO, "%s: cannot be encoded: %s", name, tjGetErrorStr2(jpeg));
  tjDestroy(jpeg);
  return done && write_file(output, file, size, metadata, error);
}
