// SPDX-License-Identifier: MIT
// Makes the page that is there without scripts one to work with.
"use strict";

document.documentElement.classList.add("scripted");

for (const table of document.querySelectorAll("main table"))
	rtl.tables.enhance(table);

rtl.shown = [...document.querySelectorAll("article.file")].map((article) => {
	const data = rtl.load(`data-${article.id}`);
	const kernels = article.querySelector(`#${article.id}-kernels`);
	if (kernels)
		rtl.tables.filter(kernels);
	if (!data)
		return {};
	const place = article.querySelector(".timeline"), heat = article.querySelector(".heat");
	const line = place ? new rtl.Timeline(place, data) : null;
	rtl.steps.show(article, data);
	return {
		line,
		heat: heat && data.heat.columns ? new rtl.Heat(heat, data, line) : null,
	};
});

{
	const nav = document.querySelector("nav");
	const several = document.querySelectorAll("article.file").length > 1;
	const link = (target, text, className = "") =>
		rtl.element(nav, "a", { href: `#${target}`, textContent: text, className });
	if (document.querySelector("#comparison"))
		link("comparison", "Side by side", "session");
	for (const article of document.querySelectorAll("article.file")) {
		if (several)
			link(article.id, article.querySelector("h1").textContent.slice(0, 40), "session");
		for (const section of several ? [] : article.querySelectorAll("section[id]"))
			link(section.id, section.querySelector("h2").textContent);
	}
}
