/* SPDX-License-Identifier: MIT */
/*
 * units.h - numbers with a unit behind them, as users write them.
 *
 *   time       1.5s  250ms  20us  1:30:00  00:01:30.25  '1:30'  (hours before the minutes may be left out
 *              where nothing else is a ':', so within quotes in a chain)
 *   frequency  440Hz  3k  3kHz  1.2MHz
 *   level      80dB, where that is the parameter's unit
 *
 * Where an operator counts samples (fc_param.unit "samples") a time is accepted too; it becomes samples when
 * the rate is known: fc_args_at_rate in params.h.
 */
#ifndef FC_CORE_UNITS_H
#define FC_CORE_UNITS_H

#include <glib.h>

G_BEGIN_DECLS

/* A time, the whole of the word, in seconds. FALSE: it is none. */
gboolean fc_time_scan(const char *word, gsize length, double *seconds);

/* How many bytes from `text` on are a time in hours, minutes and seconds, which ':' parts: 0:01:30.5. 0: it
 * is none. */
gsize fc_clock_length(const char *text);

/* What "Hz", "kHz", "MHz", "k" or "M" multiplies a number by; 0: it is none of them. */
double fc_frequency_unit(const char *unit, gsize length);

G_END_DECLS

#endif
