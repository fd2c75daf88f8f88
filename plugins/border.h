/* SPDX-License-Identifier: MIT */
/*
 * border.h - the parameters `border` and `value` that operators with a halo share.
 *
 * An operator puts &border_param and &border_value_param among its params, calls
 * border_check in create and border_terms in negotiate. The words are OpenCV's and
 * SciPy's where these agree; those that mean different things in different libraries
 * are recognised and refused with a sentence that says which of ours is meant.
 */
#ifndef FC_PLUGINS_BORDER_H
#define FC_PLUGINS_BORDER_H

#include "core/contract/fc_helpers.h"

#define BORDER_AUTO (-1)

static const fc_choice border_choices_taken[] = {
    {sizeof(fc_choice), BORDER_AUTO, "auto", "reflect101 for images, zero for sound and arrays"},
    {sizeof(fc_choice), FC_BORDER_ZERO, "zero", "0 0 0 | a b c d | 0 0 0: silence, black"},
    {sizeof(fc_choice), FC_BORDER_CONSTANT, "constant", "v v v | a b c d | v v v, with v from value"},
    {sizeof(fc_choice), FC_BORDER_REPLICATE, "replicate", "a a a | a b c d | d d d"},
    {sizeof(fc_choice), FC_BORDER_REFLECT, "reflect",
     "c b a | a b c d | d c b: the edge sample counts twice"},
    {sizeof(fc_choice), FC_BORDER_REFLECT101, "reflect101",
     "d c b | a b c d | c b a: the edge sample counts once"},
    {sizeof(fc_choice), FC_BORDER_WRAP, "wrap", "b c d | a b c d | a b c: the signal repeats"},
};

#define BORDER_REFUSED(name, doc)                                                                            \
  { sizeof(fc_choice), FC_REFUSED, name, doc }

static const fc_choice border_choices_refused[] = {
    BORDER_REFUSED(
        "mirror", "libraries mean different things by it: say reflect101 if the edge sample is to count once "
                  "(SciPy's mirror), reflect if twice"),
    BORDER_REFUSED("symmetric", "say reflect, where the edge sample counts twice (NumPy's symmetric)"),
    BORDER_REFUSED("reflect_101", "say reflect101"),
    BORDER_REFUSED("nearest", "say replicate (SciPy's nearest)"),
    BORDER_REFUSED("edge", "say replicate (NumPy's edge)"),
    BORDER_REFUSED("clamp", "say replicate"),
    BORDER_REFUSED("extend", "say replicate"),
    BORDER_REFUSED("periodic", "say wrap"),
    BORDER_REFUSED("circular", "say wrap"),
    BORDER_REFUSED("black", "say zero"),
    BORDER_REFUSED("fill", "say constant, with value=..."),
    BORDER_REFUSED("none", "there is no way to do without: to keep only outputs that need no border, use "
                           "mode=valid where the operator has it, or crop"),
    BORDER_REFUSED("default", "leave border out, or say auto"),
};

static const fc_choice *const border_choices[] = {
    &border_choices_taken[0],    &border_choices_taken[1],    &border_choices_taken[2],
    &border_choices_taken[3],    &border_choices_taken[4],    &border_choices_taken[5],
    &border_choices_taken[6],    &border_choices_refused[0],  &border_choices_refused[1],
    &border_choices_refused[2],  &border_choices_refused[3],  &border_choices_refused[4],
    &border_choices_refused[5],  &border_choices_refused[6],  &border_choices_refused[7],
    &border_choices_refused[8],  &border_choices_refused[9],  &border_choices_refused[10],
    &border_choices_refused[11], &border_choices_refused[12], NULL,
};

static const fc_param border_param = {
    .size = sizeof(fc_param),
    .type = FC_ENUM,
    .name = "border",
    .doc = "What lies beyond the ends of the signal.",
    .preset = "auto",
    .choices = border_choices,
};

static const fc_param border_value_param = {
    .size = sizeof(fc_param),
    .type = FC_FLOAT,
    .name = "value",
    .doc = "The value beyond the ends for border=constant, which it implies: full scale is 1 for sound; for "
           "images and arrays it is a code value (0 to 255 in an 8-bit file). More than the input's integers "
           "hold is "
           "taken as the largest of them; floating point goes beyond full scale.",
    .preset = "0",
};

/* Do `border` and `value`, as given, go together? For create. */
static inline fc_status border_check(const fc_host *host, const fc_arg *border, const fc_arg *value) {
  if (value->given && border->given && border->ints[0] != FC_BORDER_CONSTANT)
    return host->fail(host, FC_INVALID, "value goes with border=constant, not with border=%s", border->text);
  return FC_OK;
}

/* The border (fc_border) of a signal of this kind. */
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
