/*
 * distgraph/split.h -- who trains on what: the selected nodes or edges shared out among trainers
 * (DGL: node_split, edge_split).
 *
 * Not collective: each trainer computes its own share, and all shares together are exactly the
 * selected ids, each once. Results depend on the arguments alone: no time, no thread, no state.
 * Ids are relabelled type-wise ids.
 *
 * Memory: eight bytes for each id of the partition's run, and one number for each 65,536 ids of the
 * type; a mask or trainer ids that are stored tensors are read piece by piece.
 *
 * Threads: any thread, as far as the client of a column allows. Ownership: as each function says.
 */
#ifndef DISTGRAPH_SPLIT_H
#define DISTGRAPH_SPLIT_H

#include <distgraph/client.h>
#include <distgraph/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One number for each id of a type, by type-wise id. Everything is lent. */
typedef struct dg_column {
	/* Where the numbers are: in memory, */
	const void *data;
	/* … or else in a tensor, pulled from the servers, */
	dg_client *client;
	/* … or else read from the stores of all partitions, by number. */
	dg_store *const *stores;
	uint32_t n_stores;
	dg_tensor_info tensor; /* of client and stores: one number a row */
	dg_dtype dtype;	       /* of data: BOOL or an integer type */
	int64_t n;	       /* of data: the count of the type */
} dg_column;

/* Zero is the default of every field but those that are asked for. */
typedef struct dg_split_options {
	dg_side side;
	uint16_t type;
	uint32_t part;	       /* asked for: the partition of this trainer's machine */
	uint32_t rank;	       /* asked for: this trainer's among all */
	uint32_t n_trainers;   /* asked for: a multiple of the partitions, or fewer than they */
	const dg_column *mask; /* asked for: what is not zero is selected */
	int local; /* 0: equal shares (force_even=True); else only ids of the partition */
	uint32_t n_trainer_ids; /* trainers that trainer_ids was made for; 0: the largest plus 1 */
	const dg_column *trainer_ids; /* who is to have which id; NULL: anybody */
	uint64_t seed;
} dg_split_options;

/*
 * The share of one trainer, to be freed by dg_free(); *out is never NULL.
 *
 * Equal shares: of the K selected ids in ascending order, partition p of P has the p-th run, of K / P ids
 * and one more for the first K mod P. Its c trainers (the one of rank r is its number r mod c) cut the
 * run alike: shuffled, and each share ascending; or by trainer_ids: ids whose trainer
 * belongs to the partition in the order of their trainers, then the others, both cut evenly.
 * With fewer trainers than partitions the ids are cut into a run for each rank, whatever the partition.
 *
 * Local shares: the selected ids that the partition owns, cut into c blocks of their number
 * divided by c, the last with the remainder; trainer_ids are not used. With fewer trainers than
 * partitions each rank has neighbouring partitions whole, whatever its own.
 *
 * Fails with INVALID (the number of trainers, the dtype, a mask of another length), RANGE (part,
 * rank, type, a trainer id below 0), and as pulls and stores do.
 */
DG_API dg_status dg_split(const dg_book *book, const dg_split_options *options, dg_id **out,
			  size_t *n, dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
