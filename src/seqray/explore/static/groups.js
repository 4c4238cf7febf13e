// The map of groups: a circle that is chosen opens its group.

function openGroups() {
  for (const link of document.querySelectorAll("#groups svg a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault(); // it would take the focus away again
      const group = $(link.getAttribute("href").slice(1));
      group.open = true;
      group.scrollIntoView({ block: "nearest" });
      group.querySelector("summary").focus({ preventScroll: true });
    });
  }
}
