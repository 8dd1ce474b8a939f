// Keys and small comforts; every page works without them.
"use strict";
(() => {
  const OFF = "reconcile-keys-off";
  const areOff = () => localStorage.getItem(OFF) === "1";

  const isTyping = (element) =>
    element instanceof Element && element.matches("input:not([type=checkbox]), textarea, select");

  // The element of each key that works now. What cannot be seen is not decided about, and while boxes are ticked, keys
  // that decide are those of the bar for all of them.
  const keyed = () => {
    const areTicked = document.querySelector('.list input[name="finding"]:checked') !== null;
    const elements = new Map();
    for (const element of document.querySelectorAll("[data-key], [data-many]")) {
      for (const key of (element.dataset.key ?? element.dataset.many).split(" ")) {
        const isOfMany = areTicked && "adhsun".includes(key);
        const isUsed = element.getClientRects().length > 0 && isOfMany === (element.dataset.many !== undefined);
        if (isUsed && !elements.has(key)) elements.set(key, element);
      }
    }
    return elements;
  };

  // What a person sees is decided about: once a key or a click asks for the next page, keys of this one do nothing.
  // A page that was asked for and never came, such as a download, gives them back.
  const WAIT = 10_000;
  let isLeaving = false;
  const leave = (is) => {
    isLeaving = is;
    if (is) document.documentElement.setAttribute("aria-busy", "true");
    else document.documentElement.removeAttribute("aria-busy");
  };
  const asksForPage = (link) => link !== null && link.origin === location.origin && !link.target && !link.hash && !link.hasAttribute("download");
  const leaveSoon = () => { leave(true); setTimeout(() => leave(false), WAIT); };
  addEventListener("pageshow", () => leave(false));
  document.addEventListener("submit", (event) => {
    if (isLeaving) event.preventDefault();
    else if (!event.defaultPrevented && event.target.method !== "dialog") leaveSoon();
  });
  document.addEventListener("click", (event) => {
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (isPlain && !event.defaultPrevented && event.target instanceof Element && asksForPage(event.target.closest("a[href]"))) leaveSoon();
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
    if (areOff() || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const wanted = keyed().get(event.key);
    if (!wanted) return;
    event.preventDefault();
    if (isLeaving) return;
    if (wanted.matches("input:not([type=checkbox]), select, textarea")) wanted.focus();
    else wanted.click();
  });

  // The help lists the keys of what is on the page now, so it never names a key that does nothing there.
  for (const button of document.querySelectorAll("[data-keys-help]")) {
    const dialog = document.querySelector("dialog.keys");
    const isEverywhere = ([key]) => Number("/?".includes(key));
    const does = (element) => element.dataset.does ?? element.firstChild.textContent.trim().toLowerCase();
    button.hidden = false;
    button.addEventListener("click", () => {
      dialog.querySelector("dl").replaceChildren(...[...keyed()].sort((a, b) => isEverywhere(a) - isEverywhere(b)).flatMap(([key, element]) => {
        const [term, kbd, meaning] = ["dt", "kbd", "dd"].map((name) => document.createElement(name));
        kbd.textContent = key;
        term.append(kbd);
        meaning.textContent = does(element);
        return [term, meaning];
      }));
      dialog.querySelector("[data-keys-off]").hidden = !areOff();
      dialog.showModal();
    });
  }

  for (const button of document.querySelectorAll("[data-keys-switch]")) {
    const show = () => { button.textContent = areOff() ? button.dataset.on : button.dataset.off; };
    button.hidden = false;
    show();
    button.addEventListener("click", () => { localStorage.setItem(OFF, areOff() ? "0" : "1"); show(); });
  }

  // The next finding is another page: ticks stay until they are decided about or the list is left.
  const TICKED = "reconcile-ticked";
  if (!document.querySelector("[data-ticks]")) sessionStorage.removeItem(TICKED);
  for (const all of document.querySelectorAll("[data-ticks]")) {
    const ticks = () => [...document.querySelectorAll(`input[name="${all.dataset.ticks}"]`)];
    const before = new Set(JSON.parse(sessionStorage.getItem(TICKED) ?? "[]"));
    for (const tick of ticks()) tick.checked ||= before.has(tick.value);
    document.addEventListener("submit", (event) => {
      if (new FormData(event.target, event.submitter).has(all.dataset.ticks)) sessionStorage.removeItem(TICKED);
    });
    const shown = document.querySelector("[data-ticked]");
    const count = () => {
      const values = ticks().filter((tick) => tick.checked).map((tick) => tick.value);
      const ticked = values.length;
      sessionStorage.setItem(TICKED, JSON.stringify(values));
      if (shown) shown.textContent = ticked ? `${ticked} selected` : "Select all";
      all.checked = ticked > 0 && ticked === ticks().length;
      all.indeterminate = ticked > 0 && !all.checked;
    };
    all.closest("[hidden]")?.removeAttribute("hidden");
    all.addEventListener("change", () => { for (const tick of ticks()) tick.checked = all.checked; count(); });
    document.addEventListener("change", (event) => { if (event.target.name === all.dataset.ticks) count(); });
    count();
  }

  for (const field of document.querySelectorAll("[data-enter]"))
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      document.getElementById(field.dataset.enter).click();
    });

  for (const button of document.querySelectorAll("[data-without-script]")) button.hidden = true;

  for (const select of document.querySelectorAll("select[data-submits]"))
    select.addEventListener("change", () => select.form.requestSubmit());

  // Only the list moves: the page stays where its heading and the answer to the last decision are.
  const row = document.querySelector(".items .current");
  for (let box = row?.parentElement; box && box !== document.body; box = box.parentElement) {
    if (getComputedStyle(box).overflowY === "visible" || box.scrollHeight <= box.clientHeight) continue;
    const [inside, outside] = [row.getBoundingClientRect(), box.getBoundingClientRect()];
    box.scrollTop += Math.max(0, inside.bottom - outside.bottom) + Math.min(0, inside.top - outside.top);
    break;
  }

  const again = document.querySelector("[data-refresh]");
  if (again) {
    const refresh = () => {
      if (document.hidden || isTyping(document.activeElement)) setTimeout(refresh, 2000);
      else location.reload();
    };
    setTimeout(refresh, Number(again.dataset.refresh) * 1000);
  }
})();
