/* version.c -- which library runs. */
#include <distgraph/version.h>

const char *dg_version(void)
{
	return DG_VERSION_TEXT;
}
