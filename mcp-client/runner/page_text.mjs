/**
 * The content of a page as Markdown, read from its elements: headings, lists, tables, code and what is between them. The
 * class runs in the page, from its source and that of the class it extends, so it may not use anything else. It changes
 * nothing there.
 */

import { InlineReader } from './page_inline.mjs';

/** @typedef {{ isPage: boolean, all: boolean }} ReadOptions `isPage`: the whole page was asked for. `all`: with navigation and the like */
/**
 * `frames` are in the text as `frame N` between two NUL characters. `leftOut`: how many characters are outside of the
 * main content, and in which parts of the page.
 * @typedef {{ text: string, title: string, frames: Element[], leftOut: number, parts: string[] }} PageText
 */

export class PageReader extends InlineReader {
  /**
   * @param {Element} root
   * @param {ReadOptions} options
   * @returns {PageText}
   */
  read(root, { isPage, all }) {
    const title = root.ownerDocument.title;
    const roots = isPage && !all ? this.mainContent(root) : [root];
    const text = roots.flatMap((part) => this.blockOf(part)).join('\n\n');
    const shown = roots.reduce((sum, part) => sum + this.lengthOf(part), 0);
    const skipped = [...this.left].reduce((sum, part) => sum + this.lengthOf(part), 0);
    const outside = roots[0] === root ? 0 : Math.max(0, this.lengthOf(root) - shown);
    const parts = isPage && !all ? this.partsOutside(root, roots) : [];
    return { text, title, frames: this.frames, leftOut: skipped + outside, parts };
  }

  /** @param {Element} element */
  lengthOf(element) {
    return /** @type {HTMLElement} */ (element).innerText?.trim().length ?? 0;
  }

  /** Open dialogs, then the main element; without one, everything but the parts around it. @param {Element} body */
  mainContent(body) {
    const around = [...body.querySelectorAll('*')].filter((element) => this.partName(element));
    const own = around.reduce((sum, element) => sum + this.lengthOf(element), 0);
    const enough = (this.lengthOf(body) - own) / 4;
    const main = [...body.querySelectorAll('main, [role=main], article')].find(
      (element) => this.isShown(element) && this.lengthOf(element) > Math.max(0, enough),
    );
    if (!main) {
      this.left = new Set(
        around.filter((element) => !around.some((o) => this.isInside(element, o))),
      );
      return [body];
    }
    const dialogs = [...body.querySelectorAll('dialog[open], [role=dialog], [role=alertdialog]')];
    const open = dialogs.filter((dialog) => this.isShown(dialog) && !main.contains(dialog));
    return [...open, main];
  }

  /** @param {Element} element @param {Element} other */
  isInside(element, other) {
    return element !== other && other.contains(element);
  }

  /** What a part around the main content is called. @param {Element} element */
  partName(element) {
    const role = element.getAttribute('role');
    const isNested = element.closest('main, article, section, [role=main]');
    const names = /** @type {Record<string, string>} */ ({
      NAV: 'navigation',
      ASIDE: isNested ? '' : 'sidebar',
      HEADER: isNested ? '' : 'header',
      FOOTER: isNested ? '' : 'footer',
      navigation: 'navigation',
      complementary: 'sidebar',
      banner: 'header',
      contentinfo: 'footer',
    });
    return (role ? names[role] : names[element.tagName]) ?? '';
  }

  /** @param {Element} body @param {Element[]} roots */
  partsOutside(body, roots) {
    const found = [...body.querySelectorAll('*')].filter(
      (element) =>
        this.partName(element) &&
        this.lengthOf(element) > 0 &&
        (this.left.size > 0
          ? this.left.has(element)
          : !roots.some((root) => root.contains(element))),
    );
    return [...new Set(found.map((element) => this.partName(element)))];
  }

  /** @param {Element} element @returns {boolean} */
  isBlock(element) {
    const { display } = this.styleOf(element);
    if (['IMG', 'BUTTON', 'INPUT', 'SELECT', 'TEXTAREA', 'svg'].includes(element.tagName)) {
      return false;
    }
    return (
      !(display.startsWith('inline') || display === 'contents') ||
      this.childrenOf(element).some(
        (child) => child instanceof Element && !this.isSkipped(child) && this.isBlock(child),
      )
    );
  }

  /** The content of an element: blocks of Markdown, of several lines perhaps. @param {Element} element */
  blocksIn(element) {
    /** @type {string[]} */
    const blocks = [];
    let line = '';
    const flush = () => {
      const text = this.tidy(line);
      line = '';
      if (text) {
        blocks.push(text);
      }
    };
    for (const child of this.childrenOf(element)) {
      if (child instanceof Element && !this.isSkipped(child) && this.isBlock(child)) {
        flush();
        blocks.push(...this.blockOf(child));
      } else {
        line += this.inline(child);
      }
    }
    flush();
    return this.isRow(element, blocks) ? [blocks.join(' ')] : blocks;
  }

