// SPDX-License-Identifier: MIT
// Charts over steps, drawn by uPlot: what a lane's steps are made of, and how much communication is
// hidden on every lane. A build without uPlot has the tables alone.
"use strict";

rtl.steps = {};

// Points of a lane by field; sums are made means of a step.
rtl.steps.decode = (steps) => {
	const { fields } = steps;
	return steps.lanes.map((text) => {
		const floats = rtl.floats(text);
		const count = floats.length / fields.length;
		const lane = {};
		fields.forEach((field, at) => {
			lane[field] = Array.from({ length: count }, (_, i) => floats[i * fields.length + at]);
		});
		for (const field of fields.slice(3))
			lane[field] = lane[field].map((value, i) => value / lane.steps[i]);
		return lane;
	});
};

// The mean of all lanes, point by point, as many as the shortest has.
rtl.steps.mean = (lanes) => {
	const count = Math.min(...lanes.map((lane) => lane.wall.length));
	const mean = {};
	for (const field of Object.keys(lanes[0]))
		mean[field] = Array.from({ length: count }, (_, i) =>
			lanes.reduce((sum, lane) => sum + lane[field][i], 0) / lanes.length);
	mean.number = lanes[0].number.slice(0, count);
	return mean;
};

rtl.steps.axes = (unit) => {
	const axis = {
		stroke: () => rtl.colours().soft,
		grid: { stroke: () => rtl.colours().line, width: 1 },
		ticks: { stroke: () => rtl.colours().line, width: 1 },
		font: "11px system-ui, sans-serif",
	};
	return [axis, { ...axis, label: unit, labelSize: 18, size: 56, labelFont: axis.font }];
};

rtl.steps.plot = (parent, title, unit, range, series, data) => {
	rtl.element(parent, "h3", { textContent: title });
	const target = rtl.element(parent, "div");
	const width = () => Math.max(240, parent.clientWidth);
	const plot = new uPlot({
		width: width(),
		height: 240,
		scales: { x: { time: false }, y: { range } },
		axes: rtl.steps.axes(unit),
		series: [{ label: "step" }, ...series],
		cursor: { drag: { x: true, y: false } },
	}, data, target);
	rtl.redraw.push(() => {
		plot.setSize({ width: width(), height: 240 });
		plot.redraw();
	});
	return plot;
};

// Stacked: the sums are drawn, the widest first, and the parts are told.
rtl.steps.stack = (lane) => {
	const kinds = rtl.classes;
	const sums = kinds.map((_, upto) => lane.wall.map((_w, i) =>
		kinds.slice(0, upto + 1).reduce((sum, kind) => sum + lane[kind][i], 0)));
	return [lane.number, ...sums.reverse()];
};

rtl.steps.breakdown = (parent, lanes, names) => {
	const mean = rtl.steps.mean(lanes);
	let shown = mean;
	const kinds = [...rtl.classes].reverse();
	const series = kinds.map((kind) => ({
		label: rtl.classNames[kind],
		fill: () => rtl.colours()[kind],
		stroke: () => rtl.colours()[kind],
		width: 0,
		points: { show: false },
		value: (_plot, _sum, _at, i) => (i === null || i === undefined ? "-" : `${shown[kind][i].toFixed(3)} ms`),
	}));
	const plot = rtl.steps.plot(parent, "What a step is made of", "ms a step", (_plot, _least, most) => [0, most * 1.05 || 1], series, rtl.steps.stack(mean));
	const select = document.createElement("select");
	select.setAttribute("aria-label", "lane");
	["mean of all", ...names].forEach((name, i) => rtl.element(select, "option", { value: i, textContent: name }));
	select.addEventListener("change", () => {
		shown = Number(select.value) ? lanes[Number(select.value) - 1] : mean;
		plot.setData(rtl.steps.stack(shown));
	});
	parent.querySelector("h3").append(" ", select);
};

rtl.steps.palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f"];

rtl.steps.overlap = (parent, lanes, names) => {
	const count = Math.min(...lanes.map((lane) => lane.wall.length));
	const ratio = (lane) => lane.communication.slice(0, count).map((all, i) => (all > 0 ? (100 * lane.hidden[i]) / all : null));
	let rows = lanes.map(ratio), labels = names;
	if (rows.every((row) => row.every((value) => value === null)))
		return;
	if (lanes.length > rtl.steps.palette.length) {
		const over = (pick) => Array.from({ length: count }, (_, i) => {
			const values = rows.map((row) => row[i]).filter((value) => value !== null);
			return values.length ? pick(values) : null;
		});
		rows = [over((v) => v.reduce((a, b) => a + b, 0) / v.length), over((v) => Math.min(...v)), over((v) => Math.max(...v))];
		labels = ["mean", "least", "most"];
	}
	const series = rows.map((_, i) => ({
		label: labels[i],
		stroke: rtl.steps.palette[i],
		width: 1.5,
		points: { show: count === 1 },
		value: (_plot, value) => (value === null || value === undefined ? "-" : `${value.toFixed(1)} %`),
	}));
	rtl.steps.plot(parent, "Communication hidden behind computation", "% of communication", () => [0, 102], series,
		[lanes[0].number.slice(0, count), ...rows]);
};

rtl.steps.show = (article, data) => {
	const breakdown = article.querySelector(".steps-chart"), overlap = article.querySelector(".overlap-chart");
	const lanes = data.steps.lanes.length ? rtl.steps.decode(data.steps) : [];
	const shown = lanes.map((lane, i) => [lane, data.lanes[i]]).filter(([lane]) => lane.wall.length);
	if (!breakdown || !shown.length)
		return;
	if (typeof uPlot === "undefined") {
		rtl.element(breakdown, "p", { className: "note", textContent: "This build has no uPlot: the figures of steps are in the tables." });
		return;
	}
	const used = shown.map(([lane]) => lane), names = shown.map(([, name]) => name);
	rtl.steps.breakdown(breakdown, used, names);
	rtl.steps.overlap(overlap, used, names);
	if (data.steps.group > 1)
		rtl.element(breakdown, "p", { className: "note", textContent: `A point is the mean of ${data.steps.group} steps.` });
};
