/* tmpdir.h -- a directory of its own for a test, removed with all it holds. */
#ifndef DGI_TMPDIR_H
#define DGI_TMPDIR_H

/* Makes one under $TMPDIR or /tmp; ends the program where that fails. Freed by tmpdir_remove(). */
char *tmpdir_new(void);
/* "<dir>/<name>", to be freed. */
char *tmpdir_path(const char *dir, const char *name);
void tmpdir_remove(char *dir);

#endif
