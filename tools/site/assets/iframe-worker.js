// Browsers start no workers for pages that are opened as files. There, a hidden frame takes the place of the search worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    onmessage = null;
    onerror = null;
    #waiting = [];
    #frame = document.createElement("iframe");

    constructor(address) {
      super();
      this.#frame.hidden = true;
      this.#frame.title = "Search";
      const start = () => {
        document.body.append(this.#frame);
        const inside = this.#frame.contentWindow;
        inside.postMessage = (data) => this.#tell(data);
        const script = inside.document.createElement("script");
        script.src = new URL(address, document.baseURI).href;
        script.onload = () => {
          const waiting = this.#waiting;
          this.#waiting = null;
          waiting.forEach((data) => this.#ask(data));
        };
        script.onerror = (event) => this.onerror?.(event);
        inside.document.body.append(script);
      };
      if (document.body) start();
      else document.addEventListener("DOMContentLoaded", start);
    }

    postMessage(data) {
      if (this.#waiting) this.#waiting.push(data);
      else this.#ask(data);
    }

    terminate() {
      this.#frame.remove();
    }

    #ask(data) {
      const inside = this.#frame.contentWindow;
      inside.setTimeout(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    #tell(data) {
      setTimeout(() => {
        const event = new MessageEvent("message", { data });
        this.onmessage?.(event);
        this.dispatchEvent(event);
      });
    }
  };
}
