/* SPDX-License-Identifier: MIT */
/*
 * border.h - the parameters `border` and `value` of operators with a halo.
 *
 * An operator puts BORDER_PARAM and BORDER_VALUE_PARAM among its params, calls border_check in create and
 * border_terms in negotiate. The names are those of OpenCV and SciPy where these agree; names that mean
 * different things in different libraries are recognised and refused with a message that says which of ours
 * to use.
 */
#ifndef FC_PLUGINS_BORDER_H
#define FC_PLUGINS_BORDER_H

#include "core/contract/fc_helpers.h"

#define BORDER_AUTO (-1)

/* The choices of `border`; arguments are further choices of the operator. */
#define BORDER_CHOICES(...)                                                                                  \
  FC_CHOICES(                                                                                                \
      FC_CHOICE(BORDER_AUTO, "auto", "reflect101 for images, zero for sound and arrays"),                    \
      FC_CHOICE(FC_BORDER_ZERO, "zero", "0 0 0 | a b c d | 0 0 0: silence, black"),                          \
      FC_CHOICE(FC_BORDER_CONSTANT, "constant", "v v v | a b c d | v v v, with v from value"),               \
      FC_CHOICE(FC_BORDER_REPLICATE, "replicate", "a a a | a b c d | d d d"),                                \
      FC_CHOICE(FC_BORDER_REFLECT, "reflect", "c b a | a b c d | d c b: the edge sample counts twice"),      \
      FC_CHOICE(FC_BORDER_REFLECT101, "reflect101", "d c b | a b c d | c b a: the edge sample counts once"), \
      FC_CHOICE(FC_BORDER_WRAP, "wrap", "b c d | a b c d | a b c: the signal repeats"), __VA_ARGS__)

#define BORDER_REFUSED                                                                                       \
  FC_CHOICE(FC_REFUSED, "mirror",                                                                            \
            "libraries disagree on its meaning: say reflect101 if the edge sample is to count once "         \
            "(SciPy's mirror), reflect if twice"),                                                           \
      FC_CHOICE(FC_REFUSED, "symmetric",                                                                     \
                "say reflect, where the edge sample counts twice (NumPy's symmetric)"),                      \
      FC_CHOICE(FC_REFUSED, "reflect_101", "say reflect101"),                                                \
      FC_CHOICE(FC_REFUSED, "nearest", "say replicate (SciPy's nearest)"),                                   \
      FC_CHOICE(FC_REFUSED, "edge", "say replicate (NumPy's edge)"),                                         \
      FC_CHOICE(FC_REFUSED, "clamp", "say replicate"), FC_CHOICE(FC_REFUSED, "extend", "say replicate"),     \
      FC_CHOICE(FC_REFUSED, "periodic", "say wrap"), FC_CHOICE(FC_REFUSED, "circular", "say wrap"),          \
      FC_CHOICE(FC_REFUSED, "black", "say zero"),                                                            \
      FC_CHOICE(FC_REFUSED, "fill", "say constant, with value=..."),                                         \
      FC_CHOICE(FC_REFUSED, "none",                                                                          \
                "a border is always needed: to keep only outputs that do not touch it, use mode=valid "      \
                "where the operator has it, or crop"),                                                       \
      FC_CHOICE(FC_REFUSED, "default", "leave border out, or say auto")

#define BORDER_PARAM_OF(choices)                                                                             \
  FC_ENUM_PARAM(0, "border", "What lies beyond the ends of the signal.", "auto", choices)
#define BORDER_PARAM BORDER_PARAM_OF(BORDER_CHOICES(BORDER_REFUSED))

#define BORDER_VALUE_PARAM                                                                                   \
  FC_FLOAT_PARAM(0, "value",                                                                                 \
                 "The value beyond the ends for border=constant, which it implies: full scale is 1 for "     \
                 "sound; for images and arrays it is a code value (0 to 255 in an 8-bit file). More than "   \
                 "the input's integers hold is taken as the largest of them; floating point goes beyond "    \
                 "full scale.",                                                                              \
                 NULL, "0", NULL)

/* Checks `border` and `value` against each other. For create. */
static inline fc_status border_check(const fc_host *host, const fc_arg *border, const fc_arg *value) {
  if (value->given && border->given && border->ints[0] != FC_BORDER_CONSTANT)
    return host->fail(host, FC_INVALID, "value goes with border=constant, not with border=%s", border->text);
  return FC_OK;
}

/* The border (fc_border) for a signal of this kind. */
static inline int border_choice(const fc_arg *border, const fc_arg *value, int kind) {
  if (value->given) return FC_BORDER_CONSTANT;
  if (border->ints[0] != BORDER_AUTO) return (int)border->ints[0];
  return kind == FC_IMAGE ? FC_BORDER_REFLECT101 : FC_BORDER_ZERO;
}

/* Writes the border into the terms of a stage. For negotiate. */
static inline void border_terms(const fc_arg *border, const fc_arg *value, fc_terms *terms) {
  const int choice = border_choice(border, value, terms->in[0]->kind);
  terms->needs[0]->border = choice;
  terms->needs[0]->border_value = choice == FC_BORDER_CONSTANT ? value->floats[0] : 0;
}

#endif
