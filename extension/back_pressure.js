/**
 * Back pressure: slows down the target that floods this worker with debugger events, because the replies and
 * events of all other tabs wait in the same queue. No event is lost: a page that runs slower sends fewer.
 *
 * 1. After every `EVENTS_PER_CHECK` events, a trivial call to Chrome is timed. Its reply waits in the queue like
 *    any other, so this is how far the worker is behind.
 * 2. If it stays behind for `PATIENCE_MS`, the target that has sent most is slowed down: an episode begins. If
 *    that does not help, it is slowed down further.
 * 3. The target is sped up again, step by step, as long as it is unlikely to flood again. From time to time
 *    it gets the benefit of the doubt.
 * 4. The episode ends when the target has been at full speed for some time.
 *
 * The rates are in `attachments.js`, together with those of clients. When a tab is detached, Chrome undoes them,
 * and a restarted worker finds them again. This module has only what is measured anew.
 */

import { isAttached, slowDown, slowedTargets } from './attachments.js';

const EVENTS_PER_CHECK = 200;
/** How far the worker may be behind. A busy computer may take this long without a flood. */
const MAX_LAG_MS = 20;
/** A page that only starts, or prints a long list, is soon done. */
const PATIENCE_MS = 500;
/** A target that sends fewer events per second is not the cause. */
const MIN_FREQUENCY = 800;
/** This many delay nobody: it takes Chrome less than half of the time to deliver them. */
const SAFE_FREQUENCY = 3_000;
const FIRST_RATE = 8;
const MAX_RATE = 64;
/** How often the worker is checked during an episode, even without events. */
const CHECK_INTERVAL_MS = 250;
/** How long the events of a target are counted before its rate may fall. */
const COUNT_MS = 1_000;
/** After which time a rate is lowered in spite of the count, at first. Doubles each time that fails. */
const FIRST_TRIAL_MS = 60_000;
const MAX_TRIAL_MS = 600_000;
/** How long a target has to behave at full speed until the episode is over. */
const PROBATION_MS = 10_000;

/**
 * @typedef {import('./attachments.js').TargetId} TargetId
 *
 * @typedef {object} Source
 * @property {TargetId} target
 * @property {number} events How many it has sent since the last check.
 *
 * @typedef {object} Episode
 * @property {TargetId} target
 * @property {number} rate What was last requested: `1` during the probation.
 * @property {boolean} isChanging Chrome has not confirmed the rate: the page is busy.
 * @property {boolean} isReported The relay knows of it.
 * @property {number} since When Chrome confirmed the rate.
 * @property {number} trialMs How long the rate is kept in spite of the count.
 * @property {number} events How many the target has sent since `countedSince`.
 * @property {number} countedSince
 */

/** @type {(method: string, params: object) => void} */
let notify = () => {};

/** Those that have sent events since the last check. @type {Map<string, Source>} */
const sources = new Map();
/** @type {Source | undefined} The source of the last event, usually that of the next one, too. */
let lastSource;
let eventsUntilCheck = EVENTS_PER_CHECK;
let isChecking = false;
/** When the last check ended. */
let checkedAt = 0;
/** @type {number | undefined} Since when the worker has been behind. */
let behindSince;
/** @type {ReturnType<typeof setInterval> | undefined} Set during an episode. */
let timer;

/** @type {Map<string, Episode>} An entry is added with the first rate, and removed when the episode is over. */
const episodes = new Map();
/** Targets that cannot be slowed down, of tabs that are attached. @type {Map<string, TargetId>} */
const unthrottleable = new Map();

/** @param {TargetId} target */
const keyOf = ({ tabId, childSessionId = '' }) => `${tabId} ${childSessionId}`;

/** @param {(method: string, params: object) => void} onNotify */
export function reportThrottlingTo(onNotify) {
  notify = onNotify;
}

/** Continues the episodes of a worker that was stopped. Call this once the attachments have been adopted. */
export function resumeEpisodes() {
  for (const [target, rate] of slowedTargets()) {
    const episode = startEpisode(target, rate);
    if (target.childSessionId) {
      // A worker's brake has ended with the extension's.
      setRate(episode, rate);
    }
  }
}

/** Call this for every event of a debugger. @param {number} tabId @param {string} [childSessionId] */
export function countEvent(tabId, childSessionId) {
  const last = lastSource?.target;
  if (last?.tabId !== tabId || last.childSessionId !== childSessionId) {
    lastSource = sourceOf({ tabId, childSessionId });
  }
  /** @type {Source} */ (lastSource).events += 1;
  eventsUntilCheck -= 1;
  if (eventsUntilCheck <= 0 && !isChecking) {
    check();
  }
}

/** @param {TargetId} target */
function sourceOf(target) {
  const key = keyOf(target);
  const source = sources.get(key) ?? { target, events: 0 };
  sources.set(key, source);
  return source;
}

