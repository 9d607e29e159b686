import type { Edges } from './bins.ts';
import { sigmoid, type Forest } from './forest.ts';
import { growTree, type GrownNode, type GrowthLimits } from './grow-tree.ts';

/** Rows to learn from, already cut into bins. */
export interface TrainingRows {
  readonly edges: Edges;
  /** columns[feature][row]: bin of the value. */
  readonly columns: readonly Uint8Array[];
  /** 1 for fraud, 0 for genuine. */
  readonly labels: Uint8Array;
  /** How many rows of the stream each row stands for. */
  readonly weights: Float64Array;
}

/** How a forest is learned; all of it goes into the model's stored settings. */
export interface BoostSettings extends GrowthLimits {
  readonly trees: number;
  /** Share of a tree's values that is added. */
  readonly rate: number;
  /** Shares of features and of rows that each tree sees. */
  readonly featureShare: number;
  readonly rowShare: number;
  /**
   * Rows that each tree sees at most: where there are more, every tree sees fewer of the genuine ones, each for several,
   * and another sample than the tree before, so that the time of a tree does not grow with the rows.
   */
  readonly treeRows: number;
  readonly seed: number;
}

/** Called after each tree with what it added to the logit of every row of the ground; false ends the learning. */
export type AfterTree = (tree: number, logits: Float64Array) => boolean;

/**
 * Learns a forest by gradient boosting of the logistic loss. The same rows and settings give the same forest to the last
 * bit: rows are taken in their order, random choices come from the seed.
 *
 * @param learn  rows to learn from; the logits of all others are kept too, for `afterTree`
 * @param rest  called several times a millisecond; may pause
 */
export function boost(
  rows: TrainingRows,
  learn: Uint32Array,
  settings: BoostSettings,
  afterTree: AfterTree = () => true,
  rest: () => void = () => undefined,
): Forest {
  const count = rows.labels.length;
  const base = priorLogit(rows, learn);
  const logits = new Float64Array(count).fill(base);
  const bench = new Bench(rows.columns, learn.length);
  const { gradients, hessians } = bench;
  const random = randomSource(settings.seed);
  const shares = sampleShares(rows, learn, settings);
  // What a genuine row of a thinner sample stands for, beside the frauds.
  const standsFor = shares.fraud / shares.genuine;
  const telling = rows.edges.flatMap((edges, feature) => (edges.length === 0 ? [] : [feature]));
  const trees: ReachedTree[] = [];
  for (let tree = 0; tree < settings.trees; tree++) {
    const chosen = new Set(telling.filter(() => random() < settings.featureShare));
    const sample =
      shares.genuine >= 1
        ? learn
        : learn.filter(
            (row) => random() < (rows.labels[row] === 1 ? shares.fraud : shares.genuine),
          );
    for (let i = 0; i < sample.length; i++) {
      const row = sample[i] as number;
      const probability = sigmoid(logits[row] as number);
      const label = rows.labels[row] as number;
      const weight = (rows.weights[row] as number) * (label === 1 ? 1 : standsFor);
      gradients[i] = (probability - label) * weight;
      hessians[i] = probability * (1 - probability) * weight;
    }
    const columns = bench.lay(chosen, sample, rest);
    const nodes = growTree({ columns, gradients, hessians }, sample.length, settings, rest);
    const leaves = leavesOf(rows.columns, nodes, count);
    for (let row = 0; row < count; row++) {
      const { value } = nodes[leaves[row] as number] as GrownNode;
      logits[row] = (logits[row] as number) + value * settings.rate;
    }
    const reached = new Float64Array(nodes.length);
    for (const row of learn) {
      const leaf = leaves[row] as number;
      reached[leaf] = (reached[leaf] as number) + (rows.weights[row] as number);
    }
    trees.push({ nodes, reached });
    if (!afterTree(tree, logits)) break;
  }
  return flatten(rows.edges, trees, base, settings.rate);
}

/**
 * Where the rows of a tree lie side by side. Read where they are, a leaf's rows touch nearly every cache line of their
 * columns, however few they are: hundreds of megabytes for each tree, which slowed requests on the other cores.
 */
class Bench {
  readonly gradients: Float64Array;
  readonly hessians: Float64Array;
  readonly #columns: readonly Uint8Array[];
  readonly #most: number;
  readonly #laid: Uint8Array[] = [];

