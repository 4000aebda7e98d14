/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Every numeric limit of rtl, each with its reason. Whatever a peer can make grow has a
 * row here. Shim, daemon and cli include it; it includes nothing of ours.
 */

/* Protocol versions this build speaks. */
#define PROTO_VERSION_MIN 1
#define PROTO_VERSION_MAX 1

/* A HELLO is a few strings and the GPUs: 64 of them with names fit in 16 KiB. */
#define HELLO_BYTES_MAX	  (16u << 10)
/* A frame of 1024 records is ~24 KiB; defines with long names need more. The length is
 * checked against this before anything is allocated. */
#define FRAME_BYTES_MAX	  (256u << 10)
/* Requests of tools are tiny; replies may list thousands of sessions and ranks. */
#define REQUEST_BYTES_MAX (4u << 10)
#define REPLY_BYTES_MAX	  (4u << 20)
/* 256 KiB of empty submessages would unpack to 11-19 MiB: the arena ends that. */
#define ARENA_BYTES_MAX	  (4u << 20)

/* Records of one frame: past 512 the cost per record is flat, 1024 fit one cell. */
#define FRAME_RECORDS_MAX 1024u

/* The recorder (one per process). It is sparse: a page costs only once it was used. */
#define RECORDER_BYTES_MAX    (80u << 20)
#define RECORDER_SLOTS	      131072u /* in flight: four HIP queues of 16384 packets, twice */
#define RECORDER_SLOT_CHUNK   1024u   /* what a queue is given at a time */
#define RECORDER_CELLS	      512u    /* outbox: 10 s at 50,000 records/s while nobody reads */
#define RECORDER_CELL_BYTES   (32u << 10)
#define RECORDER_DEFINE_BYTES (4u << 20) /* 16k distinct kernels with 200-byte names */
#define RECORDER_QUEUES	      1024u /* KFD allows 1024 queues a process; ended ones are re-used */
#define RECORDER_GPUS	      64u   /* CPX partitions of 8 MI300 */
#define RECORDER_ANCHORS      16u   /* per GPU: enough for a line through the last seconds */

#define RECORDER_HELLO_BYTES (HELLO_BYTES_MAX + 4u) /* with its length in front */

/* Host events on their way to the shim's thread, which may wait for a processor: a tight loop
 * makes thousands of ranges a second, host calls come at some 500,000. Those find room for another
 * quarter of a second when half of their ring is taken: a flood of 100,000 launches fits. */
#define RECORDER_MARKERS     8192u
#define RECORDER_CALLS	     16384u
#define RECORDER_CALLS_SPARE 114688u

/* Longest kernel symbol kept. Names over 4 KiB exist (Tensile, CK); 16 KiB is past all seen. */
#define SYMBOL_BYTES_MAX      (16u << 10)
/* Longest roctx text kept. */
#define MARKER_BYTES_MAX      1024u
/* Metrics of one roctxMark ("loss=1.2 lr=3e-4"), and the longest name of one: a mark of 1 KiB
 * could hold 256 pairs, which nobody means. */
#define METRIC_PAIRS_MAX      16u
#define METRIC_NAME_BYTES_MAX 64u
/* Strings of a HELLO: job keys, paths, host names, command lines (cut, not refused). */
#define LABEL_BYTES_MAX	      256u
#define COMMAND_BYTES_MAX     4096u
/* Rules of categories that a runner brings: a hundred of 60 bytes, and RunnerHello still fits. */
#define CATEGORIES_BYTES_MAX  6144u

/* Distinct definitions of one process in the daemon: a process cannot define more than its
 * define log holds; at 8 bytes each this bounds the daemon's index to a few MiB. */
#define PROCESS_SHAPES_MAX  65536u
#define PROCESS_SYMBOLS_MAX 65536u
#define PROCESS_STRINGS_MAX 65536u
/* Ids of a process's host calls: a row of theirs is process << 40 | id. */
#define PROCESS_CALL_MAX    ((1ull << 40) - 1)
/* Changes from recording to not recording and back that a shim defines, a step of --steps each: 300
 * KiB of the define log. What came later is counted (recordings_left_out). As many intervals are
 * rows of a process: a peer that sends more could fill the disk with them, and is closed. */