async function check() {
  isChecking = true;
  const startedAt = Date.now();
  if (startedAt - checkedAt > PATIENCE_MS) {
    // It took long to count this few events, so the worker has caught up in between.
    behindSince = undefined;
  }
  // The reply itself may take long. Timers do not wait in the queue.
  const overdue = setTimeout(() => onBehind(startedAt), PATIENCE_MS);
  await chrome.runtime.getPlatformInfo();
  clearTimeout(overdue);
  const now = Date.now();
  isChecking = false;
  endDetached();
  countEpisodes(now);
  if (now - startedAt > MAX_LAG_MS) {
    onBehind(startedAt);
  } else {
    behindSince = undefined;
  }
  eventsUntilCheck = EVENTS_PER_CHECK;
  sources.clear();
  lastSource = undefined;
  checkedAt = now;
}

/** @param {number} startedAt When the check was started that shows how far the worker is behind. */
function onBehind(startedAt) {
  const now = Date.now();
  behindSince ??= startedAt;
  const [noisiest] = [...sources.values()].sort((a, b) => b.events - a.events);
  const frequency = perSecond(noisiest?.events ?? 0, now - checkedAt);
  if (!noisiest || frequency < MIN_FREQUENCY || unthrottleable.has(keyOf(noisiest.target))) {
    return;
  }
  const episode = episodes.get(keyOf(noisiest.target));
  if (episode) {
    // What was sent before the last change is still in the queue at first.
    if (!episode.isChanging && startedAt >= episode.since) {
      raise(episode);
    }
  } else if (now - behindSince >= PATIENCE_MS) {
    begin(noisiest.target, { lagMs: now - startedAt, eventsPerSecond: Math.round(frequency) });
  }
}

/** @param {number} events @param {number} ms */
const perSecond = (events, ms) => (events / ms) * 1_000;

// ---- episodes ----

/** @param {TargetId} target @param {{ lagMs: number, eventsPerSecond: number }} cause */
async function begin(target, cause) {
  const episode = startEpisode(target);
  await setRate(episode, FIRST_RATE);
  if (episodes.get(keyOf(target)) === episode) {
    episode.isReported = true;
    notify('tabThrottled', { ...target, rate: FIRST_RATE, ...cause });
  }
}

/** @param {TargetId} target @param {number} [rate] The rate that it has from before. */
function startEpisode(target, rate = 1) {
  const now = Date.now();
  const episode = {
    target,
    rate,
    isChanging: false,
    isReported: rate > 1,
    since: now,
    trialMs: FIRST_TRIAL_MS,
    events: 0,
    countedSince: now,
  };
  episodes.set(keyOf(target), episode);
  timer ??= setInterval(() => isChecking || check(), CHECK_INTERVAL_MS);
  return episode;
}

/** The target still sends too much, or again. @param {Episode} episode */
function raise(episode) {
  if (episode.rate < MAX_RATE) {
    episode.trialMs = Math.min(episode.trialMs * 2, MAX_TRIAL_MS);
    setRate(episode, Math.max(episode.rate * 2, FIRST_RATE));
  }
}

/** @param {number} now */
function countEpisodes(now) {
  for (const [key, episode] of episodes) {
    episode.events += sources.get(key)?.events ?? 0;
    const countedMs = now - episode.countedSince;
    if (countedMs >= COUNT_MS && !episode.isChanging) {
      lower(episode, perSecond(episode.events, countedMs), now);
      episode.events = 0;
      episode.countedSince = now;
    }
  }
}

/** @param {Episode} episode @param {number} frequency How many events it sends per second. @param {number} now */
function lower(episode, frequency, now) {
  const { rate, since, trialMs } = episode;
  if (rate === 1) {
    if (now - since >= PROBATION_MS) {
      endEpisode(episode);
    }
  } else if (frequency * rate < MIN_FREQUENCY) {
    setRate(episode, 1);
  } else if (frequency * 2 <= SAFE_FREQUENCY || now - since >= trialMs) {
    setRate(episode, rate / 2);
  }
}

/** @param {Episode} episode @param {number} rate */
async function setRate(episode, rate) {
  episode.rate = rate;
  episode.isChanging = true;
  try {
    await slowDown(episode.target, rate);
  } catch {
    // It cannot be slowed down, or is gone. A page that has crashed may be loaded again.
    if (episode.target.childSessionId) {
      unthrottleable.set(keyOf(episode.target), episode.target);
    }
    endEpisode(episode);
  }
  episode.isChanging = false;
  episode.since = Date.now();
  episode.events = 0;
  episode.countedSince = episode.since;
}

/** Ends the episodes of tabs that were detached: Chrome has undone their rates. */
function endDetached() {
  for (const [key, { tabId }] of unthrottleable) {
    if (!isAttached(tabId)) {
      unthrottleable.delete(key);
    }
  }
  if (episodes.size > 0) {
    const slowed = new Set(slowedTargets().map(([target]) => keyOf(target)));
    for (const [key, episode] of episodes) {
      if (episode.rate > 1 && !episode.isChanging && !slowed.has(key)) {
        endEpisode(episode);
      }
    }
  }
}

/** @param {Episode} episode */
function endEpisode({ target, isReported }) {
  if (episodes.delete(keyOf(target)) && isReported) {
    notify('tabThrottled', { ...target, rate: 1 });
  }
  if (episodes.size === 0) {
    clearInterval(timer);
    timer = undefined;
  }
}
