// SPDX-License-Identifier: MIT
/*
 * Kernels that wait for each other, in one process or several: meet=N in a script. The processes of
 * a job map one file. A process is present as long as it holds the lock of its byte of that file,
 * which the kernel releases however the process ends.
 */
#include "tests/softgpu/softgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HALL_MAGIC   0x314c4c414847u
#define MEMBERS_MAX  256u  /* processes of a job */
#define CIRCLES_MAX  256u  /* names of kernels, times the groups of GPUs */
#define MEETINGS_MAX 1024u /* at the same time */
#define SEAT_WORDS   (SOFTGPU_MEET_MAX / 64)
#define LOCK_SETUP   0 /* bytes of the file that are locked; the members' follow */
#define LOCK_MEMBER  1
#define LOOK_NS	     20000000u /* interval of checks whether a process has ended */
#define COMPLAIN_NS  10000000000u
#define PATH_BYTES   256u

/* All of it is guarded by hall.lock, except end_ns. */
struct member {
	uint64_t serial; /* of the process; 0 if none yet */
	uint32_t pid;
	uint32_t is_gone;
	uint32_t gpu_seen; /* ordinal + 1; 0 if it has not met any yet */
};

/* A participant: a GPU as one process sees it. */
struct seat {
	uint64_t serial;
	uint64_t next; /* meeting; it will not come to any before it */
	uint32_t member, gpu;
};

/* The kernels of one name in a group of GPUs. */
struct circle {
	uint64_t name;
	uint32_t group, size;
	uint32_t seats, reserved;
	struct seat seat[SOFTGPU_MEET_MAX];
};

/* The Nth time that a circle meets. */
struct meeting {
	uint32_t circle;   /* plus 1; 0 if free */
	uint32_t is_short; /* it ended without some that are gone */
	uint64_t ordinal;
	uint64_t came[SEAT_WORDS], left[SEAT_WORDS];
	uint64_t last_start_ns, duration_ns;
	uint64_t end_ns; /* atomic; 0 while some have not come */
};

struct hall {
	uint64_t magic;
	pthread_mutex_t lock;
	uint64_t serial;
	uint32_t circles, meetings; /* one above the highest ever used */
	struct member member[MEMBERS_MAX];
	struct circle circle[CIRCLES_MAX];
	struct meeting meeting[MEETINGS_MAX];
};

/* Written by meet_open while no processor runs. A process stays a member until it ends. */
static struct hall *hall;
static int hall_fd = -1;
static uint32_t self; /* our member */
static char hall_path[PATH_BYTES];
static uint32_t has_complained; /* atomic */

static bool test_bit(const uint64_t *words, uint32_t i)
{
	return words[i / 64] >> i % 64 & 1;
}

static void set_bit(uint64_t *words, uint32_t i)
{
	words[i / 64] |= 1ull << i % 64;
}

/*
 * A process that died while holding the lock leaves bits and numbers that are each valid by
 * themselves.
 */
static void enter(void)
{
	if (pthread_mutex_lock(&hall->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&hall->lock);
}

static void leave(void)
{
	pthread_mutex_unlock(&hall->lock);
}

/* 1 if locked, 0 if free, or -errno. */
static int lock_bytes(int command, short type, off_t at, off_t count)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = count};

	while (fcntl(hall_fd, command, &l)) {
		if (errno != EINTR)
			return -errno;
	}
	return l.l_type != F_UNLCK;
}

/* Checks other processes than ours, since F_GETLK does not report our own locks. */
static bool is_any_here(uint32_t member, uint32_t count)
{
	return lock_bytes(F_GETLK, F_WRLCK, LOCK_MEMBER + (off_t)member, (off_t)count) != 0;
}

static void look_for_gone(void)
{
	for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
		struct member *m = &hall->member[i];

		if (m->serial && !m->is_gone && i != self && !is_any_here(i, 1))
			m->is_gone = 1;
	}
}

