/* SPDX-License-Identifier: MIT */
/*
 * synthetic.h - operators that exist to ask everything of the engine that the contract lets an operator ask:
 * any reach on any axis, rescaling, blocks, state, further inputs, generators, measurements, whole signals,
 * other kinds.
 *
 * They are a plugin like others, so that the descriptors are all that a test needs to draw them. What process
 * is handed is checked against the contract as well: where views begin, blocks, order.
 */
#ifndef FC_TESTS_ENGINE_SYNTHETIC_H
#define FC_TESTS_ENGINE_SYNTHETIC_H

#include "core/contract/plugin.h"

extern const fc_plugin synthetic_plugin;

#endif
