/**
 * What stands within a line of a page as Markdown: text, links, pictures by their texts, controls by their values. The class
 * runs in the page, from its source, so it may not use anything outside of itself. It changes nothing there.
 */

export class InlineReader {
  /** @type {Element[]} */
  frames = [];
  /** What is not part of the main content. @type {Set<Element>} */
  left = new Set();
  /** @type {WeakMap<Element, CSSStyleDeclaration>} */
  styles = new WeakMap();

  /** @param {Element} element */
  styleOf(element) {
    const style = this.styles.get(element) ?? getComputedStyle(element);
    this.styles.set(element, style);
    return style;
  }

  /** @param {Element} element */
  isShown(element) {
    return element.checkVisibility({ visibilityProperty: true });
  }

  /** Not part of what is read. What is hidden only by `visibility` may have visible children. @param {Element} element */
  isSkipped(element) {
    const tags = ['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD', 'LINK', 'META', 'OPTION'];
    if (tags.includes(element.tagName) || this.left.has(element)) {
      return true;
    }
    const { display, position, overflow } = this.styleOf(element);
    const { width, height } = element.getBoundingClientRect();
    // For screen readers only, such as "Skip to content".
    const isTiny = position === 'absolute' && overflow === 'hidden' && width <= 1 && height <= 1;
    return display === 'none' || element.ariaHidden === 'true' || isTiny;
  }

  /** @param {Element} element @returns {Node[]} */
  childrenOf(element) {
    if (element.matches('details:not([open])')) {
      return [...element.querySelectorAll(':scope > summary')].slice(0, 1);
    }
    if (element instanceof HTMLSlotElement && element.assignedNodes().length > 0) {
      return element.assignedNodes();
    }
    return [...(element.shadowRoot ?? element).childNodes];
  }

  /** @param {string} line */
  tidy(line) {
    return line
      .replace(/[^\S\n]+/g, ' ')
      .replace(/ ?\n ?/g, '\n')
      .trim();
  }

  /** @param {Element} element */
  frame(element) {
    const { width, height } = element.getBoundingClientRect();
    if (width < 40 || height < 40) {
      return '';
    }
    this.frames.push(element);
    return `\0frame ${this.frames.length - 1}\0`;
  }

  /** @param {Node} node @returns {string} */
  inline(node) {
    if (node instanceof Text) {
      const parent = node.parentElement;
      const isShown = !parent || this.styleOf(parent).visibility === 'visible';
      return isShown ? node.data.replace(/\s+/g, ' ') : '';
    }
    if (!(node instanceof Element) || this.isSkipped(node)) {
      return '';
    }
    const text = this.inlineElement(node);
    return this.styleOf(node).display === 'inline-block' ? ` ${text} ` : text;
  }

  /** @param {Element} element @returns {string} */
  inlineElement(element) {
    const around = /** @type {Record<string, string>} */ ({
      STRONG: '**',
      B: '**',
      EM: '*',
      I: '*',
      CODE: '`',
      KBD: '`',
      SAMP: '`',
      DEL: '~~',
      S: '~~',
    });
    switch (element.tagName) {
      case 'BR':
        return '\n';
      case 'A':
        return this.link(/** @type {HTMLAnchorElement} */ (element), this.inlineIn(element));
      case 'IFRAME':
        return `\n${this.frame(element)}\n`;
      default:
        return (
          this.media(element) ??
          this.control(element) ??
          this.wrap(this.inlineIn(element), around[element.tagName])
        );
    }
  }

  /** @param {Element} element @returns {string} */
  inlineIn(element) {
    return this.childrenOf(element)
      .map((child) => this.inline(child))
      .join('');
  }

  /** @param {string} text @param {string} [mark] */
  wrap(text, mark) {
    const [, before, inner, after] = /^(\s*)(.*?)(\s*)$/s.exec(text) ?? [];
    return mark && inner ? `${before}${mark}${inner}${mark}${after}` : text;
  }

  /** Pictures and the like, by their texts. @param {Element} element */
  media(element) {
    const label = element.getAttribute('aria-label') ?? element.getAttribute('title') ?? '';
    switch (element.tagName) {
      case 'IMG': {
        const text = this.tidy(element.getAttribute('alt') ?? label).replace(/\s+/g, ' ');
        return text ? `![${text}]` : '';
      }
      case 'svg': {
        const text = element.querySelector('title')?.textContent?.trim() || label;
        return text ? `![${text}]` : '';
      }
      case 'CANVAS':
      case 'VIDEO':
      case 'AUDIO':
        return `[${element.tagName.toLowerCase()}${label && `: ${label}`}]`;
      case 'math':
        return element.querySelector('annotation')?.textContent ?? element.textContent ?? '';
      default:
        return undefined;
    }
  }

  /** What the person could fill in or press. @param {Element} element */
  control(element) {
    if (element instanceof HTMLButtonElement) {
      const text =
        this.inlineIn(element).replace(/\s+/g, ' ').trim() || element.ariaLabel || element.title;
      return text ? `[${text}]` : '';
    }
    if (element instanceof HTMLSelectElement) {
      return `[${[...element.selectedOptions].map((option) => option.text).join(', ')}]`;
    }
    if (element instanceof HTMLTextAreaElement) {
      return `[${element.value || element.placeholder}]`;
    }
    if (!(element instanceof HTMLInputElement)) {
      return undefined;
    }
    if (element.type === 'hidden') {
      return '';
    }
    if (element.type === 'checkbox' || element.type === 'radio') {
      return element.checked ? '[x] ' : '[ ] ';
    }
    return `[${element.type === 'password' ? element.placeholder : element.value || element.placeholder}]`;
  }

  /** @param {HTMLAnchorElement} element @param {string} content */
  link(element, content) {
    const [, before, inner, after] = /^(\s*)(.*?)(\s*)$/s.exec(content) ?? [];
    const text = (inner || element.ariaLabel || element.title).replace(/\s+/g, ' ');
    const href = this.address(element);
    return !text || !href ? content : `${before}[${text}](${href})${after}`;
  }

  /** Addresses of the same site begin with its path: the rest is in the first line. @param {HTMLAnchorElement} element */
  address({ href }) {
    if (!/^(https?|mailto|tel|ftp|file):/.test(href) || href.length > 500) {
      return '';
    }
    const url = new URL(href);
    const short = url.origin === location.origin ? href.slice(url.origin.length) : href;
    return short.replaceAll('(', '%28').replaceAll(')', '%29').replaceAll(' ', '%20');
  }
}
