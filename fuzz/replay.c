/* replay.c -- run a fuzz target over files and folders of files, under any compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data;
	size_t n;

	if (!f || fstat(fileno(f), &st) != 0) {
		perror(path);
		return 1;
	}
	/* Exactly as long as the file, so that a sanitizer sees a read behind its end. */
	n = (size_t)st.st_size;
	data = malloc(n ? n : 1);
	if (!data || fread(data, 1, n, f) != n) {
		fprintf(stderr, "%s: cannot read\n", path);
		return 1;
	}
	(void)fclose(f);
	(void)LLVMFuzzerTestOneInput(data, n);
	free(data);
	return 0;
}

static int replay_folder(const char *path, int *n_files)
{
	struct dirent **entries;
	int failed = 0;
	int n = scandir(path, &entries, NULL, alphasort);

	if (n < 0) {
		perror(path);
		return 1;
	}
	for (int i = 0; i < n; i++) {
		char file[4096];

		if (entries[i]->d_name[0] != '.') {
			(void)snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
			failed |= replay_file(file);
			++*n_files;
		}
		free(entries[i]);
	}
	free(entries);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;
	int n_files = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay_folder(argv[i], &n_files);
	printf("%d inputs replayed\n", n_files);
	return failed || n_files == 0; /* an empty corpus tests nothing */
}
