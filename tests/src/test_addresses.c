/* What src/graph/addresses.c promises. */
#include "test.h"

#include "address.h"
#include "cluster.h"
#include "lock.h"
#include "server_record.h"
#include "tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *dir; /* holds part0, part1, part2 */
static char *ip_config;

static int set_up(void **state)
{
	(void)state;
	dir = tmpdir_new();
	ip_config = tmpdir_path(dir, "ip_config.txt");
	for (int p = 0; p < 3; p++) {
		char name[16];
		char *path;

		(void)snprintf(name, sizeof name, "part%d", p);
		path = tmpdir_path(dir, name);
		if (mkdir(path, 0700) != 0)
			return -1;
		free(path);
	}
	return unsetenv("DGL_IP_CONFIG");
}

static int tear_down(void **state)
{
	(void)state;
	free(ip_config);
	tmpdir_remove(dir);
	return 0;
}

/* A cluster of three partitions; @part1 is put into the object of partition 1. */
static dg_cluster *cluster_with(const char *part1)
{
	char text[1000];
	dg_cluster *cluster = NULL;
	dg_error err = { 0 };
	int n = snprintf(text, sizeof text,
			 "{\"graph_name\": \"g\", \"part_method\": \"m\", \"num_parts\": 3,"
			 " \"num_nodes\": 3, \"num_edges\": 0, \"node_map\": [1, 2, 3],"
			 " \"edge_map\": [0, 0, 0], \"part-0\": {\"part_graph\": \"part0/g\"},"
			 " \"part-1\": {\"part_graph\": \"part1/g\"%s},"
			 " \"part-2\": {\"part_graph\": \"part2/g\"}}",
			 part1);

	assert_ok(dgi_cluster_decode(text, (size_t)n, dir, &cluster, &err), &err);
	return cluster;
}

