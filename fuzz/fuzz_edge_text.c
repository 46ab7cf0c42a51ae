/*
 * Any bytes as edges or triples: within bounds. The first byte chooses what is told beforehand; how
 * bytes come matters to the look at the first lines, so that both ways are tried without comparing.
 */
#include "import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const columns[] = { NULL, "2,1", "3,1,2", "src,dst" };
	struct dgi_edge_file file = { .path = "fuzz", .n = -1 };
	struct dgi_gather g;

	if (n == 0)
		return 0;
	file.format = data[0] & 1 ? DG_INPUT_TRIPLES : DG_INPUT_AUTO;
	file.header = (data[0] >> 1) % 3 - 1;
	file.delimiter = data[0] & 8 ? ',' : '\0';
	file.columns = columns[(data[0] >> 4) % 4];
	file.type = data[0] & 64 ? "a:*:b" : NULL;
	(void)read_pieces(dgi_edges_from_text, &file, data + 1, n - 1, (size_t)1 << 20, &g);
	dgi_gather_clear(&g);
	(void)read_pieces(dgi_edges_from_text, &file, data + 1, n - 1, 7, &g);
	dgi_gather_clear(&g);
	return 0;
}
