import { expect } from 'chai';
import { findChromium, startChromium, type Tab } from '../support/chromium.ts';
import { serveDocs } from '../support/docs-server.ts';

const executable = findChromium();

describe('the documentation page in a browser', () => {
  if (executable === undefined) {
    it('is not tested: there is no Chromium here; install one or name it in CHROMIUM_PATH');
    return;
  }
  let tab: Tab;
  let docs: Awaited<ReturnType<typeof serveDocs>>;

  before(async () => {
    docs = await serveDocs();
    tab = await startChromium(executable);
  });

  after(async () => {
    await tab?.close();
    await docs?.close();
  });

  const openAt = async (width: number): Promise<void> => {
    await tab.resize(width, 844);
    await tab.open(`${docs.url}/docs`);
  };

  it('renders with its style under its own security policy, without a complaint', async () => {
    await openAt(1280);
    expect(await tab.read('document.querySelector("h1").textContent')).to.match(/\w/);
    expect(await tab.read('getComputedStyle(document.querySelector("nav")).position')).to.equal(
      'fixed',
    );
    expect(tab.complaints).to.deep.equal([]);
  });

  it('would tell of what the security policy refuses', async () => {
    await openAt(1280);
    const before = tab.complaints.length;
    await tab.read(`document.body.append(Object.assign(document.createElement('img'), {
      src: 'http://127.0.0.1:9/elsewhere.png' }))`);
    await expectSoon(() => tab.complaints.length > before);
    expect(tab.complaints.slice(before).join('\n')).to.include('Content Security Policy');
  });

  for (const width of [390, 1280]) {
    it(`needs no sideways scrolling at ${width} pixels, not even with everything unfolded`, async () => {
      await openAt(width);
      for (const unfold of [false, true]) {
        if (unfold) {
          await tab.read(
            'document.querySelectorAll("details").forEach((one) => (one.open = true))',
          );
        }
        const { page, view, beyond } = await tab.read<{
          page: number;
          view: number;
          beyond: string[];
        }>(BEYOND_THE_EDGE);
        expect(beyond).to.deep.equal([]);
        expect(view).to.equal(width);
        expect(page).to.be.at.most(width);
      }
    });

    it(`leads by the first Tab to the skip link, and by Enter to the content, at ${width} pixels`, async () => {
      await openAt(width);
      await tab.press('Tab');
      expect(await tab.read('document.activeElement.className')).to.equal('skip');
      const left = await tab.read<number>('document.activeElement.getBoundingClientRect().left');
      expect(left).to.be.within(0, width);
      await tab.press('Enter');
      expect(await tab.read('document.activeElement.id')).to.equal('content');
    });

    it(`reaches every code block and link by Tab alone, and scrolls wide code by arrow, at ${width} pixels`, async () => {
      await openAt(width);
      const shown = await tab.read<number>(NUMBER_WHAT_IS_SHOWN);
      expect(shown).to.be.above(20);
      const reached = new Set<string>();
      let scrolled = 0;
      for (let presses = 0; presses < 1_000; presses += 1) {
        await tab.press('Tab');
        const at = await tab.read<{ number: string; wide: boolean }>(FOCUSED);
        if (reached.has(at.number) || at.number === '') {
          if (at.number === '' && reached.size < shown) continue;
          break;
        }
        reached.add(at.number);
        if (at.wide && scrolled === 0) {
          await tab.press('ArrowRight');
          await expectSoon(() => tab.read('document.activeElement.scrollLeft > 0'));
          scrolled += 1;
        }
      }
      const missed = await tab.read(
        `[...document.querySelectorAll('[data-shown]')].map((one) => one.dataset.shown)
          .filter((number) => !${JSON.stringify([...reached])}.includes(number))`,
      );
      expect(missed).to.deep.equal([]);
      if (width === 390) expect(scrolled).to.equal(1);
    });
  }

  it('has a place for every link of the contents, and brings it into view', async () => {
    await openAt(390);
    const targets = await tab.read<string[]>(
      `[...document.querySelectorAll('nav a')].map((link) => link.getAttribute('href'))`,
    );
    expect(targets.length).to.be.above(15);
    for (const target of targets) {
      expect(target).to.match(/^#./);
      const top = await tab.read<number>(
        `location.hash = '${target}', document.querySelector('${target}').getBoundingClientRect().top`,
      );
      expect(top, target).to.be.within(-1, 844);
    }
  });
});

/** Elements that end right of the window, those inside of what scrolls by itself excepted. */
const BEYOND_THE_EDGE = `(() => {
  const view = document.documentElement.clientWidth;
  const scrolls = (one) => one !== document.body && (getComputedStyle(one).overflowX !== 'visible' || scrolls(one.parentElement));
  const beyond = [...document.body.querySelectorAll('*')].filter((one) =>
    one.checkVisibility() && one.getBoundingClientRect().right > view + 0.5 && !scrolls(one));
  return { page: document.documentElement.scrollWidth, view: innerWidth, beyond: beyond.map((one) => one.outerHTML.slice(0, 80)) };
})()`;

/** Numbers the code blocks, links and summaries that are shown, and tells how many they are. */
const NUMBER_WHAT_IS_SHOWN = `(() => {
  const shown = [...document.querySelectorAll('pre, a[href], summary')].filter((one) => one.checkVisibility());
  shown.forEach((one, number) => (one.dataset.shown = number));
  return shown.length;
})()`;

/** What has the focus: its number, and whether it is code that is wider than its block. */
const FOCUSED = `(() => {
  const { dataset, tagName, scrollWidth, clientWidth } = document.activeElement;
  return { number: dataset.shown ?? '', wide: tagName === 'PRE' && scrollWidth > clientWidth };
})()`;

async function expectSoon(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await holds())) {
    expect(performance.now()).to.be.below(deadline);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
