/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Where things lie: the private socket directory of this user, and the parts that rtl starts
 * or loads (collectord, the shim, the software GPU), in the build tree and when installed.
 * Called by one thread; prints nothing; creates nothing but the socket directory.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#define PLACES_SYSTEM_SOCKET	"/run/rtl.sock"
#define PLACES_CONTAINER_SOCKET "/run/rtl/rtl.sock"
/* A user's own collector: its name in the directory of the user's private sockets. */
#define PLACES_OWN_SOCKET	"collectord.sock"
/* Longest path a Unix socket can have, with its NUL. */
#define PLACES_SOCKET_BYTES	sizeof(((struct sockaddr_un *)NULL)->sun_path)

/* The software GPU belongs to the tests, which are not installed. */
#define PLACES_SOFTGPU_TODO "only a build has it: set RTL_LIBDIR to its folder lib"

enum place {
	PLACE_SHIM,	  /* librtl-shim.so */
	PLACE_COLLECTORD, /* the daemon's program */
	PLACE_SOFTGPU,	  /* folder of the software GPU's libhsakmt.so.1 */
};

/* The node's service: the second of these where only its directory is, as mounted in a container.
 */
const char *places_system_socket(void);

/*
 * The absolute path of @place: relative to this program, for the libraries below RTL_LIBDIR
 * when that is set. 0; -ENOENT: not found, then @ret is where it was looked for first;
 * -ENAMETOOLONG.
 */
int places_find(enum place place, char ret[PATH_MAX]);

/*
 * The directory of this user's private sockets: $XDG_RUNTIME_DIR/rtl, or /tmp/rtl-<uid> where
 * that is unset, unusable or too long for a socket's path. 0; -ENOENT: not there and not
 * @create; -EPERM: it is not a directory of this user alone (then @ret names it); -errno.
 */
int places_runtime_dir(bool create, char ret[PATH_MAX]);

/*
 * @text as the name of a session: letters, digits, ".", "_", "-", never starting with a dot;
 * what is longer than fits a socket's path is cut and told apart by a hash.
 */
#define PLACES_NAME_BYTES 48u
void places_session_name(const char *text, char ret[PLACES_NAME_BYTES]);

/* <runtime dir>/<session>.sock. 0, or as places_runtime_dir(), or -ENAMETOOLONG. */
int places_session_socket(const char *session, bool create, char ret[PLACES_SOCKET_BYTES]);

/*
 * Where this user's own collector listens, if one does: that of the user's units, or one that was
 * started where collectord proposes. False: no such socket in a directory of this user alone.
 */
bool places_own_socket(char ret[PLACES_SOCKET_BYTES]);

/*
 * Sockets to try, in the contract's order: @option (--socket), RTL_SOCKET, this user's private
 * ones (without XDG_RUNTIME_DIR those of a login, too), the system's. An explicit one (@option,
 * RTL_SOCKET) stands alone. A path in the list may be dead: connecting tells. NULL-terminated; free
 * with places_sockets_free(). -ENOMEM.
 */
int places_sockets(const char *option, char ***ret);
void places_sockets_free(char **paths);
