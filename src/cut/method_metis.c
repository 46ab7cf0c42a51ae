/* method_metis.c -- a cut by METIS: what it is asked, and what is left out when it cannot do it. */
#include "methods.h"

#include "constraints.h"
#include "estimate.h"
#include "fail.h"
#include "log.h"
#include "metis_child.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct metis {
	const struct dgi_assign_request *request;
	const struct dgi_joined *joined;
	struct dgi_neighbours graph;
	struct dgi_constraints constraints;
	idx_t *node_weights; /* those of the constraints, as METIS reads them; NULL: ones */
	idx_t *owners;
	bool asks_less; /* it might do it if it were asked for less */
};

/* What balance is asked for, from all of it to none. */
struct wish {
	bool by_types, by_edges;
};

/* METIS sums weights in its own counting type. */
static dg_status check_weights(const struct dgi_constraints *c, dg_error *err)
{
	for (uint32_t k = 0; k < c->n; k++)
		if (c->totals[k] > (uint64_t)DGI_METIS_MAX)
			return dgi_fail(err, DG_UNSUPPORTED,
					"method metis: node weights of %" PRIu64
					" in all, this METIS can be given %" PRIdMAX
					"; use method stream",
					c->totals[k], (intmax_t)DGI_METIS_MAX);
	return DG_OK;
}

static void forget_weights(struct metis *m)
{
	if ((void *)m->node_weights != (void *)m->constraints.values)
		free(m->node_weights);
	m->node_weights = NULL;
	dgi_constraints_clear(&m->constraints);
}

/* As idx_t: the same memory where that has 32 bits. */
static dg_status take_weights(struct metis *m, dg_error *err)
{
	const struct dgi_constraints *c = &m->constraints;
	const size_t n = (size_t)m->joined->n_nodes * c->n;

	if (!c->values)
		return DG_OK;
	if (sizeof(idx_t) == sizeof *c->values) {
		m->node_weights = (void *)c->values;
		return DG_OK;
	}
	m->node_weights = malloc(n * sizeof *m->node_weights + 1);
	if (!m->node_weights)
		return dgi_fail_memory(err, "method metis");
	for (size_t i = 0; i < n; i++)
		m->node_weights[i] = (idx_t)c->values[i];
	return DG_OK;
}

static dg_status try_wish(struct metis *m, struct wish wish, dg_error *err)
{
	const struct dgi_assign_request *r = m->request;
	struct dgi_metis_job job = { .graph = &m->graph,
				     .n_parts = (idx_t)r->n_parts,
				     .seed = r->seed,
				     .volume = r->objective == DGI_OBJECTIVE_VOL };
	dg_status st = dgi_constraints_make(m->joined, r->n_parts, wish.by_types, wish.by_edges,
					    r->progress, &m->constraints, err);

	m->asks_less = false;
	if (!st)
		st = take_weights(m, err);
	if (st)
		return st;
	st = check_weights(&m->constraints, err);
	job.n_constraints = (idx_t)m->constraints.n;
	job.node_weights = m->node_weights;
	if (!st)
		st = dgi_metis_run(&job, r->progress, m->owners, err);
	m->asks_less = st == DG_INVALID || st == DG_IO || st == DG_UNSUPPORTED;
	return st;
}

static dg_status try_wishes(struct metis *m, uint32_t *n_constraints, dg_error *err)
{
	const bool types = m->request->balance_types, edges = m->request->balance_edges;
	const struct wish wishes[] = { { types, edges }, { types, false }, { false, false } };
	dg_error fault = { 0 };
	dg_status st = DG_INVALID;

	for (size_t i = 0; i < 3; i++) {
		if (i > 0 && wishes[i].by_types == wishes[i - 1].by_types &&
		    wishes[i].by_edges == wishes[i - 1].by_edges)
			continue;
		if (i > 0)
			dgi_log(DG_LOG_WARNING, "balance by %s is given up: %s",
				wishes[i].by_types ? "edges"
				: edges && !types  ? "edges"
						   : "types",
				fault.text);
		st = try_wish(m, wishes[i], &fault);
		*n_constraints = m->constraints.n;
		forget_weights(m);
		if (!st || !m->asks_less)
			break;
	}
	*err = fault;
	return st;
}