static void write_ip_config(const char *text)
{
	FILE *f = fopen(ip_config, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* The addresses of @part are those of @wanted, which ends with NULL. */
static void assert_addresses(const dg_cluster *cluster, uint32_t part, const char *config,
			     int running, const char *const *wanted)
{
	dg_error err = { 0 };
	char **found;
	size_t n;

	assert_ok(dg_cluster_addresses(cluster, part, config, running, &found, &n, &err), &err);
	for (size_t i = 0; wanted[i]; i++) {
		assert_true(i < n);
		assert_string_equal(found[i], wanted[i]);
		assert_null(wanted[i + 1] ? NULL : found[i + 1]);
	}
	if (!wanted[0])
		assert_int_equal(n, 0);
	dg_free(found);
}

static void assert_one(const dg_cluster *cluster, uint32_t part, const char *wanted)
{
	assert_addresses(cluster, part, ip_config, 0, (const char *const[]){ wanted, NULL });
}

static void line_i_is_partition_i_with_a_default_port(void **state)
{
	dg_cluster *cluster = cluster_with("");

	(void)state;
	write_ip_config("10.0.0.1 9000\n10.0.0.2\nhost.example \t 7\n");
	assert_one(cluster, 0, "10.0.0.1:9000");
	assert_one(cluster, 1, "10.0.0.2:30050");
	assert_one(cluster, 2, "host.example:7");
	write_ip_config("10.0.0.1\r\n10.0.0.2\r\n10.0.0.3\n\n \n");
	assert_one(cluster, 2, "10.0.0.3:30050");
	write_ip_config("10.0.0.1\n10.0.0.2\n10.0.0.3");
	assert_one(cluster, 2, "10.0.0.3:30050");
	dg_cluster_close(cluster);
}

static void one_host_on_several_lines_gets_following_ports(void **state)
{
	dg_cluster *cluster = cluster_with("");

	(void)state;
	write_ip_config("h\nh\nh\n");
	assert_one(cluster, 0, "h:30050");
	assert_one(cluster, 1, "h:30051");
	assert_one(cluster, 2, "h:30052");
	write_ip_config("h\nh 9\nh\n");
	assert_one(cluster, 1, "h:9");
	assert_one(cluster, 2, "h:30051");
	dg_cluster_close(cluster);
}

static void assert_refused(const char *text, const char *part)
{
	dg_cluster *cluster = cluster_with("");
	dg_error err = { 0 };
	char **found;
	size_t n;

	write_ip_config(text);
	assert_fails(dg_cluster_addresses(cluster, 0, ip_config, 0, &found, &n, &err), DG_INVALID,
		     &err, part);
	assert_non_null(strstr(err.text, ip_config));
	dg_cluster_close(cluster);
}

static void a_malformed_line_is_named(void **state)
{
	char longest[600];

	(void)state;
	assert_refused("h\nh 99999\nh\n", "line 2: address 'h 99999': port '99999'");
	assert_refused("h\nh 1 2\nh\n", "line 2");
	assert_refused("h\n\nh\n", "line 2: empty, want host [port]");
	assert_refused("h\nh\n", "2 lines, the graph has 3 partitions");
	assert_refused("h\nh\nh\nh\n", "4 lines, the graph has 3 partitions");
	assert_refused("", "0 lines");
	memset(longest, 'h', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	assert_refused(longest, "line 1: 599 bytes");
}

static void the_rules_come_in_order(void **state)
{
	static const char with_address[] = ", \"address\": [\"h:1\", \"h2\", \"unix:/s\"]";
	dg_cluster *cluster = cluster_with(with_address);
	static const char *const of_cluster[] = { "unix:/s", "h:1", "h2:30050", NULL };
	static const char *const of_config[] = { "b:30050", NULL };

	(void)state;
	assert_addresses(cluster, 1, NULL, 0, of_cluster);
	write_ip_config("a\nb\nc\n");
	assert_int_equal(setenv("DGL_IP_CONFIG", ip_config, 1), 0);
	assert_addresses(cluster, 1, NULL, 0, of_config);
	assert_int_equal(setenv("DGL_IP_CONFIG", "/nowhere", 1), 0);
	assert_addresses(cluster, 1, ip_config, 0, of_config);
	assert_int_equal(setenv("DGL_IP_CONFIG", "", 1), 0);
	assert_addresses(cluster, 1, NULL, 0, of_cluster);
	assert_int_equal(unsetenv("DGL_IP_CONFIG"), 0);
	dg_cluster_close(cluster);
}

static void without_any_rule_it_is_the_socket_in_the_store(void **state)
{
	dg_cluster *cluster = cluster_with("");
	char *real = realpath(dir, NULL);
	char wanted[4200];
	dg_error err = { 0 };
	char **found;
	size_t n;

	(void)state;
	(void)snprintf(wanted, sizeof wanted, "unix:%s/part2/serve.sock", real);
	assert_addresses(cluster, 2, NULL, 0, (const char *const[]){ wanted, NULL });
	assert_addresses(cluster, 2, NULL, 1, (const char *const[]){ wanted, NULL });
	free(real);
	assert_fails(dg_cluster_addresses(cluster, 3, NULL, 0, &found, &n, &err), DG_RANGE, &err,
		     "partition 3: the graph has 3");
	dg_cluster_close(cluster);
}

static void what_a_running_server_says_comes_first(void **state)
{
	struct dgi_server_record record = {
		.pid = getpid(),
		.n_addresses = 2,
		.addresses = { "127.0.0.1:9", "unix:/r" },
	};
	static const char *const running[] = { "unix:/r", "unix:/s", "127.0.0.1:9", NULL };
	dg_cluster *cluster = cluster_with(", \"address\": [\"127.0.0.1:9\", \"unix:/s\"]");
	static const char *const stopped[] = { "unix:/s", "127.0.0.1:9", NULL };
	struct dgi_lock *lock;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_lock_take(dg_cluster_part_path(cluster, 1), true, &lock, &err), &err);
	assert_ok(dgi_server_record_write(dg_cluster_part_path(cluster, 1), &record, &err), &err);
	assert_addresses(cluster, 1, NULL, 1, running);
	assert_addresses(cluster, 1, NULL, 0, stopped);
	dgi_lock_release(lock);
	assert_addresses(cluster, 1, NULL, 1, stopped);
	dgi_server_record_remove(dg_cluster_part_path(cluster, 1));
	dg_cluster_close(cluster);
}

static void a_long_path_has_its_socket_elsewhere(void **state)
{
	static const char *const none[] = { NULL };
	struct dgi_server_record record = { .pid = getpid(), .store_uuid = { { 0xab } } };
	static const char wanted[] =
		"unix:/run/x/distgraph-ab000000-0000-0000-0000-000000000000.sock";
	char name[150], *outer = dir, *far;
	struct dgi_lock *lock;
	dg_cluster *cluster;
	dg_error err = { 0 };

	(void)state;
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	dir = tmpdir_path(outer, name);
	far = tmpdir_path(dir, "part0");
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(mkdir(far, 0700), 0);
	cluster = cluster_with("");
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "/run/x", 1), 0);
	assert_addresses(cluster, 0, NULL, 1, none);
	assert_ok(dgi_lock_take(far, true, &lock, &err), &err);
	assert_ok(dgi_server_record_write(far, &record, &err), &err);
	assert_addresses(cluster, 0, NULL, 1, (const char *const[]){ wanted, NULL });
	dgi_lock_release(lock);
	dg_cluster_close(cluster);
	free(far);
	free(dir);
	dir = outer;
}

static void an_address_that_is_none_names_its_field(void **state)
{
	dg_cluster *cluster = cluster_with(", \"address\": [\"h:x\"]");
	dg_error err = { 0 };
	char **found;
	size_t n;

	(void)state;
	assert_fails(dg_cluster_addresses(cluster, 1, NULL, 0, &found, &n, &err), DG_INVALID, &err,
		     "partition 1: field \"address\" of the cluster file: address 'h:x'");
	dg_cluster_close(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_i_is_partition_i_with_a_default_port),
		cmocka_unit_test(one_host_on_several_lines_gets_following_ports),
		cmocka_unit_test(a_malformed_line_is_named),
		cmocka_unit_test(the_rules_come_in_order),
		cmocka_unit_test(without_any_rule_it_is_the_socket_in_the_store),
		cmocka_unit_test(what_a_running_server_says_comes_first),
		cmocka_unit_test(a_long_path_has_its_socket_elsewhere),
		cmocka_unit_test(an_address_that_is_none_names_its_field),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
