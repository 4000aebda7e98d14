// SPDX-License-Identifier: MIT
// The time line: what each lane did when. Far out, columns of the bins' sums; where the page has every
// kernel, and it is near enough to see one, kernels. Input is timeline_input.js's.
"use strict";

rtl.Timeline = class {
	constructor(parent, data) {
		this.data = data;
		this.lanes = data.lanes;
		this.names = data.names;
		this.view = { from: 0, to: Math.max(1, data.ns) };
		this.sum(data.bins);
		// Those without kernels of their own are places to look at.
		this.places = data.windows.filter((w) => !w.all);
		this.windows = data.windows.filter((w) => w.lanes.length)
			.map((w) => ({ ...w, lanes: w.lanes.map(rtl.events) }));
		this.tools = rtl.element(parent, "div", { className: "tools" });
		this.box = rtl.element(parent, "div", { className: "lanes" });
		this.canvas = rtl.element(this.box, "canvas", { tabIndex: 0 });
		this.spacer = rtl.element(this.box, "div");
		this.status = rtl.element(parent, "p", { className: "status" });
		this.status.setAttribute("aria-live", "polite");
		this.canvas.setAttribute("role", "application");
		this.canvas.setAttribute("aria-label",
			"time line of all lanes: arrows left and right move, up and down zoom, page up and down scroll, Home shows all");
		this.range = null; // being selected
		this.cursor = null;
		rtl.timelineInput(this);
		rtl.redraw.push(() => this.draw());
		this.draw();
	}

	// Sums up to each bin, so that any stretch is a difference: every level of detail at once.
	sum(bins) {
		const bytes = rtl.bytes(bins.data);
		this.binCount = bins.count;
		this.binNs = bins.ns;
		this.sums = this.lanes.map((_, lane) => {
			const sums = new Uint32Array((bins.count + 1) * 4);
			const base = lane * bins.count * 4;
			for (let i = 0; i < bins.count * 4; i++)
				sums[i + 4] = sums[i] + bytes[base + i];
			return sums;
		});
	}

	// Shares of [from, to] ns in which the lane did what, idle last.
	shares(lane, from, to) {
		const sums = this.sums[lane];
		const at = (ns, kind) => {
			const bin = Math.min(Math.max(ns / this.binNs, 0), this.binCount);
			const whole = Math.min(Math.floor(bin), this.binCount - 1);
			const low = sums[whole * 4 + kind];
			return low + (sums[whole * 4 + 4 + kind] - low) * (bin - whole);
		};
		const length = ((to - from) / this.binNs) * 255;
		const shares = [0, 1, 2, 3].map((kind) => (length > 0 ? (at(to, kind) - at(from, kind)) / length : 0));
		const busy = shares.reduce((a, b) => a + b, 0);
		return [...shares, Math.max(0, 1 - busy)];
	}

	// The window that has every kernel of [from, to], or the part of the view that one has.
	windowOf(from, to) {
		return this.windows.find((w) => w.all || (w.from < to && w.to > from));
	}

	get laneHeight() {
		return Math.min(34, Math.max(13, Math.floor(420 / Math.max(1, this.lanes.length))));
	}

	measure() {
		this.gutter = this.box.clientWidth < 600 ? 84 : 124;
		this.axis = 22;
		this.width = this.box.clientWidth;
		this.total = this.axis + this.lanes.length * this.laneHeight + 2;
		this.height = Math.min(this.total, Math.max(160, Math.round(window.innerHeight * 0.62)));
		this.spacer.style.height = `${this.total - this.height}px`;
		this.nsPerPixel = (this.view.to - this.view.from) / Math.max(1, this.width - this.gutter);
	}

	x(ns) {
		return this.gutter + (ns - this.view.from) / this.nsPerPixel;
	}

	ns(x) {
		return this.view.from + (x - this.gutter) * this.nsPerPixel;
	}

	y(lane) {
		return this.axis + lane * this.laneHeight - this.box.scrollTop;
	}

	laneAt(y) {
		const lane = Math.floor((y - this.axis + this.box.scrollTop) / this.laneHeight);
		return y > this.axis && lane < this.lanes.length ? lane : -1;
	}

	draw() {
		this.measure();
		if (this.width < 50)
			return;
		this.colours = rtl.colours();
		this.context = rtl.resize(this.canvas, this.width, this.height);
		const c = this.context;
		c.fillStyle = this.colours.ground;
		c.fillRect(0, 0, this.width, this.height);
		this.drawn = "bins";
		const first = Math.max(0, Math.floor(this.box.scrollTop / this.laneHeight));
		const last = Math.min(this.lanes.length, first + Math.ceil(this.height / this.laneHeight) + 1);
		c.save();
		c.beginPath();
		c.rect(this.gutter, this.axis, this.width - this.gutter, this.height - this.axis);
		c.clip();
		for (let lane = first; lane < last; lane++)
			this.drawLane(lane);
		c.restore();
		this.drawNames(first, last);
		this.drawAxis();
		this.drawRange();
		Object.assign(this.box.dataset, {
			from: this.view.from,
			to: this.view.to,
			drawn: this.drawn,
		});
	}

	drawLane(lane) {
		const y = this.y(lane) + 1, height = this.laneHeight - 2;
		const c = this.context;
		c.fillStyle = this.colours.idle;
		c.fillRect(this.x(0), y, this.data.ns / this.nsPerPixel, height);
		let from = this.view.from;
		const near = this.binNs > this.nsPerPixel / 2;
		for (const w of near ? this.windows : []) {
			const begin = Math.max(w.all ? -Infinity : w.from, this.view.from);
			const end = Math.min(w.all ? Infinity : w.to, this.view.to);
			if (begin >= end || begin < from)
				continue;
			this.drawBins(lane, from, begin, y, height);
			this.drawEvents(w.lanes[lane], begin, end, y, height);
			from = end;
			this.drawn = "kernels";
		}
		this.drawBins(lane, from, this.view.to, y, height);
	}

	// A column a pixel, its parts as high as their shares.
	drawBins(lane, from, to, y, height) {
		const c = this.context;
		const left = Math.max(this.gutter, Math.floor(this.x(Math.max(from, 0))));
		const right = Math.min(this.width, Math.ceil(this.x(Math.min(to, this.data.ns))));
		for (let x = left; x < right; x++) {
			const shares = this.shares(lane, Math.max(from, this.ns(x)), Math.min(to, this.ns(x + 1)));
			let bottom = y + height;
			for (let kind = 0; kind < 4; kind++) {
				const part = shares[kind] * height;
				if (part < 0.05)
					continue;
				c.fillStyle = this.colours[rtl.classes[kind]];
				c.fillRect(x, bottom - part, 1, part);
				bottom -= part;
			}
		}
	}

	// Computation above, communication and copies below it; names where there is room.
	drawEvents(events, from, to, y, height) {
		const c = this.context;
		const split = Math.round(height * 0.62);
		c.font = "11px system-ui, sans-serif";
		c.textBaseline = "middle";
		c.save();
		c.beginPath();
		c.rect(this.x(from), y, (to - from) / this.nsPerPixel, height);
		c.clip();
		for (let i = this.firstEvent(events, from); i < events.start.length && events.start[i] < to; i++) {
			const left = this.x(events.start[i]);
			const width = (events.end[i] - events.start[i]) / this.nsPerPixel;
			if (left + width < this.gutter)
				continue;
			const [name, , kind] = this.names[events.name[i]];
			const above = kind === "compute";
			const top = above ? y : y + split, tall = above ? split : height - split;
			c.fillStyle = this.colours[kind];
			c.globalAlpha = 0.72 + 0.28 * ((events.name[i] * 0.618) % 1);
			c.fillRect(left, top, Math.max(width - (width > 4 ? 1 : 0), 0.4), tall - 1);
			c.globalAlpha = 1;
			if (width > 46 && tall > 10)
				this.drawText(name, kind, Math.max(left, this.gutter) + 4, top + tall / 2,
					width - 8 - Math.max(0, this.gutter - left));
		}
		c.restore();
	}

	// Kernels may be longer than the one before: begin where none can reach in.
	firstEvent(events, from) {
		events.reach ??= events.end.reduce((reach, end, i) => {
			reach.push(Math.max(end, i ? reach[i - 1] : end));
			return reach;
		}, []);
		let low = 0, high = events.reach.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (events.reach[middle] < from)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	drawText(text, kind, x, y, room) {
		const c = this.context;
		let shown = text.slice(0, Math.floor(room / 5) + 1);
		while (shown && c.measureText(shown).width > room)
			shown = shown.slice(0, -1);
		if (shown.length < 3)
			return;
		c.fillStyle = kind === "copy" ? "#000" : this.colours["on-fill"];
		c.fillText(shown, x, y);
	}

	drawNames(first, last) {
		const c = this.context;
		c.font = "12px system-ui, sans-serif";
		c.textBaseline = "middle";
		c.fillStyle = this.colours.ground;
		c.fillRect(0, this.axis, this.gutter, this.height);
		c.fillStyle = this.colours.text;
		for (let lane = first; lane < last; lane++) {
			const name = this.gutter < 100 ? this.lanes[lane].replace(/^rank /, "r").replace(", GPU ", " g") : this.lanes[lane];
			c.fillText(name, 8, this.y(lane) + this.laneHeight / 2, this.gutter - 12);
		}
	}

	drawAxis() {
		const c = this.context;
		c.fillStyle = this.colours.panel;
		c.fillRect(0, 0, this.width, this.axis);
		c.font = "11px system-ui, sans-serif";
		c.textBaseline = "middle";
		const rough = this.nsPerPixel * 110;
		const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
		const step = Math.max(1, power * [1, 2, 5, 10].find((f) => power * f >= rough));
		for (let ns = Math.ceil(this.view.from / step) * step; ns <= this.view.to; ns += step) {
			const x = Math.round(this.x(ns)) + 0.5;
			c.strokeStyle = this.colours.line;
			c.beginPath();
			c.moveTo(x, this.axis - 6);
			c.lineTo(x, this.axis);
			c.stroke();
			c.fillStyle = this.colours.soft;
			c.fillText(rtl.time(ns, step * 10), x + 4, this.axis / 2);
		}
		c.strokeStyle = this.colours.line;
		c.strokeRect(-1, 0.5, this.width + 2, this.axis);
	}

	drawRange() {
		const c = this.context;
		if (this.range) {
			c.fillStyle = this.colours.link;
			c.globalAlpha = 0.2;
			c.fillRect(Math.min(...this.range), this.axis, Math.abs(this.range[1] - this.range[0]), this.height);
			c.globalAlpha = 1;
		} else if (this.cursor && this.cursor.x > this.gutter) {
			c.fillStyle = this.colours.soft;
			c.fillRect(Math.round(this.cursor.x), this.axis, 1, this.height);
		}
	}

	// What is at a place, for people.
	describe(x, y) {
		const lane = this.laneAt(y);
		if (lane < 0 || x < this.gutter)
			return "";
		const ns = this.ns(x);
		const where = `${this.lanes[lane]} at ${rtl.time(ns, this.view.to - this.view.from)}`;
		const window = this.drawn === "kernels" ? this.windowOf(ns, ns + 1) : null;
		const event = window ? this.eventAt(window.lanes[lane], ns, y - this.y(lane) - 1) : -1;
		if (event >= 0) {
			const events = window.lanes[lane];
			const [name, category] = this.names[events.name[event]];
			return `${where}: ${name} (${category}), ${rtl.time(events.end[event] - events.start[event])}`;
		}
		const width = Math.max(this.nsPerPixel, this.binNs);
		const parts = this.shares(lane, ns - width / 2, ns + width / 2)
			.map((share, kind) => [share, rtl.classes[kind]])
			.filter(([share]) => share >= 0.0005)
			.map(([share, kind]) => `${rtl.classNames[kind]} ${rtl.percent(share, 1)}`);
		return window ? `${where}: idle` : `${where}: ${parts.join(", ")} of ${rtl.time(width)}`;
	}

	// The last that began there, on the half of the lane that is pointed at.
	eventAt(events, ns, y) {
		const wantsCompute = y < Math.round((this.laneHeight - 2) * 0.62);
		let found = -1;
		for (let i = this.firstEvent(events, ns); i < events.start.length && events.start[i] <= ns; i++)
			if (events.end[i] >= ns && (this.names[events.name[i]][2] === "compute") === wantsCompute)
				found = i;
		return found;
	}

	show(from, to) {
		const whole = Math.max(1, this.data.ns);
		const length = Math.min(Math.max(to - from, 20), whole);
		const begin = Math.min(Math.max(from, 0), whole - length);
		this.view = { from: begin, to: begin + length };
		this.draw();
	}

	zoom(factor, around = (this.view.from + this.view.to) / 2) {
		this.show(around - (around - this.view.from) * factor, around + (this.view.to - around) * factor);
	}

	move(share) {
		const by = (this.view.to - this.view.from) * share;
		this.show(this.view.from + by, this.view.to + by);
	}
};
