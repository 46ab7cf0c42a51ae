/* check.h -- assertions about our own mistakes; never about bytes from outside. */
#ifndef DGI_CHECK_H
#define DGI_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/* Stays on in release builds. One condition each. */
#define DGI_ASSERT(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", __FILE__, __LINE__, \
				__func__, #condition); \
			abort(); \
		} \
	} while (0)

#define DGI_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
