/*
 * client.c -- fetch a row from running servers, add 1 to it, and put it back.
 *
 *   distgraph up karate/karate.json &
 *   ./example_client karate/karate.json feat 33
 */
#include <distgraph/distgraph.h>

#include <stdio.h>
#include <stdlib.h>

static dg_status add_one(dg_client *client, const char *name, dg_id original, dg_error *err)
{
	dg_tensor_info tensor;
	dg_status st = dg_client_find(client, name, &tensor, err);
	dg_id row = original;
	float *values;
	size_t n;

	/* Tensors are indexed by relabelled ids. */
	if (!st)
		st = dg_client_to_internal(client, tensor.side, tensor.type, &row, 1, &row, err);
	if (st)
		return st;
	if (tensor.dtype != DG_FLOAT32) {
		printf("'%s' has no float32 values\n", name);
		return DG_OK;
	}
	values = malloc(tensor.row_bytes);
	if (!values)
		return DG_NOMEM;
	st = dg_client_pull(client, &tensor, &row, 1, values, err);
	n = tensor.row_bytes / sizeof *values;
	for (size_t i = 0; !st && i < n; i++) {
		printf("%g -> %g\n", (double)values[i], (double)values[i] + 1);
		values[i] += 1;
	}
	/* Once this returns, the row survives a crash of its server. */
	if (!st)
		st = dg_client_push(client, &tensor, &row, 1, values, err);
	free(values);
	return st;
}

int main(int argc, char **argv)
{
	dg_client *client;
	dg_error err = { .status = DG_NOMEM, .text = "out of memory" };
	dg_status st;

	if (argc != 4) {
		fprintf(stderr, "usage: %s CLUSTER.json TENSOR ID\n", argv[0]);
		return 2;
	}
	st = dg_client_open(argv[1], NULL, &client, &err);
	if (!st) {
		st = add_one(client, argv[2], strtoll(argv[3], NULL, 10), &err);
		dg_client_close(client);
	}
	if (st)
		fprintf(stderr, "%s\n", err.text);
	return st ? 1 : 0;
}
