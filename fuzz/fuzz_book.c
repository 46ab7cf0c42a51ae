/* Any bytes: decode or refuse, never crash; what decodes encodes to the bytes it was read from. */
#include "book.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t *again;
	size_t again_bytes;
	dg_book *book;
	dg_error err;

	if (dgi_book_decode(data, n, &book, &err) != DG_OK)
		return 0;
	if (dgi_book_encode(book, &again, &again_bytes, &err) != DG_OK || again_bytes != n ||
	    memcmp(again, data, n) != 0)
		abort();
	free(again);
	dgi_book_free(book);
	return 0;
}
