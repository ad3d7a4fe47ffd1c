/**
 * Checks what was sent while parts failed: the relay's recording (`tabwire serve --record`), what
 * clients sent and received, and what pages executed. Knows the protocols, and no test.
 *
 * What a client's request caused is found by its mark: any text like `#17#` in its parameters, which
 * occurs in no other request. Pages report the marks that they executed, and log marks in increasing
 * order for the events.
 */

import { readFile } from 'node:fs/promises';

const MARK = /#(\d+)#/;

/** @typedef {{ from: string, to: string, message?: any }} Entry A line of a recording. */

/**
 * @typedef {object} ClientRecord What one client knows itself.
 * @property {object[]} received In the order in which it arrived.
 * @property {object[]} sent
 * @property {boolean} hasLeft It disconnected, so it may have missed the end.
 * @property {boolean} [isSettled] The last message that it waited for is the reply to its last request, so each of its
 *   requests must have one, even if it has disconnected since.
 */

/** @param {string} file */
export async function readRecording(file) {
  const lines = (await readFile(file, 'utf8')).split('\n');
  // A relay that was killed may have written half of its last line.
  const whole = lines.slice(0, -1).filter((line) => line.endsWith('}'));
  return whole.map((line) => JSON.parse(line));
}

/**
 * Everything that is wrong with a history, in words.
 *
 * @param {object} history
 * @param {Entry[]} history.entries
 * @param {ClientRecord[]} [history.clients] Those that kept a record. Others are checked by the
 *   recording alone.
 * @param {number[]} [history.executed] The marks that pages executed.
 * @param {boolean} [history.isCut] The relay was killed, so the end is missing.
 * @returns {string[]}
 */
export function violationsOf({ entries, clients = [], executed = [], isCut = false }) {
  const conversations = conversationsIn(entries);
  return [
    ...[...conversations].flatMap(([name, messages]) => checkConversation(name, messages)),
    ...checkResending(entries),
    ...checkExecution(entries, executed),
    ...checkClients(clients, conversations, isCut),
  ];
}

/** Each client's messages in both directions, in the relay's order. */
function conversationsIn(entries) {
  const conversations = new Map();
  for (const { from, to, message } of entries) {
    const name = from === 'relay' ? to : from;
    if (name !== 'extension' && message !== undefined) {
      const messages = conversations.get(name) ?? [];
      conversations.set(name, messages);
      messages.push({ isSent: from === 'relay', message });
    }
  }
  return conversations;
}

const isRequest = (message) => Number.isInteger(message?.id) && typeof message.method === 'string';

/** What can be said of one client's conversation, by the recording alone. */
function checkConversation(name, messages) {
  const violations = [];
  const pending = new Map();
  const sessions = new Set();
  const lastMarks = new Map();
  for (const { isSent, message } of messages) {
    if (!isSent) {
      if (isRequest(message)) pending.set(message.id, message);
      continue;
    }
    if (message.method === undefined) {
      const problem = checkReply(message, pending);
      if (problem) violations.push(`${name}: ${problem}`);
      pending.delete(message.id);
      continue;
    }
    const { sessionId = '' } = message;
    if (sessionId && !sessions.has(sessionId)) {
      violations.push(`${name}: ${message.method} on session ${sessionId}, which is not open`);
    }
    noteSessions(message, sessions);
    const mark = loggedMark(message);
    if (mark !== undefined) {
      const last = lastMarks.get(sessionId) ?? -1;
      if (mark <= last) {
        violations.push(`${name}: session ${sessionId} received #${mark}# after #${last}#`);
      }
      lastMarks.set(sessionId, mark);
    }
  }
  return violations;
}

/** @param {any} reply @param {Map<number, any>} pending */
function checkReply(reply, pending) {
  const request = pending.get(reply.id);
  // A message without a usable id is answered without one.
  if (reply.id === undefined || reply.id === null) return undefined;
  if (!request) return `reply to ${reply.id}, which is not pending`;
  if (request.sessionId !== reply.sessionId) {
    return `reply to ${reply.id} on session ${reply.sessionId}, not ${request.sessionId}`;
  }
  if ((reply.result === undefined) === (reply.error === undefined)) {
    return `reply to ${reply.id} has not either a result or an error`;
  }
  return undefined;
}

function noteSessions({ method, params }, sessions) {
  if (method === 'Target.attachedToTarget') sessions.add(params.sessionId);
  if (method === 'Target.detachedFromTarget') sessions.delete(params.sessionId);
}

/** The mark in what a page logged. */
function loggedMark({ method, params }) {
  if (method !== 'Runtime.consoleAPICalled') return undefined;
  const text = params.args?.[0]?.value;
  const mark = typeof text === 'string' && MARK.exec(text);
  return mark ? Number(mark[1]) : undefined;
}