static bool is_seat_gone(const struct seat *s)
{
	const struct member *m = &hall->member[s->member];

	return m->serial != s->serial || m->is_gone;
}

static bool has_seat(const struct circle *c, uint32_t member)
{
	for (uint32_t i = 0; i < c->seats; i++) {
		if (c->seat[i].member == member && c->seat[i].serial == hall->member[member].serial)
			return true;
	}
	return false;
}

/* Members that ended before they ever met here, and may have been expected. */
static uint32_t count_lost(const struct circle *c)
{
	uint32_t lost = 0;

	for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
		const struct member *m = &hall->member[i];

		if (!m->serial || !m->is_gone || has_seat(c, i))
			continue;
		if (!m->gpu_seen || (m->gpu_seen - 1) / c->size == c->group)
			lost++;
	}
	return lost;
}

/* Ends the meeting if all that still can have come. */
static void try_end(struct meeting *t)
{
	const struct circle *c = &hall->circle[t->circle - 1];
	uint32_t came = 0, gone = 0, lost;

	if (t->end_ns)
		return;
	for (uint32_t i = 0; i < c->seats; i++) {
		if (test_bit(t->came, i))
			came++;
		else if (is_seat_gone(&c->seat[i]) || c->seat[i].next > t->ordinal)
			gone++;
	}
	if (came + gone < c->size && c->seats < c->size) {
		lost = count_lost(c);
		gone += lost < c->size - c->seats ? lost : c->size - c->seats;
	}
	if (came + gone < c->size)
		return;
	t->is_short = came < c->size;
	__atomic_store_n(&t->end_ns, t->last_start_ns + t->duration_ns, __ATOMIC_RELEASE);
}

static void free_if_empty(struct meeting *t)
{
	const struct circle *c = &hall->circle[t->circle - 1];

	for (uint32_t i = 0; i < c->seats; i++) {
		if (test_bit(t->came, i) && !test_bit(t->left, i) && !is_seat_gone(&c->seat[i]))
			return;
	}
	memset(t, 0, sizeof(*t));
}

/* NULL if there are too many. */
static struct circle *find_circle(uint64_t name, uint32_t group, uint32_t size)
{
	struct circle *c;

	for (uint32_t i = 0; i < hall->circles; i++) {
		c = &hall->circle[i];
		if (c->name == name && c->group == group && c->size == size)
			return c;
	}
	if (hall->circles == CIRCLES_MAX)
		return NULL;
	c = &hall->circle[hall->circles];
	*c = (struct circle){.name = name, .group = group, .size = size};
	hall->circles++;
	return c;
}

/* The meeting that the most advanced participants are on their way to. */
static uint64_t find_next(const struct circle *c)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < c->seats; i++) {
		if (!is_seat_gone(&c->seat[i]) && c->seat[i].next > next)
			next = c->seat[i].next;
	}
	return next;
}

/*
 * Our seat, or that of a participant that is gone, or a new one. SOFTGPU_MEET_MAX if all are taken.
 */
static uint32_t find_seat(struct circle *c, uint32_t gpu)
{
	const struct member *m = &hall->member[self];
	uint32_t at = SOFTGPU_MEET_MAX;
	uint64_t next = 0;

	for (uint32_t i = 0; i < c->seats; i++) {
		if (c->seat[i].member == self && c->seat[i].serial == m->serial &&
			c->seat[i].gpu == gpu)
			return i;
		if (at == SOFTGPU_MEET_MAX && is_seat_gone(&c->seat[i]))
			at = i;
	}
	if (at < SOFTGPU_MEET_MAX)
		next = find_next(c);
	else if (c->seats < c->size)
		at = c->seats++;
	else
		return SOFTGPU_MEET_MAX;
	c->seat[at] = (struct seat){.serial = m->serial, .next = next, .member = self, .gpu = gpu};
	return at;
}

/* NULL if there are too many. */
static struct meeting *find_meeting(uint32_t circle, uint64_t ordinal)
{
	struct meeting *t, *free_one = NULL;

