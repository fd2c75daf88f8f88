/* SPDX-License-Identifier: MIT */
/*
 * fake_nvjpeg.c - a library with the functions of nvJPEG that are used here, which decodes by libjpeg into
 * memory of the fake device. Like the other it fails a whole batch for one damaged image.
 */
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>

#include "tests/device/fake_nvjpeg.h"

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID = 2, BAD = 3, NO_MEMORY = 5, ARCH_MISMATCH = 7 };
enum { HARDWARE = 3, OUTPUT_Y = 2, OUTPUT_RGBI = 5 };

EXPORT fake_nvjpeg fake_nvjpeg_state = {.engines = 1};

typedef struct image {
  unsigned char *channel[4];
  size_t pitch[4];
} image;

typedef struct stream {
  unsigned width, height, components;
} stream;

typedef struct state {
  int n, format;
} state;

typedef struct reader {
  struct jpeg_decompress_struct jpeg; /* first */
  struct jpeg_error_mgr errors;
  jmp_buf out;
} reader;

static void stop(j_common_ptr jpeg) {
  longjmp(((reader *)jpeg)->out, 1);
}

static void say_nothing(j_common_ptr jpeg) {}

/* Into the image, or only the header into the stream. */
static int read_jpeg(const unsigned char *data, size_t size, int format, const image *to, stream *header) {
  reader r;
  memset(&r, 0, sizeof r);
  r.jpeg.err = jpeg_std_error(&r.errors);
  r.errors.error_exit = stop, r.errors.output_message = say_nothing;
  int status = BAD;
  if (!setjmp(r.out)) {
    jpeg_create_decompress(&r.jpeg);
    jpeg_mem_src(&r.jpeg, data, (unsigned long)size);
    jpeg_read_header(&r.jpeg, TRUE);
    if (header)
      *header = (stream){r.jpeg.image_width + (unsigned)fake_nvjpeg_state.lies, r.jpeg.image_height,
                         (unsigned)r.jpeg.num_components};
    if (to) {
      r.jpeg.out_color_space = format == OUTPUT_Y ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_start_decompress(&r.jpeg);
      while (r.jpeg.output_scanline < r.jpeg.output_height) {
        JSAMPROW row = to->channel[0] + r.jpeg.output_scanline * to->pitch[0];
        jpeg_read_scanlines(&r.jpeg, &row, 1);
      }
      jpeg_finish_decompress(&r.jpeg);
    }
    status = r.errors.num_warnings ? BAD : SUCCESS;
  }
  jpeg_destroy_decompress(&r.jpeg);
  return status;
}

EXPORT int nvjpegGetProperty(int which, int *value) {
  *value = which + 1;
  return SUCCESS;
}

EXPORT int nvjpegCreateEx(int backend, void *device, void *pinned, unsigned flags, void **handle) {
  if (backend == HARDWARE && !fake_nvjpeg_state.engines) return ARCH_MISMATCH;
  __atomic_add_fetch(&fake_nvjpeg_state.busy, 1, __ATOMIC_RELAXED);
  if (fake_nvjpeg_state.slow) usleep((unsigned)fake_nvjpeg_state.slow);
  /* The count never exceeds what there can be, not even for a moment. */
  int now = __atomic_load_n(&fake_nvjpeg_state.handles, __ATOMIC_RELAXED), status;
  do status = fake_nvjpeg_state.most && now >= fake_nvjpeg_state.most ? NO_MEMORY : SUCCESS;
  while (status == SUCCESS && !__atomic_compare_exchange_n(&fake_nvjpeg_state.handles, &now, now + 1, 0,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  if (status == SUCCESS) *handle = malloc(1);
  __atomic_sub_fetch(&fake_nvjpeg_state.busy, 1, __ATOMIC_RELAXED);
  return status;
}

EXPORT int nvjpegDestroy(void *handle) {
  __atomic_sub_fetch(&fake_nvjpeg_state.handles, 1, __ATOMIC_RELAXED);
  free(handle);
  return SUCCESS;
}

EXPORT int nvjpegJpegStateCreate(void *handle, void **made) {
  *made = calloc(1, sizeof(state));
  return SUCCESS;
}

EXPORT int nvjpegJpegStateDestroy(void *made) {
  free(made);
  return SUCCESS;
}

EXPORT int nvjpegJpegStreamCreate(void *handle, void **made) {
  *made = calloc(1, sizeof(stream));
  return SUCCESS;
}

EXPORT int nvjpegJpegStreamDestroy(void *made) {
  free(made);
  return SUCCESS;
}

EXPORT int nvjpegJpegStreamParseHeader(void *handle, const unsigned char *data, size_t size, void *made) {
  return read_jpeg(data, size, 0, NULL, made);
}

EXPORT int nvjpegJpegStreamGetFrameDimensions(void *made, unsigned *width, unsigned *height) {
  *width = ((stream *)made)->width, *height = ((stream *)made)->height;
  return SUCCESS;
}

EXPORT int nvjpegJpegStreamGetComponentsNum(void *made, unsigned *number) {
  *number = ((stream *)made)->components;
  return SUCCESS;
}

EXPORT int nvjpegDecodeBatchedSupported(void *handle, void *made, int *is_not) {
  *is_not = 0;
  return SUCCESS;
}

EXPORT int nvjpegDecodeBatchedInitialize(void *handle, void *made, int n, int threads, int format) {
  *(state *)made = (state){n, format};
  return n > 0 && (format == OUTPUT_Y || format == OUTPUT_RGBI) ? SUCCESS : INVALID;
}

EXPORT int nvjpegDecodeBatched(void *handle, void *made, const unsigned char *const *data,
                               const size_t *sizes, image *to, void *cuda_stream) {
  const state *s = made;
  int status = s->n > 0 && cuda_stream ? SUCCESS : INVALID;
  for (int i = 0; i < s->n && status == SUCCESS; i++)
    status = read_jpeg(data[i], sizes[i], s->format, &to[i], NULL);
  if (status == SUCCESS) {
    __atomic_add_fetch(&fake_nvjpeg_state.decoded, s->n, __ATOMIC_RELAXED);
    __atomic_add_fetch(&fake_nvjpeg_state.batches, 1, __ATOMIC_RELAXED);
  }
  return status;
}
