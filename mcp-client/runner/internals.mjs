/**
 * What is used of Playwright beyond its API, all in one place: nothing else tells which tab a page is without waking it, or
 * what a locator of a former connection looked for. The version is pinned, and tests hold each of these.
 */

/** What stands behind an object of the API; nothing, if that has gone already. */
function behind(object) {
  try {
    return object._connection.toImpl(object);
  } catch {
    return undefined;
  }
}

/** The page itself is asked, and not its main frame: of a page that did not answer Playwright only has a dummy of that. */
export const targetOfPage = (page) => behind(page)?.delegate._targetId;

export const idOfFrame = (frame) => behind(frame)?._id;

/** The frame that a locator or a frame locator begins in; nothing, if it is neither. */
export const frameOfLocator = (value) =>
  typeof (value?._selector ?? value?._frameSelector) === 'string' ? value._frame : undefined;

/** The same locator in another frame. */
export const locatorIn = (frame, { _selector, _frameSelector }) =>
  _selector === undefined ? frame.frameLocator(_frameSelector) : frame.locator(_selector);

/** What the refs of a frame begin with. */
export const refPrefixOf = (frame) => (behind(frame).seq ? `f${behind(frame).seq}` : '');

/** Gives elements of a frame other refs: pairs of the one that each has now, and the one that it shall have. */
export async function renameRefs(frame, pairs) {
  const utility = await behind(frame).utilityContext();
  const injected = await utility.injectedScript();
  await injected.evaluate(renameInPage, pairs);
}

function renameInPage(injected, pairs) {
  const known = () => injected._lastAriaSnapshotForQuery.info;
  const take = () =>
    injected.ariaSnapshotJSON(document.querySelector('body,frameset'), { mode: 'ai' });
  const lowest = (refs) =>
    refs.reduce((least, ref) => Math.min(least, Number(/\d+$/.exec(ref)[0])), Infinity);
  const highest = pairs.reduce((most, [, ref]) => Math.max(most, Number(/\d+$/.exec(ref)[0])), 0);
  const elements = pairs.map(([now, wanted]) => [known().get(now).element, wanted]);
  // Numbers only rise: those that are given out from now on must be above the ones that are put back.
  for (let round = 0; lowest([...known().keys()]) <= highest; round += 1) {
    if (round === 100) {
      throw new Error('a page says what looks like refs');
    }
    known().forEach(({ element }) => delete element._ariaRef);
    take();
  }
  elements.forEach(([element, ref]) => (element._ariaRef.ref = ref));
  take();
}
