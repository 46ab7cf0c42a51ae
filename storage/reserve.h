/*
 * reserve.h -- address space for an array that grows without moving: pages of memory appear, zeroed,
 * as they are touched.
 */
#ifndef DGI_RESERVE_H
#define DGI_RESERVE_H

#include <stddef.h>

/* Room for @n elements; NULL where there is no address space for it. */
void *dgi_reserve(size_t n, size_t element_bytes);
/* Accepts NULL. */
void dgi_unreserve(void *memory, size_t n, size_t element_bytes);

#endif