#define RECORDINGS_MAX	    16384u
/* Rows of rtl_clock of one GPU of a process, and further ones a second. One a second is kept, more of
 * the first, and both sides of what does not fit: of who lies no anchor fits the one before. */
#define CLOCK_ROWS_MAX	    256u
#define CLOCK_ROWS_PER_S    2u
/* Rows of what a queue has in flight: the oldest ones are who wait, the rest wait for them. Of a
 * process so many, and of each queue one at least: they are written anew each second, while others
 * wait. */
#define IN_FLIGHT_ROWS_MAX  16u
#define IN_FLIGHT_PROCESS_ROWS_MAX RECORDER_QUEUES
/* What a counter of a queue may say: 8 months at 50,000 a second. So the sums of all counters of
 * 1024 queues of 1000 processes are numbers still. Of a process: its bytes are among them. */
#define COUNTER_QUEUE_MAX   (1ull << 40)
#define COUNTER_PROCESS_MAX (1ull << 48)
/* When dispatches were lost, per queue and reason: so many intervals, then the closest two become
 * one. With all reasons of 1024 queues 5 MiB, where one that loses at all loses in a few. */
#define LOSS_INTERVALS_MAX  8u
/* Losses no further apart are one interval: nobody looks closer, and a queue that is full for a
 * minute stays one line. */
#define LOSS_JOIN_NS	    1000000000u
/* Anchors kept for conversion, per GPU of a process: one a flush, older ones are thinned. */
#define PROCESS_ANCHORS_MAX 64u

/* Of /etc/subuid: a line for each user that a node knows, 16 bytes here. One container's worth of
 * uids, as newuidmap, podman and the kubelet give them; and the greatest uid that useradd gives to a
 * program's user: what is subordinate to those is handed on, a block to a container. */
#define SUBUID_RANGES_MAX     65536u
#define SUBUID_BLOCK	      65536u
#define SUBUID_SYSTEM_UID_MAX 999u

/* The daemon's connections (dbus's figures). One user has half of what the others leave, at most:
 * so there is always room for one more user. Who has not said what it is makes way for newcomers. */
#define CONNECTIONS_MAX		 2048u
#define CONNECTIONS_PER_UID_MAX	 1024u
#define UNGREETED_MAX		 64u
/* How often one user may connect: all ranks of a full node at once, then more than tools ask. */
#define CONNECTS_BURST_MAX	 2048u
#define CONNECTS_PER_S_MAX	 200u
#define GREETING_MS_MAX		 5000u	    /* first frame, from connect */
#define PARTIAL_FRAME_MS_MAX	 5000u	    /* one frame, from its first byte, not re-armed */
/* Of replies one at a time waits to be read, and so long; only what nobody asked for (states, Acks)
 * is sent all the same, and past this the peer is closed. */
#define OUTPUT_BYTES_MAX	 (8u << 20)
#define UNREAD_MS_MAX		 30000u
/* ... of all connections of one user: four of the longest replies, and a page for each of the rest */
#define OUTPUT_UID_BYTES_MAX	 (32u << 20)
#define OUTPUT_SMALL_BYTES	 (16u << 10)
/* Requests of all tools of one user: a screen asks twice a second; those beyond are answered later. */
#define REQUESTS_BURST_MAX	 200u
#define REQUESTS_PER_S_MAX	 50u
#define LISTEN_BACKLOG		 4096
#define RUNNERS_PER_SESSION_MAX	 1024u
/* What a runner may count of processes without a shim: those of a large node, twice. */
#define RUNNER_UNSEEN_MAX	 1024u
/* Open sessions: one file and two descriptors each. */
#define SESSIONS_MAX		 1024u
#define SESSIONS_PER_UID_MAX	 256u
/* Processes of the open sessions of one user, those that have ended among them: their figures are
 * told until the session closes, and take 6 KiB each, 100 MiB in all. */
#define PROCESSES_PER_UID_MAX	 16384u
/* That have ended, and whose records wait for a disk that is slow or fails, or for their owner who
 * locks his file: three descriptors each, and a recorder. One user has half of what the others leave;
 * with all connections, and all sessions, they are what LimitNOFILE= of the service has room for. */
