/** How often the fault tests repeat: a few times in `make test`, as often as it takes in `make chaos`. */

export const IS_FULL = process.env.TABWIRE_CHAOS === 'full';

/** @param {{ short: number, full: number }} counts */
export const times = ({ short, full }) => (IS_FULL ? full : short);
