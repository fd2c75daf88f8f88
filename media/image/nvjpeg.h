/* SPDX-License-Identifier: MIT */
/*
 * nvjpeg.h - JPEG files decoded on a GPU by NVIDIA's nvJPEG, which is loaded when it is first asked for: by
 * the hardware engines of the chip, else by its multiprocessors. No part of it is needed to build.
 *
 * It reads the files in this process, not in a confined child (decoders.h), and finds less damage than
 * libjpeg-turbo; so nothing comes here unless the user asks (fc_options.decode). Baseline files of one or
 * three components come here, upright and whole; their size is compared with the header's that was checked.
 * What nvJPEG refuses is decoded as if it had not been asked.
 *
 * Thread-safe: each batch of images that is being decoded has an instance of its own.
 */
#ifndef FC_MEDIA_NVJPEG_H
#define FC_MEDIA_NVJPEG_H

#include "core/context/context.h"

G_BEGIN_DECLS

typedef struct fc_nvjpeg fc_nvjpeg;

/* Nothing is loaded yet. `driver`: of the devices; NULL: there are none. */
fc_nvjpeg *fc_nvjpeg_new(const fc_driver *driver);
void fc_nvjpeg_free(fc_nvjpeg *nvjpeg); /* NULL is allowed */
/* Ends the instances that are not in use. */
void fc_nvjpeg_release(fc_nvjpeg *nvjpeg);

/* Begins to start up to `n` instances for a device, each on a thread, for what fc_nvjpeg_decode is going to
 * be asked. */
void fc_nvjpeg_start(fc_nvjpeg *nvjpeg, gint32 device, int mode, guint n);

/* Starts no more of those, and waits for one that has begun. */
void fc_nvjpeg_settle(fc_nvjpeg *nvjpeg);

/* "nvJPEG 13.0.1", and after its first images what it decodes by: ", engines" or ", CUDA"; g_free. NULL with
 * FC_UNSUPPORTED where it is not installed. */
char *fc_nvjpeg_name(fc_nvjpeg *nvjpeg, GError **error);

/* As fc_media.decode has it: images of one format, dense frames. */
struct fc_device_decoder *fc_nvjpeg_decode(fc_nvjpeg *nvjpeg, int mode, void *stream,
                                           fc_source *const *sources, const fc_view *frames, guint n,
                                           gboolean *done);
/* The stream has passed its work. */
void fc_nvjpeg_give(fc_nvjpeg *nvjpeg, struct fc_device_decoder *decoder);

G_END_DECLS

#endif
