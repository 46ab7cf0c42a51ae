/*
 * check_outside.h -- the outside ids of a store, checked as their arrays go by.
 */
#ifndef DGI_CHECK_OUTSIDE_H
#define DGI_CHECK_OUTSIDE_H

#include <distgraph/book.h>

#include <stdbool.h>

/* Zero is the beginning; dgi_check_outside_clear() is due in any case. */
struct dgi_check_outside {
	const dg_book *book;
	uint32_t part;
	int64_t lengths[6]; /* of the arrays that are there, by kind */
	uint8_t dtypes[6];
	int64_t *head; /* as far as it has come */
	int64_t n_head;
	bool told[6];	/* one violation of each array is enough */
	int64_t before; /* the element before, of VALUES and HASHES */
};

/* What a check says of an array; @what is lent. */
typedef void dgi_check_outside_tell(void *context, uint8_t kind, const dg_error *what);

void dgi_check_outside_array(struct dgi_check_outside *c, uint8_t kind, dg_dtype dtype, int64_t n,
			     dgi_check_outside_tell *tell, void *context);
/* Elements [first, first + n) of an array, which come in order but for damaged ones. */
void dgi_check_outside_elements(struct dgi_check_outside *c, uint8_t kind, int64_t first, int64_t n,
				const void *elements, dgi_check_outside_tell *tell, void *context);
void dgi_check_outside_clear(struct dgi_check_outside *c);

#endif
