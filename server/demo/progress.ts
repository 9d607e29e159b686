/** Where lines for a person go: a terminal or a pipe. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const WIDTH = 28;

/** A bar is drawn anew at most this often, ms. */
const REDRAW_MS = 80;

/** Without a terminal there is a line at each quarter. */
const QUARTERS = 4;

/** Shows how far one stage is: a bar on a terminal, a few plain lines elsewhere. */
export class Progress {
  readonly #output: Output;
  readonly #title: string;
  readonly #total: number;
  readonly #bar: boolean;
  readonly #started = performance.now();
  #drawn = 0;
  #quarter = 0;

  /** @param bar  false where other lines share the terminal and would tear a bar apart */
  constructor(output: Output, title: string, total: number, bar = true) {
    this.#output = output;
    this.#title = title.padEnd(12);
    this.#total = total;
    this.#bar = bar && output.isTTY === true;
  }

  /** Says how many are done. */
  show(done: number): void {
    const now = performance.now();
    if (this.#bar) {
      if (done < this.#total && now - this.#drawn < REDRAW_MS) return;
      this.#drawn = now;
      this.#output.write(`\r\u001b[2K${this.#line(done, now)}`);
      return;
    }
    const quarter = Math.floor((done / this.#total) * QUARTERS);
    if (quarter === this.#quarter) return;
    this.#quarter = quarter;
    const rate = this.#rate(done, now);
    this.#output.write(`  ${this.#title} ${count(done)} of ${count(this.#total)}   ${rate}/s\n`);
  }

  /** Ends the bar's line. */
  end(): void {
    if (this.#bar) this.#output.write('\n');
  }

  #line(done: number, now: number): string {
    const filled = Math.round((done / this.#total) * WIDTH);
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    const numbers = `${count(done)} of ${count(this.#total)}`;
    return `  ${this.#title} ${bar}  ${numbers}   ${this.#rate(done, now)}/s`;
  }

  #rate(done: number, now: number): string {
    return count(Math.round((done / Math.max(1, now - this.#started)) * 1000));
  }
}

/** A whole number with thousands separated. */
export const count = (value: number): string => value.toLocaleString('en-US');
