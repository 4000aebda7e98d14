/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Every numeric limit of rtl, each with its reason. Every quantity that a peer can make grow has a
 * row here. Shim, daemon and cli include this file; it includes no other header of rtl.
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
#define RECORDER_CELLS	      512u    /* outbox: 10 s at 50,000 records/s without a reader */
#define RECORDER_CELL_BYTES   (32u << 10)
#define RECORDER_DEFINE_BYTES (4u << 20) /* 16k distinct kernels with 200-byte names */
#define RECORDER_QUEUES	      1024u /* KFD allows 1024 queues a process; ended ones are re-used */
#define RECORDER_GPUS	      64u   /* CPX partitions of 8 MI300 */
#define RECORDER_ANCHORS      16u   /* per GPU: enough for a line through the last seconds */

#define RECORDER_HELLO_BYTES (HELLO_BYTES_MAX + 4u) /* with its length in front */

/* Rings of host events, which the shim's thread empties when it gets a processor. A tight loop
 * makes thousands of ranges and some 500,000 host calls a second. When half of the ring of calls is
 * taken, the spare ring holds another quarter of a second: a flood of 100,000 launches fits. */
#define RECORDER_MARKERS     8192u
#define RECORDER_CALLS	     16384u
#define RECORDER_CALLS_SPARE 114688u

/* Longest kernel symbol kept. Names over 4 KiB exist (Tensile, CK); none seen is longer than 16
 * KiB. */
#define SYMBOL_BYTES_MAX      (16u << 10)
/* Longest roctx text kept. */
#define MARKER_BYTES_MAX      1024u
/* Metrics of one roctxMark ("loss=1.2 lr=3e-4"), and the longest name of one: a mark of 1 KiB
 * could hold 256 pairs, which no real program writes. */
#define METRIC_PAIRS_MAX      16u
#define METRIC_NAME_BYTES_MAX 64u
/* Strings of a HELLO: job keys, paths, host names, command lines (cut, not refused). */
#define LABEL_BYTES_MAX	      256u
#define COMMAND_BYTES_MAX     4096u
/* Category rules that a runner sends: a hundred rules of 60 bytes; RunnerHello stays in its limit.
 */
#define CATEGORIES_BYTES_MAX  6144u

/* Distinct definitions of one process in the daemon: a process cannot define more than its
 * define log holds; at 8 bytes each this bounds the daemon's index to a few MiB. */
#define PROCESS_SHAPES_MAX	   65536u
#define PROCESS_SYMBOLS_MAX	   65536u
#define PROCESS_STRINGS_MAX	   65536u
/* Largest id of a host call within its process: the key of its row is process << 40 | id. */
#define PROCESS_CALL_MAX	   ((1ull << 40) - 1)
/* Switches between recording and not recording that a shim defines, two for each step of --steps:
 * they take 300 KiB of the define log. Later ones are only counted (recordings_left_out). The
 * daemon closes a peer that sends more, because each interval is a row and would fill the disk. */
#define RECORDINGS_MAX		   16384u
/* Rows of rtl_clock for one GPU of a process: a first allowance, and then so many a second. One
 * anchor a second is kept, more in the beginning, and both sides of a jump: a peer that lies about
 * its clock makes every anchor a jump. */
#define CLOCK_ROWS_MAX		   256u
#define CLOCK_ROWS_PER_S	   2u
/* Rows of rtl_in_flight for one queue and for one process; each queue has at least one. The oldest
 * dispatches are those that hang, the others wait behind them. The rows are rewritten every second
 * on the thread that also commits records, so there are few. */
#define IN_FLIGHT_ROWS_MAX	   16u
#define IN_FLIGHT_PROCESS_ROWS_MAX RECORDER_QUEUES
/* Largest value accepted for a counter of a queue: 8 months at 50,000 a second. The sum over 1024
 * queues of 1000 processes still fits 64 bits. Counters of a process include bytes, so they are
 * larger. */
#define COUNTER_QUEUE_MAX	   (1ull << 40)
#define COUNTER_PROCESS_MAX	   (1ull << 48)
/* Intervals in which dispatches were lost, kept for each queue and reason; beyond this the two
 * closest are joined. 1024 queues with every reason take 5 MiB; real queues lose for few reasons.
 */
