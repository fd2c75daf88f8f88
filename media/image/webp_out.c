/* SPDX-License-Identifier: MIT */
/* webp_out.c - lossy and lossless WebP by libwebp; profile, EXIF and XMP by its muxer. */
#include <string.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include "media/file/blob.h"
#include "media/file/output.h"
#include "media/image/image.h"

const fc_file_option fc_webp_writing[] = {
    {"quality", "0..100", "90", "quality of lossy coding; effort of lossless coding"},
    {"lossless", "yes|no", "no", "lossless coding"},
    {"effort", "0..6", "4", "effort: more is slower and makes smaller files"},
    {NULL, NULL, NULL, NULL}};

static gboolean import(WebPPicture *to, const fc_picture *p) {
  const gint64 pixels = p->width * p->height;
  const int step = p->channels;
  g_autofree guint8 *rgb = NULL;
  const guint8 *from = p->pixels;
  if (step <= 2) { /* grey */
    const int wide = step + 2;
    rgb = g_try_malloc((gsize)(pixels * wide));
    if (!rgb) return FALSE;
    for (gint64 i = 0; i < pixels; i++) {
      memset(rgb + i * wide, from[i * step], 3);
      if (step == 2) rgb[i * wide + 3] = from[i * step + 1];
    }
    from = rgb;
  }
  const gboolean alpha = step % 2 == 0;
  const int row = (int)p->width * (alpha ? 4 : 3);
  return alpha ? WebPPictureImportRGBA(to, from, row) : WebPPictureImportRGB(to, from, row);
}

/* 0 on success, else libwebp's error. */
static int encode(const fc_picture *p, const fc_encode_settings *settings, WebPMemoryWriter *to) {
  WebPConfig config;
  WebPPicture picture;
  if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) return VP8_ENC_ERROR_INVALID_CONFIGURATION;
  config.quality = (float)settings->quality;
  config.method = settings->effort;
  config.lossless = settings->lossless;
  config.exact = settings->lossless; /* keeps the colours of transparent pixels */
  picture.use_argb = settings->lossless;
  picture.width = (int)p->width, picture.height = (int)p->height;
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = to;
  int problem = 0;
  if (!import(&picture, p))
    problem = VP8_ENC_ERROR_OUT_OF_MEMORY;
  else if (!WebPEncode(&config, &picture))
    problem = picture.error_code;
  WebPPictureFree(&picture);
  return problem;
}

static gboolean set_chunk(WebPMux *mux, const char *id, const fc_blob *blob) {
  const WebPData data = {blob->data, blob->size};
  return !data.size || WebPMuxSetChunk(mux, id, &data, 0) == WEBP_MUX_OK;
}

static gboolean write_with(struct fc_output *output, const char *name, const WebPData *image,
                           const fc_encode_metadata *with, GError **error) {
  WebPMux *mux = WebPMuxNew();
  WebPData file = {NULL, 0};
  gboolean made = mux && WebPMuxSetImage(mux, image, 0) == WEBP_MUX_OK &&
                  set_chunk(mux, "ICCP", &with->icc) && set_chunk(mux, "EXIF", &with->exif) &&
                  set_chunk(mux, "XMP ", &with->xmp) && WebPMuxAssemble(mux, &file) == WEBP_MUX_OK;
  gboolean done = made ? fc_output_write(output, file.bytes, file.size, error)
                       : fc_fail(error, FC_NO_MEMORY, "%s: no memory for its metadata", name);
  WebPDataClear(&file);
  WebPMuxDelete(mux);
  return done;
}

gboolean fc_encode_webp(const char *name, struct fc_output *output, const fc_picture *p,
                        const fc_encode_settings *settings, const fc_encode_metadata *metadata,
                        GError **error) {
  WebPMemoryWriter memory;
  WebPMemoryWriterInit(&memory);
  int problem = encode(p, settings, &memory);
  gboolean done = FALSE;
  const WebPData image = {memory.mem, memory.size};
  if (problem == VP8_ENC_ERROR_OUT_OF_MEMORY || problem == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY)
    fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", name);
  else if (problem)
    fc_fail(error, FC_IO, "%s: cannot be encoded: WebP error %d", name, problem);
  else
    done = write_with(output, name, &image, metadata, error);
  WebPMemoryWriterClear(&memory);
  return done;
}
