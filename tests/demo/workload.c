/* SPDX-License-Identifier: MIT
 *
 * The demonstration's workload: a shop in an in-memory SQLite database. It does what programs do to a heap: short-lived strings and
 * statements, a cache that grows, joins and sorts that need much for a moment, and a leak. Its output is the same in each run.
 *
 * usage: workload DIRECTORY    records itself into DIRECTORY/rip-<pid> and prints that path after what it computed */
#define _GNU_SOURCE
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rheaper.h>
#include <sqlite3.h>

#define CUSTOMERS 2000
#define ORDERS 60000
#define LOOKUPS 100000
#define FORGOTTEN 250 /* every so many lookups one result is not given back */

/* Numbers that look random and are the same everywhere (Knuth, The Art of Computer Programming 2, 3.3.4: the MMIX generator). */
static uint32_t draw(uint32_t limit)
{
	static uint64_t state = 42;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % limit);
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "workload: %s: %s\n", what, why);
	exit(1);
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		die(sql, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		die(sql, sqlite3_errmsg(db));
	return statement;
}

static void *must(void *block)
{
	if (!block)
		die("malloc", "out of memory");
	return block;
}

/* ---- Filling the tables ---- */

static char *customer_name(unsigned id)
{
	static const char *const given[] = {"Ada", "Alan", "Barbara", "Donald", "Edsger", "Grace", "Niklaus", "Tony"};
	static const char *const family[] = {"Dijkstra", "Hoare", "Hopper", "Knuth", "Liskov", "Lovelace", "Turing", "Wirth"};
	char *name;

	if (asprintf(&name, "%s %s %u", given[draw(8)], family[draw(8)], id) < 0)
		die("asprintf", "out of memory");
	return name;
}

static void add_customers(sqlite3 *db)
{
	sqlite3_stmt *insert = prepare(db, "INSERT INTO customers(id, name, city) VALUES(?, ?, ?)");

	for (unsigned id = 1; id <= CUSTOMERS; id++) {
		char *name = customer_name(id);

		sqlite3_bind_int(insert, 1, (int)id);
		sqlite3_bind_text(insert, 2, name, -1, SQLITE_TRANSIENT);
		sqlite3_bind_int(insert, 3, (int)draw(40));
		if (sqlite3_step(insert) != SQLITE_DONE)
			die("customers", sqlite3_errmsg(db));
		sqlite3_reset(insert);
		free(name);
	}
	sqlite3_finalize(insert);
}

static void add_orders(sqlite3 *db)
{
	sqlite3_stmt *insert = prepare(db, "INSERT INTO orders(customer, article, price, note) VALUES(?, ?, ?, ?)");

	for (unsigned i = 0; i < ORDERS; i++) {
		size_t length = 8 + draw(120);
		char *note = must(malloc(length + 1));

		memset(note, 'a' + (int)draw(26), length);
		note[length] = '\0';
		sqlite3_bind_int(insert, 1, (int)draw(CUSTOMERS) + 1);
		sqlite3_bind_int(insert, 2, (int)draw(500));
		sqlite3_bind_int(insert, 3, (int)draw(10000));
		sqlite3_bind_text(insert, 4, note, (int)length, free); /* SQLite gives it back */
		if (sqlite3_step(insert) != SQLITE_DONE)
			die("orders", sqlite3_errmsg(db));
		sqlite3_reset(insert);
	}
	sqlite3_finalize(insert);
}

/* ---- A cache that grows ---- */

struct entry {
	char *name;
	struct entry *next;
};
static struct entry *cache[CUSTOMERS / 4];
static unsigned cached;

static const char *cache_find(unsigned customer)
{
	struct entry *e = cache[customer % (CUSTOMERS / 4)];

	for (; e; e = e->next)
		if (strtoul(strrchr(e->name, ' ') + 1, NULL, 10) == customer)
			return e->name;
	return NULL;
}

static const char *cache_add(unsigned customer, const char *name)
{
	struct entry **head = &cache[customer % (CUSTOMERS / 4)], *e = must(malloc(sizeof(*e)));

	e->name = must(strdup(name));
	e->next = *head;
	*head = e;
	cached++;
	return e->name;
}

static const char *lookup(sqlite3 *db, unsigned customer)
{
	const char *name = cache_find(customer);
	sqlite3_stmt *select;

	if (name)
		return name;
	select = prepare(db, "SELECT name FROM customers WHERE id = ?");
	sqlite3_bind_int(select, 1, (int)customer);
	if (sqlite3_step(select) != SQLITE_ROW)
		die("lookup", sqlite3_errmsg(db));
	name = cache_add(customer, (const char *)sqlite3_column_text(select, 0));
	sqlite3_finalize(select);
	return name;
}

static void empty_cache(void)
{
	for (size_t i = 0; i < CUSTOMERS / 4; i++)
		for (struct entry *e = cache[i], *next; e; e = next) {
			next = e->next;
			free(e->name);
			free(e);
		}
}

/* ---- Work ---- */

static char *greeting(const char *name)
{
	char *text;

	if (asprintf(&text, "Dear %s,", name) < 0)
		die("asprintf", "out of memory");
	return text;
}

static unsigned long greet(sqlite3 *db)
{
	unsigned long bytes = 0;

	for (unsigned i = 1; i <= LOOKUPS; i++) {
		char *text = greeting(lookup(db, draw(CUSTOMERS) + 1));

		bytes += strlen(text);
		if (i % FORGOTTEN != 0) /* the intended leak */
			free(text);
	}
	return bytes;
}

static void print_rows(sqlite3 *db, const char *title, const char *sql)
{
	sqlite3_stmt *select = prepare(db, sql);
	int result;

	puts(title);
	while ((result = sqlite3_step(select)) == SQLITE_ROW)
		printf("  %-24s %10lld\n", (const char *)sqlite3_column_text(select, 0), (long long)sqlite3_column_int64(select, 1));
	if (result != SQLITE_DONE)
		die(sql, sqlite3_errmsg(db));
	sqlite3_finalize(select);
}

static void reports(sqlite3 *db)
{
	print_rows(
	    db, "best customers",
	    "SELECT c.name, sum(o.price) FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.id ORDER BY 2 DESC, 1 LIMIT 3");
	print_rows(db, "best cities",
		   "SELECT 'city ' || c.city, sum(o.price) FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.city "
		   "ORDER BY 2 DESC LIMIT 3");
	print_rows(db, "most noted letters",
		   "SELECT 'letter ' || substr(note, 1, 1), sum(length(note)) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 3");
}

int main(int argc, char **argv)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;
	char profile[PATH_MAX];
	sqlite3 *db;
	int error;

	if (argc != 2) {
		fprintf(stderr, "usage: workload DIRECTORY\n");
		return 2;
	}
	config.profile_dir = argv[1];
	error = rheaper_enable_tracking(&config, profile, sizeof(profile));
	if (error)
		die(argv[1], rheaper_strerror(error));

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		die("open", sqlite3_errmsg(db));
	run(db, "CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, city INTEGER);"
		"CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, article INTEGER, price INTEGER, note TEXT);"
		"BEGIN");
	add_customers(db);
	add_orders(db);
	run(db, "COMMIT; CREATE INDEX orders_customer ON orders(customer)");
	rheaper_mark("filled");
	printf("%lu bytes of greetings", greet(db));
	printf(", %u names cached\n", cached);
	rheaper_mark("greeted");
	reports(db);
	empty_cache();
	sqlite3_close(db);

	error = rheaper_disable_tracking();
	if (error)
		die(profile, rheaper_strerror(error));
	puts(profile);
	return 0;
}
