/* SPDX-License-Identifier: MIT */
/*
 * audio_in.c - opens a sound by its format: MP3 with mp3_in.c, FLAC and Ogg with coded_in.c, all formats of
 * chunks with pcm_in.c, which passes coded samples on to the other two.
 */
#include "media/audio/audio.h"
#include "media/audio/id3.h"

static fc_source *open_mpeg(fc_input *input, const fc_media_options *options, GError **error) {
  if (fc_input_make_seekable(input, error)) {
    if (fc_id3_is_mpeg(input)) return fc_mp3_open(input, NULL, options, error);
    if (fc_input_check(input, error)) fc_fail(error, FC_IO, "%s: is not an MP3 file", input->name);
  }
  fc_input_free(input);
  return NULL;
}

fc_source *fc_audio_open(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                         GError **error) {
  const gboolean tagged = input->begins > 0;
  fc_source *source = NULL;
  if (format->sndfile == FC_SF_MPEG)
    source = open_mpeg(input, options, error);
  else if (format->sndfile == SF_FORMAT_FLAC || format->sndfile == SF_FORMAT_OGG)
    source = fc_coded_open(input, format, NULL, options, error);
  else
    source = fc_pcm_open(input, format, options, error);
  if (source && tagged) fc_tags_lose(fc_source_tags(source), "ID3 tag");
  return source;
}