#define LOSS_INTERVALS_MAX	   8u
/* Losses that are no further apart than this are one interval: a queue that is full for a minute
 * stays one line. */
#define LOSS_JOIN_NS		   1000000000u
/* Anchors kept for the conversion of ticks, for each GPU of a process. Each flush brings one; older
 * ones are thinned out. */
#define PROCESS_ANCHORS_MAX	   64u

/* Ranges read from /etc/subuid: one line for each user of the node, 16 bytes in memory. A block is
 * the number of uids that newuidmap, podman and the kubelet give to one container. Uids up to
 * SUBUID_SYSTEM_UID_MAX are those that useradd gives to services: a service hands its subordinate
 * uids on, a block to each container. */
#define SUBUID_RANGES_MAX     65536u
#define SUBUID_BLOCK	      65536u
#define SUBUID_SYSTEM_UID_MAX 999u

/* Connections of one user, and its live processes: the ranks of a full node and their tools. A
 * connection that has not sent its first frame is evicted, oldest first, when UNGREETED_MAX is
 * reached. */
#define CONNECTIONS_MAX		 1024u
#define UNGREETED_MAX		 64u
/* Rate at which one user may connect: a burst holds all ranks of a full node; the steady rate is
 * more than tools need. */
#define CONNECTS_BURST_MAX	 2048u
#define CONNECTS_PER_S_MAX	 200u
#define GREETING_MS_MAX		 5000u /* first frame, from connect */
#define PARTIAL_FRAME_MS_MAX	 5000u /* one frame, from its first byte, not re-armed */
/* Output that waits for a peer to read it. A peer has at most one reply waiting, for UNREAD_MS_MAX;
 * states and Acks are queued without a request, and a peer whose queue passes OUTPUT_BYTES_MAX is
 * closed. */
#define OUTPUT_BYTES_MAX	 (8u << 20)
#define UNREAD_MS_MAX		 30000u
/* The same for all connections of one user: four of the longest replies, and a page for each of the
 * other connections. */
#define OUTPUT_UID_BYTES_MAX	 (32u << 20)
#define OUTPUT_SMALL_BYTES	 (16u << 10)
/* Requests of all tools of one user. rtl stat asks twice a second; requests beyond the rate are
 * answered later. */
#define REQUESTS_BURST_MAX	 200u
#define REQUESTS_PER_S_MAX	 50u
#define LISTEN_BACKLOG		 4096
#define RUNNERS_PER_SESSION_MAX	 1024u
/* Processes without a shim that a runner may report: twice those of a large node. */
#define RUNNER_UNSEEN_MAX	 1024u
/* Open sessions of one user: one file and two descriptors each. */
#define SESSIONS_MAX		 256u
/* Processes in the open sessions of one user, including those that have ended: their figures are
 * shown until the session closes, and take 6 KiB each, 100 MiB in all. */
#define PROCESSES_PER_UID_MAX	 16384u
/* Processes of one user that have ended while their records wait, for a slow or failing disk or for
 * an owner who holds a lock on the file. Each costs three descriptors and a recorder. LimitNOFILE=
 * of the service has room for these together with all connections and sessions. */
#define UNREAD_PROCESSES_MAX	 768u
/* Bytes written in the recorders of those processes, which are memory of the node: what 64 ranks
 * leave that have filled 64 MiB each. Processes that live when it is reached may add what they have
 * written when they end. */
#define UNREAD_BYTES_MAX	 (4ull << 30)
/* Processes of one user that live on after their session was closed (rtl run stopped waiting): a
 * descriptor each until they end. With more the oldest is forgotten, and admitted again if it
 * reconnects. */
#define DETACHED_MAX		 256u
/*
 * Recorders that the service manager, or rtl run, keeps for the next life of the collector: one for
 * each process. Their names are passed in one string of the environment, which the kernel limits to
 * 128 KiB: with more names no collector could be started. FileDescriptorStoreMax= of the service is
 * the same number.
 */
#define KEPT_RECORDERS_MAX	 1536u
/* Starts and stops of a session that are kept for processes that join later. One that is meant for
 * all ranks replaces those before it. */
#define CONTROLS_PER_SESSION_MAX 16u
/* rtl ctl start is answered when every process has answered; after this time the answer names those
 * that have not. */
