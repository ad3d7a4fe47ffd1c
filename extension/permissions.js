/**
 * Permissions of sites, such as the camera or the location, as clients have set them. The relay
 * sends all rules at once; this module makes Chrome's content settings match them. They are a layer
 * above the user's own settings, which apply again when the rules are gone.
 *
 * Chrome keeps an extension's rules when the browser quits. So which rules there are is saved twice:
 * in `chrome.storage.session`, to know what to change, and as a flag in `chrome.storage.local`,
 * which shows after a restart of the browser that rules are left to remove.
 */

import { checkNotPaused } from './pause.js';

/**
 * @typedef {'location' | 'notifications' | 'microphone' | 'camera' | 'clipboard'} RuleType
 * @typedef {{ type: RuleType, pattern: string, setting: 'allow' | 'block' | 'ask' }} Rule
 */

/** @type {RuleType[]} */
const TYPES = ['location', 'notifications', 'microphone', 'camera', 'clipboard'];

/** @type {Promise<unknown>} The last change. Changes are made one at a time. */
let lastChange = Promise.resolve();

/** Whether Chrome has rules of this extension, possibly of an earlier relay. */
export async function hasPermissions() {
  await lastChange;
  const { hasPermissionRules } = await chrome.storage.local.get('hasPermissionRules');
  return hasPermissionRules === true;
}

/**
 * Replaces all rules.
 * @param {Rule[]} rules
 */
export function setPermissions(rules) {
  const change = lastChange.then(() => replaceRules(rules));
  lastChange = change.catch(() => {});
  return change;
}

/** Without a relay, nobody may keep a permission. */
export async function clearPermissions() {
  if (await hasPermissions()) {
    await setPermissions([]).catch(() => {});
  }
}

/**
 * Removes what was left when the browser last quit. If that fails, the relay learns that there are
 * rules, and tries again.
 */
export async function clearLeftPermissions() {
  if ((await hasPermissions()) && !(await readRules())) {
    await setPermissions([]).catch(() => {});
  }
}

/** @returns {Promise<Rule[] | undefined>} Undefined if it is unknown which rules Chrome has. */
async function readRules() {
  const { permissionRules } = await chrome.storage.session.get('permissionRules');
  return /** @type {Rule[] | undefined} */ (permissionRules);
}

/** @param {Rule[]} rules */
async function replaceRules(rules) {
  const unknown = rules.find(({ type }) => !TYPES.includes(type));
  if (unknown) {
    throw new Error(`Unknown content setting: ${unknown.type}`);
  }
  const before = await readRules();
  const allowsMore = rules.some(
    (rule) => rule.setting === 'allow' && !(before && findRule(before, rule)),
  );
  if (allowsMore) {
    // What undoes the rules of a client that leaves is not stopped.
    checkNotPaused();
  }
  // While a change is under way, nobody knows what Chrome has.
  await all([
    chrome.storage.session.remove('permissionRules'),
    rules.length > 0 && chrome.storage.local.set({ hasPermissionRules: true }),
  ]);
  await all(
    TYPES.map((type) => {
      const isOfType = (/** @type {Rule} */ rule) => rule.type === type;
      return replaceRulesOfType(type, before?.filter(isOfType), rules.filter(isOfType));
    }),
  );
  await all([
    chrome.storage.session.set({ permissionRules: rules }),
    rules.length === 0 && chrome.storage.local.remove('hasPermissionRules'),
  ]);
}

/**
 * Waits for all of them, also if one fails: the next change must not begin before.
 * @param {unknown[]} changes
 */
async function all(changes) {
  const results = await Promise.allSettled(changes);
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') {
    throw failed.reason;
  }
}

/** The rule for the same sites. @param {Rule[]} rules @param {Rule} like */
const findRule = (rules, { type, pattern }) =>
  rules.find((rule) => rule.type === type && rule.pattern === pattern);

/**
 * Chrome can only remove all rules of a type at once. That is avoided if no rule has to go, because
 * pages would notice that the others are gone for a moment.
 * @param {RuleType} type
 * @param {Rule[] | undefined} before
 * @param {Rule[]} rules
 */
async function replaceRulesOfType(type, before, rules) {
  const isCleared = !before?.every((old) => findRule(rules, old));
  const contentSetting = chrome.contentSettings[type];
  if (isCleared) {
    await contentSetting.clear({});
  }
  const isNew = (/** @type {Rule} */ rule) =>
    isCleared || findRule(before ?? [], rule)?.setting !== rule.setting;
  await all(
    rules
      .filter(isNew)
      .map(({ pattern, setting }) => contentSetting.set({ primaryPattern: pattern, setting })),
  );
}
