/* SPDX-License-Identifier: MIT
 *
 * libxml2 at work: builds, parses, searches and prints documents: relinked-xml DIRECTORY. */
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <time.h>

#include "program.h"

/* libxml2 seeds its hash tables with the time, and so would allocate otherwise in each run. */
time_t time(time_t *result)
{
	if (result)
		*result = 1;
	return 1;
}

static char *document(size_t items)
{
	size_t size = 200 * items + 100, used = 0;
	char *text = keep(malloc(size));

	CHECK(text);
	used += (size_t)snprintf(text + used, size - used, "<?xml version=\"1.0\"?>\n<shop xmlns:s=\"urn:s\">\n");
	for (size_t i = 0; i < items; i++)
		used += (size_t)snprintf(text + used, size - used,
					 "<item id=\"%zu\" s:kind=\"k%zu\"><name>Item &amp; %zu</name><price>%zu</price></item>\n", i,
					 i % 17, i, i * 31 % 1000);
	snprintf(text + used, size - used, "</shop>\n");
	return text;
}

static void search(xmlDocPtr parsed, const char *path)
{
	xmlXPathContextPtr context = xmlXPathNewContext(parsed);
	xmlXPathObjectPtr found;

	CHECK(context && xmlXPathRegisterNs(context, BAD_CAST "s", BAD_CAST "urn:s") == 0);
	found = xmlXPathEvalExpression(BAD_CAST path, context);
	CHECK(found);
	printf("%s: %d nodes, %.0f\n", path, found->nodesetval ? found->nodesetval->nodeNr : 0, found->floatval);
	xmlXPathFreeObject(found);
	xmlXPathFreeContext(context);
}

int main(int argc, char **argv)
{
	char *text;
	xmlDocPtr parsed;
	xmlChar *printed;
	int length;

	CHECK(argc == 2);
	track(argv[1], 0, 0);
	text = document(3000);
	for (int round = 0; round < 3; round++) {
		parsed = xmlReadMemory(text, (int)strlen(text), "shop.xml", NULL, 0);
		CHECK(parsed);
		search(parsed, "//item[@s:kind='k3']/name");
		search(parsed, "sum(//price)");
		search(parsed, "count(//item[price > 500])");
		xmlDocDumpFormatMemoryEnc(parsed, &printed, &length, "ISO-8859-1", 1);
		printf("%d bytes\n", length);
		xmlFree(printed);
		xmlFreeDoc(parsed);
	}
	free(text);
	xmlCleanupParser();
	untrack();
	return 0;
}
