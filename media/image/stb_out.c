/* SPDX-License-Identifier: MIT */
/*
 * stb_out.c - BMP and TGA by stb_image_write, and JPEG in a build without libjpeg-turbo, piece by piece into
 * a checked output, because its own file functions report success on a full disk.
 */
#include <string.h>

#include "media/file/blob.h"
#include "media/file/bytes.h"
#include "media/file/output.h"
#include "media/image/image.h"

#include <stb_image_write.h>

#define JPEG_FRONT   20 /* the beginning of its JPEG files: SOI and APP0 */
#define JPEG_DENSITY 13 /* offset of the density in it */
#define BMP_DENSITY  38

static void collect(void *blob, void *data, int size) {
  fc_blob_put(blob, data, (gsize)size);
}

gboolean fc_encode_stb(const char *name, struct fc_output *output, const fc_picture *p,
                       const fc_encode_settings *settings, const fc_encode_metadata *with, GError **error) {
  static const guint8 none[5];
  const int width = (int)p->width, height = (int)p->height;
  const char *format = settings->format;
  g_auto(fc_blob) file = {0};
  const gboolean jpeg = strcmp(format, "jpg") == 0, bmp = strcmp(format, "bmp") == 0;
  int made =
      jpeg  ? stbi_write_jpg_to_func(collect, &file, width, height, p->channels, p->pixels, settings->quality)
      : bmp ? stbi_write_bmp_to_func(collect, &file, width, height, p->channels, p->pixels)
            : stbi_write_tga_to_func(collect, &file, width, height, p->channels, p->pixels);
  if (!made || file.failed) return fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", name);
  gsize front = jpeg ? JPEG_FRONT : file.size;
  if (jpeg && memcmp(with->jfif, none, sizeof none) != 0)
    memcpy(file.data + JPEG_DENSITY, with->jfif, sizeof with->jfif);
  if (bmp && with->per_metre_x) {
    fc_put_little(file.data + BMP_DENSITY, with->per_metre_x, 4);
    fc_put_little(file.data + BMP_DENSITY + 4, with->per_metre_y, 4);
  }
  return fc_output_write(output, file.data, front, error) &&
         fc_output_write(output, with->pieces.data, jpeg ? with->pieces.size : 0, error) &&
         fc_output_write(output, file.data + front, file.size - front, error);
}
