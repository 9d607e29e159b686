/**
 * The conditions of a search, one for each thing that was asked for. What was not asked for does not appear in the
 * text, so a prepared statement of it has a plan for exactly these conditions; a condition that could be null would
 * keep every index out of a generic plan. Values travel as parameters only.
 */
export class Conditions {
  readonly #texts: string[] = [];
  readonly #values: unknown[] = [];

  /** What the parameters stand for, in order. */
  get values(): readonly unknown[] {
    return this.#values;
  }

  /** The conditions joined by `and`. */
  get text(): string {
    return this.#texts.length === 0 ? 'true' : this.#texts.join(' and ');
  }

  /** Adds a parameter; returns its place in the text, such as `$3`. */
  parameter(value: unknown): string {
    this.#values.push(value);
    return `$${this.#values.length}`;
  }

  /** Adds a condition; an undefined value leaves it out. @param condition gets the place of its parameter */
  where(value: unknown, condition: (parameter: string) => string): this {
    if (value !== undefined) this.#texts.push(condition(this.parameter(value)));
    return this;
  }
}