#define UNREAD_PROCESSES_MAX	 1536u
/* That live on when their session is closed (rtl run waited no longer): a descriptor each, for as long
 * as they live. Shared likewise; of whose are more the oldest is forgotten, and let in again. */
#define DETACHED_MAX		 512u
/*
 * Recorders that who started the collector keeps for its next life: one a process. Their names are
 * one string of its environment, of which the kernel takes 128 KiB: with more of them no collector
 * could be started any more. As FileDescriptorStoreMax= of the service.
 */
#define KEPT_RECORDERS_MAX	 1536u
/* Starts and stops of a session that late comers have to hear: one for all ranks replaces those
 * before it. */
#define CONTROLS_PER_SESSION_MAX 16u
/* rtl ctl start is answered when every process has, or so much later with who has not. */
#define CONTROL_ANSWER_MS	 3000u
/* Closed sessions that are remembered, so that a latecomer finds its file. */
#define SESSIONS_CLOSED_MAX	 256u
/* A private collector to which nobody ever comes ends after that. */
#define PRIVATE_WAIT_MS		 30000u

/* Frames handed from the loop to the store thread and not yet committed, in bytes: past it
 * the loop stops reading data connections, and the recorders absorb. */
#define STORE_QUEUE_BYTES_MAX	      (64u << 20)
/* Of that one user has half of what the others leave, so that there is always room for one more; and
 * one process a transaction and half of the next: more would only wait here instead of in its
 * recorder, and a flood of one rank leaves room for the others. */
#define STORE_QUEUE_PROCESS_BYTES_MAX (7u << 18)
/* SQLite's pages in memory. Rows are appended: a transaction changes 3 MiB of them, and with the ends
 * of the tables of 256 ranks 16 MiB. All databases share twice that, down to eight pages each, below
 * which a page would be written more than once a transaction: 256 MiB of 1024 sessions. */
#define STORE_CACHE_EACH_BYTES_MAX (16u << 20)
/* So much at first, and more when a transaction had no room in that: pages that nobody needs again
 * are memory that is touched for nothing, 2 us for each 4 KiB. */
#define STORE_CACHE_FIRST_BYTES	   (4u << 20)
#define STORE_CACHE_EACH_BYTES_MIN (256u << 10)
#define STORE_CACHE_BYTES_MAX	   (32u << 20)
/* A transaction: at most so many rows, or so long after the one before; what comes after a pause
 * is committed at once. Rows are visible and acknowledged then. */
#define COMMIT_ROWS_MAX		      65536u
#define COMMIT_MS_MAX		      50u

/* Of the recorder of a process that ended so many records are read before somebody else has a turn:
 * as many as a frame may hold, some 5 ms where each has a shape of its own. */
#define DRAIN_SLICE_RECORDS	      1024u

/* Freed on a full disk, so that what is under way can end: twice a transaction of 65536 rows, with
 * its pages in the WAL and in the database, and the books of 1024 queues. */
#define STORE_RESERVE_BYTES   (16u << 20)
/* A process that has ended waits so long for a database that cannot take its last records; then
 * they are counted. With as long again for the books: below COLLECTOR_CLOSE_MS_MAX. */
#define STORE_GIVE_UP_MS      30000u
/* Files of one session set aside by one collector: a disk that damages the next one, too, is not
 * helped by more of them. */
#define STORE_ASIDES_MAX      3u
/* A session that another boot left open is checked from end to end up to that size, a second or
 * so; of a greater one only what goes on with it. */
#define STORE_CHECK_BYTES_MAX (1ull << 30)
/* The service leaves so much free, or a twentieth of a small file system. */
#define STORE_KEEP_FREE_BYTES (1ull << 30)

/* One value of a database: the longest ever stored is a demangled name of 64 KiB. A longer one is a
 * lie of the file, which the collector refuses to build in memory. */
#define STORE_VALUE_BYTES_MAX (1 << 20)
/* Of rtl, which reads files of anybody, and makes one text of many rows where it is asked to. */
#define QUERY_VALUE_BYTES_MAX (16 << 20)

/*
 * What one tenant of the service may store by default. 64 GPUs of 20,000 dispatches a second are 1.3
 * million records; of 20 bytes each on their way, of some 150 where they are host calls. A burst of
 * ten seconds is what its recorders hold when the collector comes back.
 */
