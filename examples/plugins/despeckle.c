/* SPDX-License-Identifier: MIT */
/*
 * despeckle - brings wrong samples back among their neighbours, and keeps all others: a sample that is larger
 * than all eight around it, or smaller, moves towards the nearest of them. A function of neighbours, written
 * once: the statements are compiled here for the CPU; on a GPU the host makes one kernel of them and of the
 * neighbouring stages, so no nvcc is needed. Cost: some 20 operations a sample.
 *
 *   cc -shared -fPIC -O3 -ffp-contract=off -fvisibility=hidden $(pkg-config --cflags filterchain-plugin) \
 *     despeckle.c -o despeckle.so
 *   filterchain -i in.png --plugin-dir . -p despeckle:1 -o out.png
 */
#include <fc_helpers.h>

#define SIDE 3

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  (void)host, (void)self;
  fc_need_window(terms->needs[0], SIDE, SIDE, FC_BORDER_REFLECT101);
  terms->work = 20;
  return FC_OK;
}

static fc_status despeckle_numbers(const fc_host *host, void *self, const fc_setup *setup, double *numbers) {
  (void)host, (void)setup;
  numbers[0] = ((const fc_arg *const *)self)[0]->floats[0];
  return FC_OK;
}

FC_AROUND_FUNCTION(despeckle, SIDE, SIDE, (amount), {
  const real here = FC_AT(0, 0);
  real least = FC_AT(-1, 0), most = least;
  for (int i = 0; i < SIDE * SIDE; i++) {
    const real v = FC_AT(i % SIDE - 1, i / SIDE - 1);
    if (i == SIDE * SIDE / 2) continue;
    least = v < least ? v : least;
    most = v > most ? v : most;
  }
  return here + self->amount * ((here < least ? least : here > most ? most : here) - here);
})

static const fc_operator despeckle = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "despeckle",
    .summary = "bring wrong samples back among their neighbours",
    .doc = "A sample that is larger, or smaller, than all eight around it moves towards the nearest of them, "
           "by this part of the distance. Everything else stays as it is; a median filter changes more.",
    .examples = FC_TEXTS("despeckle", "despeckle:0.5"),
    FC_PICTURES_ONLY,
    FC_OPERATOR_PARAMS(FC_FLOAT_PARAM(FC_PARAM_MAIN, "amount", "How much of the distance.", NULL, "1",
                                      FC_FLOAT_BETWEEN(0, 1))),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(despeckle_prepare, despeckle_release, NULL, despeckle_process)),
    .extension = despeckle_extension,
};
FC_PLUGIN("org.example.despeckle", "1.0", "you", "MIT", "https://example.org/despeckle", &despeckle)
