/* SPDX-License-Identifier: MIT */
/*
 * units.h - numbers with a unit, as users write them.
 *
 *   time       1.5s  250ms  20us  1:30:00  00:01:30.25  '1:30'  (hours may be omitted where ':' has no
 *              other meaning: within quotes in a chain)
 *   frequency  440Hz  3k  3kHz  1.2MHz
 *   level      80dB, where that is the parameter's unit
 *
 * Where an operator counts samples (fc_param.unit "samples") a time is accepted too; it is converted to
 * samples when the rate is known: fc_args_at_rate in params.h.
 */
#ifndef FC_CORE_UNITS_H
#define FC_CORE_UNITS_H

#include <glib.h>

G_BEGIN_DECLS

/* A word that is a time, in seconds. FALSE: it is not one. */
gboolean fc_time_scan(const char *word, gsize length, double *seconds);

/* How many bytes of `text` are a time in hours, minutes and seconds, separated by ':': 0:01:30.5. 0: none. */
gsize fc_clock_length(const char *text);

/* The factor that "Hz", "kHz", "MHz", "k" or "M" stands for; 0: none of these. */
double fc_frequency_unit(const char *unit, gsize length);

G_END_DECLS

#endif
