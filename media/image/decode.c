/* SPDX-License-Identifier: MIT */
/*
 * decode.c - sends an image to the process that decodes it, waits for it, and checks the result: nothing is
 * used before it has been copied and checked.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "media/file/warn.h"
#include "media/image/decoder/child.h"
#include "media/image/decoders.h"

/* Seconds of processor time: this many, plus one for each 2^23 pixels. The elapsed time may be three times
 * that, for busy machines. */
#define SECONDS      10
#define PIXELS_A_SEC ((gint64)1 << 23)
#define PATIENCE     3
/* Up to this size a picture's memory is allocated at once; for larger ones, which a wrong header may
 * claim, page by page. */
#define POPULATED_MAX ((gsize)256 << 20)

/* ---- what came of it --------------------------------------------------- */

static gboolean fail_child(const char *name, const fc_decode_request *request, int status, gboolean in_time,
                           GError **error) {
  if (!in_time || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
    return fc_fail(error, FC_IO, "%s: decoding was stopped at the limit of %d s of processor time", name,
                   request->seconds);
  if (WIFSIGNALED(status))
    return fc_fail(error, FC_IO, "%s: the decoder crashed on it (%s) and was contained; the file is damaged",
                   name, g_strsignal(WTERMSIG(status)));
  return fc_fail(error, FC_IO, "%s: the decoder ended without a message; the file is damaged", name);
}

/* Why there is no picture, or only part of one. */
static char *sentence_of(const fc_decode_report *said) {
  char reason[sizeof said->reason + 1] = {0};
  memcpy(reason, said->reason, sizeof said->reason);
  for (char *c = reason; *c; c++)
    if (!g_ascii_isprint(*c)) *c = '?';
  if (said->damage == FC_CUT_OFF) return g_strdup("is cut off: the file ends before the image");
  if (said->damage == FC_FOREIGN)
    return g_strdup_printf("is of a kind that is not decoded here (%s); convert it to PNG", reason);
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

static gboolean fail_memory(const char *name, const fc_image_header *header, GError **error) {
  return fc_fail(error, FC_NO_MEMORY,
                 "%s: no memory to decode %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels", name,
                 header->width, header->height);
}

gboolean fc_image_take_report(const char *name, const void *shared, gsize shared_size,
                              const fc_image_header *header, const fc_decode_wish *wish, fc_picture *picture,
                              char **warning, GError **error) {
  fc_decode_report said;
  memcpy(&said, shared, sizeof said);
  g_autofree char *sentence = said.decoded && said.damage == FC_UNDAMAGED ? NULL : sentence_of(&said);
  *warning = NULL;
  if (strcmp(said.reason, "out of memory") == 0 && !said.decoded) return fail_memory(name, header, error);
  if (!said.decoded || (sentence && !wish->lenient))
    return fc_fail(error, FC_IO, "%s: %s%s", name, sentence,
                   said.damage == FC_CUT_OFF || said.damage == FC_CORRUPTED_IN_PARTS ? FC_MEDIA_ADVICE : "");
  if (!is_sane(&said, header, wish->scale, shared_size))
    return fc_fail(error, FC_IO, "%s: its header and its content differ", name);
  *warning = g_steal_pointer(&sentence);
  *picture = (fc_picture){.width = said.width,
                          .height = said.height,
                          .channels = said.channels,
                          .dtype = said.bits == 16 ? FC_U16 : FC_U8,
                          .pixels = (const char *)shared + FC_DECODE_REPORT_SIZE};
  return TRUE;
}

/* ---- what goes to it ----------------------------------------------------- */

static fc_decode_request request_of(gsize size, const fc_image_header *header, const fc_decode_wish *wish) {
  const gint64 width = (header->width + wish->scale - 1) / wish->scale,
               height = (header->height + wish->scale - 1) / wish->scale,
               pixels = header->width * header->height;
  const guint64 padded = (guint64)(header->width + 64) * (guint64)(header->height + 64); /* to blocks */
  const gsize room = (gsize)width * (gsize)height * (gsize)header->pixel_bytes;
  const gboolean exact = header->kind == FC_IMAGE_JPEG || header->kind == FC_IMAGE_PNG;
  return (fc_decode_request){.magic = FC_DECODE_MAGIC,
                             .seconds = (int)(SECONDS + pixels / PIXELS_A_SEC) * (FC_SANITIZED ? 4 : 1),
                             .lenient = wish->lenient,
                             .kind = (gint32)header->kind,
                             .scale = wish->scale,
                             .channels = header->channels,
                             .width = header->width,
                             .height = header->height,
                             .pixels = padded,
                             .room = (room + 63) / 64 * 64,
                             .exact_room = exact && room <= POPULATED_MAX ? room : 0,
                             .file_size = size,
                             .window = wish->window};
}

static gboolean take_result(const char *name, const fc_decode_request *request, fc_decoders_result result,
                            const fc_decode_answer *answer, const char *shared, GError **error) {
  if (result == FC_DECODERS_NONE)
    return fc_fail(error, FC_IO, "%s: the program that decodes images (filterchain-decode) does not start",
                   name);
  if (result == FC_DECODERS_STOPPED) return fc_fail(error, FC_IO, "interrupted");
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
  const gsize file_at = FC_DECODE_REPORT_SIZE + request.room;
  const gint64 patience = (gint64)request.seconds * PATIENCE * G_USEC_PER_SEC;
  for (gboolean first = TRUE;; first = FALSE) {
    fc_decode_memory *memory = decoders ? fc_decoders_take_memory(decoders, &request, !first) : NULL;
    /* With write, which fails if memory is lacking; touching the mapping would end the process. */
    const gboolean there = memory && pwrite(memory->fd, file, size, (off_t)file_at) == (gssize)size;
    const gboolean used = there && memory->helper;
    fc_decode_answer answer = {0};
    *warning = NULL;
    const fc_decoders_result result =
        there ? fc_decoders_run(decoders, &request, memory, patience, wish->cancel, &answer)
              : FC_DECODERS_NONE;
    const gboolean done =
        there && take_result(name, &request, result, &answer, memory->at, error) &&
        fc_image_take_report(name, memory->at, file_at, header, wish, picture, warning, error);
    if (done && !(used && *warning)) {
      picture->memory = memory, picture->decoders = decoders;
      return TRUE;
    }
    if (memory) fc_decoders_give_memory(decoders, memory, result == FC_DECODERS_ANSWERED && !answer.kept);
    if (!there) return fail_memory(name, header, error);
    /* A helper that was killed meanwhile, which no file can cause, is replaced; and an error found by a
     * child that has decoded other images is checked by a new one, so that one file cannot cause an error
     * in another. */
    if (!first || result == FC_DECODERS_STOPPED || !(used || result == FC_DECODERS_LOST)) return FALSE;
    g_clear_error(error);
    g_clear_pointer(warning, g_free);
    memset(picture, 0, sizeof *picture);
  }
}

void fc_picture_clear(fc_picture *picture) {
  if (picture->memory) fc_decoders_give_memory(picture->decoders, picture->memory, TRUE);
  memset(picture, 0, sizeof *picture);
}
