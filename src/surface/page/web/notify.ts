// Notifications of the browser about questions, while the page is in the background.

import { quietButton } from "./dom.ts";
import { prose } from "./visible.ts";

let open = 0;

/** Notifies the user, if the page is not visible and the user has allowed it. */
export function notify(title: string, text: string): void {
  if (!document.hidden || !isSupported() || Notification.permission !== "granted") return;
  const notice = new Notification(prose(title), { body: prose(text), tag: title });
  notice.addEventListener("click", () => {
    window.focus();
    notice.close();
  });
}

/** Shows the number of open questions in the title of the tab. */
notify.count = (count: number): void => {
  open = count;
  setTitle(document.title.replace(/^\(\d+\) /, ""));
};

/** Sets the title of the tab. */
export function setTitle(title: string): void {
  document.title = open > 0 ? `(${open}) ${title}` : title;
}

/** A button that asks for the permission to notify; null if it is not needed. */
export function notifyButton(): HTMLElement | null {
  if (!isSupported() || Notification.permission !== "default") return null;
  const ask = quietButton("Notify me when this page is in the background", async () => {
    await Notification.requestPermission();
    ask.remove();
  });
  return ask;
}

/** Browsers have notifications on secure addresses only. */
function isSupported(): boolean {
  return "Notification" in window;
}