static dg_status check_memory(const struct metis *m, dg_error *err)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	const uint64_t machine =
		pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
	const uint64_t allowed = m->request->memory ? m->request->memory : machine;
	const uint64_t needed =
		dgi_estimate_metis(m->joined->n_nodes, m->joined->n_edges).memory_bytes;

	if (needed <= allowed)
		return DG_OK;
	return dgi_fail(err, DG_UNSUPPORTED,
			"method metis needs about %" PRIu64 " MiB for %" PRId64
			" nodes and %" PRId64 " edges, %s %" PRIu64 " MiB; use method stream",
			needed >> 20, m->joined->n_nodes, m->joined->n_edges,
			m->request->memory ? "allowed are" : "this machine has", allowed >> 20);
}

/* METIS is not asked about a graph without edges: any even cut is as good, and types stay even. */
static void assign_evenly(int64_t n_nodes, uint32_t n_parts, uint16_t *owners)
{
	for (int64_t i = 0; i < n_nodes; i++)
		owners[i] = (uint16_t)(i % n_parts);
}

/* METIS has been seen to crash on graphs of almost no edges: the graph is cut all the same. */
static dg_status cut_without_metis(const struct metis *m, const dg_error *fault, uint16_t *owners,
				   struct dgi_assign_report *report, dg_error *err)
{
	struct dgi_assign_request request = *m->request;

	dgi_log(DG_LOG_WARNING, "%s: method stream cuts the graph instead", fault->text);
	request.objective = DGI_OBJECTIVE_CUT;
	report->method = "stream";
	return dgi_method_stream(&request, m->joined, owners, report, err);
}

static dg_status cut(struct metis *m, uint16_t *owners, struct dgi_assign_report *report,
		     dg_error *err)
{
	const int64_t n_nodes = m->joined->n_nodes;
	dg_error fault = { 0 };
	dg_status st = dgi_neighbours_make(m->joined, m->request->progress, &m->graph, err);

	report->n_passes = 2;
	report->n_constraints = 1;
	if (st)
		return st;
	if (m->graph.start[n_nodes] == 0) {
		assign_evenly(n_nodes, m->request->n_parts, owners);
		return DG_OK;
	}
	m->owners = dgi_metis_owners_new(m->graph.n);
	if (!m->owners)
		return dgi_fail_memory(err, "method metis");
	st = try_wishes(m, &report->n_constraints, &fault);
	if (st && m->asks_less)
		return cut_without_metis(m, &fault, owners, report, err);
	if (st && err)
		*err = fault;
	for (int64_t v = 0; !st && v < n_nodes; v++)
		owners[v] = (uint16_t)m->owners[v];
	return st;
}

dg_status dgi_method_metis(const struct dgi_assign_request *request, const struct dgi_joined *graph,
			   uint16_t *owners, struct dgi_assign_report *report, dg_error *err)
{
	struct metis m = { .request = request, .joined = graph };
	dg_status st = dgi_neighbours_check(graph->n_nodes, graph->n_edges, err);

	if (!st)
		st = check_memory(&m, err);
	/* METIS is no good at parts of one node. */
	if (!st && graph->n_nodes <= request->n_parts) {
		assign_evenly(graph->n_nodes, request->n_parts, owners);
		report->n_constraints = 1;
		return DG_OK;
	}
	if (!st)
		st = cut(&m, owners, report, err);
	dgi_neighbours_clear(&m.graph);
	dgi_metis_owners_free(m.owners, (idx_t)graph->n_nodes);
	return st;
}
