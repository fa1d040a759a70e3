// The connection to a task, which shows the whole cluster: server-sent events, read with `fetch` because a
// browser's own reader of them cannot send a token along.

const TOKEN = "tensorfleet-token";
const LONGEST_PAUSE = 10_000;

/** Where the token of a user is kept, for as long as the tab is open. */
export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (text) => sessionStorage.setItem(TOKEN, text.trim()),
};

/** Asks for something with the user's token. */
export function ask(path, signal) {
  const said = token.get();
  const headers = said ? { Authorization: `Bearer ${said}` } : {};
  return fetch(path, { headers, signal, cache: "no-store" });
}

/**
 * Calls `onPicture` with each picture of the cluster, and `onState` with how the connection is: "live",
 * "lost", or "refused" together with why. Tries again until it is stopped.
 */
export function connect(onPicture, onState) {
  let controller = new AbortController();
  let pause = 500;
  let isStopped = false;

  async function once() {
    controller = new AbortController();
    const response = await ask("/api/live", controller.signal);
    if (response.status === 401 || response.status === 403) {
      onState("refused", (await response.text()).trim());
      isStopped = true;
      return;
    }
    if (!response.ok) throw new Error(`${response.status}: ${(await response.text()).trim()}`);
    pause = 500;
    for await (const text of events(response.body)) {
      const picture = JSON.parse(text);
      onState("live");
      onPicture(picture);
    }
    throw new Error("the task has ended the connection");
  }

  async function loop() {
    while (!isStopped) {
      try {
        await once();
      } catch (error) {
        if (isStopped) return;
        onState("lost", error.message);
        await new Promise((resolve) => setTimeout(resolve, pause));
        pause = Math.min(pause * 2, LONGEST_PAUSE);
      }
    }
  }

  loop();
  return () => {
    isStopped = true;
    controller.abort();
  };
}

/** The data of each event of a stream. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const event = rest.slice(0, end);
      rest = rest.slice(end + 2);
      if (event.startsWith("data: ")) yield event.slice("data: ".length);
    }
  }
}
