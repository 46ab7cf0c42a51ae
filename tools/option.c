/* option.c -- parse a table of options, and print it as usage. */
#include "option.h"

#include "report.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the column of explanations begins. */
enum { HELP_COLUMN = 32 };

int option_usage_error(const struct option_set *set, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "distgraph %s: ", set->command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nTry 'distgraph %s --help'.\n", set->command);
	return EXIT_USAGE;
}

static void print_option(const struct option *option)
{
	char left[80];
	char letter[5] = "    ";

	if (option->letter)
		(void)snprintf(letter, sizeof letter, "-%c, ", option->letter);
	(void)snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name,
		       option->value ? " " : "", option->value ? option->value : "");
	if (strlen(left) + 2 > HELP_COLUMN)
		printf("%s\n%*s%s\n", left, HELP_COLUMN, "", option->help);
	else
		printf("%-*s%s\n", HELP_COLUMN, left, option->help);
}

static void print_help(const struct option_set *set)
{
	const struct option help = { .name = "help", .letter = 'h', .help = "show this text" };

	printf("usage: distgraph %s %s\n\n%s\noptions:\n", set->command, set->arguments,
	       set->about);
	for (size_t i = 0; i < set->n_options; i++)
		print_option(&set->options[i]);
	print_option(&help);
	printf("\nexamples:\n%s", set->examples);
}

static int set_number(const struct option_set *set, const struct option *option, const char *value)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (!isdigit((unsigned char)value[0]) || *end)
		return option_usage_error(set, "--%s: '%s' is not a number", option->name, value);
	if (errno || (option->max && number > option->max))
		return option_usage_error(
			set, "--%s: %s is too large, at most %llu", option->name, value,
			(unsigned long long)(option->max ? option->max : UINT64_MAX));
	*option->number = number;
	return OPTION_GO;
}

static int add_text(const struct option *option, const char *value)
{
	struct option_texts *texts = option->texts;
	const char **items = realloc(texts->items, (texts->n + 1) * sizeof *items);

	if (!items)
		return report("out of memory");
	items[texts->n++] = value;
	texts->items = items;
	return OPTION_GO;
}

static int set_value(const struct option_set *set, const struct option *option, const char *value)
{
	if (option->number)
		return set_number(set, option, value);
	if (option->texts)
		return add_text(option, value);
	*option->text = value;
	return OPTION_GO;
}

static const struct option *find_long(const struct option_set *set, const char *name, size_t n)
{
	for (size_t i = 0; i < set->n_options; i++)
		if (strlen(set->options[i].name) == n && !memcmp(set->options[i].name, name, n))
			return &set->options[i];
	return NULL;
}

static const struct option *find_letter(const struct option_set *set, char letter)
{
	for (size_t i = 0; i < set->n_options; i++)
		if (set->options[i].letter == letter)
			return &set->options[i];
	return NULL;
}

/* "--name", "--name=value" or "--name value"; *i moves past what was used. */
static int parse_long(const struct option_set *set, int argc, char **argv, int *i)
{
	const char *name = argv[*i] + 2;
	size_t n = strcspn(name, "=");
	const char *value = name[n] ? name + n + 1 : NULL;
	const struct option *option = find_long(set, name, n);

	if (!option)
		return option_usage_error(set, "unknown option '--%.*s'", (int)n, name);
	if (option->flag) {
		if (value)
			return option_usage_error(set, "--%s takes no value", option->name);
		*option->flag = true;
		return OPTION_GO;
	}
	if (!value && *i + 1 < argc)
		value = argv[++*i];
	if (!value)
		return option_usage_error(set, "--%s needs a value: %s", option->name,
					  option->value);
	return set_value(set, option, value);
}

/* "-n4", "-n 4" or flags in a row as "-ab". */
static int parse_letters(const struct option_set *set, int argc, char **argv, int *i)
{
	for (const char *letter = argv[*i] + 1; *letter; letter++) {
		const struct option *option = find_letter(set, *letter);

		if (!option)
			return option_usage_error(set, "unknown option '-%c'", *letter);
		if (option->flag) {
			*option->flag = true;
			continue;
		}
		if (letter[1])
			return set_value(set, option, letter + 1);
		if (*i + 1 >= argc)
			return option_usage_error(set, "-%c needs a value: %s", *letter,
						  option->value);
		return set_value(set, option, argv[++*i]);
	}
	return OPTION_GO;
}

static bool is_help(const char *argument)
{
	return !strcmp(argument, "--help") || !strcmp(argument, "-h");
}

static bool is_option(const char *argument)
{
	return argument[0] == '-' && argument[1] && !isdigit((unsigned char)argument[1]);
}

static int check_count(const struct option_set *set, size_t n, char **arguments)
{
	if (n < set->n_arguments_min)
		return option_usage_error(set, "too few arguments, wanted: %s", set->arguments);
	if (n > set->n_arguments_max)
		return option_usage_error(set, "unexpected argument '%s', wanted: %s",
					  arguments[set->n_arguments_max], set->arguments);
	return OPTION_GO;
}

int option_parse(const struct option_set *set, int argc, char **argv, size_t *n)
{
	bool options_end = false;
	int code;

	*n = 0;
	for (int i = 1; i < argc; i++) {
		code = OPTION_GO;
		if (options_end || !is_option(argv[i])) {
			argv[(*n)++] = argv[i];
		} else if (!strcmp(argv[i], "--")) {
			options_end = true;
		} else if (is_help(argv[i])) {
			print_help(set);
			return EXIT_DONE;
		} else if (argv[i][1] == '-') {
			code = parse_long(set, argc, argv, &i);
		} else {
			code = parse_letters(set, argc, argv, &i);
		}
		if (code != OPTION_GO)
			return code;
	}
	return check_count(set, *n, argv);
}

int option_bytes(const struct option_set *set, const char *name, const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	char *end;
	unsigned long long number;
	unsigned shift = 0;
	const char *unit;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (end != text && *end && !end[1] &&
	    (unit = strchr(units, toupper((unsigned char)*end)))) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (end == text || *end || text[0] == '-')
		return option_usage_error(
			set, "--%s: '%s' is no number of bytes, such as 512M or 8G", name, text);
	if (errno || number > UINT64_MAX >> shift)
		return option_usage_error(set, "--%s: %s is too large", name, text);
	*bytes = (uint64_t)number << shift;
	return OPTION_GO;
}

void option_texts_clear(struct option_texts *texts)
{
	free(texts->items);
	*texts = (struct option_texts){ 0 };
}
