#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What examples/ has for administrators: run, or at least read by a linter. train.py and slurm/ are in launchers.real.
load lib.bash
bats_require_minimum_version 1.5.0
examples=$here/../../examples

@test "the Environment Module puts rtl and its manual into reach, and takes them away again" {
	mkdir -p modules opt/bin opt/share/man/man1
	ln -s "$rtl" opt/bin/rtl
	sed "s|^set root .*|set root $work/opt|" "$examples/modules/rtl" >modules/rtl
	export MODULEPATH=$work/modules
	local before=$PATH
	eval "$(modulecmd bash load rtl)"
	[ "$(command -v rtl)" = "$work/opt/bin/rtl" ]
	rtl --version
	[[ :$MANPATH: == *":$work/opt/share/man:"* ]]
	eval "$(modulecmd bash unload rtl)"
	[ "$PATH" = "$before" ]
	run -0 modulecmd bash whatis rtl
	[[ $output == *"a profiler for AMD GPU jobs"* ]]
}

@test "the manifests for Kubernetes are YAML without a fault, and agree on where the socket is" {
	yamllint --strict -d '{extends: default, rules: {line-length: {max: 120}, document-start: disable, braces: {max-spaces-inside: 0}}}' \
		"$examples"/kubernetes/*.yaml
	python3 - "$examples"/kubernetes/*.yaml <<-'END'
		import sys, yaml
		daemon, pod = (yaml.safe_load(open(path)) for path in sys.argv[1:])
		spec = daemon["spec"]["template"]["spec"]
		assert spec["hostPID"] is True
		mounts = {m["name"]: m["mountPath"] for m in spec["containers"][0]["volumeMounts"]}
		volumes = {v["name"]: v["hostPath"]["path"] for v in spec["volumes"]}
		assert mounts == volumes == {"sockets": "/run/rtl", "store": "/var/lib/rtl"}, (mounts, volumes)
		assert daemon["spec"]["selector"]["matchLabels"].items() <= daemon["spec"]["template"]["metadata"]["labels"].items()
		mounts = {m["name"]: m["mountPath"] for m in pod["spec"]["containers"][0]["volumeMounts"]}
		assert mounts["rtl-sockets"] == "/run/rtl", mounts
	END
	# Its arguments are options that collectord has.
	python3 -c 'import sys, yaml; print("\n".join(yaml.safe_load(open(sys.argv[1]))["spec"]["template"]["spec"]["containers"][0]["args"]))' \
		"$examples/kubernetes/daemonset.yaml" >arguments
	mapfile -t arguments <arguments
	run -0 "$collectord" --check "${arguments[@]}"
}

@test "an example that no test runs or lints says so in its first line" {
	head -n 1 "$examples/docker/Dockerfile" | grep -q '^# untested: '
	for file in "$examples"/kubernetes/*.yaml; do
		head -n 1 "$file" | grep -q '^# untested on a cluster; '
	done
}