	for (uint32_t i = 0; i < hall->meetings; i++) {
		t = &hall->meeting[i];
		if (t->circle == circle + 1 && t->ordinal == ordinal)
			return t;
		if (t->circle)
			free_if_empty(t);
		if (!t->circle && !free_one)
			free_one = t;
	}
	if (!free_one) {
		if (hall->meetings == MEETINGS_MAX)
			return NULL;
		free_one = &hall->meeting[hall->meetings++];
	}
	memset(free_one, 0, sizeof(*free_one));
	free_one->ordinal = ordinal;
	free_one->circle = circle + 1;
	return free_one;
}

static uint64_t hash_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	return h;
}

bool meet_arrive(const char *name, const struct meet_arrival *a, struct meet_ticket *ret)
{
	struct meeting *t = NULL;
	struct circle *c;
	uint32_t seat;

	enter();
	c = find_circle(hash_of(name), a->gpu / a->size, a->size);
	seat = c ? find_seat(c, a->gpu) : SOFTGPU_MEET_MAX;
	if (seat < SOFTGPU_MEET_MAX)
		t = find_meeting((uint32_t)(c - hall->circle), c->seat[seat].next);
	if (t) {
		hall->member[self].gpu_seen = a->gpu + 1;
		if (t->last_start_ns < a->start_ns)
			t->last_start_ns = a->start_ns;
		if (t->duration_ns < a->duration_ns)
			t->duration_ns = a->duration_ns;
		set_bit(t->came, seat);
		c->seat[seat].next++;
		try_end(t);
		*ret = (struct meet_ticket){.meeting = (uint32_t)(t - hall->meeting),
			.seat = seat,
			.own_end_ns = a->start_ns + a->duration_ns,
			.since_ns = clock_wall_ns(),
			.name = name};
		ret->look_ns = ret->since_ns + LOOK_NS;
	}
	leave();
	return t;
}

static void complain(const struct meet_ticket *ticket)
{
	uint32_t here = 0;

	if (__atomic_exchange_n(&has_complained, 1, __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 0; i < MEMBERS_MAX; i++)
		here += hall->member[i].serial && !hall->member[i].is_gone;
	fprintf(stderr,
		"softgpu: %s waits for others to meet in %s, where %u process%s; SOFTGPU_MEET "
		"names a"
		" file for all ranks of a job\n",
		ticket->name, hall_path, here, here == 1 ? " is" : "es are");
}

bool meet_poll(struct meet_ticket *ticket, uint64_t *ret_end_ns, bool *ret_is_short)
{
	struct meeting *t = &hall->meeting[ticket->meeting];
	uint64_t end = __atomic_load_n(&t->end_ns, __ATOMIC_ACQUIRE), now = clock_wall_ns();

	if (!end && now < ticket->look_ns)
		return false;
	enter();
	if (!end) {
		ticket->look_ns = now + LOOK_NS;
		look_for_gone();
		try_end(t);
		end = t->end_ns;
	}
	if (end) {
		/* A participant that comes after a meeting ended without it is late by itself. */
		*ret_end_ns = end > ticket->own_end_ns ? end : ticket->own_end_ns;
		*ret_is_short = t->is_short;
		set_bit(t->left, ticket->seat);
		free_if_empty(t);
	} else if (now - ticket->since_ns > COMPLAIN_NS) {
		complain(ticket);
	}
	leave();
	return end;
}

void meet_leave(const struct meet_ticket *ticket)
{
	struct meeting *t = &hall->meeting[ticket->meeting];

	enter();
	set_bit(t->left, ticket->seat);
	free_if_empty(t);
	leave();
}

/* Start of the process in ticks since the boot, because pids are reused. */
static unsigned long long start_of(pid_t pid)
{
	char path[32], text[1024] = "", *at;
	unsigned long long start = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	at = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at + 1, NULL, 10);
	return start;
}