#define CONTROL_ANSWER_MS	 3000u
/* Closed sessions that are remembered, so that a process which comes late finds its file. */
#define SESSIONS_CLOSED_MAX	 256u
/* A private collector ends after this time if no process connects. */
#define PRIVATE_WAIT_MS		 30000u

/* Frames of one user handed from the loop to the store thread and not yet committed, in bytes: past
 * it the loop stops reading data connections, and the recorders absorb. */
#define STORE_QUEUE_BYTES_MAX	      (32u << 20)
/* One process may take one and a half transactions: more would only wait here instead of in its
 * recorder, and the flood of one rank leaves room for the others. */
#define STORE_QUEUE_PROCESS_BYTES_MAX (7u << 18)
/* SQLite's page cache. Rows are appended: a transaction changes 3 MiB of pages, or 16 MiB where it
 * touches the ends of the tables of 256 ranks. All databases share twice that. Each keeps at least
 * eight pages, below which a page would be written more than once in a transaction: 64 MiB for 256
 * sessions. */
#define STORE_CACHE_EACH_BYTES_MAX    (16u << 20)
/* Size of a new cache. It grows when a transaction did not fit: to touch a new page costs 2 us,
 * which is wasted on a cache that is larger than its transactions. */
#define STORE_CACHE_FIRST_BYTES	      (4u << 20)
#define STORE_CACHE_EACH_BYTES_MIN    (256u << 10)
#define STORE_CACHE_BYTES_MAX	      (32u << 20)
/* A transaction is committed when it has this many rows, or this long after the previous commit;
 * rows that come after a pause are committed at once. Readers see rows, and ranks get their Ack,
 * after the commit. */
#define COMMIT_ROWS_MAX		      65536u
#define COMMIT_MS_MAX		      50u

/* Reserve file, deleted when the disk is full so that open transactions can be committed: it holds
 * two transactions of 65536 rows, in the WAL and in the database, and the counters of 1024 queues.
 */
#define STORE_RESERVE_BYTES   (16u << 20)
/* Time for which the records of a process that has ended wait for a database that cannot take them;
 * then they are counted as lost. The counters may take as long again: both together stay below
 * COLLECTOR_CLOSE_MS_MAX. */
#define STORE_GIVE_UP_MS      30000u
/* Damaged files of one session that a collector sets aside. A disk that has damaged three files
 * will damage the next one, too. */
#define STORE_ASIDES_MAX      3u
/* A database that was left open at an earlier boot is checked as a whole up to this size, which
 * takes about a second; of a larger one only the pages that are used next are checked. */
#define STORE_CHECK_BYTES_MAX (1ull << 30)
/* Space that the service leaves free, or a twentieth of a small file system. */
#define STORE_KEEP_FREE_BYTES (1ull << 30)

/* Longest value read from a database: the longest that rtl stores is a symbol of 16 KiB. A longer
 * one comes from a damaged or forged file, and the collector does not build it in memory. */
#define STORE_VALUE_BYTES_MAX (1 << 20)
/* The same for rtl, which reads files of any origin, and joins many rows to one text on request. */
#define QUERY_VALUE_BYTES_MAX (16 << 20)

/*
 * What one tenant of the service may store by default. 64 GPUs with 20,000 dispatches a second send
 * 1.3 million records of 20 bytes, or of some 150 bytes where they are host calls. A burst of ten
 * seconds is what the recorders hold when the collector comes back.
 */
#define QUOTA_RECORDS_PER_S 2000000u
#define QUOTA_BYTES_PER_S   (256u << 20)
#define QUOTA_BURST_S	    10u
/* Part of the file system that one tenant may fill: four tenants together can fill it. */
#define QUOTA_DISK_PART	    4u

/*
 * Memory that the daemon spends on the definitions of one user: names, as long as they take at most
 * half of it, and the tables that find them. 64 ranks with 2,000 kernels each, names of 300 bytes
 * and 8,000 shapes a rank need 80 MiB for both, so that no name is left out, and 6 MiB for the
 * counters of eight queues a rank. Four such users fit below MemoryHigh= of the service. Rows of
 * shapes would take another 80 MiB and are cached up to a quarter of the quota.
 */
