/** The elements of a page of this extension, found by id. */

/** @template {HTMLElement} [T=HTMLElement] @param {string} id @returns {T} */
export const byId = (id) => /** @type {T} */ (document.getElementById(id));

/**
 * Leaves unchanged text alone, so that screen readers do not repeat it.
 * @param {HTMLElement} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}
