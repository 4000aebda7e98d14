/* SPDX-License-Identifier: MIT */
/* Which container the cgroup of a process names, and what its recorders are called. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/service/container.h"
#include "collectord/service/listen.h"
#include "tests/lib/test.h"

#define POD	   "6b1f0c2e-3f43-4c7e-9a51-0d7c5c1f0a01"
#define POD_SYSTEM "6b1f0c2e_3f43_4c7e_9a51_0d7c5c1f0a01"
#define ID	   "4f6d0e9a1b2c3d4e5f60718293a4b5c6d7e8f90112233445566778899aabbccd"

static void expect(const char *cgroup, const char *name)
{
	char found[CONTAINER_NAME_BYTES];
	bool is = container_parse(cgroup, found);

	assert_int_equal(is, name != NULL);
	if (name)
		assert_string_equal(found, name);
}

TEST_CASE(pods_and_containers_of_root_are_found)
{
	expect("0::/kubepods/burstable/pod" POD "/" ID "\n", POD);
	expect("0::/kubepods/pod" POD "/" ID "\n", POD);
	expect("0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_SYSTEM
	       ".slice/cri-containerd-" ID ".scope\n",
		POD);
	expect("0::/kubepods.slice/kubepods-pod" POD_SYSTEM ".slice/crio-" ID ".scope\n", POD);
	expect("0::/system.slice/docker-" ID ".scope\n", ID);
	expect("0::/machine.slice/libpod-" ID ".scope/container\n", ID);
	expect("12:pids:/\n5:memory:/docker/" ID "\n0::/\n", ID);
	/* The first one from the top counts. */
	expect("0::/kubepods/pod" POD "/x/kubepods/pod00000000-0000\n", POD);
}

/* The paths that a service sees which runs in a pod or a container. */
TEST_CASE(pods_and_containers_beside_the_service_are_found)
{
	expect("0::/../../../kubepods.slice/kubepods-pod" POD_SYSTEM ".slice/crio-" ID ".scope\n",
		POD);
	expect("0::/../../kubepods-besteffort.slice/kubepods-besteffort-pod" POD_SYSTEM
	       ".slice/cri-containerd-" ID ".scope\n",
		POD);
	expect("0::/../../kubepods-besteffort-pod" POD_SYSTEM ".slice/crio-" ID ".scope\n", POD);
	expect("4:memory:/../../pod" POD "/" ID "\n", POD);
	expect("4:memory:/../../../burstable/pod" POD "/" ID "\n", POD);
	expect("0::/../cri-containerd-" ID ".scope\n", ID);
	expect("0::/../docker-" ID ".scope\n", ID);
	expect("4:memory:/../" ID "\n", ID);
	expect("4:memory:/../../docker/" ID "\n", ID);

	expect("0::/\n", NULL);
	expect("0::/../..\n", NULL);
	expect("0::/../../../system.slice/sshd.service\n", NULL);
	expect("0::/../../../user.slice/user-1000.slice/user@1000.service/kubepods/pod" POD "\n",
		NULL);
	expect("0::/../../system.slice/x.service/kubepods-pod" POD_SYSTEM ".slice\n", NULL);
	expect("0::/../../x.service/pod" POD "\n", NULL);
	expect("0::/../x.scope/" ID "\n", NULL);
	/* Without the parents such a name is below a cgroup that may be a user's. */
	expect("0::/pod" POD "/" ID "\n", NULL);
	expect("0::/" ID "\n", NULL);
}

TEST_CASE(what_a_user_may_name_is_no_container)
{
	expect("", NULL);
	expect("0::/\n", NULL);
	expect("0::/user.slice/user-1000.slice/user@1000.service/kubepods/pod" POD "/x\n", NULL);
	expect("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope\n",
		NULL);
	expect("0::/system.slice/slurmstepd.scope/job_1/step_0/user/task_0\n", NULL);
	expect("0::/system.slice/x.service/docker-" ID ".scope\n", NULL);
	expect("0::/kubepods/burstable\n", NULL);
	expect("0::/kubepods/burstable/besteffort/pod" POD "\n", NULL);
	expect("0::/kubepods/pod../x\n", NULL);
	expect("0::/system.slice/docker-.scope\n", NULL);
	expect("no colon", NULL);
}

