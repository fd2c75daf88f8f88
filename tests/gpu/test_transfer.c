/* SPDX-License-Identifier: MIT */
/*
 * test_transfer.c - uploads and downloads between views of any strides: every element
 * arrives, and no byte beside the elements is written on either side.
 */
#include "core/base/buffer.h"
#include "tests/gpu/gpu.h"

#define ROOM (1 << 23)

static void noise(unsigned char *bytes, gint64 count) {
  for (gint64 i = 0; i < count; i++) bytes[i] = (unsigned char)random_bits();
}

static void one_case(fc_runner *r, unsigned char *a, unsigned char *b, unsigned char *got, void *device,
                     int dtype, const gint64 shape[FC_AXES]) {
  fc_view from, to, back;
  noise(a, random_layout(&from, dtype, FC_IMAGE, shape, a, ROOM));
  gint64 bytes = random_layout(&to, dtype, FC_IMAGE, shape, b, ROOM);
  noise(b, bytes);
  device_set(r, device, b, bytes);
  fc_view on_device = moved(&to, b, device, r->device);
  gpu_upload(r, &on_device, &from);
  device_get(r, got, device, bytes);
  fc_view_copy(&to, &from); /* the model: the host's own copy */
  CHECK(memcmp(b, got, (size_t)bytes) == 0, "upload of %s %dx%dx%dx%d", fc_dtype_name(dtype), (int)shape[0],
        (int)shape[1], (int)shape[2], (int)shape[3]);

  bytes = random_layout(&back, dtype, FC_IMAGE, shape, a, ROOM);
  noise(a, bytes);
  memcpy(got, a, (size_t)bytes);
  fc_view into = moved(&back, a, got, FC_HOST);
  gpu_download(r, &into, &on_device);
  fc_view_copy(&back, &to);
  CHECK(memcmp(a, got, (size_t)bytes) == 0, "download of %s %dx%dx%dx%d", fc_dtype_name(dtype), (int)shape[0],
        (int)shape[1], (int)shape[2], (int)shape[3]);
}

/* From memory that is not pinned, as callers of the library have. */
static void pageable(fc_runner *r, unsigned char *pinned, void *device) {
  guarded g = guarded_new(1 << 20);
  noise(pinned, 1 << 20);
  memcpy(g.data, pinned, 1 << 20);
  device_set(r, device, g.data, 1 << 20);
  memset(g.data, 0, 1 << 20);
  device_get(r, g.data, device, 1 << 20);
  CHECK(memcmp(g.data, pinned, 1 << 20) == 0, "a round trip of pageable memory");
  CHECK(guarded_intact(&g), "written beyond the end");
  guarded_free(&g);
}

int main(void) {
  static const gint64 shapes[][FC_AXES] = {{1, 1, 1, 1},    {1, 1, 0, 2},  {1, 1, 4801, 2}, {1, 1, 997, 6},
                                           {1, 33, 100, 3}, {5, 9, 31, 4}, {16, 8, 8, 1},   {3, 1, 77, 1}};
  fc_runner *r = gpu_start();
  random_start(20240613);
  unsigned char *a = must_alloc(r->alloc_host(r, ROOM)), *b = must_alloc(r->alloc_host(r, ROOM));
  unsigned char *got = must_alloc(r->alloc_host(r, ROOM));
  void *device = must_alloc(r->alloc(r, ROOM));
  for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++)
    for (guint i = 0; i < 12 * G_N_ELEMENTS(shapes); i++)
      if (!trial_skipped()) one_case(r, a, b, got, device, dtype, shapes[i % G_N_ELEMENTS(shapes)]);
  pageable(r, a, device);
  r->free(r);
  return check_result();
}
