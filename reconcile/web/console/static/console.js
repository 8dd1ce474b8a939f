// Keys and small comforts; every page works without them.
"use strict";
(() => {
  const OFF = "reconcile-keys-off";
  const areOff = () => localStorage.getItem(OFF) === "1";

  const isTyping = (element) =>
    element instanceof Element && element.matches("input:not([type=checkbox]), textarea, select");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
    if (areOff() || isTyping(event.target)) return;
    const withKey = (name) => [...document.querySelectorAll(`[data-${name}]`)].find((element) => element.dataset[name] === event.key);
    const areTicked = document.querySelector('.list input[name="finding"]:checked') !== null;
    const wanted = withKey(areTicked && "adhsun".includes(event.key) ? "many" : "key");
    if (!wanted) return;
    event.preventDefault();
    if (wanted.matches("input:not([type=checkbox]), select, textarea")) wanted.focus();
    else wanted.click();
  });

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