  /** Short texts side by side read as one line. @param {Element} element @param {string[]} blocks */
  isRow(element, blocks) {
    const { display, flexDirection } = this.styleOf(element);
    return (
      /flex/.test(display) &&
      flexDirection.startsWith('row') &&
      blocks.every((block) => block.length < 80 && !/\n|^(#|- |\||>)/.test(block))
    );
  }

  /** @param {Element} element @returns {string[]} */
  blockOf(element) {
    const level = /^H[1-6]$/.test(element.tagName)
      ? Number(element.tagName[1])
      : element.getAttribute('role') === 'heading' && Number(element.ariaLevel ?? 2);
    if (level) {
      const text = this.flat(element);
      return text ? [`${'#'.repeat(level)} ${text}`] : [];
    }
    switch (element.tagName) {
      case 'UL':
      case 'OL':
      case 'MENU':
        return this.list(element);
      case 'DL':
        return [this.definitions(element)].filter(Boolean);
      case 'TABLE':
        return this.table(/** @type {HTMLTableElement} */ (element));
      case 'PRE':
        return this.code(element);
      case 'BLOCKQUOTE':
        return [this.blocksIn(element).join('\n\n').replace(/^/gm, '> ')];
      case 'HR':
        return ['---'];
      case 'A':
        return this.linkedBlocks(/** @type {HTMLAnchorElement} */ (element));
      case 'IFRAME':
      case 'FRAME':
        return [this.frame(element)];
      default:
        return this.isLeaf(element)
          ? [this.tidy(this.inline(element))].filter(Boolean)
          : this.blocksIn(element);
    }
  }

  /** What stands for itself, also where a style makes a block of it. @param {Element} element */
  isLeaf(element) {
    return /^(VIDEO|AUDIO|CANVAS|math)$/.test(element.tagName);
  }

  /** The content in one line. @param {Element} element */
  flat(element) {
    return this.blocksIn(element).join(' ').replace(/\s+/g, ' ').trim();
  }

  /** @param {Element} list */
  list(list) {
    let number = list instanceof HTMLOListElement ? list.start : 0;
    const items = this.childrenOf(list).flatMap((item) => {
      if (!(item instanceof Element) || this.isSkipped(item)) {
        return [];
      }
      const text = this.blocksIn(item).join('\n');
      const mark = list.tagName === 'OL' ? `${number++}. ` : '- ';
      return text ? [mark + text.replace(/\n/g, `\n${' '.repeat(mark.length)}`)] : [];
    });
    return items.length > 0 ? [items.join('\n')] : [];
  }

  /** @param {Element} list */
  definitions(list) {
    return [...list.querySelectorAll('dt, dd')]
      .filter((item) => !this.isSkipped(item))
      .map((item) => (item.tagName === 'DT' ? `- **${this.flat(item)}**` : `  ${this.flat(item)}`))
      .join('\n');
  }

  /** @param {Element} element */
  code(element) {
    const text = /** @type {HTMLElement} */ (element).innerText.replace(/\n$/, '');
    const classes = `${element.className} ${element.querySelector('code')?.className ?? ''}`;
    const language = /(?:language|lang|highlight-source)-([\w+#-]+)/.exec(classes)?.[1] ?? '';
    const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length));
    const fence = '`'.repeat(longest + 1);
    return text.trim() ? [`${fence}${language}\n${text}\n${fence}`] : [];
  }

  /** A table of data. One that only arranges things is read like any other element. @param {HTMLTableElement} table */
  table(table) {
    const rows = [...table.rows].filter((row) => !this.isSkipped(row));
    const isLayout =
      /^(presentation|none)$/.test(table.getAttribute('role') ?? '') ||
      table.querySelector('table') ||
      rows.every((row) => row.cells.length < 2);
    if (isLayout) {
      return rows.flatMap((row) => [...row.cells].flatMap((cell) => this.blocksIn(cell)));
    }
    const cells = rows.map((row) => this.cellsOf(row));
    const width = Math.max(...cells.map((row) => row.length));
    const lines = cells.map(
      (row) => `| ${Array.from({ length: width }, (_, at) => row[at] ?? '').join(' | ')} |`,
    );
    const caption = table.caption ? this.flat(table.caption) : '';
    const rule = `|${' --- |'.repeat(width)}`;
    return [...(caption ? [caption] : []), [lines[0], rule, ...lines.slice(1)].join('\n')];
  }

  /** @param {HTMLTableRowElement} row */
  cellsOf(row) {
    return [...row.cells]
      .filter((cell) => !this.isSkipped(cell))
      .flatMap((cell) => [
        this.flat(cell).replaceAll('|', '\\|'),
        ...Array.from({ length: Math.min(cell.colSpan, 50) - 1 }, () => ''),
      ]);
  }

  /** A link around blocks is put on the first of them. @param {HTMLAnchorElement} element */
  linkedBlocks(element) {
    const [first, ...rest] = this.blocksIn(element);
    if (first === undefined) {
      return [this.tidy(this.link(element, ''))].filter(Boolean);
    }
    const [, mark = '', text = ''] = /^(#+ |)(.*)$/s.exec(first) ?? [];
    return [text.includes('](') ? first : mark + this.link(element, text), ...rest];
  }
}

/** The source of a function for the page: takes an element and `ReadOptions`, returns a `PageText`. */
export const READ_PAGE = /** @type {(root: Element, options: ReadOptions) => PageText} */ (
  new Function(
    'root',
    'options',
    `${InlineReader}\n${PageReader}\nreturn new PageReader().read(root, options);`,
  )
);