/** No request goes to the browser twice, and those of one session go there in their order. */
function checkResending(entries) {
  const violations = [];
  const sentBy = new Map();
  const forwarded = new Set();
  const lastOf = new Map();
  for (const { from, to, message } of entries) {
    if (isRequest(message) && to === 'relay' && from !== 'extension') {
      const mark = MARK.exec(JSON.stringify(message.params ?? {}))?.[1];
      if (mark) sentBy.set(Number(mark), `${from} ${message.sessionId ?? ''}`);
    }
    if (from !== 'relay' || to !== 'extension') continue;
    for (const text of JSON.stringify(message).match(new RegExp(MARK, 'g')) ?? []) {
      const mark = Number(MARK.exec(text)[1]);
      const session = sentBy.get(mark);
      if (session === undefined) continue;
      if (forwarded.has(mark)) violations.push(`#${mark}# went to the browser twice`);
      forwarded.add(mark);
      const last = lastOf.get(session) ?? -1;
      if (mark < last) violations.push(`#${mark}# went to the browser after #${last}#`);
      lastOf.set(session, mark);
    }
  }
  return violations;
}

/** Nothing ran twice; what succeeded ran, and what was refused before it was sent did not. */
function checkExecution(entries, executed) {
  const counts = new Map();
  for (const mark of executed) counts.set(mark, (counts.get(mark) ?? 0) + 1);
  const twice = [...counts].filter(([, count]) => count > 1);
  const violations = twice.map(([mark, count]) => `#${mark}# was executed ${count} times`);
  const requests = new Map();
  for (const { from, to, message } of entries) {
    if (from !== 'relay' && isRequest(message)) {
      const mark = MARK.exec(JSON.stringify(message.params ?? {}))?.[1];
      if (mark) requests.set(`${from} ${message.id}`, Number(mark));
    } else if (
      from === 'relay' &&
      message?.id !== undefined &&
      requests.has(`${to} ${message.id}`)
    ) {
      const mark = requests.get(`${to} ${message.id}`);
      const hasRun = counts.has(mark);
      if (message.result && !message.result.exceptionDetails && !hasRun) {
        violations.push(`#${mark}# succeeded and was not executed`);
      }
      if (/was not sent/.test(message.error?.message) && hasRun) {
        violations.push(`#${mark}# was executed although it was not sent`);
      }
    }
  }
  return violations;
}

/** Each client received what the relay sent it, and had a reply to each of its requests. */
function checkClients(clients, conversations, isCut) {
  const violations = [];
  const left = new Map(
    [...conversations].map(([name, messages]) => [
      name,
      messages.filter(({ isSent }) => isSent).map(({ message }) => JSON.stringify(message)),
    ]),
  );
  // The longest first: a client that left at once may have received what others received, too.
  const order = clients.map((client, index) => ({ ...client, index }));
  order.sort((a, b) => b.received.length - a.received.length);
  order.forEach(({ received, sent, hasLeft, isSettled, index }) => {
    const own = received.map((message) => JSON.stringify(message));
    const match = [...left].find(([, relayed]) => isSame(own, relayed, hasLeft, isCut));
    // One that left at once may have said nothing.
    const isSilent = hasLeft && own.length === 0;
    if (match) {
      left.delete(match[0]);
    } else if (!isSilent) {
      const difference = firstDifference(own, [...left.values()]);
      violations.push(`client ${index} did not receive what the relay sent: ${difference}`);
    }
    const answered = new Set(received.map(({ id }) => id));
    const mustBeAnswered = isSettled || !hasLeft;
    for (const { id, method } of mustBeAnswered ? sent : []) {
      if (!answered.has(id)) violations.push(`client ${index}: no reply to ${id} (${method})`);
    }
  });
  return violations;
}

/** Where a client's record departs from the conversation that is most like it. */
function firstDifference(own, conversations) {
  const departures = conversations.map((relayed) => {
    const at = own.findIndex((text, index) => text !== relayed[index]);
    return { relayed, at: at < 0 ? own.length : at };
  });
  const best = departures.toSorted((a, b) => b.at - a.at)[0];
  if (!best) return 'it is not in the recording';
  const show = (text) => text?.slice(0, 200) ?? 'nothing';
  return `after ${best.at} messages, it has ${show(own[best.at])} and not ${show(best.relayed[best.at])}`;
}

/** A client that left may have missed the end; the recording of a killed relay may lack it. */
function isSame(own, relayed, hasLeft, isCut) {
  const common = Math.min(own.length, relayed.length);
  const agrees = own.slice(0, common).every((text, index) => text === relayed[index]);
  const isComplete = hasLeft ? own.length === common : own.length === relayed.length;
  return agrees && (isCut || isComplete);
}
