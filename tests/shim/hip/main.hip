// SPDX-License-Identifier: MIT
// hip-scenes SCENE [N [M]] [CODE_OBJECT...]
#include "tests/shim/hip/scene.h"

#include <cstring>

struct scene {
	const char *name;
	void (*run)(const scene_args &args);
};

static const scene scenes[] = {
	{"streams", scene_streams},
	{"threads", scene_threads},
	{"flood", scene_flood},
	{"elapsed", scene_elapsed},
	{"extlaunch", scene_extlaunch},
	{"callbacks", scene_callbacks},
	{"coop", scene_coop},
	{"memory", scene_memory},
	{"peers", scene_peers},
	{"devices", scene_devices},
	{"reset", scene_reset},
	{"modules", scene_modules},
	{"shapes", scene_shapes},
	{"graph", scene_graph},
	{"forks", scene_forks},
	{"captured", scene_captured},
	{"steady", scene_steady},
	{"dies", scene_dies},
	{"seen", scene_seen},
	{"waits", scene_waits},
};

static int usage()
{
	fprintf(stderr, "usage: hip-scenes SCENE [N [M [CODE_OBJECT...]]], SCENE one of");
	for (const scene &s : scenes)
		fprintf(stderr, " %s", s.name);
	fprintf(stderr, "\n");
	return 2;
}

int main(int argc, char **argv)
{
	scene_args args = {};

	if (argc < 2 || argc > 6)
		return usage();
	args.n = argc > 2 ? strtoul(argv[2], nullptr, 10) : 0;
	args.m = argc > 3 ? strtoul(argv[3], nullptr, 10) : 0;
	for (int i = 4; i < argc; i++)
		args.path[i - 4] = argv[i];
	for (const scene &s : scenes) {
		if (strcmp(s.name, argv[1]) != 0)
			continue;
		s.run(args);
		return 0;
	}
	return usage();
}
