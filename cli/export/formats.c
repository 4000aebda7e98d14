// SPDX-License-Identifier: MIT
#include "cli/export/rows/format.h"

extern const struct export_format export_perfetto, export_chrome_json, export_torch,
	export_rocprofv3, export_csv, export_rpd, export_rocpd, export_aorta;

const struct export_format *const export_formats[] = {
	&export_perfetto,
	&export_chrome_json,
	&export_torch,
	&export_rocprofv3,
	&export_csv,
	&export_rpd,
	&export_rocpd,
	&export_aorta,
};
const size_t export_format_count = sizeof(export_formats) / sizeof(*export_formats);
