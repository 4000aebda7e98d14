/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds files: the private socket directory of this user, and the parts that rtl starts or loads
 * (collectord, the shim, the software GPU), in the build tree and when installed. One thread;
 * prints nothing; creates nothing except the socket directory.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#define PLACES_SYSTEM_SOCKET	"/run/rtl.sock"
#define PLACES_CONTAINER_SOCKET "/run/rtl/rtl.sock"
/* The name of a user's own collector in the directory of the user's private sockets. */
#define PLACES_OWN_SOCKET	"collectord.sock"
/* Longest path of a Unix socket, with its NUL. */
#define PLACES_SOCKET_BYTES	sizeof(((struct sockaddr_un *)NULL)->sun_path)

/* The software GPU belongs to the tests, which are not installed. */
#define PLACES_SOFTGPU_TODO "only a build has it: set RTL_LIBDIR to its folder lib"

enum place {
	PLACE_SHIM,	  /* librtl-shim.so */
	PLACE_COLLECTORD, /* the daemon's program */
	PLACE_SOFTGPU,	  /* folder of the software GPU's libhsakmt.so.1 */
};

/*
 * The socket of the node's service. If only the directory of the second path exists, as when it is
 * mounted into a container, it is the second path.
 */
const char *places_system_socket(void);

/*
 * Returns the absolute path of @place: relative to this program, or for libraries below RTL_LIBDIR
 * if that is set. The result is 0; -ENOENT if it was not found, with the first path that was tried
 * in @ret; or -ENAMETOOLONG.
 */
int places_find(enum place place, char ret[PATH_MAX]);

/*
 * Returns the directory of this user's private sockets: $XDG_RUNTIME_DIR/rtl, or /tmp/rtl-<uid> if
 * that is unset, unusable or too long for a socket's path. The result is 0; -ENOENT if it does not
 * exist and @create is false; -EPERM if it is not a directory of this user alone (named by @ret);
 * or -errno.
 */
int places_runtime_dir(bool create, char ret[PATH_MAX]);

/*
 * Makes @text the name of a session: letters, digits, ".", "_" and "-", and no dot at the start.
 * Text that is too long for a socket's path is cut off and made unique by a hash.
 */
#define PLACES_NAME_BYTES 48u
void places_session_name(const char *text, char ret[PLACES_NAME_BYTES]);
/* True if @text is the name of a session as it is, and is taken for no option. */
bool places_is_session_name(const char *text);

/*
 * Returns <runtime dir>/<session>.sock. The result is 0, that of places_runtime_dir(), or
 * -ENAMETOOLONG.
 */
int places_session_socket(const char *session, bool create, char ret[PLACES_SOCKET_BYTES]);

/*
 * Returns the socket of this user's own collector, if there is one: that of the user's units, or
 * that of a collector that was started as collectord proposes. False if there is no such socket in
 * a directory of this user alone.
 */
bool places_own_socket(char ret[PLACES_SOCKET_BYTES]);

/*
 * Returns the sockets to try, in the order of the contract: @option (--socket), RTL_SOCKET, this
 * user's private ones (without XDG_RUNTIME_DIR also those of a login), the system's. An explicit
 * one (@option, RTL_SOCKET) is the only one. A socket in the list may be dead, which connecting
 * shows. The list ends with NULL and is freed with places_sockets_free(). Returns 0 or -ENOMEM.
 */
int places_sockets(const char *option, char ***ret);
void places_sockets_free(char **paths);
