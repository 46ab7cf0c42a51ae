/* storage.c -- replaced when the first file of this directory lands. */
extern int dgi_storage_placeholder;
