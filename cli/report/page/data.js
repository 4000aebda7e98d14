// SPDX-License-Identifier: MIT
// What every part of the page uses: the data that it carries, numbers for people, colours.
"use strict";

const rtl = {};

// Bytes of base64.
rtl.bytes = (text) => {
	const raw = atob(text);
	const bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		bytes[i] = raw.charCodeAt(i);
	return bytes;
};

rtl.floats = (text) => new Float32Array(rtl.bytes(text).buffer);

// Kernels of one lane: start (less the one before, zigzag), length, name; 7 bits a byte.
rtl.events = (text) => {
	const bytes = rtl.bytes(text);
	const events = { start: [], end: [], name: [] };
	let at = 0, start = 0;
	const next = () => {
		let value = 0, scale = 1;
		for (;;) {
			const byte = bytes[at++];
			value += (byte & 127) * scale;
			if (byte < 128)
				return value;
			scale *= 128;
		}
	};
	while (at < bytes.length) {
		const step = next();
		start += step % 2 ? -(step + 1) / 2 : step / 2;
		events.start.push(start);
		events.end.push(start + next());
		events.name.push(next());
	}
	return events;
};

rtl.load = (id) => {
	const element = document.getElementById(id);
	return element ? JSON.parse(element.textContent) : null;
};

// ns in the unit that suits @scale ns, with its name.
rtl.time = (ns, scale = ns) => {
	const size = Math.abs(scale);
	const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "us"] : [1, "ns"];
	const digits = unit === 1 ? 0 : 3;
	return `${(ns / unit).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${name}`;
};

rtl.percent = (part, whole) => `${(whole ? (100 * part) / whole : 0).toFixed(1)} %`;

rtl.classes = ["compute", "hidden", "exposed", "copy", "idle"];
rtl.classNames = {
	compute: "computation",
	hidden: "computation and communication",
	exposed: "exposed communication",
	copy: "exposed copies",
	idle: "idle",
};

// The colours of the style sheet, as they are now.
rtl.colours = () => {
	const style = getComputedStyle(document.documentElement);
	const colours = {};
	for (const name of [...rtl.classes, "ground", "panel", "line", "text", "soft", "link", "on-fill"])
		colours[name] = style.getPropertyValue(`--${name}`).trim();
	return colours;
};

rtl.element = (parent, tag, properties = {}) => {
	const element = document.createElement(tag);
	Object.assign(element, properties);
	parent.append(element);
	return element;
};

// A canvas of so many CSS pixels, sharp on any screen.
rtl.resize = (canvas, width, height) => {
	const ratio = window.devicePixelRatio || 1;
	canvas.width = Math.max(1, Math.round(width * ratio));
	canvas.height = Math.max(1, Math.round(height * ratio));
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	const context = canvas.getContext("2d");
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
};

// What draws itself again when the window or the colours change.
rtl.redraw = [];
{
	let asked = false;
	const all = () => {
		if (asked)
			return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			for (const draw of rtl.redraw)
				draw();
		});
	};
	window.addEventListener("resize", all);
	window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
}
