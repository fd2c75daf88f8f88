/* SPDX-License-Identifier: MIT */
/*
 * decode.c - what goes to the process that decodes an image, how it is waited for, and what is
 * believed of it: nothing before it is checked, and not before the child is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "media/file/warn.h"
#include "media/image/child.h"
#include "media/image/decoders.h"

/* Seconds of processor time: so many, and one more for each 2^23 pixels. The clock may
 * run three times as long, for machines that are busy. */
#define SECONDS      10
#define PIXELS_A_SEC ((gint64)1 << 23)
#define PATIENCE     3

/* ---- what came of it --------------------------------------------------- */

static gboolean fail_child(const char *name, const fc_decode_request *request, int status, gboolean in_time,
                           GError **error) {
  if (!in_time || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
    return fc_fail(error, FC_IO, "%s: decoding was stopped at the limit of %d s of processor time", name,
                   request->seconds);
  if (WIFSIGNALED(status))
    return fc_fail(error, FC_IO, "%s: the decoder crashed on it (%s) and was contained; the file is damaged",
                   name, g_strsignal(WTERMSIG(status)));
  return fc_fail(error, FC_IO, "%s: the decoder ended without a word; the file is damaged", name);
}

/* Why there is no picture, or not a whole one. */
static char *sentence_of(const fc_decode_report *said) {
  char reason[sizeof said->reason + 1] = {0};
  memcpy(reason, said->reason, sizeof said->reason);
  for (char *c = reason; *c; c++)
    if (!g_ascii_isprint(*c)) *c = '?';
  if (said->damage == FC_CUT_OFF) return g_strdup("is cut off: the file ends before the image");
  return g_strdup_printf("is damaged: %s", reason);
}

static gboolean is_sane(const fc_decode_report *said, const fc_image_header *header, int scale,
                        gsize shared_size) {
  if (said->width != (header->width + scale - 1) / scale ||
      said->height != (header->height + scale - 1) / scale || said->channels < 1 || said->channels > 4 ||
      (said->bits != 8 && said->bits != 16))
    return FALSE;
  guint64 bytes = (guint64)said->width * (guint64)said->height * (guint64)(said->channels * said->bits / 8);
  return bytes <= shared_size - FC_DECODE_REPORT_SIZE;
}

gboolean fc_image_take_report(const char *name, const void *shared, gsize shared_size,
                              const fc_image_header *header, const fc_decode_wish *wish, fc_picture *picture,
                              char **warning, GError **error) {
  fc_decode_report said;
  memcpy(&said, shared, sizeof said);
  g_autofree char *sentence = said.decoded && said.damage == FC_UNDAMAGED ? NULL : sentence_of(&said);
  *warning = NULL;
  if (strcmp(said.reason, "out of memory") == 0 && !said.decoded)
    return fc_fail(error, FC_NO_MEMORY,
                   "%s: no memory to decode %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels", name,
                   header->width, header->height);
  if (!said.decoded || (sentence && !wish->lenient))
    return fc_fail(error, FC_IO, "%s: %s%s", name, sentence,
                   said.damage == FC_CUT_OFF || said.damage == FC_CORRUPTED_IN_PARTS ? FC_MEDIA_ADVICE : "");
  if (!is_sane(&said, header, wish->scale, shared_size))
    return fc_fail(error, FC_IO, "%s: what its header says and what it holds differ", name);
  *warning = g_steal_pointer(&sentence);
  *picture = (fc_picture){.width = said.width,
                          .height = said.height,
                          .channels = said.channels,
                          .dtype = said.bits == 16 ? FC_U16 : FC_U8,
                          .pixels = (const char *)shared + FC_DECODE_REPORT_SIZE};
  return TRUE;
}

/* ---- what goes to it ----------------------------------------------------- */

/* Memory that has a descriptor, and whose size nobody can change, or -1. */
static int make_memory(gsize size) {
  struct rlimit most; /* of files, which this is one of: going beyond it would raise a signal */
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < size || size > (gsize)G_MAXINT64) return -1;
  int fd = memfd_create("filterchain-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

static fc_decode_request request_of(gsize size, const fc_image_header *header, const fc_decode_wish *wish) {
  const gint64 width = (header->width + wish->scale - 1) / wish->scale,
               height = (header->height + wish->scale - 1) / wish->scale,
               pixels = header->width * header->height;
  const gsize room = (gsize)width * (gsize)height * (gsize)header->pixel_bytes;
  return (fc_decode_request){.magic = FC_DECODE_MAGIC,
                             .seconds = (int)(SECONDS + pixels / PIXELS_A_SEC) * (FC_SANITIZED ? 4 : 1),
                             .lenient = wish->lenient,
                             .kind = (gint32)header->kind,
                             .scale = wish->scale,
                             .channels = header->channels,
                             .width = header->width,
                             .height = header->height,
                             .room = (room + 63) / 64 * 64,
                             .file_size = size};
}

/* Memory for the helper with the file in it; its descriptor, or -1. */
static int prepare(const fc_decode_request *request, const guint8 *file, char **shared, gsize *shared_size) {
  const gsize file_at = FC_DECODE_REPORT_SIZE + request->room;
  *shared_size = file_at + request->file_size;
  int fd = make_memory(*shared_size);
  if (fd < 0) return -1;
  void *mapped = mmap(NULL, *shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  /* By write, which fails where there is no memory; touching the mapping would end the process. */
  if (mapped != MAP_FAILED &&
      pwrite(fd, file, request->file_size, (off_t)file_at) == (gssize)request->file_size) {
    *shared = mapped;
    return fd;
  }
  if (mapped != MAP_FAILED) munmap(mapped, *shared_size);
  close(fd);
  return -1;
}

static gboolean take_result(const char *name, const fc_decode_request *request, fc_decoders_result result,
                            const fc_decode_answer *answer, const char *shared, GError **error) {
  if (result == FC_DECODERS_NONE)
    return fc_fail(error, FC_IO, "%s: the program that decodes images (filterchain-decode) does not start",
                   name);
  if (answer->problem)
    return fc_fail(error, FC_NO_MEMORY, "%s: no process for the decoder: %s", name,
                   g_strerror(answer->problem));
  return (result == FC_DECODERS_ANSWERED && ((const fc_decode_report *)(const void *)shared)->done) ||
         fail_child(name, request, answer->status, result != FC_DECODERS_LATE, error);
}

gboolean fc_image_decode(const char *name, const guint8 *file, gsize size, const fc_image_header *header,
                         const fc_decode_wish *wish, fc_decoders *decoders, fc_picture *picture,
                         char **warning, GError **error) {
  const fc_decode_request request = request_of(size, header, wish);
  fc_decode_answer answer = {0};
  char *shared;
  gsize shared_size;
  *warning = NULL;
  int fd = prepare(&request, file, &shared, &shared_size);
  if (fd < 0)
    return fc_fail(error, FC_NO_MEMORY,
                   "%s: no memory to decode %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels", name,
                   header->width, header->height);
  fc_decoders_result result =
      decoders ? fc_decoders_run(decoders, &request, fd, (gint64)request.seconds * PATIENCE * G_USEC_PER_SEC,
                                 &answer)
               : FC_DECODERS_NONE;
  close(fd);
  gboolean done = take_result(name, &request, result, &answer, shared, error) &&
                  fc_image_take_report(name, shared, FC_DECODE_REPORT_SIZE + request.room, header, wish,
                                       picture, warning, error);
  if (done)
    picture->shared = shared, picture->shared_size = shared_size;
  else
    munmap(shared, shared_size);
  return done;
}

void fc_picture_clear(fc_picture *picture) {
  if (picture->shared) munmap(picture->shared, picture->shared_size);
  memset(picture, 0, sizeof *picture);
}
