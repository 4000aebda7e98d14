// SPDX-License-Identifier: MIT
// Mouse, keys and buttons of the time line.
"use strict";

rtl.timelineInput = (line) => {
	const { canvas, box, tools, status } = line;
	const say = () => {
		const { from, to } = line.view;
		range.textContent = `${rtl.time(from, to - from)} to ${rtl.time(to, to - from)}`;
	};
	const button = (text, title, run) => {
		const made = rtl.element(tools, "button", { type: "button", className: "tool", textContent: text, title });
		made.addEventListener("click", () => {
			run();
			say();
		});
	};

	button("All", "the whole time (Home)", () => line.show(0, line.data.ns));
	button("\u2212", "zoom out (arrow down)", () => line.zoom(2));
	button("+", "zoom in (arrow up)", () => line.zoom(0.5));
	for (const w of line.places)
		button(w.label, w.cut ? "from its begin, as far as the page has room for every kernel" : "shows it", () =>
			line.show(w.from, w.to));
	const range = rtl.element(tools, "span", { className: "n" });
	say();
	status.textContent = "drag: zoom in; shift and drag: move; double click: all; keys: arrows, + and -, Home";

	const keys = {
		ArrowLeft: () => line.move(-0.2),
		ArrowRight: () => line.move(0.2),
		ArrowUp: () => line.zoom(0.5),
		ArrowDown: () => line.zoom(2),
		"+": () => line.zoom(0.5),
		"=": () => line.zoom(0.5),
		"-": () => line.zoom(2),
		Home: () => line.show(0, line.data.ns),
		PageUp: () => box.scrollBy(0, -box.clientHeight * 0.8),
		PageDown: () => box.scrollBy(0, box.clientHeight * 0.8),
	};
	canvas.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key])
			return;
		event.preventDefault();
		keys[event.key]();
		say();
	});
	box.addEventListener("scroll", () => line.draw());

	let drag = null;
	const place = (event) => {
		const at = canvas.getBoundingClientRect();
		return { x: event.clientX - at.left, y: event.clientY - at.top };
	};
	canvas.addEventListener("pointerdown", (event) => {
		drag = { ...place(event), moves: event.shiftKey, view: line.view };
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		const at = place(event);
		line.cursor = at;
		if (drag && drag.moves) {
			const by = (drag.x - at.x) * line.nsPerPixel;
			line.show(drag.view.from + by, drag.view.to + by);
			say();
			return;
		}
		line.range = drag && Math.abs(at.x - drag.x) > 4 ? [drag.x, at.x] : null;
		line.draw();
		const text = line.describe(at.x, at.y);
		if (text)
			status.textContent = text;
	});
	canvas.addEventListener("pointerup", () => {
		const chosen = line.range;
		drag = line.range = null;
		if (chosen)
			line.show(line.ns(Math.min(...chosen)), line.ns(Math.max(...chosen)));
		say();
	});
	canvas.addEventListener("pointerleave", () => {
		line.cursor = null;
		line.draw();
	});
	canvas.addEventListener("dblclick", () => {
		line.show(0, line.data.ns);
		say();
	});
	// Only where the keys go as well: a wheel over the page scrolls the page.
	canvas.addEventListener("wheel", (event) => {
		if (document.activeElement !== canvas && !event.ctrlKey)
			return;
		event.preventDefault();
		line.zoom(event.deltaY > 0 ? 1.25 : 0.8, line.ns(place(event).x));
		say();
	}, { passive: false });
};
