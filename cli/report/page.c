// SPDX-License-Identifier: MIT
/*
 * The frame around the sessions. The content security policy allows only styles and scripts of this
 * build, identified by their hashes: no network, and no script that a name could inject.
 */
#include "cli/output/html.h"
#include "cli/report/report.h"
#include "cli/report/report_assets.h"

static void put_hashes(bool is_style, FILE *to)
{
	for (const struct report_asset *asset = report_assets; asset->name; asset++) {
		struct html_base64 base64 = {.to = to};

		if (asset->is_notice || asset->is_style != is_style)
			continue;
		fputs(" 'sha256-", to);
		html_base64_put(&base64, asset->sha256, sizeof(asset->sha256));
		html_base64_finish(&base64);
		fputc('\'', to);
	}
}

static void put_title(const struct report_part *parts, size_t count, FILE *to)
{

	fputs("<title>", to);
	for (size_t i = 0; i < count; i++) {
		if (i)
			fputs(", ", to);
		if (parts[i].figures.is_simulated)
			fputs("SIMULATED ", to);
		html_put(to, parts[i].figures.label);
	}
	fputs(" - rtl report</title>\n", to);
}

void report_put_head(const struct report_part *parts, size_t count, FILE *to)
{

	fputs("<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
	      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
	      "base-uri 'none'; form-action 'none'; img-src data:; script-src",
		to);
	put_hashes(false, to);
	fputs("; style-src", to);
	put_hashes(true, to);
	fputs("\">\n<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=color-scheme content=\"light dark\">\n"
	      "<meta name=generator content=\"rtl " RTL_VERSION
	      "\">\n<link rel=icon href=\"data:,\">\n",
		to);
	put_title(parts, count, to);
	for (const struct report_asset *asset = report_assets; asset->name; asset++) {
		if (asset->is_notice)
			fprintf(to, "<!-- %s -->\n", asset->text);
		else if (asset->is_style)
			fprintf(to, "<style>%s</style>\n", asset->text);
	}
	fputs("</head>\n<body>\n<nav aria-label=contents></nav>\n<main>\n", to);
}

void report_put_scripts(FILE *to)
{
	fputs("</main>\n<footer>Written by rtl " RTL_VERSION
	      "; what the figures mean: docs/commands.md.</footer>\n",
		to);
	for (const struct report_asset *asset = report_assets; asset->name; asset++)
		if (!asset->is_style && !asset->is_notice)
			fprintf(to, "<script>%s</script>\n", asset->text);
	fputs("</body>\n</html>\n", to);
}
