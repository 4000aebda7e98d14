// SPDX-License-Identifier: MIT
// Tables that sort by a click or Enter on a title, names that open, and a filter for kernels.
"use strict";

rtl.tables = {};

// Unknown values come last, whichever way.
rtl.tables.compare = (a, b, sign) => {
	if (a === null || b === null)
		return (a === null) - (b === null);
	if (typeof a === "number" && typeof b === "number")
		return sign * (a - b);
	return sign * String(a).localeCompare(String(b));
};

rtl.tables.value = (cell) => {
	if (cell && cell.dataset.v !== undefined)
		return Number(cell.dataset.v);
	return cell && cell.textContent !== "-" ? cell.textContent : null;
};

rtl.tables.sort = (table, column) => {
	const titles = [...table.tHead.rows[0].cells];
	const title = titles[column];
	const isNumber = title.classList.contains("n");
	const before = title.getAttribute("aria-sort");
	// Numbers are sorted in descending order first, because the greatest are of interest.
	const down = before ? before === "ascending" : isNumber;
	const rows = [...table.tBodies[0].rows].map((row, at) => [rtl.tables.value(row.cells[column]), at, row]);
	rows.sort((a, b) => rtl.tables.compare(a[0], b[0], down ? -1 : 1) || a[1] - b[1]);
	for (const other of titles)
		other.removeAttribute("aria-sort");
	title.setAttribute("aria-sort", down ? "descending" : "ascending");
	table.tBodies[0].append(...rows.map((row) => row[2]));
};

rtl.tables.enhance = (table) => {
	[...table.tHead.rows[0].cells].forEach((title, column) => {
		const text = title.textContent;
		title.textContent = "";
		const button = rtl.element(title, "button", { type: "button", textContent: text });
		button.addEventListener("click", () => rtl.tables.sort(table, column));
	});
	for (const cell of table.querySelectorAll("td:not(.n)")) {
		if (cell.textContent.length < 100)
			continue;
		cell.classList.add("long");
		const cut = document.createElement("div");
		cut.className = "cut";
		cut.append(...cell.childNodes);
		cell.append(cut);
		cell.addEventListener("click", () => {
			if (!window.getSelection().toString())
				cell.parentElement.classList.toggle("open");
		});
	}
};

rtl.tables.filter = (section) => {
	const table = section.querySelector("table");
	const input = document.createElement("input");
	input.type = "search";
	input.className = "filter";
	input.placeholder = "filter by name";
	input.setAttribute("aria-label", "filter kernels by name");
	input.addEventListener("input", () => {
		const wanted = input.value.toLowerCase();
		for (const row of table.tBodies[0].rows)
			row.hidden = !row.textContent.toLowerCase().includes(wanted);
	});
	section.querySelector("h2").after(input);
};
