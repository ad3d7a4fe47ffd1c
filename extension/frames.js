/**
 * Keeps frames coming in attached tabs that are in the background: one `FramePump` per attachment.
 * It sends commands only through the function it is given and never touches `chrome`.
 *
 * Chrome throttles a background tab to one frame per second once three frames have gone unseen. A
 * Playwright click waits for two frames, so it would take two seconds. While a screencast runs,
 * Chrome draws at the usual rate. So if a command that may wait for a frame gets no reply within
 * `SLOW_MS`, the pump runs a screencast until the reply, and `LINGER_MS` longer. A screenshot of
 * such a tab would hang forever, so it gets a screencast immediately. A page that considers itself
 * hidden draws nothing at all, so focus emulation is enabled too, unless the client has done so, as
 * Playwright does.
 *
 * Chrome runs one screencast per tab. While a client runs its own, frames come anyway and the pump
 * adds none; a client's replaces the pump's.
 *
 * A pump also restores the page's size, for which Chrome needs frames: when it takes a screenshot it
 * may resize the page, and when it has it, sets the size from before. So an override that ends
 * meanwhile would come back, and stay after the debugger is detached. Therefore it ends only when
 * there is no screenshot in flight.
 */

const SLOW_MS = 25;
/** Starting a screencast takes about 8 ms. An agent's next command usually comes sooner than this. */
const LINGER_MS = 1_000;
const RESTORE_TIMEOUT_MS = 2_000;
const RESTORE_POLL_MS = 20;
/** After this time, a screenshot of a PDF may wait for a frame that does not come by itself. */
const SLOW_SCREENSHOT_MS = 1_000;
/** Nobody waits for the screenshots of a tab that is released. */
const RELEASED_SCREENSHOT_MS = 300;

/**
 * Nobody sees these frames, so they are as small as possible, and Chrome sends only the first of a
 * million.
 */
const OWN_SCREENCAST = {
  format: 'jpeg',
  quality: 1,
  maxWidth: 16,
  maxHeight: 16,
  everyNthFrame: 1_000_000,
};

/** Ends an override of the page's size. */
const CLEAR_SIZE = 'Emulation.clearDeviceMetricsOverride';

const SET_SIZE = 'Emulation.setDeviceMetricsOverride';

const SETS_SIZE = /^(Emulation|Page)\.setDeviceMetricsOverride$/;

/** Commands whose reply may wait for a frame: scripts can request one, and input needs one. */
const MAY_WAIT = /^(Input\.|Runtime\.(awaitPromise|callFunctionOn|evaluate)$)/;

/**
 * What a pump asks about its page.
 * @typedef {object} Page
 * @property {() => Promise<{ width?: number, height?: number }>} viewSize How large the tab is in its window.
 * @property {() => boolean} isPdf Whether it shows Chrome's viewer of PDFs, in which nothing changes by
 *   itself.
 * @property {() => boolean} mayFocus Whether it may be told that it has the focus.
 */

