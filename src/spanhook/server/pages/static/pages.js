// Keeps pages live: when the server says that something has changed, the page's live part is loaded again.
"use strict";

(() => {
  const region = () => document.querySelector("[data-live]");
  const mark = document.querySelector("[data-live-mark]");
  const address = region()?.dataset.live;
  let source = null;
  let opened = false;
  let waiting = 0;

  openNamed();
  window.addEventListener("hashchange", openNamed);
  if (!address || !window.EventSource) return;

  // Browsers allow few connections to one server, so only pages that are seen have one.
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", start);
  start();

  function start() {
    if (source || document.hidden) return;
    source = new EventSource(address);
    source.addEventListener("ready", () => {
      show("Live");
      if (opened) later();
      opened = true;
    });
    source.addEventListener("change", later);
    source.addEventListener("error", () => {
      show("");
      if (source && source.readyState === EventSource.CLOSED) stop();
    });
  }

  function stop() {
    source?.close();
    source = null;
    show("");
  }

  function show(text) {
    if (mark && mark.textContent !== text) mark.textContent = text;
  }

  function later() {
    if (!waiting) waiting = window.setTimeout(refresh, 300);
  }

  async function refresh() {
    waiting = 0;
    const place = region();
    if (!place) return;
    if (typing(place)) {
      waiting = window.setTimeout(refresh, 3000);
      return;
    }
    let answer;
    try {
      answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) return;
      const text = await answer.text();
      if (!typing(place)) replace(place, new DOMParser().parseFromString(text, "text/html"));
    } catch {
      show("");
    }
  }

  // Whoever writes something in the live part is not disturbed.
  function typing(place) {
    const field = document.activeElement;
    if (field?.matches("input, textarea, select") && place.contains(field)) return true;
    return [...place.querySelectorAll("input:not([type=hidden]), textarea")].some((one) => one.value !== one.defaultValue);
  }

  function replace(place, page) {
    const fresh = page.querySelector("[data-live]");
    if (!fresh) return;
    const open = [...place.querySelectorAll("details[open][id]")].map((one) => one.id);
    const focused = place.contains(document.activeElement) ? reference(document.activeElement) : "";
    place.replaceChildren(...fresh.childNodes);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused) place.querySelector(focused)?.focus({ preventScroll: true });
  }

  function reference(element) {
    if (element.id) return `#${CSS.escape(element.id)}`;
    if (element.matches("summary") && element.parentElement.id) return `#${CSS.escape(element.parentElement.id)} > summary`;
    const href = element.getAttribute("href");
    return href ? `a[href="${CSS.escape(href)}"]` : "";
  }

  // A link to a span opens it.
  function openNamed() {
    const named = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    if (named?.matches("details")) {
      named.open = true;
      named.scrollIntoView({ block: "center" });
    }
  }
})();
