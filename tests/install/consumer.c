/* consumer.c -- a program outside the tree: includes all headers, calls the library. */
#include <distgraph/distgraph.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
	dg_error err;
	dg_store *store;

	if (strcmp(dg_version(), DG_VERSION_TEXT) != 0)
		return 1;
	if (dg_store_open("/nowhere/part0", NULL, &store, &err) != DG_NOTFOUND)
		return 1;
	printf("%s: %s\n", dg_version(), err.text);
	return 0;
}