/** @param {number} ms */
const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class FramePump {
  /** @type {'none' | 'own' | 'client'} Who runs the tab's screencast. */
  #screencast = 'none';
  /** How many commands in flight need frames. */
  #waiting = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} Ends our screencast. */
  #lingerTimer;
  /** Whether focus emulation is on. */
  #isFocused = false;
  /**
   * @type {{ width?: number, height?: number } | undefined} The last override of the page's size by
   *   a client. Stays set, because undoing it may not have reached the page yet.
   */
  #override;
  /** Whether that override, or another one by a client, is in effect. */
  #isOverridden = false;
  /** @type {Set<Promise<unknown>>} The replies to screenshots in flight. */
  #screenshots = new Set();
  /**
   * @type {Promise<unknown> | undefined} Resolves when the last change of the size that had to wait
   *   was sent. Never rejects.
   */
  #delayed;
  /** @type {Promise<void> | undefined} Resolves when the page has drawn a frame, or does not. */
  #drawing;
  #isStopped = false;
  #send;
  #page;

  /**
   * @param {(method: string, params?: object) => Promise<unknown>} send Sends a command to the
   *   tab's page.
   * @param {Page} page
   */
  constructor(send, page) {
    this.#send = send;
    this.#page = page;
  }

  /**
   * Sends a client's command to this tab: at once, unless it ends an override of the size while
   * Chrome takes a screenshot. Changes of the size behind that wait too, so that their order stays.
   * @param {string} method
   * @param {() => Promise<unknown>} send
   */
  sendInOrder(method, send) {
    if (method === 'Page.startScreencast' && this.#screencast !== 'none') {
      // Chrome refuses a second one. Whoever runs the first gets the frames of the new one.
      this.#sendQuietly('Page.stopScreencast', {});
    }
    const isClear = method === CLEAR_SIZE;
    const mustWait = this.#delayed !== undefined || (isClear && this.#screenshots.size > 0);
    if (!mustWait || !(isClear || SETS_SIZE.test(method))) {
      return send();
    }
    const sent = (this.#delayed ?? Promise.resolve())
      .then(() => isClear && this.#screenshotsTaken(RESTORE_TIMEOUT_MS))
      // Wrapped, because the next one does not wait for the reply.
      .then(() => ({ reply: send() }));
    const delayed = sent.catch(() => {});
    this.#delayed = delayed;
    delayed.then(() => {
      if (this.#delayed === delayed) {
        this.#delayed = undefined;
      }
    });
    return sent.then(({ reply }) => reply);
  }

  /**
   * A client's command was sent to this tab.
   * @param {string} method
   * @param {{ enabled?: boolean, width?: number, height?: number }} params
   * @param {Promise<unknown>} reply
   */
  onCommand(method, params, reply) {
    if (method === 'Page.startScreencast') {
      this.#screencast = 'client';
    } else if (method === 'Page.stopScreencast') {
      this.#onScreencastStopped();
    } else if (method === 'Page.captureScreenshot') {
      this.#pumpUntil(reply, 0);
      this.#noteScreenshot(reply);
    } else if (SETS_SIZE.test(method)) {
      this.#override = params;
      this.#isOverridden = true;
    } else if (method === CLEAR_SIZE) {
      this.#isOverridden = false;
    } else if (method === 'Emulation.setFocusEmulationEnabled') {
      this.#isFocused = params.enabled === true;
    } else if (MAY_WAIT.test(method)) {
      this.#pumpUntil(reply, SLOW_MS);
    }
  }

  /**
   * Restores the page's own size before the debugger is detached. Chrome passes a new size on to
   * the page only after it has drawn a frame of the previous one. Without the debugger a background
   * page draws none, and would keep the client's size until the user looks at it.
   */
  async restoreSize() {
    const isTaken = await this.#screenshotsTaken(RELEASED_SCREENSHOT_MS);
    await this.#delayed;
    if (this.#override) {
      await this.#endOverride();
    }
    if (!isTaken) {
      await this.#fitView();
    }
  }

  /**
   * Waits for the screenshots in flight, and after a while forces the frame that they wait for.
   * @param {number} patienceMs
   * @returns {Promise<boolean>} Whether there are none left.
   */
  async #screenshotsTaken(patienceMs) {
    await this.#waitForScreenshots(patienceMs);
    await (this.#override ? this.#forceFrame() : this.#drawing);
    return this.#screenshots.size === 0;
  }

  /** Draws a frame for the screenshots in flight, if there are any. */
  async #forceFrame() {
    if (this.#screenshots.size > 0 && !this.#isStopped) {
      this.#drawing ??= this.#draw().finally(() => (this.#drawing = undefined));
    }
    await this.#drawing;
  }

  /** @param {number} timeoutMs */
  async #waitForScreenshots(timeoutMs) {
    if (this.#screenshots.size > 0) {
      await Promise.race([Promise.allSettled(this.#screenshots), delay(timeoutMs)]);
    }
  }

  /**
   * Changes the size for a moment, because Chrome may get no frame of a page in which nothing
   * changes, such as a PDF. A client's override stays: Chrome knows the page's own size as long as
   * there is one.
   */
  async #draw() {
    // One that is being ended is still there.
    const isOverridden = this.#isOverridden || this.#delayed !== undefined;
    const size = isOverridden ? this.#override : await this.#page.viewSize().catch(() => undefined);
    if (!size?.width || !size.height) {
      return;
    }
    const { width, height } = size;
    const override = isOverridden ? size : { width, height, deviceScaleFactor: 0, mobile: false };
    this.#sendQuietly(SET_SIZE, { ...override, height: height + 1 });
    await this.#waitForScreenshots(RESTORE_TIMEOUT_MS);
    if (isOverridden) {
      this.#sendQuietly(SET_SIZE, override);
    } else if (!this.#isOverridden) {
      // A client may set a size meanwhile, which has to stay.
      await this.#endOverride(() => !this.#isOverridden);
      this.#waiting -= 1;
      this.#stopLater();
    }
  }

  /**
   * Ends an override of the size, and waits until the page has its own again.
   * @param {() => boolean} [mayClear]
   */
  async #endOverride(mayClear = () => true) {
    this.#waiting += 1;
    this.#start();
    // Do not wait for a page that has gone or is paused.
    await Promise.race([this.#clearSize(mayClear).catch(() => {}), delay(RESTORE_TIMEOUT_MS)]);
  }

  /** @param {Promise<unknown>} reply */
  #noteScreenshot(reply) {
    const slow = setTimeout(() => this.#page.isPdf() && this.#forceFrame(), SLOW_SCREENSHOT_MS);
    const onReply = () => {
      clearTimeout(slow);
      this.#screenshots.delete(reply);
    };
    this.#screenshots.add(reply);
    reply.then(onReply, onReply);
  }

  /** Sets the page's size directly, because Chrome has lost the one before the screenshot. */
  async #fitView() {
    const size = await this.#page.viewSize().catch(() => undefined);
    if (size?.width && size.height) {
      const { width, height } = size;
      this.#sendQuietly('Emulation.setVisibleSize', { width, height });
    }
  }

  /** @param {() => boolean} mayClear */
  async #clearSize(mayClear) {
    const overridden = await this.#size();
    if (!mayClear()) {
      return;
    }
    await this.#send(CLEAR_SIZE);
    while (!this.#isStopped && (await this.#size()) === overridden) {
      await delay(RESTORE_POLL_MS);
    }
  }

  async #size() {
    return JSON.stringify(await this.#send('Page.getLayoutMetrics'));
  }

  /** The debugger is detached, which also ends a screencast. */
  stop() {
    this.#isStopped = true;
    clearTimeout(this.#lingerTimer);
  }

  /** @param {Promise<unknown>} reply @param {number} afterMs */
  #pumpUntil(reply, afterMs) {
    let isPumping = false;
    const pump = () => {
      isPumping = true;
      this.#waiting += 1;
      this.#start();
    };
    const timer = afterMs > 0 ? setTimeout(pump, afterMs) : pump();
    const onReply = () => {
      clearTimeout(timer ?? undefined);
      if (isPumping) {
        this.#waiting -= 1;
        this.#stopLater();
      }
    };
    reply.then(onReply, onReply);
  }

  #start() {
    clearTimeout(this.#lingerTimer);
    if (this.#screencast !== 'none' || this.#isStopped) {
      return;
    }
    this.#screencast = 'own';
    if (!this.#isFocused && this.#page.mayFocus()) {
      this.#isFocused = true;
      this.#sendQuietly('Emulation.setFocusEmulationEnabled', { enabled: true });
    }
    this.#sendQuietly('Page.startScreencast', OWN_SCREENCAST);
  }

  #stopLater() {
    clearTimeout(this.#lingerTimer);
    this.#lingerTimer = setTimeout(() => {
      if (this.#waiting === 0 && this.#screencast === 'own' && !this.#isStopped) {
        this.#screencast = 'none';
        this.#sendQuietly('Page.stopScreencast', {});
      }
    }, LINGER_MS);
  }

  /** A client stopped the tab's screencast, whether it was its own or ours. */
  #onScreencastStopped() {
    this.#screencast = 'none';
    if (this.#waiting > 0) {
      this.#start();
    }
  }

  /**
   * Ignores errors: if the tab has gone, there is nothing to draw.
   * @param {string} method
   * @param {object} params
   */
  #sendQuietly(method, params) {
    this.#send(method, params).catch(() => {});
  }
}