#define QUOTA_RECORDS_PER_S 2000000u
#define QUOTA_BYTES_PER_S   (256u << 20)
#define QUOTA_BURST_S	    10u
/* ... and of the file system: four of them at once are needed to fill it. */
#define QUOTA_DISK_PART	    4u

/*
 * What the daemon keeps in memory of the definitions of one user: names, while all is at most half
 * of it, and the tables that find them. 64 ranks of 2,000 kernels with names of 300 bytes, in 8,000
 * shapes each, need 80 MiB for both, so that no name is left out, and the books of eight queues each
 * another 6; and four such users fit below MemoryHigh= of the service. Rows of shapes, another 80 MiB,
 * are remembered up to a quarter.
 */
#define QUOTA_MEMORY_BYTES (172u << 20)
/* Different names of a session (16k kernels, and marks that carry a step's number), and those that
 * one user adds in a day: what lies in files for ever. */
#define SESSION_NAMES_MAX  262144u
#define NAMES_PER_DAY_MAX  1048576u
/* Who stores now loses closed sessions when a sixteenth of it is left, and live records only then. */
#define QUOTA_AHEAD_PART    16u

/* Closed sessions go when less than what has to stay free, an eighth of that and a reserve are
 * left: before records have to wait. */
#define RETENTION_AHEAD_PART 8u
/* Closed sessions of one tenant that the service keeps: a year of forty a day. Each is a file, three
 * at times, and a row of the index whatever it holds: without this the smallest ones, a thousand a
 * minute, would take all inodes long before a quarter of the disk. */
#define KEEP_SESSIONS_MAX    16384u
/* Sessions that went are remembered in index.db, 10 MiB of them; of whom most are remembered the
 * oldest is forgotten first. */
#define REMOVED_ROWS_MAX     16384u
/* ... and told to who asks, the latest ones, of one tenant not more than a quarter of them. */
#define SESSIONS_REMOVED_MAX 1024u
#define SESSIONS_REMOVED_PER_UID_MAX 256u

/* WAL: checkpointed at 32 MiB at the latest, truncated to 64 MiB; where the disk is quick from a step
 * on, or an eighth of all that it has held (collectord/db/checkpoint.h): less is hardly worth its three
 * waits. Past that only a reader that keeps its snapshot makes it grow: that is said, and goes on while
 * there is room, for no record is lost to a reader; then the disk is full, with all that follows. */
#define WAL_STEP_BYTES	     (1u << 20)
#define WAL_CHECKPOINT_BYTES (32u << 20)
#define WAL_BYTES_MAX	     (64u << 20)

/* rtl run waits so long for processes that outlive the command, then names them. */
#define OUTLIVE_MS_MAX	       10000u
/* ... for a collector to come up and open its database, on a loaded node ... */
#define COLLECTOR_START_MS_MAX 15000u
/* ... and for it to store and close what is left once nobody lives. */
#define COLLECTOR_CLOSE_MS_MAX 120000u
/* A session without a runner (LD_PRELOAD alone) closes so long after its last process. */
#define SESSION_LINGER_MS      300u

/* Shim: harvest period at most (so much a SIGKILL may leave as outstanding that had ended) and at
 * least (shim/capture/pacing.h), its idle period, and when a partly filled frame is sent. */
#define HARVEST_NS	      5000000u
#define HARVEST_NS_LEAST      1000000u
#define HARVEST_IDLE_NS	      20000000u
#define DOZE_NS		      1000000000u /* its period while nothing is recorded: docs/control.md */
#define FLUSH_NS	      20000000u
/* OnUnload may hold the exit of the application no longer than this. */
#define EXIT_NS_MAX	      50000000u
/* Reconnect: the next try is after a quarter of the time without a collector, so that a rank is
 * back soon after one is; not sooner than this (a try costs some 10 us), and not later than FAST
 * for the first 10 s, then than MAX. */
#define RECONNECT_NS_MIN      5000000u
#define RECONNECT_NS_FAST     200000000u
#define RECONNECT_NS_MAX      5000000000ull
#define RECONNECT_FAST_FOR_NS 10000000000ull
