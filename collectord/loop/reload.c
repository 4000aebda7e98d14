/* SPDX-License-Identifier: MIT */
#include "collectord/loop/reload.h"

#include "collectord/loop/connections/state.h"
#include "collectord/service/config.h"
#include "collectord/service/data_limit.h"
#include "collectord/service/log.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"

void server_reload(struct server *server)
{
	CLEANUP(free_p) char *folder = config_folder(server->config);
	struct store_limits limits;
	struct config now;

	if (config_reload(server->config, &now) < 0) {
		log_error("not reloaded: quotas and retention stay as they are");
		return;
	}
	if (folder)
		limits = config_limits(&now, folder);
	if (!folder || store_limit(server->store, &limits) < 0) {
		log_error("not reloaded: out of memory");
		return;
	}
	if (server->seat)
		data_limit(limits.quota.memory_bytes);
	else /* the supervisor says it for all its workers */
		log_info("reloaded: quotas and retention are those of rtl.conf as it is now");
}