#define QUOTA_MEMORY_BYTES (172u << 20)
/*
 * Distinct names in a session (16k kernels, and marks with the number of a step in their text), and
 * new names of one user in a day, since names stay in the files. Each begun NAME_PART_BYTES of a
 * name count as one name, for a kernel of its symbol and its demangled name together: so they take
 * 64 MiB, and 256 MiB in a day, however long each is; 16k kernels of 3 KiB fit.
 */
#define SESSION_NAMES_MAX  262144u
#define NAMES_PER_DAY_MAX  1048576u
#define NAME_PART_BYTES	   256u
/* When a sixteenth of its quota is left, a tenant that is recording loses closed sessions first;
 * live records are refused only when there are none left. */
#define QUOTA_AHEAD_PART   16u

/* Closed sessions are removed when less is left than the space that has to stay free, an eighth of
 * that, and the reserve: before records have to wait. */
#define RETENTION_AHEAD_PART	     8u
/* Closed sessions of one tenant that the service keeps: a year of forty a day. Each takes up to
 * three files and a row of the index, however little it holds: without this limit a thousand small
 * sessions a minute would use up all inodes long before a quarter of the disk. */
#define KEEP_SESSIONS_MAX	     16384u
/* Sessions of one tenant that their owners keep from retention: a kept one goes only when its owner
 * removes it, so without a limit one user could take room from all others for ever. For the same
 * reason kept sessions may have KEPT_DISK_PART of the user's --quota-disk. */
#define KEPT_SESSIONS_MAX	     256u
#define KEPT_DISK_PART		     2u
/* Removed sessions that index.db remembers, 10 MiB of rows. The oldest of the user with most of
 * them is forgotten first. */
#define REMOVED_ROWS_MAX	     16384u
/* Removed sessions that an answer lists: the latest ones, at most a quarter of them of one tenant.
 */
#define SESSIONS_REMOVED_MAX	     1024u
#define SESSIONS_REMOVED_PER_UID_MAX 256u

/* The WAL is checkpointed at 32 MiB at the latest and truncated to 64 MiB. On a quick disk it is
 * checkpointed from WAL_STEP_BYTES on, or from an eighth of all that it has held
 * (collectord/db/rows/checkpoint.h): a smaller step is not worth its three waits for the disk. Only
 * a reader that keeps its snapshot makes the WAL grow past that. The collector reports it and goes
 * on while there is space, because records must not be lost to a reader; then it acts as on a full
 * disk. */
#define WAL_STEP_BYTES	     (1u << 20)
#define WAL_CHECKPOINT_BYTES (32u << 20)
#define WAL_BYTES_MAX	     (64u << 20)

/* rtl run waits this long for processes that outlive the command, then names them. */
#define OUTLIVE_MS_MAX	       10000u
/* It waits this long for a collector to start and open its database, on a loaded node, */
#define COLLECTOR_START_MS_MAX 15000u
/* and this long for the collector to store the rest and close once no process is alive. */
#define COLLECTOR_CLOSE_MS_MAX 120000u
/* A session without a runner (LD_PRELOAD alone) closes this long after its last process ended. */
#define SESSION_LINGER_MS      300u

/* Shim: longest harvest period (a SIGKILL may leave as outstanding what ended within it), shortest
 * one (shim/capture/pacing.h), period when idle, and the age at which a partly filled frame is
 * sent. */
#define HARVEST_NS	      5000000u
#define HARVEST_NS_LEAST      1000000u
#define HARVEST_IDLE_NS	      20000000u
#define DOZE_NS		      1000000000u /* period while nothing is recorded: docs/operation.md */
#define FLUSH_NS	      20000000u
/* Longest time for which OnUnload may hold up the exit of the application. */
#define EXIT_NS_MAX	      50000000u
/* Reconnect: the next try comes after a quarter of the time that has passed without a collector, so
 * that a rank is back soon after the collector is. It comes no sooner than MIN (a try costs some 10
 * us), and no later than FAST within the first 10 s, or MAX after that. */
#define RECONNECT_NS_MIN      5000000u
#define RECONNECT_NS_FAST     200000000u
#define RECONNECT_NS_MAX      5000000000ull
#define RECONNECT_FAST_FOR_NS 10000000000ull
