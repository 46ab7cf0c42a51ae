/*
 * name.h -- names of types and tensors as they are written in keys and in the cluster file.
 *
 * The bytes ~ : / % of a name are written %7E %3A %2F %25 there; everything else stands as it is.
 */
#ifndef DGI_NAME_H
#define DGI_NAME_H

#include <distgraph/book.h>

#include <stdbool.h>

/* An escaped name with its NUL. */
#define DGI_NAME_TEXT_BYTES (3 * DG_NAME_BYTES_MAX + 1)
/* "src:relation:dst", escaped, with its NUL. */
#define DGI_EDGE_TYPE_TEXT_BYTES (3 * DGI_NAME_TEXT_BYTES)

/* Writes @name escaped and returns its length. @name has at most DG_NAME_BYTES_MAX bytes. */
size_t dgi_name_escape(const char *name, char out[DGI_NAME_TEXT_BYTES]);

/* The plain name of @n bytes of escaped text; false where it is too long or no escaped name. */
bool dgi_name_unescape(const char *text, size_t n, char out[DG_NAME_BYTES_MAX + 1]);

/* Writes "src:relation:dst" escaped and returns its length. */
size_t dgi_edge_type_text(const dg_edge_type *type, char out[DGI_EDGE_TYPE_TEXT_BYTES]);

#endif
