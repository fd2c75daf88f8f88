/* SPDX-License-Identifier: MIT */
/*
 * decoders.h - helper processes that decode images.
 *
 * A helper is a small program of ours (decoder/main.c, filterchain-decode), spawned, so safe whatever
 * threads, locks and devices the caller has. It receives memory that contains a file, forks a child that
 * confines itself and decodes into that memory (decoder/child.h), and reports how the child ended. The helper
 * itself never looks at the file.
 *
 * A child is kept for the next images of its kind that are not larger than its first one, which it gets
 * through the same memory: a new process takes 1.5 times as long for 12 megapixels, and twice as long for
 * 0.2. It ends at the first image that is not complete, and after 32 of a megapixel or more, or 128 smaller
 * ones; an image that a used child refuses is given to a new one by decode.c.
 *
 * Helpers are kept for further images, as many as were busy at a time, up to a limit. They end with the
 * caller, however that ends.
 *
 * Thread-safe. A forked process starts its own helpers.
 */
#ifndef FC_MEDIA_DECODERS_H
#define FC_MEDIA_DECODERS_H

#include "media/image/decoder/codec.h"

G_BEGIN_DECLS

/* What parent and helper tell each other, over a socket of packets; with the request comes a
 * descriptor of the memory, which a kept child has already. The helper's first word is an answer. */
#define FC_DECODE_MAGIC 0x66636434u /* of this protocol: another version's helper is not used */

typedef struct fc_decode_request {
  guint32 magic;
  gint32 seconds, lenient, kind, scale, channels;
  gint32 keep; /* a child that decodes it successfully waits for the next one */
  gint64 width, height;
  guint64 pixels;     /* for which there is to be a heap */
  guint64 memory;     /* bytes of it in all, as the descriptor has them */
  guint64 room;       /* of the pixels, which are behind the report */
  guint64 exact_room; /* of them so many bytes are surely needed */
  guint64 file_size;  /* behind the pixels */
  fc_decode_window window;
} fc_decode_request;

typedef struct fc_decode_answer {
  guint32 magic;
  gint32 status;  /* as from waitpid */
  gint32 problem; /* errno if there was no child; else 0 */
  gint32 kept;    /* the child waits for the next image, so there is no status */
} fc_decode_answer;

typedef enum fc_decoders_result {
  FC_DECODERS_NONE,     /* there is no helper available */
  FC_DECODERS_ANSWERED, /* the child has ended, or waits for the next image */
  FC_DECODERS_LATE,     /* the same: it was killed, with its helper, for taking too long */
  FC_DECODERS_STOPPED,  /* the same, because the run is to stop */
  FC_DECODERS_LOST      /* the helper has died */
} fc_decoders_result;

/* `program` is the helper's. Nothing is started before it is needed. */
fc_decoders *fc_decoders_new(const char *program);
/* Ends the helpers. None may be busy. NULL is allowed. */
void fc_decoders_free(fc_decoders *decoders);

/* Memory shared with a helper: its descriptor, and its address here. Zeros, except for earlier images of
 * the child that is kept with it. Some memory of earlier images is kept, since its pages cost as much as
 * decoding. NULL on failure. */
typedef struct fc_decode_memory {
  int fd;
  char *at;
  gsize size, used;      /* used: from the start, since it was last cleared */
  struct helper *helper; /* whose child was kept with it, or NULL */
  int kind;              /* what that child decodes, */
  guint64 pixels;        /* with up to this many pixels, */
  guint served;          /* and the images that it has decoded, large ones counted more than once */
} fc_decode_memory;
/* `fresh`: memory that no child has seen. */
fc_decode_memory *fc_decoders_take_memory(fc_decoders *decoders, const fc_decode_request *request,
                                          gboolean fresh);
/* `keep`: no failed child may still write into it. */
void fc_decoders_give_memory(fc_decoders *decoders, fc_decode_memory *memory, gboolean keep);

/* Has the memory's child decode it, or a new one of the helper, within this many microseconds and while
 * `cancel` (or NULL) is zero. */
fc_decoders_result fc_decoders_run(fc_decoders *decoders, const fc_decode_request *request,
                                   fc_decode_memory *memory, gint64 patience, const int *cancel,
                                   fc_decode_answer *answer);

/* Number of idle helpers, with or without a kept child. */
guint fc_decoders_idle(fc_decoders *decoders);

G_END_DECLS

#endif
