/* unchecked.c -- storage/rowcopy.c once more, its check left out and its functions renamed. */
#define DGI_ROWCOPY_UNCHECKED

#define dgi_row_put unchecked_row_put
#define dgi_rows_copy_chunk unchecked_rows_copy_chunk
#define dgi_rows_gather unchecked_rows_gather
#define dgi_rows_verify unchecked_rows_verify
#define dgi_table_close unchecked_table_close
#define dgi_table_extend unchecked_table_extend
#define dgi_table_freeze unchecked_table_freeze
#define dgi_table_give_way unchecked_table_give_way
#define dgi_table_is_hot unchecked_table_is_hot
#define dgi_table_is_writable unchecked_table_is_writable
#define dgi_table_let_readers_in unchecked_table_let_readers_in
#define dgi_table_lock unchecked_table_lock
#define dgi_table_log unchecked_table_log
#define dgi_table_page unchecked_table_page
#define dgi_table_open unchecked_table_open
#define dgi_table_set unchecked_table_set
#define dgi_table_set_clean unchecked_table_set_clean
#define dgi_table_set_hot unchecked_table_set_hot
#define dgi_table_set_log unchecked_table_set_log
#define dgi_table_store_row unchecked_table_store_row
#define dgi_table_thaw unchecked_table_thaw
#define dgi_table_unlock unchecked_table_unlock

#include "rowcopy.c" /* NOLINT(bugprone-suspicious-include): the same source, on purpose */
