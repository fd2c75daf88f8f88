/* SPDX-License-Identifier: MIT */
/*
 * compand.h - gain by a curve of levels, behind an envelope with an attack and a decay: compressors,
 * expanders.
 *
 *     v += (level - v) * (level > v ? attack : decay)        gain = 10^((f(L) - L) / 20), L = 20 log10 v
 *
 * as sox's compand does. f is piecewise linear between its points, with slope 1 below the first and the last
 * segment's slope above the last; corners may be rounded over `knee` decibels by parabolas. Levels below
 * FC_COMPAND_FLOOR are treated as that. Cost: a logarithm and an exponential per sample.
 */
#ifndef FC_FILTERS_COMPAND_H
#define FC_FILTERS_COMPAND_H

#include "filters/dynamics/dynamics.h"

FC_BEGIN_DECLS

#define FC_COMPAND_POINTS 32
#define FC_COMPAND_FLOOR  -200. /* dB */

typedef struct fc_compand {
  double attack, decay; /* the fraction of the way that the envelope moves per sample, (0, 1] */
  double knee;          /* dB */
  int32_t points;       /* 1 to FC_COMPAND_POINTS */
  double in[FC_COMPAND_POINTS], out[FC_COMPAND_POINTS]; /* dB, rising in */
  double gain;                                          /* a factor applied to the result */
} fc_compand;

/* The fraction of its way that a process moves per sample if it moves 1 - 1/e of it in `seconds`. */
FC_FILTERS_API double fc_dynamics_rate(double seconds, double sample_rate);

/* f of a level in dB. */
FC_FILTERS_API double fc_compand_curve(const fc_compand *c, double level);

/* Without look-ahead, linked; fields may be changed. */
FC_FILTERS_API fc_dynamics fc_compand_dynamics(const fc_compand *c);

FC_END_DECLS

#endif