  constructor(columns: readonly Uint8Array[], most: number) {
    this.#columns = columns;
    this.#most = most;
    this.gradients = new Float64Array(most);
    this.hessians = new Float64Array(most);
  }

  /** The chosen features of the sample, by feature; overwritten by the next call. */
  lay(
    chosen: ReadonlySet<number>,
    sample: Uint32Array,
    rest: () => void,
  ): (Uint8Array | undefined)[] {
    let used = 0;
    return this.#columns.map((column, feature) => {
      if (!chosen.has(feature)) return undefined;
      rest();
      const laid = (this.#laid[used++] ??= new Uint8Array(this.#most));
      for (let i = 0; i < sample.length; i++) laid[i] = column[sample[i] as number] as number;
      return laid;
    });
  }
}

/** A grown tree, and the weight of the rows that reach each of its leaves. */
interface ReachedTree {
  readonly nodes: readonly GrownNode[];
  readonly reached: Float64Array;
}

/** Shares of frauds and of genuine rows that each tree sees, 0 to 1. */
function sampleShares(
  { labels }: TrainingRows,
  learn: Uint32Array,
  { rowShare, treeRows }: BoostSettings,
): { readonly fraud: number; readonly genuine: number } {
  let frauds = 0;
  for (const row of learn) frauds += labels[row] as number;
  const room = Math.max(0, treeRows - frauds * rowShare);
  return { fraud: rowShare, genuine: Math.min(rowShare, room / (learn.length - frauds)) };
}

function priorLogit({ labels, weights }: TrainingRows, learn: Uint32Array): number {
  let frauds = 0;
  let all = 0;
  for (const row of learn) {
    all += weights[row] as number;
    frauds += (weights[row] as number) * (labels[row] as number);
  }
  return Math.log(frauds / (all - frauds));
}

/** The leaf that each row comes to, as its place among the nodes. */
function leavesOf(
  columns: readonly Uint8Array[],
  nodes: readonly GrownNode[],
  rows: number,
): Uint16Array {
  const features = Int32Array.from(nodes, ({ feature }) => feature);
  const bins = Uint8Array.from(nodes, ({ bin }) => bin);
  const lefts = Uint16Array.from(nodes, ({ left }) => left);
  const rights = Uint16Array.from(nodes, ({ right }) => right);
  const leaves = new Uint16Array(rows);
  for (let row = 0; row < rows; row++) {
    let node = 0;
    for (let feature = features[0] as number; feature >= 0;) {
      const bin = (columns[feature] as Uint8Array)[row] as number;
      node = (bin >= (bins[node] as number) ? rights[node] : lefts[node]) as number;
      feature = features[node] as number;
    }
    leaves[row] = node;
  }
  return leaves;
}

/** Thresholds for bins, and the mean value under every split by the weight of the rows that reach it. */
function flatten(edges: Edges, trees: readonly ReachedTree[], base: number, rate: number): Forest {
  const count = trees.reduce((sum, { nodes }) => sum + nodes.length, 0);
  const forest = {
    base,
    roots: [] as number[],
    features: new Int32Array(count).fill(-1),
    thresholds: new Float64Array(count),
    lefts: new Int32Array(count),
    rights: new Int32Array(count),
    values: new Float64Array(count),
  };
  let first = 0;
  for (const { nodes, reached } of trees) {
    forest.roots.push(first);
    for (let i = nodes.length - 1; i >= 0; i--) {
      const node = nodes[i] as GrownNode;
      const at = first + i;
      if (node.feature < 0) {
        forest.values[at] = node.value * rate;
        continue;
      }
      const [left, right] = [reached[node.left] as number, reached[node.right] as number];
      reached[i] = left + right;
      forest.features[at] = node.feature;
      forest.thresholds[at] = (edges[node.feature] as Float64Array)[node.bin - 1] as number;
      forest.lefts[at] = first + node.left;
      forest.rights[at] = first + node.right;
      const leftValue = forest.values[first + node.left] as number;
      const rightValue = forest.values[first + node.right] as number;
      forest.values[at] =
        left + right === 0 ? 0 : (leftValue * left + rightValue * right) / (left + right);
    }
    first += nodes.length;
  }
  return forest;
}

/** Seeded random numbers in [0, 1): mulberry32. */
export function randomSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