TEST_CASE(a_number_is_of_one_container)
{
	char folder[] = "/tmp/rtl-container-XXXXXX", path[64], name[CONTAINER_NAME_BYTES];

	assert_true(container_is_tenant(container_tenant(POD)));
	assert_true(container_is_tenant(container_tenant(ID)));
	assert_false(container_is_tenant(0));
	assert_false(container_is_tenant((uid_t)-1));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(container_claim(folder, POD), 0);
	assert_int_equal(container_claim(folder, POD), 0);
	assert_int_equal(container_claim(folder, ID), -EPERM);
	container_owner(folder, name);
	assert_string_equal(name, POD);
	snprintf(path, sizeof(path), "%s/.container", folder);
	assert_int_equal(unlink(path), 0);
	container_owner(folder, name);
	assert_string_equal(name, "");
	assert_int_equal(rmdir(folder), 0);
}

static void make(const char *folder, const char *name, bool is_folder)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (is_folder)
		assert_int_equal(mkdir(path, 0700), 0);
	else
		assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600)), 0);
}

TEST_CASE(the_folder_of_a_container_goes_only_without_files)
{
	char folder[] = "/tmp/rtl-container-XXXXXX", path[96], name[CONTAINER_NAME_BYTES];

	assert_non_null(mkdtemp(folder));
	assert_int_equal(container_claim(folder, POD), 0);
	make(folder, "0", true);
	make(folder, "1000", true);
	make(folder, "1000/job.db", false);
	assert_int_equal(container_vacate(folder), -ENOTEMPTY);
	container_owner(folder, name);
	assert_string_equal(name, POD);

	snprintf(path, sizeof(path), "%s/1000/job.db", folder);
	assert_int_equal(unlink(path), 0);
	make(folder, "note", false); /* of an administrator */
	assert_int_equal(container_vacate(folder), -ENOTEMPTY);
	container_owner(folder, name);
	assert_string_equal(name, POD);

	snprintf(path, sizeof(path), "%s/note", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(container_vacate(folder), 0);
	assert_int_equal(container_vacate(folder), -ENOENT);
	assert_int_equal(symlink("/tmp", folder), 0);
	assert_int_not_equal(container_vacate(folder), 0);
	assert_int_equal(unlink(folder), 0);
}

TEST_CASE(a_line_names_the_container_and_its_number)
{
	char words[CONTAINER_WORDS_BYTES];

	assert_string_equal(container_words(1000, "", words), "uid 1000");
	assert_string_equal(
		container_words(3221225999u, POD, words), "container " POD " (3221225999)");
	assert_string_equal(container_words(3221225999u, "", words), "container 3221225999");
}

TEST_CASE(names_of_recorders_keep_their_container)
{
	const uid_t tenants[] = {CONTAINER_TENANT_MIN, CONTAINER_TENANT_MAX, container_tenant(POD)};
	const char *name = KEPT_PREFIX "4294967294-1234567890-1-00";
	char outer[KEPT_OUTER_BYTES], inner[KEPT_OUTER_BYTES];
	uid_t tenant;

	for (size_t i = 0; i < sizeof(tenants) / sizeof(*tenants); i++) {
		listen_kept_outer(tenants[i], name, outer);
		/* Its bytes are counted in the limit of the environment. */
		assert_true(strlen(outer) <= strlen(name));
		assert_true(listen_kept_inner(outer, &tenant, inner));
		assert_int_equal(tenant, tenants[i]);
		assert_string_equal(inner, name);
	}
	listen_kept_outer(1000, name, outer);
	assert_string_equal(outer, name);
	assert_false(listen_kept_inner(outer, &tenant, inner));
	assert_false(listen_kept_inner("k_vvvvvv-x", &tenant, inner)); /* no tenant's number */
	assert_false(listen_kept_inner("k_00000", &tenant, inner));
	assert_false(listen_kept_inner("k_00-000-", &tenant, inner));
}
