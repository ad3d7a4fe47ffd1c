/**
 * Starts the service worker again after Chrome has stopped it, or after its process has died. The
 * relay's pings keep a connected worker alive, so this is rare, but then nothing else might start it:
 * a quiet page causes no events. Alarms do, because they belong to the browser's own process. While
 * agents use this browser, one goes off every few seconds, so that they wait no longer than that.
 *
 * Chrome fires the alarms of an extension from a store at most every 30 seconds, however many there
 * are. This one is loaded unpacked.
 */

const IDLE_ALARM = 'reconnect';
const IDLE_MINUTES = 0.5;
const IN_USE_ALARM = 'reconnect-soon';
const IN_USE_MINUTES = 3 / 60;

/** A worker that has just started learns from the relay whether agents are connected. */
const CLEAR_AFTER_MS = 10_000;

/** @type {boolean | undefined} Unknown until it is set. */
let wasInUse;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let clearTimer;

/** Call this before anything is awaited. @param {() => void} onAlarm The worker may have just started. */
export function watchAlarms(onAlarm) {
  chrome.alarms.create(IDLE_ALARM, { periodInMinutes: IDLE_MINUTES });
  chrome.alarms.create(IN_USE_ALARM, { periodInMinutes: IN_USE_MINUTES });
  chrome.alarms.onAlarm.addListener(({ name }) => {
    if (name === IDLE_ALARM || name === IN_USE_ALARM) {
      onAlarm();
    }
  });
}

/** @param {boolean} isInUse Whether agents are connected, or tabs attached. */
export function setInUse(isInUse) {
  if (wasInUse === isInUse) {
    return;
  }
  wasInUse = isInUse;
  clearTimeout(clearTimer);
  if (isInUse) {
    chrome.alarms.create(IN_USE_ALARM, { periodInMinutes: IN_USE_MINUTES });
  } else {
    clearTimer = setTimeout(() => chrome.alarms.clear(IN_USE_ALARM), CLEAR_AFTER_MS);
  }
}
