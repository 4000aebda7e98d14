// SPDX-License-Identifier: MIT
// The heat map of collectives: a row a rank, a column a collective (or several), darker or brighter
// is later. Enter or a click shows that time in the time line.
"use strict";

rtl.Heat = class {
	// Cividis, which reads alike with and without red and green.
	static stops = [[0, 34, 78], [66, 78, 107], [124, 123, 120], [188, 175, 111], [254, 232, 56]];

	constructor(parent, data, line) {
		const { heat } = data;
		this.heat = heat;
		this.line = line;
		this.mean = rtl.floats(heat.mean);
		this.most = rtl.floats(heat.most);
		this.at = rtl.floats(heat.at);
		this.top = this.mean.reduce((top, value) => Math.max(top, value), 0);
		this.chosen = null;
		this.parent = parent;
		this.box = rtl.element(parent, "div", { className: "heat-box" });
		this.canvas = rtl.element(this.box, "canvas", { tabIndex: 0 });
		this.canvas.setAttribute("role", "application");
		this.canvas.setAttribute("aria-label",
			"heat map, a row a rank, a column a collective: arrows choose a cell, Enter shows it in the time line");
		this.status = rtl.element(parent, "p", { className: "status" });
		this.status.setAttribute("aria-live", "polite");
		this.arrange();
		this.status.textContent = heat.per > 1
			? `A column is ${heat.per} of ${heat.collectives.toLocaleString("en-US")} collectives: the mean of them. Click: shows it in the time line.`
			: "A column is a collective. Click: shows it in the time line.";
		if (this.isArranged)
			this.status.textContent += " The latest ranks come first.";
		this.listen();
		rtl.redraw.push(() => this.draw());
		this.draw();
	}

	// Of more rows than one looks at, the latest come first; this.order has the row of each place.
	arrange() {
		const { rows, columns } = this.heat;
		this.isArranged = rows.length > 64;
		this.order = rows.map((_, row) => row);
		const late = rows.map((_, row) =>
			this.mean.subarray(row * columns, (row + 1) * columns).reduce((sum, value) => sum + Math.max(value, 0), 0));
		if (this.isArranged)
			this.order.sort((a, b) => late[b] - late[a] || a - b);
	}

	colour(value) {
		const at = this.top > 0 ? Math.min(1, value / this.top) * (rtl.Heat.stops.length - 1) : 0;
		const low = Math.min(Math.floor(at), rtl.Heat.stops.length - 2);
		const mixed = rtl.Heat.stops[low].map((from, i) =>
			Math.round(from + (rtl.Heat.stops[low + 1][i] - from) * (at - low)));
		return `rgb(${mixed.join(",")})`;
	}

	draw() {
		const width = this.box.clientWidth, { rows, columns } = this.heat;
		if (width < 50)
			return;
		const colours = rtl.colours();
		this.gutter = width < 600 ? 84 : 124;
		this.row = Math.min(26, Math.max(13, Math.floor(480 / Math.max(1, rows.length))));
		this.column = (width - this.gutter) / columns;
		const height = rows.length * this.row + 34;
		const c = rtl.resize(this.canvas, width, height);
		c.fillStyle = colours.ground;
		c.fillRect(0, 0, width, height);
		c.font = "12px system-ui, sans-serif";
		c.textBaseline = "middle";
		this.order.forEach((which, row) => {
			c.fillStyle = colours.text;
			c.fillText(rows[which], 8, row * this.row + this.row / 2, this.gutter - 12);
			for (let column = 0; column < columns; column++)
				this.drawCell(c, row, column);
		});
		if (this.chosen) {
			c.strokeStyle = colours.text;
			c.lineWidth = 2;
			c.strokeRect(this.gutter + this.chosen.column * this.column, this.chosen.row * this.row,
				Math.max(3, this.column), this.row);
		}
		this.drawScale(c, colours, height);
	}

	drawCell(c, row, column) {
		const value = this.mean[this.order[row] * this.heat.columns + column];
		if (value < 0)
			return;
		const left = this.gutter + column * this.column;
		const gap = this.column > 6 ? 1 : 0;
		c.fillStyle = this.colour(value);
		// To whole pixels: thin columns leave no seams.
		const from = Math.floor(left), to = Math.max(from + 1, Math.floor(left + this.column) - gap);
		c.fillRect(from, row * this.row, to - from, this.row - (this.row > 6 ? 1 : 0));
	}

	drawScale(c, colours, height) {
		const width = 160;
		for (let x = 0; x < width; x++) {
			c.fillStyle = this.colour((this.top * x) / width);
			c.fillRect(this.gutter + x, height - 22, 1, 10);
		}
		c.fillStyle = colours.soft;
		c.font = "11px system-ui, sans-serif";
		c.fillText("0", this.gutter - 10, height - 17);
		c.fillText(`${rtl.time(this.top * 1e6)} behind the first`, this.gutter + width + 6, height - 17);
	}

	choose(row, column) {
		const { rows, columns, per } = this.heat;
		this.chosen = {
			row: Math.min(Math.max(row, 0), rows.length - 1),
			column: Math.min(Math.max(column, 0), columns - 1),
		};
		const cell = this.order[this.chosen.row] * columns + this.chosen.column;
		const first = this.chosen.column * per;
		const which = per > 1 ? `collectives ${first} to ${Math.min(first + per, this.heat.collectives) - 1}` : `collective ${first}`;
		const late = this.mean[cell] < 0 ? "not there"
			: `${rtl.time(this.mean[cell] * 1e6)} behind the first${per > 1 ? ` in the mean, ${rtl.time(this.most[cell] * 1e6)} at most` : ""}`;
		this.status.textContent = `${rows[this.order[this.chosen.row]]}, ${which}, at ${rtl.time(this.at[this.chosen.column] * 1e6)}: ${late}`;
		this.draw();
	}

	open() {
		if (!this.line || !this.chosen)
			return;
		const at = this.at[this.chosen.column] * 1e6;
		const end = this.chosen.column + 1 < this.heat.columns ? this.at[this.chosen.column + 1] * 1e6 : this.line.data.ns;
		const room = Math.max(this.top * 2e6, (end - at) / 2, 1000);
		this.line.show(at - room, Math.max(end, at + room));
		this.line.box.scrollIntoView({ block: "center" });
	}

	listen() {
		const place = (event) => {
			const at = this.canvas.getBoundingClientRect();
			return [Math.floor((event.clientY - at.top) / this.row), Math.floor((event.clientX - at.left - this.gutter) / this.column)];
		};
		const inside = ([row, column]) => row >= 0 && row < this.heat.rows.length && column >= 0 && column < this.heat.columns;
		this.canvas.addEventListener("pointermove", (event) => {
			if (inside(place(event)))
				this.choose(...place(event));
		});
		this.canvas.addEventListener("click", (event) => {
			if (inside(place(event)))
				this.open();
		});
		const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
		this.canvas.addEventListener("keydown", (event) => {
			if (event.key === "Enter")
				this.open();
			if (!steps[event.key])
				return;
			event.preventDefault();
			const from = this.chosen || { row: 0, column: -1 };
			this.choose(from.row + steps[event.key][0], from.column + steps[event.key][1]);
		});
	}
};
