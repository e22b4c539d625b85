// Colours as the system has them, or light, or dark; remembered in this browser.

const KEY = "earpiece-theme";
const ORDER = ["system", "light", "dark"];
const NAMES = { system: "as the system", light: "light", dark: "dark" };

export function setUpTheme(button) {
  let theme = ORDER.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : "system";
  const show = () => {
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-label", `Colours: ${NAMES[theme]}`);
    button.title = `Colours: ${NAMES[theme]}`;
  };
  button.addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    localStorage.setItem(KEY, theme);
    show();
  });
  show();
}