/* Ranks of a job are children of one launcher. */
static void choose_path(char *ret, size_t size)
{
	const char *chosen = getenv("SOFTGPU_MEET");
	pid_t parent = getppid();

	if (chosen && *chosen)
		snprintf(ret, size, "%s", chosen);
	else
		snprintf(ret, size, "%s/softgpu.meet.%u.%d.%llu",
			access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (unsigned int)getuid(),
			(int)parent, start_of(parent));
}

static void init_hall(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&hall->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	hall->magic = HALL_MAGIC;
}

/* The first place that was never taken, or that of a member that is gone. */
static int take_member(void)
{
	uint32_t pid = (uint32_t)getpid(), best = MEMBERS_MAX;

	for (uint32_t i = MEMBERS_MAX; i-- > 0;) {
		const struct member *m = &hall->member[i];

		if (!m->serial || (m->is_gone && best == MEMBERS_MAX))
			best = i;
	}
	if (best == MEMBERS_MAX)
		return -EUSERS;
	if (lock_bytes(F_SETLK, F_WRLCK, LOCK_MEMBER + (off_t)best, 1) < 0)
		return -EUSERS;
	self = best;
	hall->member[best] = (struct member){.serial = ++hall->serial, .pid = pid};
	return 0;
}

/* With the file open and LOCK_SETUP held. */
static int enter_hall(void)
{
	bool is_first = !is_any_here(0, MEMBERS_MAX);
	uint64_t magic = 0;
	int err;

	/* If SOFTGPU_MEET names another kind of file, the file stays unchanged. */
	if (pread(hall_fd, &magic, sizeof(magic), 0) != 0 && magic != HALL_MAGIC)
		return -EEXIST;
	if ((is_first && ftruncate(hall_fd, 0)) || ftruncate(hall_fd, (off_t)sizeof(*hall)))
		return -errno;
	hall = mmap(NULL, sizeof(*hall), PROT_READ | PROT_WRITE, MAP_SHARED, hall_fd, 0);
	if (hall == MAP_FAILED) {
		hall = NULL;
		return -errno;
	}
	self = MEMBERS_MAX;
	if (is_first)
		init_hall();
	enter();
	look_for_gone();
	err = take_member();
	leave();
	return err;
}

static int open_hall(void)
{
	struct stat st;
	int err;

	/* The last member to leave removes the file, perhaps just after we have opened it. */
	do {
		if (hall_fd >= 0)
			close(hall_fd);
		hall_fd = open(hall_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (hall_fd < 0)
			return -errno;
		err = lock_bytes(F_SETLKW, F_WRLCK, LOCK_SETUP, 1);
		if (err < 0)
			return err;
		if (fstat(hall_fd, &st))
			return -errno;
	} while (!st.st_nlink);
	return 0;
}

static void forget_hall(void)
{
	if (hall)
		munmap(hall, sizeof(*hall));
	if (hall_fd >= 0)
		close(hall_fd); /* and releases all our locks */
	hall = NULL;
	hall_fd = -1;
}

int meet_open(void)
{
	int err;

	/* Continues when the device is opened again, but not in a child. */
	if (hall && hall->member[self].pid == (uint32_t)getpid())
		return 0;
	forget_hall();
	choose_path(hall_path, sizeof(hall_path));
	err = open_hall();
	if (!err)
		err = enter_hall();
	if (err) {
		fprintf(stderr, "softgpu: %s, where kernels are to meet: %s\n", hall_path,
			strerror(-err));
		forget_hall();
		return err;
	}
	(void)lock_bytes(F_SETLK, F_UNLCK, LOCK_SETUP, 1);
	return 0;
}

/* The last process to end removes the file. */
__attribute__((destructor)) static void leave_hall(void)
{
	if (!hall || hall->member[self].pid != (uint32_t)getpid())
		return;
	(void)lock_bytes(F_SETLKW, F_WRLCK, LOCK_SETUP, 1);
	if (!is_any_here(0, MEMBERS_MAX))
		unlink(hall_path);
	forget_hall();
}
