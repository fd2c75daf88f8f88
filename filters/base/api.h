/* SPDX-License-Identifier: MIT */
/*
 * api.h - marks what libfilterchain-filters exports.
 *
 * The library hides everything by default; a function of a public header is
 * declared FC_FILTERS_API, in C and in .cu files alike. Public headers give C
 * linkage between FC_BEGIN_DECLS and FC_END_DECLS.
 */
#ifndef FC_FILTERS_API_H
#define FC_FILTERS_API_H

#if defined(__GNUC__)
#define FC_FILTERS_API __attribute__((visibility("default")))
#else
#define FC_FILTERS_API
#endif

#ifdef __cplusplus
#define FC_BEGIN_DECLS extern "C" {
#define FC_END_DECLS   }
#else
#define FC_BEGIN_DECLS
#define FC_END_DECLS
#endif

#endif
