/* SPDX-License-Identifier: MIT */
#include "shim/capture/long_ring.h"

#include "shim/capture/capture_internal.h"
#include "shim/base/wakeup.h"
#include "shim/capture/harvest.h"
#include "shim/capture/spell.h"
#include "shim/capture/touch.h"

void long_ring_expect(struct capture *c, uint32_t packets)
{
	if (packets <= RING_PACKETS_LONG || !gate_is_open(gate_load(&gate_word)))
		return;
	atomic_store_explicit(&c->ring_expected, packets, memory_order_relaxed);
	atomic_store_explicit(&c->ring_news, packets, memory_order_release);
	doze_rouse();
}

/* Makes only a part at a time, because OnUnload waits for the runtime to be released. */
static bool step(struct capture *c)
{
	bool is_more;

	if (!harvest_runtime_hold(c))
		return false;
	is_more = pool_make_ring(c);
	harvest_runtime_release(c);
	return is_more;
}

void long_ring_run(struct capture *c, bool (*is_wanted)(void))
{
	uint32_t packets = atomic_exchange_explicit(&c->ring_news, 0, memory_order_acquire);
	struct spell spell;

	if (!packets)
		return;
	spell_begin(&spell);
	/* Begins with what costs least per dispatch. */
	pool_touch_ready(c);
	touch_cells(c, packets);
	while (spell_lasts(&spell) && !(is_wanted && is_wanted()) && step(c))
		;
}
