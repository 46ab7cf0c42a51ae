/* reserve.c -- address space for an array that grows without moving. */
#include "reserve.h"

#include <sys/mman.h>

void *dgi_reserve(size_t n, size_t element_bytes)
{
	void *memory = mmap(NULL, n * element_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void dgi_unreserve(void *memory, size_t n, size_t element_bytes)
{
	if (memory)
		(void)munmap(memory, n * element_bytes);
}
